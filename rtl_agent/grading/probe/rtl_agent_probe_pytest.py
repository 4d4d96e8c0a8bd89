"""The harness's side: which pytest items there are, and how each one ended. Loaded through PYTEST_PLUGINS."""

import os

import pytest
import rtl_agent_probe
import rtl_agent_probe_only

COLLECT = "RTL_AGENT_COLLECT"  # set: only say which items there are

put_design = None  # on the fast path: writes the design once the items are known

_failed = {}  # item -> message of its first failing phase
_skipped = set()


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config):
    if os.environ.get(COLLECT):
        config.option.collectonly = True


def pytest_collectreport(report):
    if report.failed:
        rtl_agent_probe.send("collect-error", item=report.nodeid, message=report.longreprtext[-2000:])


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    run = rtl_agent_probe_only.items_to_run([item.nodeid for item in items])
    if run < len(items):
        config.hook.pytest_deselected(items=items[run:])
        del items[run:]


def pytest_collection_finish(session):
    rtl_agent_probe.send_many("collected", "items", [item.nodeid for item in session.items])
    if put_design is not None:
        put_design()


def pytest_runtest_logstart(nodeid):
    rtl_agent_probe.current_item = nodeid


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    """pytest counts `return False` as a pass, with a warning; a harness that returns its verdict means it."""
    arguments = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
    returned = pyfuncitem.obj(**arguments)
    if returned is not None:
        pytest.fail(f"the harness returned {returned!r} instead of asserting", pytrace=False)
    return True


def pytest_runtest_logreport(report):
    if report.failed and report.nodeid not in _failed:
        _failed[report.nodeid] = _message(report)
    if report.skipped:
        _skipped.add(report.nodeid)
    if report.when == "teardown":
        message = _failed.get(report.nodeid)
        passed = None if report.nodeid in _skipped and message is None else message is None
        rtl_agent_probe.send("item", name=report.nodeid, passed=passed, message=message)


def _message(report):
    crash = getattr(report.longrepr, "reprcrash", None)
    return crash.message if crash is not None else report.longreprtext[-2000:]


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session, exitstatus):
    rtl_agent_probe.report_tampering()
    rtl_agent_probe.send("session-end", exit=int(exitstatus))
