"""One line of a rollout file as a report shows it, whatever keys its writer left out."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Shown:
    """An episode without its tokens: a run's best and worst must fit in memory."""

    problem_id: str
    family: str
    step: int
    reward: float | None
    parts: Mapping[str, float]
    outcome: str
    stop_reason: str
    prompt: tuple[tuple[str, str], ...]  # (role, text)
    answer: str
    reasons: tuple[str, ...]
    failing_tests: tuple[str, ...]
    diagnostics: tuple[str, ...]
    interface_valid: bool | None  # None where it could not be judged
    interface: tuple[str, ...]  # how it differs from what the tests need, in the grader's words
    files: Mapping[str, str]  # of a workspace; empty where the answer is the design
    differences: tuple[str, ...] | None = None  # to the reference's interface; None where they were not compared

    @property
    def passed(self) -> bool:
        return self.outcome == "passed"

    @property
    def counts(self) -> bool:
        """An episode that was lost, or that the grader failed on, says nothing of the model."""
        return self.outcome != "error"

    @property
    def code(self) -> str:
        """The first block of code, or all of an answer that has none. By lines: answers may be long and hostile."""
        inside: list[str] | None = None
        for line in self.answer.splitlines():
            fence = line.strip().startswith("```")
            if fence and inside is not None:
                return "\n".join(inside)
            if fence:
                inside = []
            elif inside is not None:
                inside.append(line)
        return self.answer if inside is None else ""


def shown(episode: Mapping[str, Any]) -> Shown:
    grade = _mapping(episode.get("grade"))
    reward = episode.get("reward", grade.get("reward"))
    total = reward.get("total") if isinstance(reward, Mapping) else reward
    parts = _mapping(episode.get("reward_parts") or _mapping(reward).get("parts"))
    interface = next(
        (stage for stage in map(_mapping, _list(grade.get("stages"))) if stage.get("name") == "interface"), {}
    )
    valid = interface.get("passed")
    messages = [_mapping(message) for message in _list(episode.get("messages"))]
    answer = episode.get("text")
    if answer is None and messages and messages[-1].get("role") == "assistant":
        answer = messages.pop().get("content")
    return Shown(
        problem_id=str(episode.get("problem_id") or grade.get("problem_id") or "(no problem named)"),
        family=str(episode.get("family") or ""),
        step=int(episode.get("step") or 0),
        reward=float(total) if isinstance(total, int | float) else None,
        parts={str(name): float(value) for name, value in parts.items() if isinstance(value, int | float)},
        outcome="error" if episode.get("lost") else str(grade.get("outcome") or ""),
        stop_reason=str(episode.get("stop_reason") or ""),
        prompt=tuple((str(message.get("role", "")), _words(message.get("content"))) for message in messages),
        answer=_words(answer),
        reasons=tuple(_words(reason) for reason in _list(grade.get("reasons"))),
        failing_tests=tuple(_test(test) for test in _list(grade.get("tests")) if _mapping(test).get("passed") is False),
        diagnostics=tuple(_diagnostic(diagnostic) for diagnostic in _list(grade.get("diagnostics"))),
        interface_valid=valid if isinstance(valid, bool) else None,
        interface=tuple(_words(note) for note in _list(interface.get("notes"))) if valid is False else (),
        files={path: text for path, text in _mapping(episode.get("files")).items() if isinstance(text, str)},
    )


def _test(test: Any) -> str:
    known = _mapping(test)
    where = f" ({known['where']})" if known.get("where") else ""
    message = f": {known['message']}" if known.get("message") else ""
    return f"{known.get('name', '(no name)')}{where}{message}"


def _diagnostic(diagnostic: Any) -> str:
    known = _mapping(diagnostic)
    if not known:
        return _words(diagnostic)
    place = f"{known.get('file', '')}:{known.get('line', '')}"
    return f"{known.get('tool', '')} {known.get('severity', '')} {place} {known.get('text', '')}".strip()


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else []


def _words(value: Any) -> str:
    """Messages may hold parts instead of a string."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, indent=1, ensure_ascii=False)
