"""What decides whether answers were made by the same rules and to the same words."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rtl_agent.envs import single_shot
from rtl_agent.envs.agentic import session as agentic
from rtl_agent.envs.episode_config import AGENTIC, REFINE, EpisodeConfig
from rtl_agent.envs.kinds import resolved
from rtl_agent.evaluation import EvaluationError, settings
from rtl_agent.evaluation.samples import SampleFile
from rtl_agent.evaluation.settings import texts_digest
from rtl_agent.prompts import Message
from tests.evaluation.test_ask_all import SETTINGS

WORDS = {
    "messages": single_shot,
    "agentic_messages": agentic,
    "tools_text": settings,
    "brief_tools_text": settings,
    "refine_message": settings,
    "failures": settings,
}


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
        (EpisodeConfig(), ["messages"]),
        (EpisodeConfig(REFINE), ["messages", "refine_message", "failures"]),
        (EpisodeConfig(AGENTIC), ["agentic_messages", "tools_text", "brief_tools_text"]),
        (EpisodeConfig(AGENTIC, level="feedback"), ["agentic_messages", "failures"]),
    ],
    ids=["single", "refine", "agentic", "feedback"],
)
def test_every_word_of_an_environment_counts(
    rules: EpisodeConfig, words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = resolved(rules)
    before = texts_digest(rules)
    assert texts_digest(rules) == before
    assert texts_digest(replace(rules, system="spec-aware")) != before
    for name in words:
        with monkeypatch.context() as patch:
            patch.setattr(WORDS[name], name, reworded(getattr(WORDS[name], name)))
            assert texts_digest(rules) != before, name


def test_what_is_said_elsewhere_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = resolved(EpisodeConfig())
    before = texts_digest(rules)
    for name in set(WORDS) - {"messages"}:
        monkeypatch.setattr(WORDS[name], name, reworded(getattr(WORDS[name], name)))
    assert texts_digest(rules) == before


def test_answers_by_other_rules_are_refused_though_no_option_of_the_command_line_changed(tmp_path: Path) -> None:
    file = tmp_path / "samples.jsonl"
    SampleFile(file, SETTINGS).close()
    SampleFile(file, SETTINGS).close()
    with pytest.raises(EvaluationError) as refused:
        SampleFile(file, replace(SETTINGS, episode=EpisodeConfig(max_calls=4, output_bytes=1000)))
    assert "episode.max_calls: 8 -> 4" in str(refused.value)
    assert "episode.output_bytes: 16777216 -> 1000" in str(refused.value)


def test_answers_from_before_texts_were_kept_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "samples.jsonl"
    SampleFile(file, SETTINGS).close()
    file.write_text(file.read_text().replace('"texts":', '"other":'))
    with pytest.raises(EvaluationError, match="texts: what a model is told"):
        SampleFile(file, SETTINGS)
