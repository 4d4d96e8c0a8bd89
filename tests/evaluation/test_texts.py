"""What decides whether answers were made by the same rules and to the same words."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from rtl_agent.envs.agentic import AgenticConfig, CommandLimits
from rtl_agent.evaluation import EvaluationError, Rules
from rtl_agent.evaluation import texts as module
from rtl_agent.evaluation.samples import SampleFile
from rtl_agent.evaluation.texts import texts_digest
from rtl_agent.prompts import Message
from tests.evaluation.test_ask_all import SETTINGS


def reworded(words: Callable[..., Any]) -> Callable[..., Any]:
    """The same function, whose last word is another."""

    def other(*values: Any, **named: Any) -> Any:
        said = words(*values, **named)
        if isinstance(said, str):
            return f"{said} Please."
        if isinstance(said, Message):
            return Message(said.role, f"{said.content} Please.")
        return [*said[:-1], other_message(said[-1])]

    def other_message(message: Message) -> Message:
        return Message(message.role, f"{message.content} Please.")

    return other


@pytest.mark.parametrize(
    ("rules", "words"),
    [
        (Rules(), ["messages"]),
        (Rules("refine"), ["messages", "refine_message", "failures"]),
        (Rules("agentic"), ["asked", "tools_text", "brief_tools_text"]),
        (Rules("agentic", level="feedback"), ["asked", "failures"]),
    ],
    ids=["single", "refine", "agentic", "feedback"],
)
def test_every_word_of_an_environment_counts(rules: Rules, words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    before = texts_digest(rules, "default")
    assert texts_digest(rules, "default") == before
    assert texts_digest(rules, "spec-aware") != before
    for name in words:
        with monkeypatch.context() as patch:
            patch.setattr(module, name, reworded(getattr(module, name)))
            assert texts_digest(rules, "default") != before, name


def test_what_is_said_elsewhere_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    before = texts_digest(Rules(), "default")
    for name in ("asked", "tools_text", "refine_message", "failures"):
        monkeypatch.setattr(module, name, reworded(getattr(module, name)))
    assert texts_digest(Rules(), "default") == before


def test_answers_by_other_rules_are_refused_though_no_option_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "samples.jsonl"
    SampleFile(file, replace(SETTINGS, options=Rules("agentic").recorded())).close()
    SampleFile(file, replace(SETTINGS, options=Rules("agentic").recorded())).close()
    later = partial(AgenticConfig, max_calls=4, limits=CommandLimits(wall_seconds=30.0))
    monkeypatch.setattr("rtl_agent.evaluation.rules.AgenticConfig", later)
    with pytest.raises(EvaluationError) as refused:
        SampleFile(file, replace(SETTINGS, options=Rules("agentic").recorded()))
    assert "options.max_calls: 8 -> 4" in str(refused.value)
    assert "options.limits.wall_seconds: 60.0 -> 30.0" in str(refused.value)


def test_answers_from_before_texts_were_kept_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "samples.jsonl"
    SampleFile(file, SETTINGS).close()
    file.write_text(file.read_text().replace('"texts":', '"other":'))
    with pytest.raises(EvaluationError, match="texts: what a model is told"):
        SampleFile(file, SETTINGS)
