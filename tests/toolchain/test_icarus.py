"""CVDP's Icarus is installed beside the system's, works at one place in every box, and tells how it came."""

import dataclasses
import hashlib
import json
import shutil
import urllib.request
from pathlib import Path

import pytest

from rtl_agent.toolchain import apt, find_toolchain, forget_toolchain, icarus_install
from rtl_agent.toolchain.building import InstallError
from rtl_agent.toolchain.icarus import INSIDE, STAMP, icarus_home, read_icarus, read_tree
from rtl_agent.toolchain.icarus_install import install_icarus, prove
from rtl_agent.toolchain.install import install_everything, pip_into
from rtl_agent.toolchain.pins import CVDP_PINS
from rtl_agent.toolchain.toolchain import module_directory


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A copy of the installed tree, in a directory with a space in its name."""
    place = tmp_path / "tool root" / "icarus"
    shutil.copytree(icarus_home(), place)
    return place


def no_pip(requirement: str, directory: Path) -> None:
    raise InstallError(f"no pip for {requirement}")


def test_set_up_machine_has_cvdps_icarus() -> None:
    said: list[str] = []
    installed = install_everything(said.append)
    assert said == []
    assert installed.shortfalls == ()
    assert installed.icarus is not None
    assert installed.icarus.version == CVDP_PINS["iverilog"]
    tool = find_toolchain().tool("iverilog")
    assert (tool.version, tool.origin, tool.inside) == (CVDP_PINS["iverilog"], "", INSIDE)


def test_tree_works_wherever_it_is(copied: Path) -> None:
    prove(copied, CVDP_PINS["iverilog"])


def test_tree_of_another_version_is_refused(copied: Path) -> None:
    with pytest.raises(InstallError, match=r"this is Icarus 13\.0, not 12\.0"):
        prove(copied, "12.0")


@pytest.mark.parametrize("part", ["lib/ivl/ivl", "lib/ivl/vvp.tgt", "lib/ivl/system.vpi", "bin/vvp"])
def test_tree_without_a_part_does_not_prove_itself(copied: Path, part: str) -> None:
    (copied / part).unlink()
    with pytest.raises(InstallError, match="does not work in a box"):
        prove(copied, CVDP_PINS["iverilog"])


@pytest.mark.parametrize("damage", ["no stamp", "half a stamp", "other pins", "other libc", "no vvp"])
def test_unfinished_or_outdated_tree_does_not_count(copied: Path, damage: str) -> None:
    assert read_tree(copied) is not None
    stamp = copied / STAMP
    facts = json.loads(stamp.read_text())
    match damage:
        case "no stamp":
            stamp.unlink()
        case "half a stamp":
            stamp.write_text(stamp.read_text()[:20])
        case "other pins":
            stamp.write_text(json.dumps({**facts, "pins": "0"}))
        case "other libc":
            stamp.write_text(json.dumps({**facts, "libc": "glibc 2.17"}))
        case "no vvp":
            (copied / "bin" / "vvp").unlink()
    assert read_tree(copied) is None


def test_module_of_the_fast_path_is_built_from_the_trees_own_headers(
    copied: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RTL_AGENT_HOME", str(tmp_path / "another root"))
    directory = module_directory("warm_start", "that keeps simulators warm", copied / "bin" / "iverilog", "13.0")
    assert (directory / "warm_start.vpi").read_bytes()[:4] == b"\x7fELF"


def test_named_tree_is_used_at_its_place_in_the_box(copied: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RTL_AGENT_ICARUS", str(copied))
    tools = find_toolchain()
    assert tools.tool("vvp").path == copied / "bin" / "vvp"
    assert [mount.target for mount in tools.mounts("2.0.1") if mount.source == copied] == [INSIDE]
    assert f"{INSIDE}/bin" in tools.path("2.0.1").split(":")
    assert "iverilog 13.0 is that of RTL_AGENT_ICARUS" in tools.versions()["fallback"]


def test_systems_icarus_is_a_fallback_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RTL_AGENT_ICARUS", "/usr")
    assert "iverilog" in find_toolchain().fallback()
    assert INSIDE not in find_toolchain().path("2.0.1")


def test_pinned_and_other_tools_have_other_fingerprints(monkeypatch: pytest.MonkeyPatch, copied: Path) -> None:
    pinned = find_toolchain()
    monkeypatch.setenv("RTL_AGENT_ICARUS", str(copied))
    other = find_toolchain()
    assert pinned.tool("iverilog").version == other.tool("iverilog").version
    assert pinned.fingerprint() != other.fingerprint()
    assert pinned.versions() != other.versions()


def test_missing_tool_is_part_of_the_fallback() -> None:
    tools = find_toolchain()
    without = {name: tool for name, tool in tools.tools.items() if name != "verilator"}
    assert "verilator is missing (CVDP: 5.038)" in dataclasses.replace(tools, tools=without).fallback()


def test_every_way_is_tried_and_each_failure_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RTL_AGENT_HOME", str(tmp_path))
    monkeypatch.setenv(icarus_install.TARBALL, str(tmp_path / "absent.tar.gz"))
    monkeypatch.setattr(apt, "fetch", no_fetch)
    monkeypatch.setattr(icarus_install, "missing_to_build", list)
    monkeypatch.setattr(urllib.request, "urlopen", no_network)
    said: list[str] = []
    with pytest.raises(InstallError) as failure:
        install_icarus(said.append, no_pip)
    assert len(said) == 4
    assert "absent.tar.gz is not a file" in str(failure.value)
    assert str(failure.value).count("no network") == 3
    assert list(tmp_path.iterdir()) == []


def no_fetch(uri: str, sha256: str, target: Path) -> None:
    raise InstallError(f"could not get {uri}: no network")


def no_network(uri: str, timeout: float) -> None:
    raise OSError("no network")


def test_build_names_the_programs_that_it_lacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InstallError, match=r"a build needs autoconf, bison.*apt-get install autoconf bison"):
        icarus_install.from_archive(tmp_path)


def test_tarball_with_another_checksum_is_not_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tarball = tmp_path / "iverilog.tar.gz"
    tarball.write_bytes(b"something else")
    monkeypatch.setenv(icarus_install.TARBALL, str(tarball))
    monkeypatch.setattr(icarus_install, "missing_to_build", list)
    with pytest.raises(InstallError, match=hashlib.sha256(b"something else").hexdigest()):
        icarus_install.from_named_tarball(tmp_path)


def test_failed_set_up_leaves_the_system_in_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(say: object, pip: object) -> None:
        raise InstallError("Icarus 13.0 could not be installed.")

    monkeypatch.setattr("rtl_agent.toolchain.install.install_icarus", fails)
    installed = install_everything(lambda line: None)
    assert installed.icarus is None
    assert installed.shortfalls == ("Icarus 13.0 could not be installed.",)


def test_without_a_compiler_the_launcher_is_a_script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = unpacked_package(tmp_path / "root")
    tree = tmp_path / "tree"
    tree.mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    icarus_install.lay_out(root, tree)
    assert (tree / "bin/iverilog").read_text().splitlines()[1] == f'exec {INSIDE}/lib/iverilog -B {INSIDE}/lib/ivl "$@"'
    assert f"{INSIDE}/include/iverilog" in (tree / "bin/iverilog-vpi").read_text()
    assert f"VVP_EXECUTABLE={INSIDE}/bin/vvp" in (tree / "lib/ivl/vvp.conf").read_text()


def unpacked_package(root: Path) -> Path:
    for name, text in {
        "usr/bin/iverilog": "driver",
        "usr/bin/iverilog-vpi": 'CFLAGS="-I/usr/include/iverilog"',
        "usr/include/iverilog/vpi_user.h": "",
        "usr/lib/x86_64-linux-gnu/ivl/vvp.conf": "flag:VVP_EXECUTABLE=/usr/bin/vvp",
        "usr/lib/x86_64-linux-gnu/libvpi.a": "",
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


@pytest.mark.slow
def test_install_takes_the_package_and_builds_no_tree_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RTL_AGENT_HOME", str(tmp_path))
    said: list[str] = []
    tree = install_icarus(said.append, pip_into)
    assert (len(said), "package" in tree.way) == (1, True)
    assert install_icarus(said.append, no_pip) == tree == read_icarus()
    assert len(said) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["icarus-13.0"]
    forget_toolchain()


def test_installed_files_can_be_read_by_everybody() -> None:
    private = [path for path in icarus_home().rglob("*") if not path.stat().st_mode & 0o004]
    assert private == []


def test_programs_need_no_wrapper() -> None:
    for name in ("vvp", "iverilog"):
        assert (icarus_home() / "bin" / name).read_bytes()[:4] == b"\x7fELF"
