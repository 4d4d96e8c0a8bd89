"""One job in its own process: run a service's pytest command, directly where its tests are plain functions."""

import os
import sys

import rtl_agent_probe
import rtl_agent_probe_pytest
import rtl_agent_warm_compile
import rtl_agent_warm_files
import rtl_agent_warm_items


def run(job, simulator):
    """The exit code that pytest would have."""
    take_environment()
    rtl_agent_probe.warm_simulator = simulator
    for tool in (simulator, rtl_agent_warm_compile.icarus):
        if tool is not None:
            tool.owner = os.getpid()
    rtl_agent_probe.activate()

    def put_design():
        rtl_agent_warm_files.put_design(job["design"])

    import pytest

    sys.argv = [os.path.join(os.path.dirname(pytest.__file__), "__main__.py"), *job["argv"][1:]]
    if job["plain"]:
        status = rtl_agent_warm_items.run_file(job["plain"], put_design)
        if status is not None:
            return status
    rtl_agent_probe_pytest.put_design = put_design
    return int(pytest.main(job["argv"][1:]))


def take_environment():
    """What a new interpreter would have from this environment: its search path, and no more."""
    given = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    sys.path[:] = dict.fromkeys([*given, *sys.path])
