"""Qwen's text format: what models write in place of the exact form, what is taken and what is told back."""

import pytest

from rtl_agent.envs.dialects.qwen import parse_text, results_text, tools_text
from rtl_agent.envs.session import ToolCall, ToolResult, Turn
from tests.envs.dialects.spoken import ASKED, TOOLS, spoken

LS = ToolCall("execute_bash", {"command": "ls"})


@pytest.mark.parametrize(
    "text",
    [
        '<tool_call>{"name": "execute_bash", "args": {"command": "ls"}}</tool_call>',
        '<tool_call>\n{"name": "execute_bash", "arguments": {"command": "ls"}}\n</tool_call>',
        '<tool_call>{"args":{"command":"ls"},"name":"execute_bash","id":"call_1"}</tool_call>',
        '<tool_call>{"name": "execute_bash", "arguments": "{\\"command\\": \\"ls\\"}"}</tool_call>',
        '<tool_call>{"name": "execute_bash", "args": {"command": "ls"}}',
        "```bash\nls\n```",
        "  ```sh\nls\n  ```",
        "```shell\r\nls\n```",
    ],
)
def test_these_are_one_call(text: str) -> None:
    turn = parse_text(text)
    assert (turn.calls, turn.fault) == ((LS,), "")


def test_line_breaks_in_a_string_are_taken_as_they_are() -> None:
    (call,) = parse_text('<tool_call>{"name": "execute_bash", "args": {"command": "cd rtl\n\tls"}}</tool_call>').calls
    assert call.arguments == {"command": "cd rtl\n\tls"}


def test_markup_in_a_string_ends_nothing() -> None:
    command = "echo '</tool_call><tool_call></think><think>'"
    (call,) = parse_text(f'<tool_call>{{"name": "execute_bash", "args": {{"command": "{command}"}}}}</tool_call>').calls
    assert call.arguments == {"command": command}


def test_all_shell_blocks_are_calls_and_other_blocks_are_text() -> None:
    turn = parse_text(
        "First\n```bash\nls\n```\nthen\n```verilog\nmodule m;\n```\n```bash\ncat <<X\na\nX\n```\nand\n```bash\n```"
    )
    assert [call.arguments["command"] for call in turn.calls] == ["ls", "cat <<X\na\nX"]


def test_with_a_tool_call_there_are_no_shell_blocks() -> None:
    turn = parse_text(
        '```bash\nrm -r rtl\n```\n<tool_call>{"name": "execute_bash", "args": {"command": "ls"}}</tool_call>'
    )
    assert turn.calls == (LS,)
    assert "rm -r" in turn.text


@pytest.mark.parametrize(
    "thinking",
    [
        "<think>\nTry <tool_call>{} and\n```bash\nrm\n```\n</think>\n\n",
        "Opened by the prompt, as it is. <tool_call>{</think>",
    ],
)
def test_what_is_thought_is_not_done(thinking: str) -> None:
    call = '<tool_call>{"name": "execute_bash", "args": {"command": "ls"}}</tool_call>'
    turn = parse_text(f"{thinking}Now.\n{call}")
    assert (turn.calls, turn.text, turn.fault) == ((LS,), "Now.", "")
    assert "<tool_call>{" in turn.thinking
    assert parse_text(f"{thinking}Done.").calls == ()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('<tool_call>{"args": {}}</tool_call>', '"name" must be the name of a tool, but it is null'),
        ('<tool_call>{"name": ["x"], "args": {}}</tool_call>', 'but it is ["x"]'),
        ('<tool_call>{"name": "x", "command": "ls"}</tool_call>', 'belong into "args", but there is "command"'),
        ('<tool_call>{"name": "x", "args": {}, "arguments": {"a": 1}}</tool_call>', "both there and differ"),
        ('<tool_call>{"name": "x", "args": {}}}</tool_call>', 'expected after the JSON object, but there is "}'),
        ('<tool_call>{"name": "x", "args": "ls"}</tool_call>', "a JSON object was expected"),
        ("<tool_call>", "but there is nothing"),
        ("<tool_call>```json\n{}\n```</tool_call>", "a JSON object was expected"),
        ("<think>on and on", "write </think>"),
        ("```bash\nls", "was not closed"),
    ],
)
def test_what_cannot_be_read_is_told(text: str, told: str) -> None:
    turn = parse_text(text)
    assert turn.calls == ()
    assert told in turn.fault


def test_an_answer_is_text() -> None:
    assert parse_text("  Done.\n") == Turn("Done.", "", ())
    assert parse_text("half \ud800") == Turn("half ?", "", ())


def test_an_endpoint_is_told_the_same_in_text() -> None:
    said = spoken("qwen3_instruct")
    assert tools_text(TOOLS) in said.decode(said.dialect.first(ASKED, TOOLS).to_ints())
    results = [ToolResult("execute_bash", "rtl"), ToolResult("lint", "clean"), ToolResult("", "Go on.")]
    after = said.decode(said.dialect.follow(said.turn(text="Done."), results))
    assert after == f"\n<|im_start|>user\n{results_text(results)}<|im_end|>\n<|im_start|>assistant\n"


def test_tokens_are_those_that_qwens_template_would_give() -> None:
    said = spoken("qwen3_disable_thinking")
    results = [ToolResult("execute_bash", "a.sv:3: error: x\n  y"), ToolResult("execute_bash", "")]
    tokens = said.dialect.follow(said.turn(("submit", {})), results)
    assert tokens == said.encode(said.decode(tokens))
    assert said.decode(tokens) == (
        "\n<|im_start|>user\n<tool_response>\na.sv:3: error: x\n  y\n</tool_response>\n<tool_response>\n\n"
        "</tool_response><|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"
    )


def test_the_turn_ends_where_a_control_token_says_so() -> None:
    said = spoken("qwen3_instruct")
    for mark in ("<|im_end|>", "<|endoftext|>", "<|im_start|>"):
        turn = said.dialect.parse(said.encode(f"Done.{mark}user\n```bash\nls\n```"))
        assert (turn.text, turn.calls, turn.fault) == ("Done.", (), "")


def test_the_embedded_models_are_told_briefly() -> None:
    said = spoken("rtl_agent")
    bare, told = (len(said.dialect.first(ASKED, tools).to_ints()) for tools in ((), TOOLS))
    assert told - bare < 100
