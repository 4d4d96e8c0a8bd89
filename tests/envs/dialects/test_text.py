"""Turns of models without tool calls: asked as their renderers ask, ended by a token or by the other's header."""

from collections.abc import Callable

import pytest
from tinker_cookbook.renderers import Renderer
from tinker_cookbook.tokenizer_utils import Tokenizer

from rtl_agent.envs.conversation import PartKind
from rtl_agent.envs.dialects.text import TextDialect
from rtl_agent.envs.renderers import renderer_for
from rtl_agent.envs.session import ToolResult
from rtl_agent.prompts import as_dicts
from tests.envs.dialects.spoken import ASKED
from tests.envs.vocabularies import llama3, qwen3

every_renderer = pytest.mark.parametrize(("name", "tokenizer"), [("llama3", llama3), ("role_colon", qwen3)])


def made(name: str, tokenizer: Callable[[], Tokenizer]) -> tuple[Renderer, TextDialect]:
    renderer = renderer_for(name, tokenizer())
    return renderer, TextDialect(renderer)


def encoded(renderer: Renderer, text: str) -> list[int]:
    return list(renderer.tokenizer.encode(text, add_special_tokens=False))


@every_renderer
def test_a_model_is_asked_as_its_renderer_asks_it(name: str, tokenizer: Callable[[], Tokenizer]) -> None:
    renderer, dialect = made(name, tokenizer)
    prompt = renderer.build_generation_prompt(as_dicts(ASKED)).to_ints()  # type: ignore[arg-type]
    assert dialect.first(ASKED, ()).to_ints() == prompt


@every_renderer
def test_an_answer_is_read_and_written(name: str, tokenizer: Callable[[], Tokenizer]) -> None:
    renderer, dialect = made(name, tokenizer)
    text = "module m;\n// Größe <|eot_id|>\nendmodule"
    sampled = {"llama3": "module m;\nendmodule<|eot_id|>", "role_colon": " module m;\nendmodule\n\nUser:"}[name]
    read = dialect.read(encoded(renderer, sampled))
    assert [(part.kind, part.text) for part in read.parts] == [(PartKind.TEXT, b"module m;\nendmodule")]
    assert read.end == (len(read.tokens) - 1 if name == "llama3" else None)
    assert dialect.parse(read.tokens).fault == ""
    assert dialect.parse(read.tokens[:-1]).fault
    part = read.parts[0]
    written = dialect.write([type(part)(PartKind.TEXT, text.encode(), (0, 1), (len(text),))], ended=True, thinking=True)
    assert dialect.read(written.tokens).parts[0].text == text.encode() + (b"\n\n" if name == "role_colon" else b"")


@every_renderer
def test_words_that_follow_a_turn_are_the_users(name: str, tokenizer: Callable[[], Tokenizer]) -> None:
    renderer, dialect = made(name, tokenizer)
    sampled = {"llama3": "Yes.<|eot_id|>", "role_colon": " Yes.\n\nUser:"}[name]
    decode = renderer.tokenizer.decode
    shown = {
        "llama3": "<|start_header_id|>user<|end_header_id|>\n\nNo.<|eot_id|>"
        "<|start_header_id|>assistant<|end_header_id|>\n\n",
        "role_colon": " No.\n\nAssistant:",
    }[name]
    assert decode(dialect.follow(encoded(renderer, sampled), [ToolResult("", "No.")])) == shown
    cut = encoded(renderer, sampled.removesuffix("<|eot_id|>").removesuffix("\n\nUser:"))
    ended = {"llama3": "<|eot_id|>" + shown, "role_colon": "\n\nUser:" + shown}[name]
    assert decode(dialect.follow(cut, [ToolResult("", "No.")])) == ended
