"""A harness environment counts only when it is complete and of today's pins."""

import importlib
import json
import sys
from pathlib import Path

import pytest

from rtl_agent.toolchain import ToolMissing, find_toolchain, forget_toolchain
from rtl_agent.toolchain.harness_env import STAMP, pins_digest, read_harness, write_stamp
from rtl_agent.toolchain.home import harness_home, home
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


@pytest.mark.slow
def test_outdated_environment_is_replaced(own_home: Path) -> None:
    stamp = make_environment("1.9.2") / STAMP
    stamp.write_text(json.dumps({**json.loads(stamp.read_text()), "pins": "0" * 16}))
    said: list[str] = []
    (harness,) = install_harnesses(said.append, ["1.9.2"])
    assert len(said) == 1
    assert (harness.site_packages / "cocotb").is_dir()
    assert sorted(path.name for path in own_home.iterdir()) == ["cocotb-1.9.2", "install.lock"]
