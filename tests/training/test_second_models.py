"""What a second tokenizer and a model carried over to it begin with."""

from pathlib import Path

import torch

from rtl_agent.backends.engine.qwen3.weights import EMBED, random_weights, write_model
from rtl_agent.backends.models.registry import own_config
from rtl_agent.envs.tokenizers import tokenizer_for
from rtl_agent.training.pretrain.transplant import weights_for

TEACHER, SECOND = "rtl-agent/teacher", "rtl-agent/teacher-2"


def test_tokens_that_both_have_keep_their_embedding_and_others_get_the_mean_of_their_parts() -> None:
    old, new = tokenizer_for(TEACHER), tokenizer_for(SECOND)
    before, after = weights_for(TEACHER, TEACHER), weights_for(SECOND, TEACHER)
    assert after[f"{EMBED}.weight"].shape[0] == own_config(SECOND).vocabulary != own_config(TEACHER).vocabulary
    for text in ("<|im_end|>", "module ", "clk"):
        (mine,), (theirs,) = (one.encode(text, add_special_tokens=False) for one in (old, new))
        assert torch.equal(before[f"{EMBED}.weight"][mine], after[f"{EMBED}.weight"][theirs])
    text = ";\n  "
    (theirs,) = new.encode(text, add_special_tokens=False)
    parts = before[f"{EMBED}.weight"][old.encode(text, add_special_tokens=False)]
    assert torch.allclose(after[f"{EMBED}.weight"][theirs], parts.mean(dim=0))
    assert all(torch.equal(before[name], after[name]) for name in before if EMBED not in name)


def test_a_model_can_go_on_from_weights_in_a_directory(tmp_path: Path) -> None:
    """As the second teacher was made: the shipped weights are those of its last course."""
    first = random_weights(own_config(SECOND), 1)
    write_model(tmp_path, own_config(SECOND), first)
    found = weights_for(SECOND, SECOND, tmp_path)
    assert all(torch.equal(found[name], first[name]) for name in first)


def test_the_two_tokenizers_differ_as_those_of_large_models_do() -> None:
    first, second = tokenizer_for(TEACHER), tokenizer_for(SECOND)
    assert len(first.encode("16", add_special_tokens=False)) == 1
    assert len(second.encode("16", add_special_tokens=False)) == 2
    design = "module a(input clk);\n  assign y = a & 16'd255;\nendmodule\n"
    assert second.decode(second.encode(design)) == first.decode(first.encode(design)) == design
