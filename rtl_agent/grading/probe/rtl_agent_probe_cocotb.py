"""The simulator's side: which cocotb tests will run, told before time 0, and how each one ended.

Wraps the regression manager of the two pinned versions, 1.9.2 and 2.0.1, whose internals differ.
"""

import importlib.util
import json
import os
import sys
import traceback

import rtl_agent_probe
import rtl_agent_probe_old_names
import rtl_agent_probe_only

_OURS = os.path.dirname(os.path.abspath(__file__)) + "/"
after_regression = None  # what a warm simulator does instead of an orderly exit


def watch_regressions(sim):
    if "cocotb.regression" in sys.modules:  # a warm simulator has imported everything that it could
        _wrap(sys.modules["cocotb.regression"], sim)
    else:
        sys.meta_path.insert(0, _AfterImport("cocotb.regression", lambda module: _wrap(module, sim)))


def rewrite_assertions_once():
    """Setting up pytest's assertion rewriting takes 17 ms of CPU: a warm simulator does it before it forks."""
    manager = sys.modules["cocotb.regression"].RegressionManager
    if hasattr(manager, "setup_pytest_assertion_rewriting"):
        manager.setup_pytest_assertion_rewriting()
        manager.setup_pytest_assertion_rewriting = classmethod(lambda cls: None)
    else:
        manager._setup_pytest_assertion_rewriting([])
        manager._setup_pytest_assertion_rewriting = classmethod(lambda cls, modules: None)


def give_old_names():
    """Changing a class makes Python forget what it has looked up in it: a warm simulator does it before it forks."""
    if hasattr(sys.modules["cocotb.regression"].RegressionManager, "start_regression"):
        rtl_agent_probe_old_names.give()


class _AfterImport:
    """Calls back when a module has been imported: cocotb itself cannot be imported before it is initialised."""

    def __init__(self, name, callback):
        self._name, self._callback = name, callback

    def find_spec(self, fullname, path=None, target=None):
        if fullname != self._name:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        if spec is not None:
            execute = spec.loader.exec_module

            def exec_module(module):
                execute(module)
                self._callback(module)

            spec.loader.exec_module = exec_module
        return spec


def _wrap(module, sim):
    manager = module.RegressionManager
    if hasattr(manager, "start_regression"):
        _wrap_2(module, manager, sim)
    else:
        _wrap_1(manager, sim)
    tear_down = manager._tear_down

    def reported_tear_down(self):
        rtl_agent_probe.send("regression-end", sim=sim)
        tear_down(self)
        if after_regression is not None:
            after_regression()

    manager._tear_down = reported_tear_down
    plan = os.environ.get(rtl_agent_probe.NETLIST)
    if plan and json.loads(plan)["pair"]:
        _look_into_source(sys.modules["cocotb.handle"])


def _look_into_source(handles):
    """Names that a netlist has lost are those of the design as it was written, which runs beside it."""
    import rtl_agent_probe_netlist_text as names
    from cocotb import simulator

    kind = handles.HierarchyObject
    by_name, make = kind.__getattr__, getattr(handles, "_make_sim_object", None) or handles.SimHandle

    def source_of(handle):
        node = by_name(make(simulator.get_root_handle(names.PAIR), names.PAIR), names.SOURCE)
        for part in handle._path.split(".")[1:]:
            node = by_name(node, part)
        return node

    def found_in_either(self, name):
        try:
            return by_name(self, name)
        except AttributeError:
            if name.startswith("_") or self._path.startswith(names.PAIR):
                raise
            return by_name(source_of(self), name)

    kind.__getattr__ = found_in_either
    if "__getitem__" in vars(kind):  # 2.x: dut["name"]
        kind.__getitem__ = found_in_either


def _wrap_2(module, manager, sim):
    rtl_agent_probe_old_names.give()
    start, passed, failed = manager.start_regression, manager._record_test_passed, manager._record_test_failed
    init_failed = manager._record_test_init_failed

    def announced_start(self):
        forced = self._mode == module.RegressionMode.TESTCASE
        self._test_queue.sort(key=lambda test: test.stage)  # as `start` does
        wanted = [test for test in self._test_queue if _selected(self, test) and (forced or not test.skip)]
        if (run := rtl_agent_probe_only.tests_to_run([test.fullname for test in wanted], sim)) < len(wanted):
            wanted = self._test_queue[:] = wanted[:run]
        _announce(sim, [test.fullname for test in wanted])
        return start(self)

    def reported_pass(self, **record):
        _report(sim, self._test.fullname, True, None)
        return passed(self, **record)

    def reported_failure(self, **record):
        _report(sim, self._test.fullname, False, record.get("result"), record.get("msg"))
        return failed(self, **record)

    def reported_init_failure(self):
        _report(sim, self._test.fullname, False, sys.exc_info()[1])
        return init_failed(self)

    manager.start_regression = announced_start
    manager._record_test_passed = reported_pass
    manager._record_test_failed = reported_failure
    manager._record_test_init_failed = reported_init_failure


def _selected(manager, test):
    return not manager._filters or any(pattern.search(test.fullname) for pattern in manager._filters)


def _wrap_1(manager, sim):
    init, score = manager.__init__, manager._score_test

    def announced_init(self, dut, tests):
        init(self, dut, tests)
        wanted = [test for test in self._queue if not test.skip]
        if (run := rtl_agent_probe_only.tests_to_run(list(map(_name_1, wanted)), sim)) < len(wanted):
            wanted = self._queue[:] = wanted[:run]
            self.ntests = run
        _announce(sim, list(map(_name_1, wanted)))

    def reported_score(self, test, outcome):
        result = score(self, test, outcome)
        error = getattr(outcome, "error", None)
        if isinstance(error, type):  # SimFailure comes as a class when the simulator shut down
            error = error("the simulator ended before the test did")
        _report(sim, _name_1(test), result[0], error)
        return result

    manager.__init__ = announced_init
    manager._score_test = reported_score


def _name_1(test):
    return f"{test.__module__}.{test.__qualname__}"


def _announce(sim, names):
    rtl_agent_probe.send_many("announced", "tests", names, sim=sim)


def _report(sim, name, passed, error, note=None):
    said = None if passed else _message(error, note)
    rtl_agent_probe.send("test", sim=sim, name=name, passed=bool(passed), message=said, **_where(error, passed))


def _message(error, note):
    """What went wrong, without the harness's code: the exception's own words."""
    if error is None:
        return note or "failed"
    words = str(error).strip() or _source_line(error) or type(error).__name__
    kind = "" if isinstance(error, AssertionError) else f"{type(error).__name__}: "
    return f"{kind}{words}" + (f" ({note})" if note else "")


def _source_line(error):
    frames = _frames(error)
    return frames[-1].line if frames else ""


def _frames(error):
    """Those of the harness: cocotb's own, and what stands in for it in a warm simulator, are not its author's."""
    found = traceback.extract_tb(error.__traceback__)
    return [frame for frame in found if "site-packages" not in frame.filename and _OURS not in frame.filename]


def _where(error, passed):
    """The simulation time in ns, and for a failure the line of the harness it comes from."""
    from cocotb.utils import get_sim_time

    found = {"time_ns": float(get_sim_time("ns"))}
    if not passed and error is not None and error.__traceback__ is not None:
        own = _frames(error)
        if own:
            found["where"] = f"{os.path.basename(own[-1].filename)}:{own[-1].lineno}"
    return found
