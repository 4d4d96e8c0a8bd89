"""Plain harnesses without a pytest session: functions, with parametrize marks at most, called one after another.

A session costs 35 to 45 ms of CPU, a compiled and simulated arbiter 80. The items, their names and their outcomes are
those of pytest; what is not plain is left to pytest itself: rtl_agent/grading/plain.py decides that beforehand.
"""

import importlib.util
import inspect
import itertools
import os
import sys
import traceback

import rtl_agent_probe
import rtl_agent_warm_code


def run_file(path, put_design):
    """pytest's exit code for this file: 0 all passed, 1 some failed, 2 could not be collected, 5 no tests."""
    name = os.path.basename(path)
    try:
        items = list(collect(load(path), name))
    except Exception as error:
        rtl_agent_probe.send("collect-error", item=name, message=f"{type(error).__name__}: {error}")
        rtl_agent_probe.send_many("collected", "items", [])
        rtl_agent_probe.send("session-end", exit=2)
        return 2
    rtl_agent_probe.send_many("collected", "items", [item for item, _, _ in items])
    put_design()
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


def collect(module, file):
    """Item name, function, arguments, in pytest's order."""
    for name, function in list(vars(module).items()):
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
        names, parameters = ParameterSet._for_parametrize(names, values, function, None, function.__name__)
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
    except pytest.skip.Exception:
        passed = None
    except (Exception, SystemExit, pytest.fail.Exception) as error:
        passed, message = False, "".join(traceback.format_exception_only(error)).strip()
    finally:
        os.environ.pop("PYTEST_CURRENT_TEST", None)
        rtl_agent_probe.current_item = None
    rtl_agent_probe.send("item", name=name, passed=passed, message=message)
    return passed
