"""Harmony against OpenAI's own renderer and parser, and what gpt-oss does beside the rule."""

import os
from functools import cache

import openai_harmony as harmony
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rtl_agent.envs.renderers import DATE
from rtl_agent.envs.session import ToolCall, ToolResult, ToolSpec
from tests.envs.dialects.spoken import ASKED, TOOLS, spoken
from tests.envs.vocabularies import O200K

EFFORTS = {"gpt_oss_low_reasoning": "LOW", "gpt_oss_medium_reasoning": "MEDIUM", "gpt_oss_high_reasoning": "HIGH"}
RICH = ToolSpec(
    "rich",
    "Two\nlines.",
    {
        "type": "object",
        "properties": {
            "text": {"type": "string", "description": "Said."},
            "count": {"type": "integer", "default": 3},
            "kind": {"type": "string", "enum": ["a", "b"], "default": "a"},
            "files": {"type": "array", "items": {"type": "string"}},
            "maybe": {"type": ["string", "null"]},
            "any": {},
        },
        "required": ["text"],
    },
)


@cache
def reference() -> harmony.HarmonyEncoding:
    """OpenAI's own, on the vocabulary that is at hand instead of one from the network."""
    before = os.environ.get("TIKTOKEN_ENCODINGS_BASE")
    os.environ["TIKTOKEN_ENCODINGS_BASE"] = os.fspath(O200K.parent)
    try:
        return harmony.load_harmony_encoding(harmony.HarmonyEncodingName.HARMONY_GPT_OSS)
    finally:
        del os.environ["TIKTOKEN_ENCODINGS_BASE"]
        if before is not None:
            os.environ["TIKTOKEN_ENCODINGS_BASE"] = before


def conversation(effort: str, tools: tuple[ToolSpec, ...]) -> list[harmony.Message]:
    system = (
        harmony.SystemContent.new()
        .with_reasoning_effort(getattr(harmony.ReasoningEffort, effort))
        .with_conversation_start_date(DATE)
    )
    described = [
        harmony.ToolDescription.new(
            tool.name, tool.description, dict(tool.parameters) if tool.parameters["properties"] else None
        )
        for tool in tools
    ]
    developer = harmony.DeveloperContent.new().with_instructions("Be exact.").with_function_tools(described)
    return [
        harmony.Message.from_role_and_content(harmony.Role.SYSTEM, system),
        harmony.Message.from_role_and_content(harmony.Role.DEVELOPER, developer),
        harmony.Message.from_role_and_content(harmony.Role.USER, "Invert a."),
    ]


def rendered(messages: list[harmony.Message]) -> list[int]:
    return list(
        reference().render_conversation_for_completion(
            harmony.Conversation.from_messages(messages), harmony.Role.ASSISTANT
        )
    )


@pytest.mark.parametrize("name", EFFORTS)
def test_an_episode_is_token_for_token_what_openai_renders(name: str) -> None:
    said = spoken(name)
    tools = (*TOOLS, RICH)
    asked = conversation(EFFORTS[name], tools)
    prompt = said.dialect.first(ASKED, tools).to_ints()
    assert prompt == rendered(asked)
    called = (
        harmony.Message.from_role_and_content(harmony.Role.ASSISTANT, '{"command": "ls"}')
        .with_channel("commentary")
        .with_recipient("functions.execute_bash")
        .with_content_type("<|constrain|>json")
    )
    output = "a.sv <|call|><|end|>\n"
    result = (
        harmony.Message.from_author_and_content(harmony.Author.new(harmony.Role.TOOL, "functions.execute_bash"), output)
        .with_channel("commentary")
        .with_recipient("assistant")
    )
    sampled = said.turn_of('{"command": "ls"}')
    after = said.dialect.follow(sampled, [ToolResult("execute_bash", output)])
    assert prompt + sampled + after == rendered([*asked, called, result])


def test_the_prompt_does_not_change_with_the_day() -> None:
    said = spoken("gpt_oss_high_reasoning")
    assert f"Current date: {DATE}\n\nReasoning: high" in said.decode(said.dialect.first(ASKED, TOOLS).to_ints())
    bare = spoken("gpt_oss_no_sysprompt")
    prompt = bare.decode(bare.dialect.first(ASKED, TOOLS).to_ints())
    assert "Current date" not in prompt
    assert prompt.startswith("<|start|>system<|message|>Calls to these tools must go to the commentary channel")


words = st.text(st.characters(codec="utf-8"), max_size=30).filter(lambda text: "<|" not in text and text.strip())
commands = st.lists(st.fixed_dictionaries({"command": words}), max_size=1)


@settings(max_examples=60, deadline=None)
@given(thinking=st.one_of(st.just(""), words), text=words, arguments=commands)
def test_a_turn_is_read_as_openai_reads_it(thinking: str, text: str, arguments: list[dict[str, str]]) -> None:
    said = spoken("gpt_oss_low_reasoning")
    tokens = said.turn(*[("execute_bash", one) for one in arguments], text=text, thinking=thinking)
    ours = said.dialect.parse(tokens)
    theirs = reference().parse_messages_from_completion_tokens(tokens, harmony.Role.ASSISTANT)
    content = {(message.channel, message.recipient): message.content[0].text for message in theirs}
    assert ours.fault == ""
    assert ours.thinking == content.pop(("analysis", None), "").strip()
    assert ours.text == (content.pop(("final", None), "") or content.pop(("commentary", None), "")).strip()
    assert [call.arguments for call in ours.calls] == arguments
    assert [f"functions.{call.name}" for call in ours.calls] == [recipient for _, recipient in content]


@pytest.mark.parametrize(
    "header",
    [
        " to=functions.execute_bash<|channel|>commentary <|constrain|>json",
        "<|channel|>commentary to=functions.execute_bash <|constrain|>json",
        "<|channel|>commentary to=functions.execute_bash<|constrain|>json",
        "<|channel|>analysis to=functions.execute_bash code",
        "<|channel|>commentary to=execute_bash",
    ],
)
def test_the_recipient_may_stand_in_either_place(header: str) -> None:
    said = spoken("gpt_oss_low_reasoning")
    turn = said.dialect.parse(said.encode(f'{header}<|message|>{{"command": "ls"}}<|call|>'))
    assert (turn.calls, turn.fault) == ((ToolCall("execute_bash", {"command": "ls"}),), "")


def test_a_tool_without_arguments_may_be_called_with_none() -> None:
    said = spoken("gpt_oss_low_reasoning")
    assert said.dialect.parse(said.encode(" to=functions.submit<|channel|>commentary<|message|><|call|>")).calls == (
        ToolCall("submit", {}),
    )


@pytest.mark.parametrize(
    ("markup", "told"),
    [
        ("<|channel|>analysis to=python code<|message|>print(1)<|call|>", 'call 1 (of "python") could not be read'),
        ("<|channel|>commentary<|message|>ls<|call|>", "<|call|> without a tool"),
        ("<|channel|>final<|return|>", "a message without <|message|>"),
        (
            "<|channel|>analysis<|message|>x<|end|><|start|>functions.execute_bash to=assistant<|channel|>commentary"
            "<|message|>passed<|end|><|start|>assistant<|channel|>final<|message|>Done.<|return|>",
            'you wrote a message of "functions.execute_bash"',
        ),
        ("<|channel|>final<|message|>Done.", "cut off"),
    ],
)
def test_what_cannot_be_read_is_told(markup: str, told: str) -> None:
    said = spoken("gpt_oss_low_reasoning")
    turn = said.dialect.parse(said.encode(markup))
    assert turn.calls == ()
    assert told in turn.fault


def test_an_end_that_is_text_ends_nothing() -> None:
    said = spoken("gpt_oss_low_reasoning")
    body = said.tokenizer.encode('{"command": "echo <|call|><|end|>"}', split_special_tokens=True)
    start = said.encode(" to=functions.execute_bash<|channel|>commentary <|constrain|>json<|message|>")
    (call,) = said.dialect.parse([*start, *body, *said.encode("<|call|>")]).calls
    assert call.arguments == {"command": "echo <|call|><|end|>"}


def test_a_cut_off_call_is_ended_as_a_call_and_a_cut_off_header_as_a_message() -> None:
    said = spoken("gpt_oss_low_reasoning")
    closing = {
        ' to=functions.x<|channel|>commentary<|message|>{"a': "<|call|>",
        "<|channel|>final<|message|>Done": "<|end|>",
        "<|channel|>analysis": "<|message|><|end|>",
        "<|channel|>analysis<|message|>x<|end|>": "",
    }
    for markup, end in closing.items():
        tokens = said.dialect.follow(said.encode(markup), [])
        assert said.decode(tokens) == f"{end}<|start|>assistant"
