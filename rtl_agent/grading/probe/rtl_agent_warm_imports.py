"""What a warm harness has ready before the first job: pytest, cocotb's runner, and a warm simulator."""

import functools
import importlib
import importlib.util
import os
import sys
from contextlib import suppress

_OURS = (
    "rtl_agent_probe_imports",
    "rtl_agent_probe_pytest",
    "rtl_agent_warm_compile",
    "rtl_agent_warm_icarus",
    "rtl_agent_warm_items",
    "rtl_agent_warm_run",
)


def import_everything():
    """Run one empty session too: pytest imports its plugins only when a session starts."""
    import pytest

    for module in _OURS:
        importlib.import_module(module)
    importlib.import_module(runner_module())
    os.makedirs("/tmp/warm-up", exist_ok=True)
    with open("/tmp/warm-up/test_nothing.py", "w") as stream:
        stream.write("def test_nothing():\n    assert 1 == 1\n")
    with open(os.devnull, "w") as nowhere:
        out, sys.stdout = sys.stdout, nowhere
        try:
            pytest.main(["-q", "-p", "no:cacheprovider", "-o", "addopts=", "/tmp/warm-up/test_nothing.py"])
        finally:
            sys.stdout = out
    sys.modules.pop("test_nothing", None)
    sys.path[:] = [path for path in sys.path if not path.startswith("/tmp/")]
    importlib.import_module("rtl_agent_warm_rehearsal").rehearse(runner_module())


def prepare_probe():
    import rtl_agent_probe

    rtl_agent_probe.prepare(simulates=False)


def runner_module():
    """cocotb 2 has its runner in cocotb_tools, 1.9 in cocotb itself."""
    return "cocotb_tools.runner" if importlib.util.find_spec("cocotb_tools") else "cocotb.runner"


def start_compiler(vpi_directory):
    """Icarus' own two programs, kept warm; None where the driver is not one that we can do without."""
    import rtl_agent_warm_compile
    from rtl_agent_warm_icarus import UnknownDriver, WarmIcarus

    with suppress(UnknownDriver, OSError):
        rtl_agent_warm_compile.icarus = WarmIcarus(f"{vpi_directory}/warm_tool.vpi")
    return rtl_agent_warm_compile.icarus


def start_simulator(vpi_directory):
    """The command that cocotb's runner uses for vvp, kept warm."""
    from rtl_agent_warm_simulator import WarmSimulator

    config = importlib.import_module(runner_module().replace("runner", "config"))
    libpython = importlib.import_module("find_libpython")
    # It starts ldconfig, and every harness asks it. The answer cannot change while this process lives.
    libpython.find_libpython = functools.cache(libpython.find_libpython)
    libraries = str(config.libs_dir)
    library = config.lib_name("vpi", "icarus")
    env = {
        **os.environ,
        "LIBPYTHON_LOC": libpython.find_libpython(),
        "PYGPI_PYTHON_BIN": sys.executable,
        "VIRTUAL_ENV": sys.prefix,
        "PYTHONHASHSEED": "0",
    }
    return WarmSimulator(["vvp", "-M", libraries, "-m", library], vpi_directory, env)
