"""What a model is told of a failed grade: tests and their words, never the harness."""

import pytest

from rtl_agent.envs.feedback import Sanitiser, cut_value, failures, names_of, widest
from rtl_agent.grading import Diagnostic, Grade, Grader, Outcome, Stage, StageName, TestResult, submit
from rtl_agent.problems import NearMiss, Problem


@pytest.fixture
def arbiter(bundled: dict[str, Problem]) -> Problem:
    return bundled["rtl_fixed_priority_arbiter_0001"]


def failed(*messages: str | None) -> Grade:
    tests = tuple(
        TestResult(
            f"test_x.case_{at}", False, message, where="test_x.py:7", service="direct", item="test_runner.py::all"
        )
        for at, message in enumerate(messages)
    )
    whole = TestResult("test_runner.py::all", False, "all failed", service="direct")
    stages = (Stage(StageName.INTERFACE, True), Stage(StageName.SYNTAX, True), Stage(StageName.TESTS, False))
    return Grade("p", Outcome.FAILED, stages, (*tests, whole))


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("grant expected 1, got 0\nassert 0 == 1\n +  where 0 = int(dut.grant.value)", "grant expected 1, got 0"),
        ("AssertionError: no grant", "no grant"),
        ("assert int(dut.grant.value) == model.grant", "failed without a message"),
        ("AttributeError: arbiter contains no child object named rst", "AttributeError: arbiter contains no child"),
        ("it does not compile: /code/rtl/fixed_priority_arbiter.sv:3: error: x", ": rtl/fixed_priority_arbiter.sv:3"),
        ("it does not compile: /src/tb.sv:9: error: secret_port is not there", "it does not compile together"),
        ("FileNotFoundError: /code/rundir/sim_build/x.vcd in /src/helper.py:12", "FileNotFoundError: (path) in (path)"),
        ('Traceback (most recent call last):\n File "x"', "failed without a message"),
        ("see harness_library.py:19 for it", "see (test file) for it"),
        (None, "failed without a message"),
        ("", "failed without a message"),
    ],
)  # fmt: skip
def test_a_message_keeps_its_words_and_loses_code_and_places(arbiter: Problem, message: str | None, said: str) -> None:
    assert said in failures(arbiter, failed(message))


def test_a_line_of_the_harness_is_never_told(arbiter: Problem) -> None:
    lines = [line.strip() for text in arbiter.harness.files.values() for line in text.splitlines()]
    code = [line for line in lines if len(line) > 12]
    assert len(code) > 50
    told = failures(arbiter, failed(*(f"here: {line}" for line in code)))
    assert not [line for line in code if line in told and line not in arbiter.prompt]


def test_only_the_models_own_files_are_named(arbiter: Problem) -> None:
    own = Diagnostic("icarus", "error", "rtl/fixed_priority_arbiter.sv", 3, "syntax error")
    hidden = Diagnostic("icarus", "error", "/src/wrapper.sv", 9, "secret_signal is not there")
    stages = (Stage(StageName.INTERFACE, None), Stage(StageName.SYNTAX, False, notes=("it does not compile: x",)))
    told = failures(arbiter, Grade("p", Outcome.FAILED, stages, diagnostics=(own, hidden)))
    assert told.splitlines() == [
        "It does not compile.", "The tools say:", "- rtl/fixed_priority_arbiter.sv:3: error: syntax error",
    ]  # fmt: skip


def test_what_a_compiler_says_of_the_harness_is_not_told(arbiter: Problem) -> None:
    said = "it does not compile: /src/wrapper.sv:9: error: secret_signal is not there"
    stages = (Stage(StageName.INTERFACE, None), Stage(StageName.SYNTAX, False, notes=(said,)))
    told = failures(arbiter, Grade("p", Outcome.FAILED, stages))
    assert told.splitlines() == ["It does not compile.", "- it does not compile together with the tests"]
    assert "secret" not in failures(arbiter, failed(said))


def test_equal_failures_are_told_once_and_many_are_cut(arbiter: Problem) -> None:
    same = tuple(TestResult("m.case", False, "no", item="i") for _ in range(3))
    told = failures(arbiter, Grade("p", Outcome.FAILED, tests=same))
    assert told.splitlines() == ["3 of 3 tests failed:", "- case: no (3 times)"]
    many = failures(arbiter, failed(*map(str, range(40))))
    assert many.splitlines()[0] == "40 of 40 tests failed:"
    assert many.splitlines()[-1] == "- ... and 28 more"


def test_names_are_without_files_and_without_what_parameters_say(arbiter: Problem) -> None:
    """An id such as `[3-4-expects_7]` tells the answer; which of the sets failed does not."""
    shown = {
        "test_uart.idle_is_high": "idle_is_high",
        "test_runner.py::test_sum[3-4-expects_7]": "test_sum[0]",
        "test_runner.py::test_sum[a::b.c[7]]": "test_sum[1]",
        "test_runner.py::test_carry[7]": "test_carry[0]",
        "test_sum.adds/a=3/expects=7.5": "adds[0]",
        "test_sum.adds/a=4/expects=[8]": "adds[1]",
    }
    results = [TestResult(name, at != 1, "wrong sum") for at, name in enumerate(shown)]
    assert names_of([*results, *results]) == shown
    passed_first = [results[1], TestResult("test_runner.py::test_sum[0-0-expects_0]", True)][::-1]
    told = failures(arbiter, Grade("p", Outcome.FAILED, tests=tuple(passed_first)))
    assert told.splitlines() == ["1 of 2 tests failed:", "- test_sum[1]: wrong sum"]


async def test_real_failures_on_either_cocotb_say_something_and_quote_nothing(
    bundled: dict[str, Problem], near_misses: list[NearMiss], grader: Grader
) -> None:
    first = {miss.problem_id: miss for miss in reversed(near_misses)}
    for name in ("rtl_edge_detector_0001", "rtl_mod_counter_0001"):
        problem, miss = bundled[name], first[name]
        grade = await grader.grade(problem, submit(problem, {**(problem.reference or {}), **miss.files}))
        told = failures(problem, grade)
        assert "failed:\n- " in told, told
        assert Sanitiser(problem).text(told.replace("\n", " ")[:300]) == told.replace("\n", " ")[:300]
        code = {line.strip() for text in problem.harness.files.values() for line in text.splitlines()}
        assert not [line for line in code if len(line) >= 10 and line in told]


@pytest.mark.parametrize(
    ("specification", "bits"),
    [
        ("output reg [15:0] sum, input [7:0] a", 16),
        ("an 8-bit counter and a 32 bit word", 32),
        ("module m #(parameter WIDTH = 24, parameter int D = 3)", 24),
        ("it blinks", 64),
    ],
)
def test_the_widest_value_of_a_specification(specification: str, bits: int) -> None:
    assert widest(specification) == bits


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("0x" + "4a" * 108, "0x4a..."),
        ("01" * 432, "0101010101..."),
        ("0b" + "1" * 864, "0b11111111..."),
        ("9" * 260, "9999999999..."),
        ("ab12" * 54, "ab..."),
        ("x" * 4 + "0" * 860, "xxxx000000..."),
        ("0xff", "0xff"),
        ("1250000", "1250000"),
        ("100", "100"),
    ],
)
def test_a_quoted_value_is_no_longer_than_the_specification_allows(value: str, shown: str) -> None:
    assert cut_value(value, 8) == shown


def test_an_array_in_place_of_a_wide_output_carries_no_more(arbiter: Problem) -> None:
    said = Sanitiser(arbiter).message(f"grant expected 16, got [{', '.join(['99'] * 60)}]")
    assert said.count("99") == 16
    assert said.startswith("grant expected 16, got [99, 99")


def test_a_message_cannot_carry_what_a_wide_output_holds(arbiter: Problem) -> None:
    digits = widest("\n".join((arbiter.prompt, *arbiter.context.values()))) // 4
    said = Sanitiser(arbiter).message(f"grant expected 0x10, got 0x{'f' * 216} at 120 ns")
    assert said == f"grant expected 0x10, got 0x{'f' * digits}... at 120 ns"
