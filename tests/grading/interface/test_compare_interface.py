"""Differences are said as a person would say them."""

from rtl_agent.grading.interface import ActualInterface, ActualParameter, ActualPort, ExpectedInterface, ExpectedPort
from rtl_agent.grading.interface.compare import InterfaceReport, compare, join


def design(*ports: ActualPort, **more: object) -> ActualInterface:
    return ActualInterface("arbiter", True, ports=ports, **more)  # type: ignore[arg-type]


def said(expected: ExpectedInterface, actual: ActualInterface) -> tuple[str, ...]:
    report = compare(expected, actual)
    assert report.valid is (not report.differences)
    return report.differences


def test_a_design_with_everything_is_valid() -> None:
    expected = ExpectedInterface("arbiter", (ExpectedPort("req", "input", 8), ExpectedPort("grant")), ("WIDTH",))
    actual = design(
        ActualPort("req", "input", 8),
        ActualPort("grant", "output", 8),
        parameters=(ActualParameter("WIDTH", "8", False),),
    )
    assert compare(expected, actual) == InterfaceReport(True, (), matched=4, expected=4)


def test_a_renamed_port_is_pointed_out() -> None:
    actual = design(ActualPort("grant_valid", "output", 1), ActualPort("rst_n", "input", 1))
    expected = ExpectedInterface("arbiter", (ExpectedPort("valid"), ExpectedPort("reset", "input")))
    assert said(expected, actual) == (
        "output `valid` is missing; you wrote `grant_valid`",
        "input `reset` is missing; you wrote `rst_n`",
    )


def test_a_port_that_is_unlike_or_goes_the_other_way_is_not_called_what_was_meant() -> None:
    actual = design(ActualPort("status", "output", 1), ActualPort("enabled", "output", 1))
    expected = ExpectedInterface("arbiter", (ExpectedPort("grant_index"), ExpectedPort("enable", "input")))
    assert said(expected, actual) == ("port `grant_index` is missing", "input `enable` is missing")


def test_a_port_stands_for_one_missing_name_only() -> None:
    actual = design(ActualPort("valid", "output", 1))
    expected = ExpectedInterface("arbiter", (ExpectedPort("out_valid"), ExpectedPort("grant_valid")))
    assert sum("you wrote" in text for text in said(expected, actual)) == 1


def test_a_missing_module_names_those_that_are_there() -> None:
    expected = ExpectedInterface("fixed_priority_arbiter", (ExpectedPort("req"),))

    def missing(*modules: str) -> str:
        report = compare(expected, ActualInterface("fixed_priority_arbiter", False, modules=modules))
        assert (report.valid, report.matched, report.expected) == (False, 0, 2)
        return report.differences[0]

    assert missing("arbiter") == "module `fixed_priority_arbiter` is missing; the file has `arbiter`"
    assert missing("mux", "arbiter").endswith("the files have `arbiter`, `mux`")
    assert missing() == "module `fixed_priority_arbiter` is missing; there is no module in the file"


def test_widths_directions_and_parameters() -> None:
    expected = ExpectedInterface(
        "arbiter", (ExpectedPort("priority_override", "input", 8), ExpectedPort("reset", "input")), ("WIDTH", "DEPTH")
    )
    actual = design(
        ActualPort("priority_override", "input", 1),
        ActualPort("reset", "output", 1),
        parameters=(ActualParameter("DEPTH", "4", local=True),),
    )
    assert said(expected, actual) == (
        "input `priority_override` is 1 bit wide, 8 expected",
        "`reset` should be an input but is an output",
        "parameter `WIDTH` is missing",
        "parameter `DEPTH` is a localparam, which cannot be set",
    )


def test_internal_names_and_parameters_satisfy_what_a_test_touches() -> None:
    expected = ExpectedInterface("arbiter", (ExpectedPort("state"), ExpectedPort("u_core"), ExpectedPort("WIDTH")))
    actual = design(internal=frozenset({"state", "u_core"}), parameters=(ActualParameter("WIDTH", "8", False),))
    assert compare(expected, actual).valid is True


def test_inout_and_unpacked_ports_are_given_the_benefit_of_the_doubt() -> None:
    expected = ExpectedInterface("arbiter", (ExpectedPort("bus", "input", 8), ExpectedPort("rows", "input", 4)))
    actual = design(ActualPort("bus", "inout", 8), ActualPort("rows", "input", 8, dims=("[0:3]",)))
    assert compare(expected, actual).valid is True


def test_what_could_not_be_read_is_unknown_not_wrong() -> None:
    report = compare(ExpectedInterface("arbiter", (ExpectedPort("a"),)), None, note="no answer within 10 s")
    assert (report.valid, report.differences, report.note) == (None, (), "no answer within 10 s")


def test_several_tops_are_right_only_together() -> None:
    right, wrong, unknown = (InterfaceReport(valid, matched=1, expected=2) for valid in (True, False, None))
    assert join([right, right]).valid is True
    assert join([right, unknown]).valid is None
    assert join([unknown, wrong]).valid is False
    assert join([]).valid is None
    assert (join([right, right]).matched, join([right, right]).expected) == (2, 4)
