"""A harness environment counts only when it is complete and of today's pins."""

import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

from rtl_agent.toolchain import ToolMissing, find_toolchain, forget_toolchain
from rtl_agent.toolchain.home import STAMP, harness_home, home, pins_digest, read_harness, write_stamp
from rtl_agent.toolchain.install import install_harnesses
from rtl_agent.toolchain.pins import COCOTB_VERSIONS


@pytest.fixture
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RTL_AGENT_HOME", str(tmp_path))
    return tmp_path


def make_environment(cocotb: str = "2.0.1") -> Path:
    where = harness_home(cocotb)
    (where / "lib" / "python3.11" / "site-packages").mkdir(parents=True)
    python = str(Path(sys.executable).resolve())
    facts = {"python": python, "prefix": "/usr", "python_version": "3.11.2", "libpython": python}
    write_stamp(where, cocotb, facts)
    return where


def test_home_can_be_named(own_home: Path) -> None:
    assert home() == own_home


def test_home_is_in_the_virtual_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RTL_AGENT_HOME", raising=False)
    assert home() == Path(sys.prefix) / "share" / "rtl-agent"


def test_home_of_a_system_python_is_the_users(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("RTL_AGENT_HOME", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setattr(sys, "prefix", sys.base_prefix)
    assert home() == tmp_path / "rtl-agent"


def test_complete_environment_is_found(own_home: Path) -> None:
    where = make_environment()
    found = read_harness("2.0.1")
    assert found is not None
    assert found.home == where == own_home / "cocotb-2.0.1"
    assert found.executable == "/opt/rtl-agent/cocotb-2.0.1/bin/python3"


@pytest.mark.usefixtures("own_home")
@pytest.mark.parametrize("damage", ["no stamp", "half a stamp", "other pins", "python is gone"])
def test_any_other_environment_is_not(damage: str) -> None:
    stamp = make_environment() / STAMP
    facts = json.loads(stamp.read_text())
    match damage:
        case "no stamp":
            stamp.unlink()
        case "half a stamp":
            stamp.write_text(stamp.read_text()[:20])
        case "other pins":
            stamp.write_text(json.dumps({**facts, "pins": "0" * 16}))
        case "python is gone":
            stamp.write_text(json.dumps({**facts, "python": "/usr/bin/python3.2"}))
    assert read_harness("2.0.1") is None


def test_each_cocotb_has_its_own_digest() -> None:
    assert len({pins_digest(version) for version in COCOTB_VERSIONS}) == len(COCOTB_VERSIONS)


def test_missing_environment_is_named_with_its_remedy(own_home: Path) -> None:
    forget_toolchain()
    with pytest.raises(ToolMissing, match=r"cocotb 1\.9\.2 is not installed; run `rtl-agent setup`"):
        find_toolchain().mounts("1.9.2")


def test_set_up_machine_installs_nothing() -> None:
    said: list[str] = []
    assert [harness.version for harness in install_harnesses(said.append)] == list(COCOTB_VERSIONS)
    assert said == []


def test_probe_lines_do_nothing_outside_a_box() -> None:
    for version in COCOTB_VERSIONS:
        harness = find_toolchain().harness(version)
        lines = (harness.site_packages / "rtl_agent_probe.pth").read_text().splitlines()
        assert lines[0] == "/opt/rtl-agent/probe"
        assert len(lines) == 2
        exec(lines[1])
        assert importlib.util.find_spec("rtl_agent_probe") is None


@pytest.mark.parametrize("cocotb", COCOTB_VERSIONS)
def test_no_script_names_the_place_where_it_was_built(cocotb: str) -> None:
    install_harnesses(lambda line: None)
    where = harness_home(cocotb)
    files = [where / "pyvenv.cfg", *(file for file in (where / "bin").iterdir() if not file.is_symlink())]
    assert len(files) > 8
    assert [file.name for file in files if b".building-" in file.read_bytes()] == []
    for file in files:
        content = file.read_bytes()
        assert not content.startswith(b"#!") or content.startswith(b"#!/bin/sh\n'''exec' "), file


@pytest.mark.parametrize("cocotb", COCOTB_VERSIONS)
def test_scripts_start_wherever_the_environment_is(cocotb: str, tmp_path: Path) -> None:
    """Through a link with a space in its name: as good as a move, and quicker."""
    elsewhere = tmp_path / "another place"
    elsewhere.symlink_to(harness_home(cocotb))
    for script, option in (("cocotb-config", "--version"), ("pytest", "--version"), ("find_libpython", "--help")):
        done = subprocess.run([elsewhere / "bin" / script, option], capture_output=True, text=True, check=False)
        assert done.returncode == 0, (script, done.stderr)
    linked = tmp_path / "cocotb-config"
    linked.symlink_to(harness_home(cocotb) / "bin" / "cocotb-config")
    done = subprocess.run([linked, "--version"], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == cocotb


@pytest.mark.parametrize(
    "start",
    ["#!{place}/bin/python3\n", "#!/bin/sh\n'''exec' '{place}/bin/python3' \"$0\" \"$@\"\n' '''\n"],
    ids=["one line", "three lines, for a path with a space"],
)
def test_environment_that_was_installed_with_the_fault_is_mended(own_home: Path, start: str) -> None:
    where = make_environment()
    building = own_home / ".building-2.0.1-abc_1"
    (where / "bin").mkdir()
    (where / "pyvenv.cfg").write_text(f"command = python3 -m venv {building}\n")
    (where / "bin" / "activate").write_text(f'VIRTUAL_ENV="{building}"\nPS1="({building.name}) "\n')
    script = where / "bin" / "tool"
    script.write_text(start.format(place=building) + "import sys; print(sys.argv[1:])\n")
    script.chmod(0o755)
    (where / "bin" / "python3").symlink_to(sys.executable)
    install_harnesses(lambda line: None, ["2.0.1"])
    assert (where / "bin" / "activate").read_text() == f'VIRTUAL_ENV="{where}"\nPS1="({where.name}) "\n'
    assert (where / "pyvenv.cfg").read_text() == f"command = python3 -m venv {where}\n"
    done = subprocess.run([script, "a b"], capture_output=True, text=True, check=True)
    assert done.stdout == "['a b']\n"


@pytest.mark.slow
def test_outdated_environment_is_replaced(own_home: Path) -> None:
    stamp = make_environment("1.9.2") / STAMP
    stamp.write_text(json.dumps({**json.loads(stamp.read_text()), "pins": "0" * 16}))
    said: list[str] = []
    (harness,) = install_harnesses(said.append, ["1.9.2"])
    assert len(said) == 1
    assert (harness.site_packages / "cocotb").is_dir()
    assert sorted(path.name for path in own_home.iterdir()) == ["cocotb-1.9.2", "install.lock"]
