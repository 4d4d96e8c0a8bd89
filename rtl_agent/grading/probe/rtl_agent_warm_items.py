"""Plain harnesses without a pytest session: functions, with parametrize marks at most, called one after another.

A session costs 35 to 45 ms of CPU, a compiled and simulated arbiter 80. The items, their names and their outcomes are
those of pytest; what is not plain is left to pytest itself: rtl_agent/grading/plain.py decides that beforehand.
"""

import importlib.util
import inspect
import itertools
import os
import sys
import types
import unittest

import rtl_agent_probe
import rtl_agent_warm_code


class NotPlain(Exception):
    """Marks that came from elsewhere: only pytest knows what they mean."""


def run_file(path, put_design):
    """pytest's exit code for this file: 0 all passed, 1 some failed, 2 could not be collected, 5 no tests. None where a
    session has to run it, and nothing was reported yet."""
    import pytest

    name = os.path.basename(path)
    try:
        items = list(collect(load(path), name))
    except NotPlain:
        sys.path.remove(os.path.dirname(path))
        del sys.modules[name.removesuffix(".py")]
        return None
    except (Exception, pytest.fail.Exception) as error:
        rtl_agent_probe.send("collect-error", item=name, message=f"{type(error).__name__}: {error}")
        rtl_agent_probe.send_many("collected", "items", [])
        rtl_agent_probe.send("session-end", exit=2)
        return 2
    rtl_agent_probe.send_many("collected", "items", [item for item, _, _ in items])
    put_design()
    explain_as_pytest_does(_Settings(sys.argv[1:]))
    outcomes = [run_item(*item) for item in items]
    status = 5 if not outcomes else 1 if False in outcomes else 0
    rtl_agent_probe.report_tampering()
    rtl_agent_probe.send("session-end", exit=status)
    return status


def load(path):
    """The module, imported as pytest would: its directory first on sys.path, its assertions rewritten."""
    directory, name = os.path.split(path)
    sys.path.insert(0, directory)
    with open(path, "rb") as stream:
        code = rtl_agent_warm_code.rewritten(path, stream.read())
    spec = importlib.util.spec_from_file_location(name.removesuffix(".py"), path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    exec(code, module.__dict__)  # noqa: S102 - a harness is trusted
    return module


class _Settings:
    """What pytest's configuration says where nobody has written one: how much to say about a comparison, for one."""

    def __init__(self, words):
        flags = "".join(word for word in words if word.startswith("-") and not word.startswith(("--", "-o")))
        self._verbosity = flags.count("v") - flags.count("q")

    def getini(self, name):
        return ""

    def get_verbosity(self, kind=None):
        return self._verbosity

    def get_terminal_writer(self):
        return types.SimpleNamespace(_highlight=lambda source, lexer="python": source)


def explain_as_pytest_does(settings):
    """What is said about a comparison that failed, as `pytest_runtest_protocol` of pytest's assertion plugin has it."""
    from _pytest.assertion import truncate, util

    def explained(op, left, right):
        lines = util.assertrepr_compare(settings, op, left, right)
        if not lines:
            return None
        lines = truncate.truncate_if_required(lines, types.SimpleNamespace(config=settings))
        return "\n~".join(line.replace("\n", "\\n") for line in lines).replace("%", "%%")

    util._reprcompare, util._config = explained, settings


def collect(module, file):
    """Item name, function, arguments, in pytest's order."""
    for name, function in list(vars(module).items()):
        if name == "__test__" or (inspect.isfunction(function) and hasattr(function, "__test__")):
            raise NotPlain
        if name.startswith("test") and inspect.isfunction(function):
            for suffix, arguments in cases(function):
                yield f"{file}::{name}{suffix}", function, arguments


def cases(function):
    """The combinations of a function's parametrize marks, the nearest one first, with the ids that pytest makes."""
    from _pytest.mark.structures import ParameterSet
    from _pytest.python import IdMaker

    sets = []
    for mark in getattr(function, "pytestmark", []):
        names, values = mark.args[:2]
        names, parameters = ParameterSet._for_parametrize(names, values, function, _Settings([]), function.__name__)
        if any(one.marks for one in parameters):  # an empty set is marked too: its test is skipped
            raise NotPlain
        given = mark.kwargs.get("ids")
        by_function, by_list = (given, None) if callable(given) else (None, given)
        maker = IdMaker(names, parameters, by_function, by_list, None, function.__name__, function.__name__)
        ids = maker.make_unique_parameterset_ids()
        values = [dict(zip(names, one.values, strict=True)) for one in parameters]
        sets.append(list(zip(ids, values, strict=True)))
    if not sets:
        yield "", {}
        return
    for combination in itertools.product(*sets):
        label = "-".join(part for part, _ in combination)
        yield f"[{label}]", {name: value for _, part in combination for name, value in part.items()}


def run_item(name, function, arguments):
    """Call it, and report as rtl_agent_probe_pytest does."""
    import pytest

    rtl_agent_probe.current_item = name
    os.environ["PYTEST_CURRENT_TEST"] = f"{name} (call)"
    passed, message = True, None
    try:
        returned = function(**arguments)
        if returned is not None:
            passed, message = False, f"Failed: the harness returned {returned!r} instead of asserting"
    except (KeyboardInterrupt, pytest.exit.Exception):
        raise  # ends a session too, before the item has reported
    except (pytest.skip.Exception, pytest.xfail.Exception, unittest.SkipTest):
        passed = None
    except BaseException as error:
        passed, message = False, pytest.ExceptionInfo.from_exception(error).exconly(tryshort=True)
    finally:
        os.environ.pop("PYTEST_CURRENT_TEST", None)
        rtl_agent_probe.current_item = None
    rtl_agent_probe.send("item", name=name, passed=passed, message=message)
    return passed
