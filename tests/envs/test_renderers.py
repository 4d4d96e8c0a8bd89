"""Renderers by name: which there are, which goes with a model, and what is said before a run that will score 0."""

import pytest

from rtl_agent.envs.renderers import RENDERERS, UnknownRenderer, default_renderer, renderer_for, warnings_for
from rtl_agent.envs.tokenizers import tokenizer_for

OURS = tokenizer_for("rtl-agent/student")


@pytest.mark.parametrize(
    ("model", "renderer"),
    [
        ("rtl-agent/student", "rtl_agent"),
        ("Qwen/Qwen3-8B", "qwen3_disable_thinking"),
        ("Qwen/Qwen3-30B-A3B", "qwen3_disable_thinking"),
        ("Qwen/Qwen3-30B-A3B-Instruct-2507", "qwen3_instruct"),
        ("Qwen/Qwen3-Coder-30B-A3B-Instruct", "qwen3_coder"),
        ("Qwen/Qwen3-Coder-480B-A35B-Instruct-FP8", "qwen3_coder"),
        ("Qwen/Qwen3.5-35B-A3B", "qwen3_5_disable_thinking"),
        ("Qwen/Qwen3-235B-A22B-Instruct-2507", "qwen3_instruct"),
        ("Qwen/Qwen3-30B-A3B-Thinking-2507", "qwen3"),
        ("Qwen/Qwen3-8B-Base", "role_colon"),
        ("Qwen/Qwen2.5-Coder-1.5B-Instruct", "qwen2_5"),
        ("Qwen/Qwen2.5-7B-Instruct", "qwen2_5"),
        ("Qwen/Qwen2.5-Coder-1.5B", "role_colon"),
        ("HuggingFaceTB/SmolLM2-135M-Instruct", "smollm2"),
        ("HuggingFaceTB/SmolLM2-1.7B", "role_colon"),
        ("openai/gpt-oss-20b", "gpt_oss_low_reasoning"),
        ("openai/gpt-oss-120b", "gpt_oss_low_reasoning"),
        ("meta-llama/Llama-3.1-8B-Instruct", "llama3"),
        ("meta-llama/Llama-3.2-1B", "role_colon"),
    ],
)
def test_a_model_has_a_renderer_by_default(model: str, renderer: str) -> None:
    assert default_renderer(model) == renderer
    assert renderer in RENDERERS


def test_a_model_nobody_knows_is_asked_to_name_its_renderer() -> None:
    with pytest.raises(UnknownRenderer, match=r"someone/else.*renderer_name.*qwen3_instruct"):
        default_renderer("someone/else")


def test_an_unknown_renderer_is_told_which_there_are() -> None:
    with pytest.raises(UnknownRenderer, match=r"'qwen33'.*gpt_oss_low_reasoning.*qwen3_disable_thinking.*rtl_agent"):
        renderer_for("qwen33", OURS)


def test_a_base_model_gets_a_warning() -> None:
    (said,) = warnings_for("meta-llama/Llama-3.2-1B", "role_colon", 8_192)
    assert "base model" in said
    assert "score 0" in said


@pytest.mark.parametrize("renderer", ["qwen3", "gpt_oss_high_reasoning"])
def test_thinking_in_few_tokens_gets_a_warning(renderer: str) -> None:
    (said,) = warnings_for("Qwen/Qwen3-8B", renderer, 4_096)
    assert "4,096 tokens on thinking" in said
    assert warnings_for("Qwen/Qwen3-8B", renderer, 4_097) == []


@pytest.mark.parametrize(
    ("model", "renderer"),
    [
        ("rtl-agent/student", "rtl_agent"),
        ("Qwen/Qwen3-8B", "qwen3_disable_thinking"),
        ("openai/gpt-oss-20b", "gpt_oss_low_reasoning"),
    ],
)
def test_the_others_get_none(model: str, renderer: str) -> None:
    assert warnings_for(model, renderer, 512) == []


def test_our_own_renderer_writes_chatml_and_reads_it_back() -> None:
    renderer = renderer_for("rtl_agent", OURS)
    prompt = renderer.build_generation_prompt([{"role": "user", "content": "Say <|im_end|> twice."}]).to_ints()
    assert OURS.decode(prompt) == "<|im_start|>user\nSay <|im_end|> twice.<|im_end|>\n<|im_start|>assistant\n"
    (end,) = renderer.get_stop_sequences()
    assert isinstance(end, int)
    assert end == OURS.eos_token_id
    assert prompt.count(end) == 1  # that of the message, not that of the text
    message, termination = renderer.parse_response([*OURS.encode("```verilog\nx\n```"), end])
    assert message["content"] == "```verilog\nx\n```"
    assert termination.is_clean
