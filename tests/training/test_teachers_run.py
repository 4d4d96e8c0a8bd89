"""Runs with a teacher that reads other tokens, and with a student that teaches itself."""

import json
from pathlib import Path
from typing import Any

import pytest

from rtl_agent.envs.tokenizers import tokenizer_for
from rtl_agent.runs.files import read_lines
from rtl_agent.training.config import STUDENT
from rtl_agent.training.errors import BadConfig, TrainingError
from tests.training.conftest import GATES, SECOND_TEACHER, RunIn, answer, record

SMALL = ("eval_every=0", "preflight_problems=0", "forward_kl_coef=1", "kl_penalty_coef=0.5")


def metrics(run: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]


def rollouts(run: Path) -> list[dict[str, Any]]:
    return list(read_lines(run / "rollouts" / "step_000000.jsonl.gz"))


@pytest.mark.parametrize("credit", ["covering", "chunk"])
def test_a_teacher_that_reads_other_tokens_advises(run_in: RunIn, taught: str, credit: str) -> None:
    run = run_in(
        "distill", f"load_checkpoint_path={taught}", f"teacher_model={SECOND_TEACHER}", f"kl_credit={credit}", *SMALL
    )
    first = metrics(run)[0]
    assert first["align/content"] > 0.9
    assert first["align/1:1"] > 0.7
    assert sum(first[f"align/{kind}"] for kind in ("1:1", "1:m", "n:1", "n:m")) == pytest.approx(1.0)
    assert 0 < first["teacher_kl_per_byte"] < first["teacher_kl"]
    assert 0 < first["align/forward_positions"] < 1
    assert first["loss/imitation"] != 0
    for episode in rollouts(run):
        kept = episode["teacher_logprobs"], episode["reverse_kl"], episode["sampled_tokens"]
        assert len(set(map(len, kept))) == 1


def test_the_same_by_the_usual_way_when_the_tokenizers_are_the_same(run_in: RunIn, taught: str, tmp_path: Path) -> None:
    """A whole run, bit for bit, through the alignment of equal tokenizers, where every answer comes to its end."""
    terms = ("eval_every=0", "preflight_problems=0", "kl_penalty_coef=1", "forward_kl_coef=0", "one_pass=false")
    words = (*terms, "temperature=0", "learning_rate=1e-5", f"load_checkpoint_path={taught}")
    usual = metrics(run_in("distill", *words))
    (tmp_path / "run").rename(tmp_path / "usual")
    aligned = metrics(run_in("distill", *words, "teacher_kind=other-tokens"))
    for one, other in zip(usual, aligned, strict=True):
        for name in ("teacher_kl", "teacher_kl_per_byte", "loss/policy", "optim/entropy"):
            assert one[name] == other[name], name


def test_a_run_whose_teacher_can_be_asked_about_too_little_stops(run_in: RunIn) -> None:
    """No answer of an untaught student comes to its end here, so the last chunk of each is not scored."""
    with pytest.raises(TrainingError, match=r"less than min_aligned=1 \(tokens not scored: cut off"):
        run_in("distill", f"teacher_model={SECOND_TEACHER}", "min_aligned=1", "max_tokens=8", *SMALL)


@pytest.mark.parametrize("sees", ["reference", "feedback", "spec-aware"])
@pytest.mark.parametrize("weights", ["current", "start"])
def test_what_a_student_is_told_as_its_own_teacher_is_not_what_it_learns_from(
    run_in: RunIn, taught: str, sees: str, weights: str
) -> None:
    words = (f"teacher_sees={sees}", f"teacher_weights={weights}", f"load_checkpoint_path={taught}")
    run = run_in("distill", "teacher_model=self", *words, *SMALL)
    first = metrics(run)[0]
    assert first["teacher_kl"] != 0
    assert first["teacher_kl_per_byte"] != 0
    decode = tokenizer_for(STUDENT).decode
    told = {"reference": "assistant", "feedback": "was judged", "spec-aware": "every sentence"}[sees]
    for episode in rollouts(run):
        asked = decode(episode["prompt_tokens"])
        assert asked.count("<|im_start|>assistant") == 1
        assert sees == "reference" or told not in asked
        assert not any(answer(expression) in asked for expression in GATES.values())


def test_a_student_cannot_be_told_a_reference_that_there_is_not(run_in: RunIn, tmp_path: Path) -> None:
    without = record("and", "a & b")
    without["output"] = {"response": "", "context": {"rtl/gate.sv": ""}}
    file = tmp_path / "one.jsonl"
    file.write_text(json.dumps(without) + "\n")
    with pytest.raises(BadConfig, match="1 of 1 problems have no reference solution, rtl_and_gate_0001 among them"):
        run_in("distill", "teacher_model=self", f"cvdp_jsonl_path={file}", "heldout=false", *SMALL)
    assert not (tmp_path / "run").exists()
