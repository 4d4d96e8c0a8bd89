"""Qwen3-Coder's and Qwen3.5's calls: tags in place of JSON."""

import pytest

from rtl_agent.envs.conversation import PartKind
from rtl_agent.envs.dialects.qwen_xml import coder_tools_text
from rtl_agent.envs.session import ToolCall, ToolResult
from rtl_agent.prompts import Message
from tests.envs.dialects.spoken import ASKED, TOOLS, spoken

CODER = "qwen3_coder"
xml = pytest.mark.parametrize("name", [CODER, "qwen3_5", "qwen3_5_disable_thinking"])


def test_the_tools_are_told_as_the_models_own_template_tells_them() -> None:
    text = coder_tools_text(TOOLS)
    assert text.startswith(
        "# Tools\n\nYou have access to the following functions:\n\n<tools>\n<function>\n<name>execute_bash</name>\n"
        "<description>Runs a command.</description>\n<parameters>\n<parameter>\n<name>command</name>\n"
        "<type>string</type>\n<description>What to run.</description>\n</parameter>\n<parameter>\n"
        "<name>seconds</name>\n"
        '<type>integer</type>\n</parameter>\n<required>["command"]</required>\n</parameters>\n</function>\n<function>\n'
        "<name>submit</name>\n<description>Ends the episode.</description>\n<parameters>\n</parameters>\n</function>\n"
        "</tools>\n\nIf you choose to call a function ONLY reply in the following format with NO suffix:\n\n"
    )
    assert text.endswith("do not tell the user about function calls\n</IMPORTANT>")
    said = spoken(CODER)
    assert said.decode(said.dialect.first(ASKED, TOOLS).to_ints()) == (
        f"<|im_start|>system\nBe exact.\n\n{text}<|im_end|>\n<|im_start|>user\nInvert a.<|im_end|>\n"
        "<|im_start|>assistant\n"
    )
    alone = said.decode(said.dialect.first(ASKED[1:], TOOLS).to_ints())
    assert alone.startswith(
        "<|im_start|>system\nYou are Qwen, a helpful AI assistant that can interact with a computer"
    )


def test_qwen3_5_is_told_of_the_tools_before_the_system_message() -> None:
    said = spoken("qwen3_5")
    text = said.decode(said.dialect.first([Message("system", " Be exact.\n"), ASKED[1]], TOOLS).to_ints())
    assert text.startswith(
        '<|im_start|>system\n# Tools\n\nYou have access to the following functions:\n\n<tools>\n{"name":'
    )
    assert "</IMPORTANT>\n\nBe exact.<|im_end|>\n<|im_start|>user\nInvert a.<|im_end|>" in text
    assert text.endswith("<|im_start|>assistant\n<think>\n")


def test_results_are_told_in_one_message() -> None:
    said = spoken(CODER)
    results = [ToolResult("execute_bash", "a"), ToolResult("submit", "b")]
    assert said.decode(said.dialect.follow(said.turn(("submit", {})), results)) == (
        "\n<|im_start|>user\n<tool_response>\na\n</tool_response>\n<tool_response>\nb\n</tool_response>\n<|im_end|>\n"
        "<|im_start|>assistant\n"
    )


@xml
def test_a_value_is_read_as_it_stands_between_its_line_breaks(name: str) -> None:
    said = spoken(name)
    value = '\n  cat <<E\n<parameter=x>\n</function> "\\n" </tool_call>\nE\n\n'
    (call,) = said.dialect.parse(said.turn(("execute_bash", {"command": value}))).calls
    assert call == ToolCall("execute_bash", {"command": value})


@xml
@pytest.mark.parametrize(
    ("value", "read"),
    [
        ("5", 5),
        ("-0.5e3", -500.0),
        ("true", True),
        ("null", None),
        ('["a.sv", "b.sv"]', ["a.sv", "b.sv"]),
        ('{"a": [1]}', {"a": [1]}),
        ("5 files", "5 files"),
        ("truely", "truely"),
        ("[ -f a ] && ls", "[ -f a ] && ls"),
        ("NaN", "NaN"),
        ("1e999", "1e999"),
        ('"quoted"', '"quoted"'),
        ('1, "other": 2', '1, "other": 2'),
        ("", ""),
    ],
)
def test_values_that_are_json_and_no_strings_are_read_as_what_they_say(name: str, value: str, read: object) -> None:
    said = spoken(name)
    body = f"<function=lint>\n<parameter=x>\n{value}\n</parameter>\n</function>"
    (call,) = said.dialect.parse(said.encode(said.writing.turn("", "", [("lint", body)]))).calls
    assert call == ToolCall("lint", {"x": read})


@xml
@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("ls -l", "<function=NAME> was expected"),
        ('{"name": "execute_bash"}', "<function=NAME> was expected"),
        ("<function=>\n</function>", "<function=NAME> was expected"),
        ("<function=execute_bash>\n<parameter=command>\nls\n</function>", "does not end with </parameter>"),
        ("<function=execute_bash>\n<parameter=command>\nls\n</parameter>\n", "</function> was expected"),
        ("<function=execute_bash>\nls\n</function>", "</function> was expected"),
        ("<function=x>\n<parameter=a>\n1\n</parameter>\n<parameter=a>\n2\n</parameter>\n</function>", "is there twice"),
        ("<function=x>\n</function>\n<function=y>\n</function>", "</function> was expected"),
    ],
)
def test_a_call_that_cannot_be_read_is_told_what_is_wrong(name: str, body: str, told: str) -> None:
    said = spoken(name)
    right = "<function=execute_bash>\n<parameter=command>\nls\n</parameter>\n</function>"
    turn = said.dialect.parse(said.encode(said.writing.turn("", "", [("", right), ("", body), ("", right)])))
    assert turn.calls == (ToolCall("execute_bash", {"command": "ls"}),), "what came before it can be run"
    assert told in turn.fault
    assert "call 2" in turn.fault
    assert len(turn.fault) < 500


def test_a_turn_is_written_as_the_models_own_template_writes_it() -> None:
    oss, said = spoken("gpt_oss_low_reasoning"), spoken(CODER)
    turn = oss.turn(("execute_bash", {"command": "ls\nx", "n": True, "f": ["a"]}), ("submit", {}), text="Look.")
    written = said.dialect.write(oss.dialect.read(turn).parts, ended=True, thinking=False)
    assert said.decode(written.tokens) == (
        "Look.\n\n<tool_call>\n<function=execute_bash>\n<parameter=command>\nls\nx\n</parameter>\n<parameter=n>\nTrue\n"
        '</parameter>\n<parameter=f>\n["a"]\n</parameter>\n</function>\n</tool_call>\n<tool_call>\n<function=submit>\n'
        "</function>\n</tool_call><|im_end|>"
    )


def test_a_call_of_tags_becomes_json_for_a_model_that_writes_json() -> None:
    oss, said = spoken("gpt_oss_low_reasoning"), spoken(CODER)
    turn = said.turn(("execute_bash", {"command": 'echo "線"\n', "n": 5}), ("submit", {}))
    written = oss.dialect.write(said.dialect.read(turn).parts, ended=True, thinking=False)
    assert oss.decode(written.tokens) == (
        "<|channel|>commentary to=functions.execute_bash <|constrain|>json<|message|>"
        '{"command": "echo \\"線\\"\\n", "n": 5}<|call|><|start|>assistant<|channel|>commentary to=functions.submit '
        "<|constrain|>json<|message|>{}<|call|>"
    )
    (part, _) = written.parts
    assert (part.kind, part.text, part.escaped) == (PartKind.ARGUMENT, 'echo "線"\n'.encode(), True)


def test_a_turn_that_was_opened_within_thinking_is_thought_until_it_says_otherwise() -> None:
    said = spoken("qwen3_5")
    turn = said.dialect.parse(said.encode("Hm.\n</think>\n\nDone.<|im_end|>"))
    assert (turn.thinking, turn.text, turn.fault) == ("Hm.", "Done.", "")
    assert "inside of <think>" in said.dialect.parse(said.encode("Hm.<|im_end|>")).fault
    kinds = [part.kind for part in said.dialect.read(said.encode("Hm.\n</think>\n\nDone.<|im_end|>")).parts]
    assert kinds == [PartKind.THINKING, PartKind.TEXT]
