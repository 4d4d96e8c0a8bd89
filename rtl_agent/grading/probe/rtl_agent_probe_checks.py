"""Counts what the checks of a cocotb test find: how many were made and held, and how compared values matched by signal.

Only where a job asks for it. rtl_agent_probe_sites.py has the harness's code call `fails` and `compared`. A check
counts when one side comes from a signal that was read and that the harness does not drive itself.

A test whose check failed runs once more in the same simulation, when every result has been reported: in this second
pass checks are counted and stop nothing. So it is known what the rest of the test would have compared, and the verdict
is what it is without counting.
"""

import os
from collections import Counter

WANTED = "RTL_AGENT_CHECKS"
NAME = "@checks"  # of this module in those of the harness: no Python text can have it
SECOND_PASS_NS = 10_000  # at least; else four times what the whole simulation took
MOST_CHECKS = 20_000  # in a second pass; then checks stop it again
MOST_READS = 200_000  # of signals in a second pass: a loop may wait for what only a failed check would have prevented
MOST_TESTS = 32  # of a simulation that have a second pass
MOST_SIGNALS = 64  # counted by name; the rest together
_REST = "(others)"
_NAME = 80

counting = False
_pass = None  # the one that is running
_read, _driven = set(), set()
_last = ""  # the signal that was read last, of those that the harness does not drive
_again = []  # tests that are to have a second pass
_repeated = 0
_is_second = False


class _Pass:
    """One pass through one test."""

    def __init__(self, name, started, second):
        self.name, self.started, self.second = name, started, second
        self.evaluated = self.held = self.other = self.reads = 0
        self.changes = self.changes_held = 0  # checks that expect another value of a signal than the one before did
        self.failed = False
        self._before = {}  # signal -> the value that was expected of it last
        self._signals = {}  # signal -> compared, matched, how often which value was expected

    def note(self, signals, expected, held):
        self.evaluated += 1
        self.failed = self.failed or not held
        self.held += not self.failed
        signal = "+".join(sorted(signals))[:_NAME]
        if signal not in self._signals and len(self._signals) >= MOST_SIGNALS:
            signal = _REST
        changed = self._before.setdefault(signal, expected) != expected
        self._before[signal] = expected
        self.changes += changed
        self.changes_held += changed and not self.failed
        counts = self._signals.setdefault(signal, [0, 0, Counter()])
        counts[0] += 1
        counts[1] += bool(held)
        counts[2][expected] += 1

    def as_message(self, ended, now):
        signals = {
            name: [compared, matched, expected.most_common(1)[0][1]]
            for name, (compared, matched, expected) in self._signals.items()
        }
        fields = ("evaluated", "held", "other", "changes", "changes_held", "second")
        whole = ended and self.evaluated <= MOST_CHECKS
        time_ns = now - self.started
        return {
            **{name: getattr(self, name) for name in fields},
            "whole": whole,
            "time_ns": time_ns,
            "signals": signals,
        }


def watch(handles):
    """In the process that simulates, if it is asked for: note which signals are read and driven."""
    global counting
    counting = bool(os.environ.get(WANTED))
    if counting:
        for kind in vars(handles).values():
            if isinstance(kind, type) and issubclass(kind, handles.SimHandleBase):
                if isinstance(vars(kind).get("value"), property):
                    _watch_value(kind, vars(kind)["value"])
                for name in ("set", "setimmediatevalue"):
                    if callable(vars(kind).get(name)):
                        setattr(kind, name, _noting_write(vars(kind)[name]))


def _watch_value(kind, found):
    get = found.fget

    def read(self):
        global _last
        name = _name(self)
        _read.add(name)
        if _is_second and _pass is not None:
            _pass.reads += 1
            if _pass.reads > MOST_READS:
                raise RuntimeError("the second pass of this test reads signals without end")
        if name not in _driven:
            _last = name
        return get(self)

    kind.value = property(read, found.fset and _noting_write(found.fset), found.fdel, found.__doc__)


def _noting_write(write):
    def driven(self, value, *more):
        _driven.add(_name(self))
        return write(self, value, *more)

    return driven


def _name(handle):
    return str(handle._name).partition("[")[0]


def start(name):
    """A test is about to begin."""
    global _pass
    if counting:
        _pass = _Pass(name, _now(), _is_second)


def end(test, passed, may_repeat):
    """A test is over: what was counted. It is kept for a second pass where there is something to learn."""
    global _pass, _repeated
    done, _pass = _pass, None
    if done is None:
        return None
    if done.failed and may_repeat and not _is_second and _repeated < MOST_TESTS:
        _repeated += 1
        _again.append(test)
    return done.as_message(passed, _now())


def stop():
    """The simulator has ended: nothing can run again."""
    _again.clear()


def next_of_second_pass():
    """A test, and the steps of simulation time that it may take; None when there are no more."""
    global _is_second
    if not _again:
        return None
    _is_second = True
    return _again.pop(0), _most_steps()


def is_second_pass():
    return _is_second


def _most_steps():
    from cocotb.utils import get_sim_steps, get_sim_time

    try:
        least = get_sim_steps(SECOND_PASS_NS, "ns")
    except ValueError:  # a precision coarser than that
        least = 1
    return max(least, 4 * int(get_sim_time("step")))


def _now():
    from cocotb.utils import get_sim_time

    return float(get_sim_time("ns"))


def fails(condition, kind, left, right, got=None, expected=None):
    """Whether an assertion is to raise. `left` and `right` are the signals that its sides may come from."""
    failed = not condition
    if _pass is None:
        return failed
    left, right = _of_design(left), _of_design(right)
    if not left and not right:
        _pass.other += 1
        return failed
    if kind == "equal" and not (left and right):
        _pass.note(left or right, _key(expected if left else got), not failed)
    else:
        _pass.note(left | right, {"true": "1", "false": "0"}.get(kind, "holds"), not failed)
    return failed and not _stops_nothing()


def compared(got, expected, left, right, differs, stops):
    """The comparison of an `if` that says what is wrong: its value."""
    result = got != expected if differs else got == expected
    if _pass is None:
        return result
    wrong = bool(result) == differs
    left, right = _of_design(left), _of_design(right)
    if left and right:
        _pass.note(left | right, "holds", not wrong)
    elif left or right:
        _pass.note(left or right, _key(expected if left else got), not wrong)
    else:
        return result
    return not differs if wrong and stops and _stops_nothing() else result


def _stops_nothing():
    return _is_second and _pass.evaluated <= MOST_CHECKS


def _of_design(signals):
    """Those that the design decides: they were read, and the harness does not drive them."""
    found = {name for name in signals if name in _read and name not in _driven}
    if "?" in signals and _last and _last not in _driven:
        found.add(_last)
    return found


def _key(value):
    """What tells expected values apart."""
    if isinstance(value, bool):
        value = int(value)
    try:
        return str(value)[:200]
    except Exception:  # of a type of the harness's own
        return type(value).__name__
