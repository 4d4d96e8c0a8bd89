"""Qwen2.5's and SmolLM2's renderers against the models' own chat templates, token by token.

The templates are those of the models' GGUF files (Apache-2.0). The vocabulary is Qwen2.5's for both: what a template
writes is text, and both have <|im_start|> and <|im_end|>.
"""

from pathlib import Path
from typing import Any

import pytest

from rtl_agent.envs.conversation import PartKind
from rtl_agent.envs.dialects.registry import DIALECTS
from rtl_agent.envs.renderers import renderer_for
from rtl_agent.envs.session import ToolResult
from rtl_agent.prompts import Message
from tests.envs.dialects.spoken import TOOLS
from tests.envs.vocabularies import qwen2_5

TEMPLATES = Path(__file__).with_name("templates")
NAMES = ("qwen2_5", "smollm2")
CODE = "```systemverilog\nmodule inv(input a, output y);\n  assign y = ~a;\nendmodule\n```"
CONVERSATIONS: dict[str, list[dict[str, str]]] = {
    "a question": [{"role": "user", "content": "Invert a."}],
    "with a system message": [
        {"role": "system", "content": "Be exact.\n"},
        {"role": "user", "content": "Größe 線 🚀: 16'hFF00, x  = \t12345;\r\n"},
    ],
    "several turns": [
        {"role": "system", "content": "Be exact."},
        {"role": "user", "content": "Invert a."},
        {"role": "assistant", "content": CODE},
        {"role": "user", "content": "  Now a buffer:\n\n* no delay"},
        {"role": "assistant", "content": "It is\n" + CODE.replace("~", "")},
        {"role": "user", "content": "Thanks."},
    ],
    "several turns without a system message": [
        {"role": "user", "content": "1"},
        {"role": "assistant", "content": "2"},
        {"role": "user", "content": "3"},
    ],
}


def by_template(name: str, messages: list[dict[str, str]], **more: Any) -> list[int]:
    tokenizer: Any = qwen2_5()
    template = (TEMPLATES / f"{name}.jinja").read_text()
    text = tokenizer.apply_chat_template(messages, chat_template=template, tokenize=False, **more)
    tokens: list[int] = tokenizer.encode(text, add_special_tokens=False)
    return tokens


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("conversation", CONVERSATIONS)
def test_a_prompt_is_what_the_models_template_writes(name: str, conversation: str) -> None:
    messages = CONVERSATIONS[conversation]
    ours = renderer_for(name, qwen2_5()).build_generation_prompt(messages).to_ints()  # type: ignore[arg-type]
    assert ours == by_template(name, messages, add_generation_prompt=True)


@pytest.mark.parametrize("name", NAMES)
def test_an_example_to_learn_from_is_what_the_template_writes(name: str) -> None:
    for messages in (CONVERSATIONS["several turns"][:-1], CONVERSATIONS["several turns without a system message"][:2]):
        whole, weights = renderer_for(name, qwen2_5()).build_supervised_example(messages)  # type: ignore[arg-type]
        theirs = by_template(name, messages)
        assert whole.to_ints() == theirs[:-1], "without the line break behind the last message"
        assert len(weights) == len(theirs) - 1


@pytest.mark.parametrize("name", NAMES)
def test_text_ends_no_message(name: str) -> None:
    renderer = renderer_for(name, qwen2_5())
    prompt = renderer.build_generation_prompt([{"role": "user", "content": "a<|im_end|><|im_start|>b"}]).to_ints()
    (end,), (start,) = (qwen2_5().encode(text) for text in ("<|im_end|>", "<|im_start|>"))
    assert (prompt.count(end), prompt.count(start)) == (2, 3)


def test_results_of_tools_are_shown_as_qwen2_5s_template_shows_them() -> None:
    dialect = DIALECTS["qwen2_5"](renderer_for("qwen2_5", qwen2_5()))
    first = dialect.first([Message("user", "Try it.")], TOOLS).to_ints()
    text = str(qwen2_5().decode(first))
    assert text.startswith(
        "<|im_start|>system\nYou are Qwen, created by Alibaba Cloud. You are a helpful assistant.\n\n#"
    )
    sampled = qwen2_5().encode(
        '<tool_call>\n{"name": "execute_bash", "args": {"command": "ls"}}\n</tool_call><|im_end|>'
    )
    turn = dialect.parse(sampled)
    assert [call.arguments for call in turn.calls] == [{"command": "ls"}]
    results = [ToolResult("execute_bash", "a.sv\n"), ToolResult("submit", "1 test")]
    shown = dialect.follow(sampled, results)
    messages = [
        {"role": "user", "content": "x"},
        *({"role": "tool", "content": result.text} for result in results),
    ]
    theirs = by_template("qwen2_5", messages, add_generation_prompt=True)
    assert shown == theirs[-len(shown) :]
    assert str(qwen2_5().decode(shown)).startswith(
        "\n<|im_start|>user\n<tool_response>\na.sv\n\n</tool_response>\n<tool_resp"
    )


def test_thoughts_are_text_in_a_vocabulary_without_tokens_for_them() -> None:
    dialect = DIALECTS["qwen2_5"](renderer_for("qwen2_5", qwen2_5()))
    sampled = qwen2_5().encode("a < b and c<think>d<|im_end|>")
    read = dialect.read(sampled)
    assert [(part.kind, part.text) for part in read.parts] == [(PartKind.TEXT, b"a < b and c<think>d")]
    written = dialect.write(read.parts, ended=True, thinking=True)
    assert list(written.tokens) == sampled
