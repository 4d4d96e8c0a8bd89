"""What a model is asked: complete, never more than the problem shows, and cut only where it may be."""

import dataclasses
import json
import re
import subprocess
from pathlib import Path

import pytest

from rtl_agent.problems import CocotbVersion, Harness, Kind, Needs, Problem, Service, load_problems, read_problems
from rtl_agent.prompts import (
    Message,
    PromptTooLong,
    UnknownSystemMessage,
    agentic_messages,
    as_dicts,
    estimate_tokens,
    messages,
    system_names,
)

NO_HARNESS = Harness({}, (), CocotbVersion.V2)
SERVICE = Service("direct", ("pytest", "/src/secret_runner.py"), {"TOPLEVEL": "secret_top"}, False)


def problem(**changes: object) -> Problem:
    base = Problem(
        id="rtl_arbiter_0001",
        family="arbiter",
        category="cid003",
        difficulty="easy",
        kind=Kind.SINGLE_SHOT,
        needs=Needs.OPEN_TOOLS,
        prompt="Write the arbiter.",
        context={
            "docs/spec.md": "# Specification\n\n```\nreq -> grant\n```\n",
            "rtl/part.sv": "module part;\nendmodule\n",
        },
        targets=("rtl/arbiter.sv",),
        harness=Harness({"src/secret_test.py": "assert secret_name"}, (SERVICE,), CocotbVersion.V2),
        reference={"rtl/arbiter.sv": "module secret_reference; endmodule"},
        system_message="secret system message",
        answer="secret answer",
    )
    return dataclasses.replace(base, **changes)  # type: ignore[arg-type]


def asked(of: Problem, **options: object) -> tuple[str, str]:
    system, user = messages(of, **options)  # type: ignore[arg-type]
    assert (system.role, user.role) == ("system", "user")
    return system.content, user.content


def hidden_removed(of: Problem) -> Problem:
    return dataclasses.replace(of, harness=NO_HARNESS, reference=None, answer=None, system_message=None)


def test_a_single_shot_prompt_has_the_files_the_task_and_the_answer_format_in_this_order() -> None:
    system, user = asked(problem())
    assert "from a specification in words" in system
    places = [
        user.index(text) for text in ("`docs/spec.md`:", "`rtl/part.sv`:", "Write the arbiter.", "`rtl/arbiter.sv`")
    ]
    assert places == sorted(places)
    assert "```systemverilog\nmodule part;\nendmodule\n```" in user
    assert "single fenced code block" in user.replace("\n", " ")


def test_a_fence_inside_a_file_does_not_end_the_file() -> None:
    _, user = asked(problem())
    assert "````markdown\n# Specification\n\n```\nreq -> grant\n```\n````" in user


def test_several_targets_are_asked_for_as_json_that_names_each() -> None:
    _, user = asked(problem(targets=("rtl/a.sv", "rtl/b.sv")))
    shown = json.loads(user[user.index('{"code"') :])
    assert [list(entry) for entry in shown["code"]] == [["rtl/a.sv"], ["rtl/b.sv"]]


def test_comprehension_is_answered_in_a_response() -> None:
    _, user = asked(problem(category="cid009", needs=Needs.TEXT, targets=()))
    assert json.loads(user[user.index('{"response"') :]) == {"response": "<your answer>"}


def test_an_agent_is_told_its_workspace_and_finds_the_files_there() -> None:
    system, user = asked(problem(kind=Kind.AGENTIC))
    for word in ("/code", "docs/", "rtl/", "verif/", "rundir/", "a process of its own", "Files stay"):
        assert word in system
    assert "docs/spec.md" in user
    assert "module part" not in user
    assert "code block" not in user


def test_an_agent_is_told_what_it_may_use_and_how_to_end() -> None:
    def told(level: str, can_submit: bool = True, **changes: object) -> tuple[str, str]:
        system, user = agentic_messages(problem(**changes), level=level, can_submit=can_submit, tries=4)
        return system.content, user.content

    alone, _ = told("spec", can_submit=False)
    assert "iverilog" not in alone
    assert "without calling a tool" in alone
    for level in ("own-tests", "feedback", "open"):
        assert all(word in told(level)[0] for word in ("iverilog", "cocotb", "Call submit"))
    assert "4 times in all" in told("feedback")[0]
    assert ["/src" in told(level)[0] for level in ("spec", "own-tests", "feedback", "open")] == [0, 0, 0, 1]
    assert "`rtl/arbiter.sv`, below /code" in told("own-tests")[1], "a single-shot text may not name its file"
    assert "rtl/arbiter.sv" not in told("own-tests", kind=Kind.AGENTIC)[1], "CVDP does not name an agent's targets"


def test_an_agents_files_can_be_put_into_the_text() -> None:
    _, user = asked(problem(kind=Kind.AGENTIC), inline_context=True)
    assert "module part" in user


def test_the_spec_aware_message_is_the_default_and_more() -> None:
    plain, aware = asked(problem())[0], asked(problem(), system="spec-aware")[0]
    assert aware.startswith(plain)
    for word in ("port names", "Widths", "Parameters", "polarity", "priority", "Latency", "Right:", "Wrong"):
        assert word in aware


def test_the_short_message_is_one_sentence_for_every_kind() -> None:
    texts = {asked(problem(kind=kind), system="short")[0] for kind in Kind}
    assert len(texts) == 1
    assert texts.pop().count(".") == 1


def test_with_the_short_message_the_form_of_an_answer_is_said_in_few_words() -> None:
    assert asked(problem(), system="short")[1].endswith("\n\nAnswer with one ```systemverilog block.")
    several = problem(targets=("rtl/a.sv", "rtl/b.sv"))
    assert asked(several, system="short")[1] == asked(several)[1], "what is hard to answer is said in full"
    words = problem(needs=Needs.TEXT)
    assert asked(words, system="short")[1] == asked(words)[1], "an answer in words is no code block"


def test_the_right_example_of_the_spec_aware_message_compiles_and_does_what_it_says(tmp_path: Path) -> None:
    aware = asked(problem(), system="spec-aware")[0]
    module = re.search(r"Right:\n(.*?endmodule)", aware, re.DOTALL)
    assert module
    bench = """
        module bench;
          logic clk = 0, srst = 1, any; logic [5:0] lanes = 6'b101000; logic [2:0] sel;
          pick_lane dut(.*);
          initial begin
            #1 clk = 1; #1 $write("%0d%0d ", sel, any); clk = 0; srst = 0;
            #1 clk = 1; #1 $write("%0d%0d ", sel, any); clk = 0; lanes = 0;
            #1 $write("%0d%0d ", sel, any); clk = 1; #1 $write("%0d%0d", sel, any);
          end
        endmodule
    """
    source, built = tmp_path / "example.sv", tmp_path / "example.vvp"
    source.write_text(module[1] + bench)
    subprocess.run(["iverilog", "-g2012", "-s", "bench", "-o", built, source], check=True)
    assert subprocess.run(["vvp", "-n", built], capture_output=True, text=True, check=True).stdout == "00 31 31 00"


def test_an_unknown_system_message_names_those_that_exist() -> None:
    assert system_names() == ("default", "short", "spec-aware")
    with pytest.raises(UnknownSystemMessage, match="default, short, spec-aware"):
        messages(problem(), system="clever")


def test_nothing_hidden_is_in_a_prompt() -> None:
    for kind in Kind:
        text = str(messages(problem(kind=kind), system="spec-aware", inline_context=True))
        assert "secret" not in text


def test_the_same_problem_gives_the_same_messages() -> None:
    assert messages(problem()) == messages(problem())
    cut = problem(context=LONG)
    assert messages(cut, max_prompt_tokens=1000) == messages(cut, max_prompt_tokens=1000)


def test_messages_as_dicts() -> None:
    assert as_dicts([Message("user", "x")]) == [{"role": "user", "content": "x"}]


def numbered(lines: int, word: str) -> str:
    return "".join(f"{word} line {n}\n" for n in range(lines))


LONG = {
    "rtl/long.sv": numbered(400, "long"),
    "rtl/middle.sv": numbered(200, "middle"),
    "docs/short.md": numbered(20, "short"),
}


def length(of: Problem, **options: object) -> int:
    return sum(estimate_tokens(text) + 8 for text in asked(of, **options))


def left_out(text: str) -> dict[str, int]:
    return {
        path: int(n)
        for n, path in re.findall(r"\[\.\.\. (\d+) lines? of (\S+) left out to fit the prompt \.\.\.\]", text)
    }


def test_a_prompt_that_fits_is_not_cut() -> None:
    whole = problem(context=LONG)
    assert messages(whole, max_prompt_tokens=length(whole)) == messages(whole)


def test_the_longest_file_is_cut_first_and_keeps_its_head() -> None:
    whole = problem(context=LONG)
    _, user = asked(whole, max_prompt_tokens=length(whole) - 200)
    assert set(left_out(user)) == {"rtl/long.sv"}
    kept = user.count("long line")
    assert f"long line {kept - 1}\n[... {400 - kept} lines of rtl/long.sv" in user
    assert left_out(user)["rtl/long.sv"] == 400 - kept
    assert kept > 200


def test_files_are_cut_down_to_one_length_before_a_shorter_one_is_touched() -> None:
    whole = problem(context=LONG)
    _, user = asked(whole, max_prompt_tokens=length(whole) - 2400)
    assert set(left_out(user)) == {"rtl/long.sv", "rtl/middle.sv"}
    assert "short line 19" in user
    assert abs(user.count("long line") - user.count("middle line")) < 40


def test_the_limit_is_kept_and_used_and_the_task_stays_whole() -> None:
    whole = problem(context=LONG, prompt="The task. " * 50)
    for limit in range(length(problem(context={}, prompt=whole.prompt)) + 120, length(whole), 97):
        assert limit - 60 < length(whole, max_prompt_tokens=limit) <= limit
        assert whole.prompt.strip() in asked(whole, max_prompt_tokens=limit)[1]


def test_a_task_that_does_not_fit_by_itself_is_refused_with_the_numbers() -> None:
    with pytest.raises(PromptTooLong, match=r"rtl_arbiter_0001: .* 100 are allowed") as refused:
        messages(problem(prompt="word " * 5000), max_prompt_tokens=100)
    assert refused.value.needed > 8000
    assert refused.value.allowed == 100


def test_the_models_own_counter_is_used() -> None:
    whole = problem(context=LONG)
    words = sum(len(text.split()) for text in asked(whole)) + 16
    assert messages(whole, max_prompt_tokens=words, count_tokens=lambda text: len(text.split())) == messages(whole)
    cut = messages(whole, max_prompt_tokens=words - 1, count_tokens=lambda text: len(text.split()))
    assert left_out(cut[1].content)


def test_bundled_problems_show_nothing_of_their_harnesses() -> None:
    for one in load_problems("bundled"):
        assert messages(one, inline_context=True) == messages(hidden_removed(one), inline_context=True)
        assert one.prompt.strip() in messages(one)[1].content


@pytest.mark.cvdp
def test_every_cvdp_record_makes_messages_that_show_nothing_hidden(cvdp: Path) -> None:
    for one in read_problems(cvdp):
        made = messages(one, system="spec-aware", inline_context=True)
        assert made == messages(hidden_removed(one), system="spec-aware", inline_context=True)
        assert one.prompt.strip() in made[1].content
        assert all(path in made[1].content for path in one.context)
        hidden = [text for text in one.harness.files.values() if len(text) > 200 and text not in one.context.values()]
        assert not any(text in message.content for text in hidden for message in made), one.id


@pytest.mark.cvdp
def test_every_cvdp_record_can_be_cut_to_4096_tokens_or_is_refused(cvdp: Path) -> None:
    refused = 0
    for one in read_problems(cvdp):
        try:
            assert length(one, max_prompt_tokens=4096) <= 4096
        except PromptTooLong:
            refused += 1
    assert refused < 50
