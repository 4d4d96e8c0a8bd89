"""The simulator's side: which cocotb tests will run, told before time 0, and how each one ended.

Wraps the regression manager of the two pinned versions, 1.9.2 and 2.0.1, whose internals differ.
"""

import copy
import importlib.util
import json
import os
import sys
import traceback

import rtl_agent_probe
import rtl_agent_probe_checks
import rtl_agent_probe_old_names
import rtl_agent_probe_only

_OURS = os.path.dirname(os.path.abspath(__file__)) + "/"
after_regression = None  # what a warm simulator does instead of an orderly exit
_simulation = 0  # its number


def watch_regressions():
    if "cocotb.regression" in sys.modules:  # a warm simulator has imported everything that it could
        _wrap(sys.modules["cocotb.regression"])
    else:
        sys.meta_path.insert(0, _AfterImport("cocotb.regression", _wrap_for_job))


def begin(simulation):
    """In the process that simulates."""
    global _simulation
    _simulation = simulation
    if "cocotb.regression" in sys.modules:
        _look_where_planned()


def _wrap_for_job(module):
    _wrap(module)
    _look_where_planned()


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


def _wrap(module):
    manager = module.RegressionManager
    if hasattr(manager, "start_regression"):
        _wrap_2(module, manager)
    else:
        _wrap_1(manager)
    tear_down = manager._tear_down

    def reported_tear_down(self):
        if not rtl_agent_probe_checks.is_second_pass():
            rtl_agent_probe.send("regression-end", sim=_simulation)
        if rtl_agent_probe_checks.counting and _repeat_next(self):
            return
        tear_down(self)
        if after_regression is not None:
            after_regression()

    manager._tear_down = reported_tear_down


def _repeat_next(manager):
    """Begin a test's second pass (rtl_agent_probe_checks.py), if there is one more."""
    found = rtl_agent_probe_checks.next_of_second_pass()
    if found is None:
        return False
    test, steps = found
    if hasattr(manager, "start_regression"):
        test = copy.copy(test)
        if test.timeout_time is not None:  # its own
            from cocotb.utils import get_sim_steps

            steps = min(steps, get_sim_steps(test.timeout_time, test.timeout_unit))
        test.timeout_time, test.timeout_unit = steps, "step"
        manager._included.append(True)
        manager._test_queue.append(test)
    else:
        manager._queue.append(type(test)(test._func, timeout_time=steps, timeout_unit="step"))
    manager._execute()
    return True


def _look_where_planned():
    rtl_agent_probe_checks.watch(sys.modules["cocotb.handle"])
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


def _wrap_2(module, manager):
    rtl_agent_probe_old_names.give()
    start, passed, failed = manager.start_regression, manager._record_test_passed, manager._record_test_failed
    init, init_failed = manager._init_test, manager._record_test_init_failed

    def announced_start(self):
        forced = self._mode == module.RegressionMode.TESTCASE
        self._test_queue.sort(key=lambda test: test.stage)  # as `start` does
        wanted = [test for test in self._test_queue if _selected(self, test) and (forced or not test.skip)]
        if (run := rtl_agent_probe_only.tests_to_run([test.fullname for test in wanted], _simulation)) < len(wanted):
            wanted = self._test_queue[:] = wanted[:run]
        _announce([test.fullname for test in wanted])
        return start(self)

    def counted_init(self):
        rtl_agent_probe_checks.start(self._test.fullname)
        return init(self)

    def reported_pass(self, **record):
        if _report(self._test, self._test.fullname, True, None):
            passed(self, **record)

    def reported_failure(self, **record):
        if _report(self._test, self._test.fullname, False, record.get("result"), record.get("msg")):
            failed(self, **record)

    def reported_init_failure(self):
        if _report(self._test, self._test.fullname, False, sys.exc_info()[1]):
            init_failed(self)

    manager.start_regression = announced_start
    manager._init_test = counted_init
    manager._record_test_passed = reported_pass
    manager._record_test_failed = reported_failure
    manager._record_test_init_failed = reported_init_failure


def _selected(manager, test):
    return not manager._filters or any(pattern.search(test.fullname) for pattern in manager._filters)


def _wrap_1(manager):
    init, score, record = manager.__init__, manager._score_test, manager._record_result
    init_test = manager._init_test

    def announced_init(self, dut, tests):
        init(self, dut, tests)
        wanted = [test for test in self._queue if not test.skip]
        if (run := rtl_agent_probe_only.tests_to_run(list(map(_name_1, wanted)), _simulation)) < len(wanted):
            wanted = self._queue[:] = wanted[:run]
            self.ntests = run
        _announce(list(map(_name_1, wanted)))

    def reported_score(self, test, outcome):
        result = score(self, test, outcome)
        error = getattr(outcome, "error", None)
        if isinstance(error, type):  # SimFailure comes as a class when the simulator shut down
            error = error("the simulator ended before the test did")
        _report(test, _name_1(test), result[0], error)
        return result

    def counted_init(self, test):
        rtl_agent_probe_checks.start(_name_1(test))
        return init_test(self, test)

    def recorded(self, test, outcome, *times, **more):
        if not rtl_agent_probe_checks.is_second_pass():
            return record(self, test, outcome, *times, **more)
        error = getattr(outcome, "error", None)
        _report(test, _name_1(test), error is None, error() if isinstance(error, type) else error)
        return None

    manager.__init__ = announced_init
    manager._score_test = reported_score
    manager._init_test, manager._record_result = counted_init, recorded


def _name_1(test):
    return f"{test.__module__}.{test.__qualname__}"


def _announce(names):
    rtl_agent_probe.send_many("announced", "tests", names, sim=_simulation)


def _report(test, name, passed, error, note=None):
    """False for what is only counted, in a second pass."""
    is_result = not rtl_agent_probe_checks.is_second_pass()
    if is_result:
        said, where = None if passed else _message(error, note), _where(error, passed)
        rtl_agent_probe.send("test", sim=_simulation, name=name, passed=bool(passed), message=said, **where)
    if rtl_agent_probe_checks.counting:
        unexpected = not (test.expect_fail or test.expect_error)
        counts = rtl_agent_probe_checks.end(test, bool(passed), not passed and unexpected)
        if type(error).__name__ == "SimFailure":
            rtl_agent_probe_checks.stop()
        if counts is not None:
            rtl_agent_probe.send("checks", sim=_simulation, name=name, **counts)
    return is_result


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
