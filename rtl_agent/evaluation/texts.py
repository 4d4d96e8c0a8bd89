"""What a model is told by the rules, as one digest: answers to other words are other answers.

The words are made for problems that nobody is asked, one of each shape, so that a sentence counts wherever it is kept:
in a text file, in the code around it, or in what is said of a failure.
"""

import hashlib
import json
from collections.abc import Iterator

from rtl_agent.envs.agentic import Level
from rtl_agent.envs.agentic.session import asked
from rtl_agent.envs.agentic.toolbox import tool_specs
from rtl_agent.envs.dialects.qwen import brief_tools_text, tools_text
from rtl_agent.envs.feedback import failures
from rtl_agent.evaluation.rules import AGENTIC, Rules
from rtl_agent.grading import Diagnostic, Grade, Outcome, Stage, StageName, TestResult
from rtl_agent.problems import CocotbVersion, Harness, Kind, Needs, Problem
from rtl_agent.prompts import messages, refine_message

CATEGORIES = tuple(f"cid{number:03}" for number in range(1, 22))  # CVDP's are below 17
_TARGETS = (("rtl/a.sv",), ("rtl/a.sv", "rtl/b.v"))
_FAILED_TESTS = Grade(
    "nobody",
    Outcome.FAILED,
    (Stage(StageName.INTERFACE, False, notes=("no port is called x",)), Stage(StageName.SYNTAX, True)),
    (TestResult("test_a.py::test_a[8]", False, "AssertionError: y is 0"), TestResult("test_a.py::test_a[9]", False)),
    (Diagnostic("verilator", "warning", "rtl/a.sv", 1, "width"),),
)
_NOT_COMPILED = Grade(
    "nobody",
    Outcome.FAILED,
    (Stage(StageName.SYNTAX, False),),
    diagnostics=(Diagnostic("icarus", "error", "rtl/a.sv", 1, "syntax error"),),
)
_GRADES = (_FAILED_TESTS, _NOT_COMPILED, Grade("nobody", Outcome.INVALID, reasons=("there is no module",)))


def texts_digest(rules: Rules, system: str) -> str:
    """Of all words that may be said by these rules; what they are said of, the problem, has a digest of its own."""
    return hashlib.sha256(json.dumps(list(_texts(rules, system))).encode()).hexdigest()[:16]


def _texts(rules: Rules, system: str) -> Iterator[str]:
    kinds = list(Kind) if rules.env == AGENTIC else [Kind.SINGLE_SHOT]
    problems = [_problem(category, kind, to) for category in CATEGORIES for kind in kinds for to in _TARGETS]
    if rules.env == AGENTIC:
        config = rules.agentic(None)
        told = [asked(problem, config, system) for problem in problems]
        tools = tool_specs(config)
        yield from (tools_text(tools), brief_tools_text(tools))
    else:
        told = [tuple(messages(problem, system=system)) for problem in problems]
    yield from (message.content for conversation in told for message in conversation)
    if rules.information is Level.FEEDBACK:
        yield from (refine_message(failures(problems[0], grade)).content for grade in _GRADES)


def _problem(category: str, kind: Kind, targets: tuple[str, ...]) -> Problem:
    return Problem(
        id="nobody",
        family="nobody",
        category=category,
        difficulty="easy",
        kind=kind,
        needs=Needs.OPEN_TOOLS,
        prompt="Nobody is asked this.",
        context={"docs/a.md": "A file.", "rtl/a.sv": "module a; endmodule"},
        targets=targets,
        harness=Harness({}, (), CocotbVersion.V2),
    )
