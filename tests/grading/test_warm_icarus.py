"""Icarus' compiler without its driver: the same compiled design, and the driver wherever something is not plain."""

import json

from rtl_agent.grading.warm import VPI_INSIDE
from rtl_agent.grading.workspace import PROBE, PROBE_INSIDE
from rtl_agent.sandbox import BoxSpec, BubblewrapSandbox, Limits, Mount
from rtl_agent.toolchain import find_toolchain

COMPARED = r"""
import json, os, re, signal, subprocess, sys, time
sys.path.insert(0, "@PROBE@")
from rtl_agent_warm_icarus import WarmIcarus

os.chdir("/code")
os.mkdir("included")
texts = {
    "top.sv": '''`timescale 1ns/1ps
module top #(parameter W = 4, parameter [8*8-1:0] NAME = "none") (input logic [W-1:0] a, output logic [W-1:0] b);
  initial $display("%s %m %s", NAME, `__FILE__);
`ifdef INVERT
  assign b = ~a;
`else
  other #(.W(W)) o(.a(a), .b(b));
`endif
endmodule
''',
    "other.sv": '''`include "width.svh"
module other #(parameter W = `WIDTH) (input [W-1:0] a, output [W-1:0] b);
  assign b = a;
endmodule
''',
    "included/width.svh": "`define WIDTH 8\n",
    "wrong.sv": "module top; assign = ; endmodule\n",
    "endless.sv": '''module top;
  function integer f(input integer x); begin f = x; while (1) f = f + 1; end endfunction
  localparam P = f(0);
endmodule
''',
    "cmds.f": "+timescale+1us/1ns\n",
    "odd.f": "+timescale+1us/1ns\n+define+INVERT\n",
}
for name, text in texts.items():
    with open(name, "w") as stream:
        stream.write(text)
warm = WarmIcarus("@VPI@/warm_tool.vpi")
warm.owner = os.getpid()
before = sorted(os.listdir("/tmp"))

def compiled(ran):
    found = None
    if os.path.exists("sim.vvp"):
        with open("sim.vvp") as stream:
            found = [oct(os.stat("sim.vvp").st_mode), re.sub(r"0x[0-9a-f]+", "0x", stream.read())]
        os.unlink("sim.vvp")
    return [ran, found]

def by_both(words, **options):
    out = os.memfd_create("out")
    options["env"] = {**os.environ, **options.get("env", {})}
    ours = compiled(warm.run(["iverilog", *words], options, out))
    theirs = compiled(subprocess.run(["iverilog", *words], stdout=out, stderr=out, **options).returncode == 0)
    return {"ours": ours, "theirs": theirs, "tmp": sorted(os.listdir("/tmp")) == before}

base = ["-o", "sim.vvp", "-s", "top", "-g2012"]
found = {
    "plain": {
        "timescale": by_both([*base, "-f", "cmds.f", "-DINVERT", "top.sv"]),
        "defined": by_both([*base, "-D", "INVERT=1", "-P", "top.W=9", '-Ptop.NAME="it is"', "top.sv"]),
        "included": by_both([*base, "-Iincluded", "top.sv", "other.sv"]),
        "two roots": by_both(["-g2012", "-osim.vvp", "-stop", "-sother", "-I", "included", "top.sv", "other.sv"]),
        "elsewhere": by_both(["-o", "/code/sim.vvp", "-stop", "-g2012", "-DINVERT", "../top.sv"], cwd="/code/included"),
    },
    "left to the driver": {
        "wrong": by_both([*base, "wrong.sv"]),
        "missing": by_both([*base, "none.sv"]),
        "warnings": by_both([*base, "-Wall", "-DINVERT", "top.sv"]),
        "older": by_both(["-o", "sim.vvp", "-g2005-sv", "-DINVERT", "top.sv"]),
        "more than a timescale": by_both([*base, "-f", "odd.f", "top.sv"]),
        "a library": by_both([*base, "-y", "included", "-DINVERT", "top.sv"]),
        "another directory for its files": by_both([*base, "-DINVERT", "top.sv"], env={"TMPDIR": "/code"}),
        "a line end in a word": by_both([*base, "-DINVERT", "-DA=1\nD:B=2", "top.sv"]),
    },
}
os.umask(0o077)
found["plain"]["umask"] = by_both([*base, "-DINVERT", "top.sv"])
child = os.fork()
if child == 0:
    os._exit(warm.run(["iverilog", *base, "-DINVERT", "top.sv"], {}, 1))
found["a process that the harness forked"] = os.waitpid(child, 0)[1]
child = os.fork()
if child == 0:  # a job
    warm.owner = os.getpid()
    warm.run(["iverilog", *base, "endless.sv"], {}, os.memfd_create("out"))
    os._exit(1)
time.sleep(1)
os.kill(child, signal.SIGKILL)
found["a job that was killed"] = os.waitpid(child, 0)[1]
found["ended"] = warm.sync() is not None
found["after"] = by_both([*base, "-DINVERT", "top.sv"])["ours"][0]
print(json.dumps(found))
"""


async def test_the_compiler_without_its_driver_makes_the_same_design() -> None:
    tools = find_toolchain()
    mounts = (*tools.mounts("2.0.1"), Mount(PROBE, PROBE_INSIDE), Mount(tools.warm_start(), VPI_INSIDE))
    code = COMPARED.replace("@PROBE@", PROBE_INSIDE).replace("@VPI@", VPI_INSIDE)
    env = tools.env("2.0.1")
    async with BubblewrapSandbox(slots=1).open(BoxSpec(mounts, links=tools.links())) as box:
        done = await box.run([env["RTL_AGENT_PYTHON"], "-c", code], env=env, limits=Limits(wall_seconds=120))
    assert done.ok, done.stderr.decode()
    found = json.loads(done.stdout.splitlines()[-1])
    for name, both in found["plain"].items():
        assert both["ours"] == both["theirs"], name
        assert both["ours"][0], name
        assert both["ours"][1], name
        assert both["tmp"], name
    for name, both in found["left to the driver"].items():
        assert both["ours"][0] is False, name
        assert both["tmp"], name
    assert found["a process that the harness forked"] == 0
    assert found["a job that was killed"] == 9, "its command does not end"
    assert found["ended"], "a command that does not end can be ended"
    assert found["after"], "and the next one is compiled"
