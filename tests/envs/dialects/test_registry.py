"""Which dialect a model speaks, by its name or by the renderer that is asked for."""

from collections.abc import Iterator

import pytest
from tinker_cookbook.tokenizer_utils import register_tokenizer, unregister_tokenizer

from rtl_agent.envs.dialects.registry import UnknownDialect, dialect_for, reading_dialect
from rtl_agent.envs.renderers import UnknownRenderer
from rtl_agent.envs.tokenizers import tokenizer_for
from tests.envs.dialects.spoken import ASKED, TOOLS
from tests.envs.vocabularies import gpt_oss, qwen3

QWEN = (
    "Qwen/Qwen3-Coder-30B-A3B-Instruct",
    "Qwen/Qwen3.5-4B",
    "Qwen/Qwen3-8B",
    "Qwen/Qwen3-4B-Instruct-2507",
    "Qwen/Qwen3-8B-Base",
)


@pytest.fixture(autouse=True)
def _vocabularies() -> Iterator[None]:
    for name in QWEN:
        register_tokenizer(name, qwen3)
    register_tokenizer("openai/gpt-oss-20b", gpt_oss)
    yield
    for name in (*QWEN, "openai/gpt-oss-20b"):
        unregister_tokenizer(name)


@pytest.mark.parametrize(
    ("model", "renderer", "dialect", "header"),
    [
        ("rtl-agent/student", "", "qwen", "<|im_start|>assistant\n"),
        ("Qwen/Qwen3-8B", "", "qwen", "<|im_start|>assistant\n<think>\n\n</think>\n\n"),
        ("Qwen/Qwen3-8B", "qwen3", "qwen", "<|im_end|>\n<|im_start|>assistant\n"),
        ("Qwen/Qwen3-4B-Instruct-2507", "", "qwen", "<|im_end|>\n<|im_start|>assistant\n"),
        ("Qwen/Qwen3-Coder-30B-A3B-Instruct", "", "qwen_coder", "<|im_end|>\n<|im_start|>assistant\n"),
        ("Qwen/Qwen3.5-4B", "", "qwen3_5", "<|im_start|>assistant\n<think>\n\n</think>\n\n"),
        ("openai/gpt-oss-20b", "", "harmony", "<|start|>assistant"),
        ("openai/gpt-oss-20b", "gpt_oss_no_sysprompt", "harmony", "<|start|>assistant"),
    ],
)
def test_a_model_speaks_the_dialect_of_its_renderer(model: str, renderer: str, dialect: str, header: str) -> None:
    spoken = dialect_for(model, renderer)
    assert spoken.name == dialect
    assert str(tokenizer_for(model).decode(spoken.first(ASKED, TOOLS).to_ints())).endswith(header)


def test_a_model_without_tool_calls_still_reads_and_writes_turns() -> None:
    assert reading_dialect("Qwen/Qwen3-8B-Base").name == "text"
    assert reading_dialect("openai/gpt-oss-20b").name == "harmony"


def test_a_renderer_without_tool_calls_is_a_sentence() -> None:
    with pytest.raises(UnknownDialect, match=r"Qwen3-8B-Base is asked with the renderer role_colon.*set renderer_name"):
        dialect_for("Qwen/Qwen3-8B-Base")
    with pytest.raises(UnknownRenderer, match="no renderer is called 'x'"):
        dialect_for("Qwen/Qwen3-8B", "x")
