"""A warm harness goes through a plain harness a few times before it forks: cocotb's runner, paths, logs, results.

Python then has looked up the names of all classes on the way, and put the quick forms of instructions into the code.
A forked process that did it itself would copy the page of each name, class and function for it. No compiler and no
simulator is started, nothing is reported, and what the rehearsal changed is as it was afterwards.
"""

import logging
import os
import subprocess
import sys
from contextlib import suppress

_TIMES = 10  # Python makes code quick when it has run eight times
_FOLDER = "/tmp/warm-up"
_NAME = "test_rehearsal"
_HARNESS = """
import os
from {runner} import get_runner

def test_nothing():
    runner = get_runner(os.environ.get("SIM", "icarus"))
    runner.build(
        sources=["{folder}/nothing.sv"], hdl_toplevel="nothing", always=True, clean=True, waves=False, verbose=False,
        build_args=[], timescale=("1ns", "1ns"), log_file="{folder}/build.log", build_dir="{folder}/sim_build",
    )
    runner.test(hdl_toplevel="nothing", test_module="nothing", waves=False)
"""
_RESULTS = """<testsuites name="results"><testsuite name="all" package="all">
<testcase name="{name}" classname="nothing" file="nothing.py" lineno="1" time="0.1" sim_time_ns="1.0" ratio_time="1" />
</testsuite></testsuites>
"""


def rehearse(runner):
    """`runner` is the module that has cocotb's."""
    import rtl_agent_warm_code
    import rtl_agent_warm_files
    import rtl_agent_warm_items
    from _pytest.assertion import util

    os.makedirs(_FOLDER, exist_ok=True)
    path = f"{_FOLDER}/{_NAME}.py"
    rtl_agent_warm_files.write(path, _HARNESS.format(runner=runner, folder=_FOLDER))
    rtl_agent_warm_files.write(f"{_FOLDER}/nothing.sv", "module nothing; endmodule\n")
    run, search, words, directory = subprocess.run, list(sys.path), list(sys.argv), os.getcwd()
    environment, known = dict(os.environ), set(logging.root.manager.loggerDict)
    explains, settings = util._reprcompare, util._config
    streams = sys.stdout, sys.stderr
    subprocess.run = _pretend
    try:
        os.chdir(_FOLDER)
        with open(os.devnull, "w") as nowhere:
            sys.stdout = sys.stderr = nowhere  # cocotb's runner prints its commands
            for _ in range(_TIMES):
                rtl_agent_warm_items.run_file(path, lambda: None)
                os.environ.clear()
                os.environ.update(environment)
                sys.path[:] = search
    finally:
        sys.stdout, sys.stderr = streams
        subprocess.run, util._reprcompare, util._config = run, explains, settings
        sys.path[:], sys.argv[:] = search, words
        os.chdir(directory)
        sys.modules.pop(_NAME, None)
        for name in set(logging.root.manager.loggerDict) - known:
            del logging.root.manager.loggerDict[name]
        rtl_agent_warm_code.forget(path)


def _pretend(args, **options):
    """What a simulator leaves behind."""
    results = (options.get("env") or {}).get("COCOTB_RESULTS_FILE")
    if results and os.path.basename(str(args[0])) == "vvp":
        with suppress(OSError), open(results, "w") as stream:
            stream.write(_RESULTS.format(name=_NAME))
    return subprocess.CompletedProcess(args, 0)
