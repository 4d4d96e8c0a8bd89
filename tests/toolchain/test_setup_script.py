"""The set-up script is quick when all is there and names what is missing when it is not."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EVERYDAY = (
    *("sh", "cat", "dirname", "env", "grep", "head", "id", "mkdir", "mktemp", "rm", "sha256sum", "tail", "uname"),
    *("perl", "flock", "printf"),
)
TOOLS = ("iverilog", "vvp", "bwrap", "yosys", "cc", "c++")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy without .venv, so that nothing here touches the real one."""
    copy = tmp_path / "checkout"
    shutil.copytree(ROOT / "scripts", copy / "scripts")
    shutil.copytree(ROOT / "rtl_agent", copy / "rtl_agent", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "requirements-dev.lock"):
        shutil.copy(ROOT / name, copy)
    return copy


def path_with(tmp_path: Path, *names: str) -> Path:
    """A PATH that holds these programs and no others."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in (*EVERYDAY, *names):
        # Not the python3 on PATH: pyenv's is a script that needs more programs.
        found = str(Path(sys.executable).resolve()) if name == "python3" else shutil.which(name)
        if found:
            (programs / name).symlink_to(found)
    return programs


def run_setup(checkout: Path, path: Path, *words: str) -> subprocess.CompletedProcess[str]:
    shell = shutil.which("sh") or "/bin/sh"
    return subprocess.run(
        [shell, "scripts/setup.sh", *words],
        cwd=checkout,
        env={"PATH": str(path), "HOME": str(checkout)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def pretend_python(path: Path, version: str) -> None:
    path.write_text(f"#!/bin/sh\n[ \"$1\" = -V ] && echo 'Python {version}'\nexit 1\n")
    path.chmod(0o755)


def test_missing_tools_are_named_where_there_is_no_apt(checkout: Path, tmp_path: Path) -> None:
    done = run_setup(checkout, path_with(tmp_path, "python3", "bwrap", "yosys", "cc", "c++"))
    assert done.returncode == 1
    assert "missing: iverilog (Icarus Verilog 11 or newer). There is no apt-get here" in done.stderr


def test_all_missing_tools_are_named_at_once(checkout: Path, tmp_path: Path) -> None:
    done = run_setup(checkout, path_with(tmp_path, "python3"))
    for name in ("iverilog", "bwrap", "yosys", "cc", "c++"):
        assert name in done.stderr


def test_old_python_is_named(checkout: Path, tmp_path: Path) -> None:
    programs = path_with(tmp_path, *TOOLS)
    pretend_python(programs / "python3", "3.9.18")
    done = run_setup(checkout, programs)
    assert done.returncode == 1
    assert "Python 3.11 or newer is needed" in done.stderr
    assert "found: Python 3.9.18" in done.stderr


def test_newer_python_beside_an_old_python3_is_used(checkout: Path, tmp_path: Path) -> None:
    programs = path_with(tmp_path, "bwrap", "yosys", "cc", "c++")
    pretend_python(programs / "python3", "3.9.18")
    (programs / "python3.11").symlink_to(Path(sys.executable).resolve())
    assert "missing: iverilog" in run_setup(checkout, programs).stderr


@pytest.mark.skipif(os.geteuid() == 0, reason="root needs no sudo")
def test_without_sudo_the_command_for_somebody_else_is_given(checkout: Path, tmp_path: Path) -> None:
    programs = path_with(tmp_path, "python3", "bwrap", "yosys", "cc", "c++", "apt-get")
    assert "have somebody run  apt-get install iverilog" in run_setup(checkout, programs).stderr


def test_what_apt_gets_is_said_first_and_its_failure_named(checkout: Path, tmp_path: Path) -> None:
    programs = path_with(tmp_path, "python3", "bwrap", "yosys", "cc", "c++")
    for name, does in (("apt-get", "echo no network >&2; exit 100"), ("sudo", 'exec "$@"')):
        (programs / name).write_text(f"#!/bin/sh\n{does}\n")
        (programs / name).chmod(0o755)
    done = run_setup(checkout, programs)
    assert done.returncode == 1
    assert "apt-get (a minute or two): iverilog" in done.stdout
    assert "no network" in done.stderr
    assert "apt-get could not install: iverilog" in done.stderr


def installed(checkout: Path) -> None:
    """A .venv whose Python says yes to everything: installing is not what these tests are about."""
    python = checkout / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text('#!/bin/sh\n[ "$3" = -V ] && echo Python 3.11.2\nexit 0\n')
    python.chmod(0o755)
    (python.parent / "pip").write_text(f"#!{python}\n")


def test_second_time_is_silent_and_quick(checkout: Path, tmp_path: Path) -> None:
    installed(checkout)
    programs = path_with(tmp_path, "python3", *TOOLS)
    assert "set-up is done" in run_setup(checkout, programs).stdout
    start = time.monotonic()
    done = run_setup(checkout, programs)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert time.monotonic() - start < 1


@pytest.mark.parametrize(
    "changed", ["pyproject.toml", "requirements-dev.lock", "rtl_agent/toolchain/pins.py", "rtl_agent/toolchain/home.py"]
)
def test_changed_pins_set_up_again(checkout: Path, tmp_path: Path, changed: str) -> None:
    installed(checkout)
    programs = path_with(tmp_path, "python3", *TOOLS)
    run_setup(checkout, programs)
    with (checkout / changed).open("a") as file:
        file.write("# changed\n")
    assert "set-up is done" in run_setup(checkout, programs).stdout


def test_new_runner_sets_up_again(checkout: Path, tmp_path: Path) -> None:
    installed(checkout)
    programs = path_with(tmp_path, "python3", *TOOLS)
    run_setup(checkout, programs)
    (checkout / "rtl_agent" / "toolchain" / "launcher" / "yosys.py").write_text("# changed\n")
    assert "set-up is done" in run_setup(checkout, programs).stdout


def test_what_a_build_of_icarus_needs_is_installed_only_when_it_is_built(checkout: Path, tmp_path: Path) -> None:
    """The first try ends with 3: no package could be unpacked, and build tools are missing."""
    installed(checkout)
    (checkout / ".venv" / "bin" / "python").write_text(
        '#!/bin/sh\n[ "$3" = -V ] && echo Python 3.11.2\n'
        'case "$2" in\n'
        f'    rtl_agent.toolchain.install) [ -e "{tmp_path}/flex" ] || exit 3; echo Icarus was built ;;\n'
        '    rtl_agent.toolchain.icarus_install) printf "flex bison" ;;\n'
        "esac\nexit 0\n"
    )
    programs = path_with(tmp_path, "python3", *TOOLS, "touch")
    for name, does in (("apt-get", f'[ "$1" = install ] && touch "{tmp_path}/flex"; exit 0'), ("sudo", 'exec "$@"')):
        (programs / name).write_text(f"#!/bin/sh\n{does}\n")
        (programs / name).chmod(0o755)
    done = run_setup(checkout, programs)
    assert "apt-get (a minute or two): flex bison" in done.stdout
    assert "Icarus was built" in done.stdout
    assert "set-up is done" in done.stdout


def test_moved_checkout_gets_a_new_venv(checkout: Path, tmp_path: Path) -> None:
    installed(checkout)
    programs = path_with(tmp_path, "python3", *TOOLS)
    run_setup(checkout, programs)
    moved = checkout.rename(tmp_path / "moved")
    (programs / "python3").unlink()
    (programs / "python3").write_text(
        f'#!/bin/sh\n[ "$2" = venv ] && exit 1\nexec {Path(sys.executable).resolve()} "$@"\n'
    )
    (programs / "python3").chmod(0o755)
    done = run_setup(moved, programs)
    assert "making .venv" in done.stdout
    assert "python3 could not make .venv" in done.stderr


def test_tool_that_was_removed_is_noticed(checkout: Path, tmp_path: Path) -> None:
    installed(checkout)
    programs = path_with(tmp_path, "python3", *TOOLS)
    run_setup(checkout, programs)
    (programs / "yosys").unlink()
    assert "missing: yosys" in run_setup(checkout, programs).stderr


def test_ci_script_and_shims_can_be_executed() -> None:
    for file in (ROOT / ".ci" / "run", *(ROOT / "rtl_agent" / "toolchain" / "shims").iterdir()):
        assert os.access(file, os.X_OK), file


def pretend(programs: Path, **does: str) -> None:
    for name, script in does.items():
        file = programs / name.replace("_", "-")
        file.write_text(f"#!/bin/sh\n{script}\n")
        file.chmod(0o755)


def test_the_browser_is_installed_with_a_font_and_only_where_there_is_none(checkout: Path, tmp_path: Path) -> None:
    programs = path_with(tmp_path, "touch", "chmod")
    browser = f'[ "$1" = install ] && touch "{programs}/chromium" && chmod +x "{programs}/chromium"; exit 0'
    pretend(programs, apt_get=browser, sudo='exec "$@"')
    first = run_setup(checkout, programs, "--browser")
    assert "apt-get (a minute or two): chromium fonts-dejavu-core" in first.stdout
    second = run_setup(checkout, programs, "--browser")
    assert (first.returncode, second.returncode, second.stdout, second.stderr) == (0, 0, "", "")


def test_a_browser_that_cannot_be_installed_is_said_and_stops_nothing(checkout: Path, tmp_path: Path) -> None:
    done = run_setup(checkout, path_with(tmp_path), "--browser")
    assert done.returncode == 0
    assert "missing: chromium (or google-chrome, or another that RTL_AGENT_BROWSER names)" in done.stderr
    assert "the tests of the page (tests/view) will fail" in done.stdout


def test_what_builds_the_page_is_asked_for_by_its_own_mode(checkout: Path, tmp_path: Path) -> None:
    programs = path_with(tmp_path)
    pretend(programs, google_chrome_stable="exit 0")
    assert run_setup(checkout, programs, "--browser").stderr == ""
    assert "missing: node and npm" in run_setup(checkout, programs, "--page").stderr
