"""JUnit XML: read back by a parser, of the shape that CI servers expect, whatever the messages are."""

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from rtl_agent.cli.junit import as_junit, write_junit
from rtl_agent.grading import Grade, Outcome, TestResult
from rtl_agent.runs import RunError

HOSTILE = "\x00\x1b[2J ]]> <!-- & \"'\n\r\t\ud800 \udfff \ufffe \U0001f600 </failure><testcase/>"
CHILDREN = {  # of the usual schema: element -> children, in this order
    "testsuites": ["testsuite"],
    "testsuite": ["properties", "testcase"],
    "properties": ["property"],
    "testcase": ["skipped", "error", "failure", "system-out"],
}
ATTRIBUTES = {
    "testsuites": {"name", "tests", "failures", "errors", "skipped", "time"},
    "testsuite": {"name", "tests", "failures", "errors", "skipped", "time", "timestamp", "hostname"},
    "property": {"name", "value"},
    "testcase": {"name", "classname"},
    "failure": {"message", "type"},
    "error": {"message", "type"},
}


def check_shape(element: ET.Element) -> None:
    order = CHILDREN.get(element.tag, [])
    places = [order.index(child.tag) for child in element]
    assert places == sorted(places)
    assert ATTRIBUTES.get(element.tag, set()) <= set(element.keys()) <= ATTRIBUTES.get(element.tag, set()) | {"time"}
    for child in element:
        check_shape(child)


GRADES = [
    (
        HOSTILE,
        Grade(
            f"p{HOSTILE}",
            Outcome.FAILED,
            tests=(
                TestResult("ok", True, time_ns=10, service="s", item="i"),
                TestResult(HOSTILE, False, HOSTILE, 47.0, f"test_x.py:3{HOSTILE}", "s", "i"),
                TestResult("left out", None),
                TestResult("i", False, "1 of 2 cocotb tests failed", service="s"),
            ),
            reasons=(HOSTILE, "second"),
            timings={"total": 1.25},
            tools={"iverilog": "13.0"},
        ),
    ),
    ("it does not compile", Grade("q", Outcome.INVALID, reasons=("no module",))),
    ("ours", Grade("r", Outcome.ERROR, reasons=("SandboxError: no box",))),
    ("part", Grade("s", Outcome.PASSED, tests=(TestResult("t", True),), only=("t",))),
]


def test_it_is_well_formed_and_of_the_usual_shape_under_hostile_messages() -> None:
    root = ET.fromstring(as_junit(GRADES))
    check_shape(root)
    assert root.attrib | {"time": ""} == {
        **{"name": "rtl-agent grade", "tests": "8", "failures": "3", "errors": "1", "skipped": "1", "time": ""}
    }
    for suite in root:
        for name, found in (("tests", "testcase"), ("failures", ".//failure"), ("errors", ".//error")):
            assert int(suite.get(name, "")) == len(suite.findall(found))
    failure = root.find(".//testcase[2]/failure")
    assert failure is not None
    assert failure.get("message", "").startswith("\\x00\\x1b[2J ]]> <!-- & \"'\n")
    assert "\\ud800 \\udfff \\ufffe \U0001f600 </failure><testcase/>" in (failure.text or "")
    assert "at 47 ns of simulation time" in (failure.text or "")


def test_a_suite_is_green_only_if_its_answer_has_passed() -> None:
    root = ET.fromstring(as_junit(GRADES))
    kinds = [[child.tag for child in suite.findall("testcase[@name='grade']/*")] for suite in root]
    assert kinds == [["failure"], ["failure"], ["error"], []]
    assert root.findall("testsuite")[3].find("properties/property[@name='only']") is not None
    assert [suite.get("time") for suite in root] == ["1.250", "0.000", "0.000", "0.000"]


def test_the_file_is_whole_or_as_it_was(tmp_path: Path) -> None:
    file = tmp_path / "new" / "junit.xml"
    write_junit(file, GRADES)
    assert [path.name for path in file.parent.iterdir()] == ["junit.xml"]
    ET.parse(file)
    with pytest.raises(RunError, match="cannot write"):
        write_junit(file / "below.xml", GRADES)
