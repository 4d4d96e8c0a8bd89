"""From a model's reply to files: the target's module in whatever form it comes, and only the problem's own targets."""

import difflib
import json
import time
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rtl_agent.grading import Extraction, extract, submit
from rtl_agent.grading.replies.rtl_text import RtlText
from rtl_agent.problems import CocotbVersion, Harness, Needs, Problem, Service, load_problems
from tests.grading.reply_forms import BENCH, ONE_FILE

TARGET = "rtl/counter.sv"
CODE = """\
// Counts up; `q` wraps.
`default_nettype none
module counter #(parameter W = 4) (input wire clk, input wire en, output reg [W-1:0] q);
  always @(posedge clk) if (en && q < 9) q <= q + 1; /* saturates */
endmodule
"""


def problem_of(*targets: str, top: str = "", context: dict[str, str] | None = None) -> Problem:
    harness = Harness({}, (Service("direct", ("pytest",), {"TOPLEVEL": top}, False),), CocotbVersion.V2)
    return replace(load_problems("bundled")[0], targets=targets, context=context or {}, harness=harness)


ONE = problem_of(TARGET, top="counter")
TWO = problem_of("rtl/a.sv", "rtl/b.sv", top="a")
A, B = "module a (input x);\n  b u_b (.x(x));\nendmodule\n", "module b (input x);\nendmodule\n"
BOTH = {"rtl/a.sv": A, "rtl/b.sv": B}


def block(text: str, language: str = "verilog") -> str:
    return f"```{language}\n{text}```\n"


@pytest.mark.parametrize("form", ONE_FILE)
def test_one_file_is_found_in_every_form(form: str) -> None:
    found = extract(ONE, ONE_FILE[form](TARGET, "counter", CODE))
    assert found.unusable is None
    assert set(found.files) == {TARGET}
    text = found.files[TARGET].replace("// counter\n", "\n")
    assert [line.rstrip() for line in text.strip().splitlines()] == CODE.strip().splitlines()
    assert found.extraction is Extraction.FORGIVING


def test_a_plain_block_is_taken_to_the_letter() -> None:
    odd = f'\n\n  \t{CODE}  // é \u00a0 \u200b "\n\n'
    assert extract(ONE, f"Here:\n{block(odd)}").files == {TARGET: odd}


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("", "no RTL"),
        ("I cannot do this.", "no RTL"),
        ("A module called counter ends with endmodule.", "no RTL"),
        ("module counter is hard;\nI give up; endmodule", "no RTL"),
        ('```json\n{"outcome": "passed"}\n```', "no RTL"),
        ("```bash\nls\n```", "no RTL"),
        (block(BENCH.format(name="counter")), "no RTL"),
        (f"<think>\n{block(CODE)}", "ends inside <think>"),
        (f"<think>\n{block(CODE)}</think>\n", "ends inside <think>"),
        (f"So:\n{block(CODE)}</think>\nDone.", "no RTL"),
        (f"```verilog\n{CODE[:60]}", "not closed"),
        (f"Bare:\n{CODE[:120]}", "not closed"),
        ("```\n   \n```", "every file is empty"),
        ("x" * 5_000_000, "longer than"),
        ('{"code": [{"rtl/other.sv": "module counter; endmodule"}]}', "rtl/other.sv"),
    ],
)
def test_a_reply_without_a_file_says_why(reply: str, reason: str) -> None:
    found = extract(ONE, reply)
    assert not any(text.strip() for text in found.files.values())
    assert found.unusable is not None
    assert reason in found.unusable


def test_a_module_of_another_name_is_judged_where_there_is_no_better_one() -> None:
    other = CODE.replace("module counter", "module Counter")
    assert extract(ONE, block(other)).files == {TARGET: other}
    assert extract(ONE, f"{block(CODE)}{block(other)}").files == {TARGET: CODE}
    assert extract(ONE, f"{block(other)}{block(CODE[:30])}").files == {TARGET: other}
    fragment = "always @(posedge clk) q <= 0;\n"
    assert extract(ONE, block(fragment)).files == {TARGET: fragment}


@pytest.mark.parametrize("comment", ["// </think> here", "/* a\n </think>\n*/", 'initial $display("a </think> b");'])
def test_the_end_of_thinking_in_code_ends_nothing(comment: str) -> None:
    text = CODE.replace("endmodule", f"{comment}\nendmodule")
    for reply in (block(text), f"<think>Well.</think>\n{block(text)}", f"Well.</think>\n{block(text)}"):
        assert extract(ONE, reply).files == {TARGET: text}


def test_a_fence_in_a_comment_closes_nothing() -> None:
    text = f"/*\nUsage:\n```\ncounter u_counter ();\n```\n*/\n// ```\n{CODE}".replace(
        "endmodule", "// as in ```\nendmodule"
    )
    assert extract(ONE, f"{block(text)}Done.\n").files == {TARGET: text}


def test_signals_called_like_html_are_no_escapes() -> None:
    text = "module counter (input a, lt, amp, output y, z);\n  assign y = a &lt;\n  assign z = a &amp;\nendmodule\n"
    assert extract(ONE, block(text)).files == {TARGET: text}


def test_names_in_comments_and_strings_declare_nothing() -> None:
    named = '// module counter (input a);\nmodule x;\n  initial $display("module counter; endmodule");\nendmodule\n'
    assert extract(ONE, f"{block(CODE)}{block(named)}").files == {TARGET: CODE}


def test_a_bench_in_the_same_block_is_cut_out_and_a_module_beside_it_is_not() -> None:
    helper = "module helper (input a);\nendmodule\n"
    found = extract(ONE, block(f"{helper}{CODE}{BENCH.format(name='counter')}")).files[TARGET]
    assert found.strip() == f"{helper}{CODE}".strip()
    portless = "module constants;\nendmodule\n"
    assert extract(ONE, block(f"{portless}{CODE}")).files == {TARGET: f"{portless}{CODE}"}


def test_modules_that_the_answer_uses_come_from_other_blocks() -> None:
    top = CODE.replace("endmodule", "  adder #(4) u_add (q);\n  import math_pkg::*;\nendmodule")
    adder = "module adder #(parameter W = 1) (input [W-1:0] a);\nendmodule\n"
    package = "package math_pkg;\nendpackage\n"
    unused = "module unused (input a);\nendmodule\n"
    found = extract(ONE, f"{block(package)}{block(adder)}{block(unused)}{block(top)}").files[TARGET]
    assert found.endswith(top)
    assert "module adder" in found
    assert found.index("package math_pkg") < found.index("module counter")
    assert "unused" not in found
    given = problem_of(TARGET, top="counter", context={"rtl/adder.sv": adder, "rtl/p.sv": package})
    assert extract(given, f"{block(package)}{block(adder)}{block(top)}").files == {TARGET: top}


def test_the_given_file_quoted_after_the_answer_is_no_answer() -> None:
    problem = problem_of(TARGET, top="counter", context={TARGET: CODE})
    mended = CODE.replace("q < 9", "q < 8")
    assert extract(problem, f"{block(mended)}It was:\n{block(CODE)}").files == {TARGET: mended}
    assert not extract(problem, block(CODE)).changes(problem)


@pytest.mark.parametrize(
    ("problem", "name"),
    [
        (problem_of("rtl/top_file.sv", top="counter"), "counter"),
        (problem_of("rtl/file.sv", top="", context={"rtl/file.sv": "module counter (input a); endmodule"}), "counter"),
        (problem_of("rtl/file.sv", context={"verif/tb.sv": "module tb; counter #(3) dut (); endmodule"}), "counter"),
        (problem_of("rtl/counter.sv"), "counter"),
        (
            problem_of("rtl/counter.sv", top="wrap", context={"rtl/wrap.sv": "module wrap (input a);endmodule"}),
            "counter",
        ),
        (problem_of("rtl/types.sv"), "types"),
    ],
)
def test_what_a_target_holds_is_known_from_the_problem(problem: Problem, name: str) -> None:
    right = CODE if name == "counter" else f"package {name};\nendpackage\n"
    other = "module other (input a);\nendmodule\n"
    assert extract(problem, f"{block(right)}{block(other)}").files == {problem.targets[0]: right, **{}}


@pytest.mark.parametrize(
    "reply",
    [
        json.dumps({"code": [{path: text} for path, text in BOTH.items()]}),
        json.dumps({"code": BOTH}),
        json.dumps(BOTH),
        json.dumps([{"filename": path, "code": text} for path, text in BOTH.items()]),
        f"In {{short}}:\n```json\n{json.dumps({'code': [BOTH]})}\n```\nDone.",
        json.dumps({"code": [{path: block(text)} for path, text in BOTH.items()]}),
        "".join(f"### {path}\n{block(text)}" for path, text in BOTH.items()),
        "".join(f"**{path}**\n\n{block(text)}" for path, text in BOTH.items()),
        "".join(f"{number}. `{path}`:\n{block(text)}" for number, (path, text) in enumerate(BOTH.items())),
        "".join(block(text, f"verilog {path}") for path, text in BOTH.items()),
        "".join(block(text, f'systemverilog title="{path}"') for path, text in BOTH.items()),
        "".join(block(text) for text in BOTH.values()),
        "".join(block(text) for text in reversed(BOTH.values())),
        block(A + "\n" + B),
        block(B + A),
        A + B,
        f"{block(A + B)}{block(BENCH.format(name='a'))}",
        "".join(f'<file path="{path}">\n{text}</file>\n' for path, text in BOTH.items()),
        f"First rtl/b.sv, which rtl/a.sv uses:\n{block(B)}\nand then rtl/a.sv with rtl/b.sv in it:\n{block(A)}",
        f"{block(WRONG_A)}{block(A)}{block(B)}" if (WRONG_A := "module a;\nendmodule\n") else "",
    ],
)
def test_several_files_are_found_in_every_form(reply: str) -> None:
    found = extract(TWO, reply)
    assert {path: text.strip() for path, text in found.files.items()} == {p: t.strip() for p, t in BOTH.items()}


@pytest.mark.parametrize("mark", ["// File: {}", "// {}", "/* {} */", "// ===== {} =====", "//---- file: {} ----"])
def test_several_files_in_one_block_begin_with_a_comment(mark: str) -> None:
    joined = "".join(f"{mark.format(path)}\n{text}" for path, text in BOTH.items())
    found = extract(TWO, block(joined))
    assert found.files == {path: f"{mark.format(path)}\n{text}" for path, text in BOTH.items()}
    with_bench = joined + f"{mark.format('verif/tb_a.sv')}\n{BENCH.format(name='a')}"
    assert extract(TWO, block(with_bench)).files == found.files


def test_a_file_that_only_has_definitions_is_known_by_its_heading() -> None:
    problem = problem_of("rtl/a.sv", "rtl/defs.svh", top="a")
    definitions = "`define WIDTH 8\n"
    reply = f"**rtl/defs.svh**\n{block(definitions)}\n**rtl/a.sv**\n{block(A)}"
    for told in (reply, f"{block(definitions, 'verilog rtl/defs.svh')}{block(A)}"):
        assert extract(problem, told).files == {"rtl/a.sv": A, "rtl/defs.svh": definitions}


def test_cvdp_takes_the_first_block_and_nothing_else() -> None:
    def read(problem: Problem, reply: str) -> dict[str, str]:
        found = extract(problem, reply, Extraction.CVDP)
        assert found.extraction is Extraction.CVDP
        return dict(found.files)

    assert read(ONE, f"```bash\nls\n```\n{block(CODE)}") == {TARGET: "ls\n"}
    assert read(ONE, f"{block(CODE)}{block('module counter; endmodule')}") == {TARGET: CODE}
    assert read(ONE, block(CODE, "verilog x")) == {TARGET: f"verilog x\n{CODE}"}
    assert read(ONE, f"```verilog\n{CODE.rstrip()}```") == {TARGET: CODE.rstrip()}
    assert read(ONE, f"  {CODE}  ") == {TARGET: CODE.strip()}
    assert read(ONE, f"```verilog\n{CODE}") == {TARGET: f"```verilog\n{CODE}".strip()}
    assert read(ONE, f"<think>x</think>{block(CODE)}") == {TARGET: CODE}
    assert read(TWO, f"So: {json.dumps({'code': [BOTH]})} Ok") == BOTH
    raw = '{"code": [{"rtl/a.sv": "module a;\nendmodule"}]}'
    assert read(TWO, raw) == {"rtl/a.sv": "module a;endmodule"}
    fenced = json.dumps({"code": [{"rtl/a.sv": f"Here:\n{block(A)}"}]}).replace("\\n", "\\n")
    assert read(TWO, fenced) == {"rtl/a.sv": A}
    for other in (block(A) + block(B), json.dumps(BOTH), f"{{x}} {json.dumps({'code': [BOTH]})}"):
        assert "no JSON object" in (extract(TWO, other, Extraction.CVDP).unusable or "")


GIVEN = problem_of(TARGET, top="counter", context={TARGET: CODE})
CHANGED = CODE.replace("q < 9", "q < 12").replace("/* saturates */", "// saturates at 12")


def hunks(old: str, new: str, context: int = 3) -> str:
    lines = difflib.unified_diff(old.splitlines(True), new.splitlines(True), f"a/{TARGET}", f"b/{TARGET}", n=context)
    return "".join(lines)


def test_changes_are_made_to_the_given_file_or_to_a_draft() -> None:
    diff = hunks(CODE, CHANGED)
    bare = "".join(diff.splitlines(True)[3:])
    for reply in (block(diff, "diff"), diff, block(bare, "diff"), block(hunks(CODE, CHANGED, 0), "patch")):
        assert extract(GIVEN, reply).files == {TARGET: CHANGED}
    draft = CHANGED.replace("12", "13")
    assert extract(GIVEN, f"{block(draft)}Better:\n{block(hunks(draft, CHANGED), 'diff')}").files == {TARGET: CHANGED}
    assert extract(ONE, f"{block(CODE)}Or:\n{block(diff, 'diff')}").files == {TARGET: CHANGED}
    assert extract(GIVEN, f"{block(CHANGED)}Changes:\n{block(diff, 'diff')}").files == {TARGET: CHANGED}


def test_changes_of_one_file_in_several_blocks_are_all_made() -> None:
    parts = [("q < 9", "q < 12"), ("parameter W = 4", "parameter W = 8"), ("/* saturates */", "// up to 12")]
    wanted, reply = CODE, ""
    for old, new in parts:
        line = next(line for line in wanted.splitlines() if old in line)
        changed = line.replace(old, new)
        search = f"<<<<<<< SEARCH\n{line}\n=======\n{changed}\n>>>>>>> REPLACE\n"
        reply += f"{TARGET}\n{block(search)}"
        wanted = wanted.replace(line, changed)
    assert extract(GIVEN, reply).files == {TARGET: wanted}


def test_a_change_that_does_not_fit_changes_nothing() -> None:
    other = hunks(CODE.replace("posedge", "negedge"), CHANGED.replace("posedge", "negedge"), 0)
    assert "no RTL" in (extract(GIVEN, block(other, "diff")).unusable or "")
    twice = "-  always @(posedge clk) q <= 0;\n+  always @(posedge clk) q <= 1;\n"
    text = CODE.replace("endmodule", "  always @(posedge clk) q <= 0;\n" * 2 + "endmodule")
    assert extract(ONE, f"{block(text)}{block(twice, 'diff')}").files == {TARGET: text}


@pytest.mark.parametrize("junk", ["assign x = 1;", "endmodule", "foo bar;", "wire [3:0] y", "q <= 1"])
def test_broken_code_around_a_module_is_not_repaired(junk: str) -> None:
    for text in (f"{CODE}{junk}\n", f"{junk}\n{CODE}"):
        assert junk in extract(ONE, block(text)).files[TARGET]
        assert junk in extract(ONE, f"```verilog\n{text}").files[TARGET]


def test_a_given_module_that_is_repeated_is_left_out_and_another_one_is_not() -> None:
    env = {"TOPLEVEL": "a", "VERILOG_SOURCES": "/code/rtl/a.sv /code/rtl/b.sv"}
    problem = problem_of("rtl/a.sv", top="a", context={"rtl/b.sv": B})
    problem = replace(problem, harness=replace(problem.harness, services=(Service("direct", ("pytest",), env, False),)))
    repeated = B.replace("(input x)", "( input x ) /* as given */").replace("endmodule", "endmodule : b")
    found = extract(problem, block(A + repeated)).files["rtl/a.sv"]
    assert RtlText(found).names == {"a"}
    assert "b" not in found.rpartition("endmodule")[2]
    changed = B.replace("endmodule", "wire y;\nendmodule")
    assert extract(problem, block(A + changed)).files == {"rtl/a.sv": A + changed}


def test_a_header_that_only_the_reply_has_stands_where_it_is_included() -> None:
    header, text = "`define WIDTH 8\n", f'`include "defs.vh"\n{CODE}'
    assert extract(ONE, f"**defs.vh**\n{block(header)}\n{block(text)}").files == {TARGET: f"`define WIDTH 8\n{CODE}"}
    with_header = problem_of(TARGET, top="counter", context={"rtl/defs.vh": "`define WIDTH 4\n"})
    assert extract(with_header, f"**defs.vh**\n{block(header)}\n{block(text)}").files == {TARGET: text}


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("../rtl/a.sv", "climbs out"),
        ("/etc/passwd", "absolute"),
        ("/code/rtl/a.sv", "absolute"),
        ("src/conftest.py", "not a file that this problem asks for"),
        ("src/sitecustomize.py", "not a file that this problem asks for"),
        ("rtl/./a.sv", "plain form"),
        ("rtl\\a.sv", "backslash"),
        ("rtl/a.sv\n", "control characters"),
        ("", "names no file"),
    ],
)
def test_other_paths_are_refused_by_name(path: str, reason: str) -> None:
    found = submit(TWO, {"rtl/a.sv": A, path: "evil"})
    assert found.files == {"rtl/a.sv": A}
    assert len(found.refused) == 1
    assert repr(path) in found.refused[0]
    assert reason in found.refused[0]
    assert submit(TWO, {path: "evil"}).unusable is not None
    if path:
        told = extract(TWO, json.dumps({"code": [{"rtl/a.sv": A}, {path: B}]}))
        assert told.files == {"rtl/a.sv": A}
        assert reason in told.refused[0]


@given(st.text(max_size=400))
def test_whatever_is_written_only_targets_are_taken(reply: str) -> None:
    for problem in (ONE, TWO):
        for extraction in Extraction:
            found = extract(problem, reply, extraction)
            assert set(found.files) <= set(problem.targets)
            assert found.files or found.unusable


@given(st.dictionaries(st.text(max_size=40), st.text(max_size=20), max_size=5))
def test_any_json_of_files_is_safe(files: dict[str, str]) -> None:
    found = extract(TWO, json.dumps({"code": [files]}))
    assert set(found.files) <= set(TWO.targets)


# Of real code these change what was meant: four backticks in a row, `\\n` in a string, an arrow in a comment.
NOT_TO_THE_LETTER = {"no language, on the line of the fence", "json escaped twice", "html", "escaped in a block"}


@pytest.mark.cvdp
@pytest.mark.parametrize("part", [3, pytest.param(1, marks=pytest.mark.slow)], ids=["a third of them", "all"])
def test_real_code_is_found_in_every_form(cvdp: Path, part: int) -> None:
    """The given targets of CVDP's development problems, touched, each in every tenth form."""
    forms = [form for form in ONE_FILE if form not in NOT_TO_THE_LETTER]
    given = [p for p in load_problems(str(cvdp), skip_bad=True) if len(p.targets) == 1 and p.targets[0] in p.given]
    read = 0
    for number, problem in enumerate(given[::part]):
        path = problem.targets[0]
        text = problem.given[path].rstrip().replace("endmodule", "// touched\nendmodule", 1) + "\n"
        units = RtlText(text).units
        if problem.needs is not Needs.OPEN_TOOLS or not units:
            continue
        top = problem.harness.services[0].env.get("TOPLEVEL", "")
        name = top if top in {unit.name for unit in units} else units[0].name
        for form in forms[number % 10 :: 10]:
            found = extract(problem, ONE_FILE[form](path, name, text)).files.get(path, "")
            assert words(found, name) == words(text, name), (problem.id, form)
            read += 1
    assert read > 500 / part


def words(text: str, name: str) -> list[str]:
    """Line by line, without indentation; a form adds the module's name as a comment behind its end."""
    lines = (line.strip().removesuffix(f" // {name}") for line in text.replace("\r", "\n").split("\n"))
    return [line for line in lines if line]


HOSTILE = [
    *("```a\n", "```verilog\n", "```\nx\n```\n", "`", "~~~\n", "- ", "> ", "\n", "//\n", "/*", '"', '"\\', "\\n"),
    *(
        "</think>",
        "`</think>`",
        "<think>\n",
        "// </think>\n",
        "<answer>",
        "<code x",
        "&lt;=",
        "&amp",
        "\u00a0",
        "\u200b",
    ),
    *(
        "module ",
        "module m;",
        "module m;endmodule ",
        "module m #(\n",
        "endmodule\n",
        "module " + " " * 999,
        "endmodule```",
    ),
    *(
        '{"a":',
        '{"',
        '{"a":"endmodule"}',
        '{"a/b":"x"}',
        "{",
        "[",
        "// rtl/a.sv\n",
        "a.",
        "a/",
        "x```y\n",
        "*/\n",
        "b u_b (\n",
        "@@ -1 +1 @@\n-a\n+b\n",
        "```diff\n-a\n+b\n```\n",
        "```diff\n-module counter;\n+module counter;endmodule\n```\n",
        "<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n",
        "{a: 'module m;",
        '{"a": "module m;endmodule",',
        ",//,\n",
        "a\\_b",
        "1: x\n",
        "> module m\n",
        "`module m ",
        ": module m (",
        "```v\nmodule counter;\n```\n```v\nassign a = 1; // end\n```\n",
        '`include "a"\n',
        "} x;\n",
        "Some words here\n",
    ),
]


@pytest.mark.parametrize("piece", HOSTILE)
@pytest.mark.parametrize("before", ["", "```verilog\nmodule counter;\n"], ids=["bare", "fenced"])
def test_time_is_linear_in_the_reply(piece: str, before: str) -> None:
    """32 times the text must not take 1,000 times as long. CPU time: other work on the machine does not count."""

    def seconds(size: int) -> float:
        started = time.process_time()
        extract(ONE, before + piece * (size // len(piece)))
        return time.process_time() - started

    assert seconds(256 * 1024) < 150 * max(seconds(8 * 1024), 0.005)


def test_an_oversized_file_is_refused() -> None:
    found = submit(ONE, {TARGET: "x" * (1024 * 1024 + 1)})
    assert found.unusable is not None
    assert "larger than" in found.unusable


def test_targets_left_as_given_change_nothing(bundled: dict[str, Problem]) -> None:
    problem = next(problem for problem in bundled.values() if problem.given)
    assert not submit(problem, problem.given).changes(problem)
    assert submit(problem, {**problem.given, problem.targets[0]: CODE}).changes(problem)
