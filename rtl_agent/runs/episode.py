"""One episode as it is kept: what was asked, the tokens as they were sampled, and how the answer was judged.

Whoever plays episodes writes this type, and whoever looks at them reads it. Reading takes records of every version of
rtl-agent: what a record lacks, or has in another form, gets its default.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, cast

from rtl_agent.grading import Diagnostic, Grade, Outcome, Reward, Stage, StageName, TestResult
from rtl_agent.grading.grade import Checks, Compared, Progress, ProgressPart, SimulationResult
from rtl_agent.prompts import Message


@dataclass(frozen=True)
class EpisodeTurn:
    """What the model said in one of several turns, what it called, and what it was shown then."""

    text: str
    thinking: str = ""
    calls: tuple[Mapping[str, Any], ...] = ()  # name and arguments of each
    fault: str = ""  # what was wrong with a call that could not be read
    observation: str = ""
    sampled_tokens: tuple[int, ...] = ()  # empty where the model was asked for text
    observation_tokens: tuple[int, ...] = ()  # what was appended after them: the conversation is all of these joined
    sampled_logprobs: tuple[float, ...] = ()
    reward: float | None = None  # where this turn alone was graded

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> "EpisodeTurn":
        return EpisodeTurn(
            text=_text(data.get("text")),
            thinking=_text(data.get("thinking")),
            calls=tuple(_mapping(call) for call in _list(data.get("calls"))),
            fault=_text(data.get("fault")),
            observation=_text(data.get("observation")),
            sampled_tokens=tuple(_list(data.get("sampled_tokens"))),
            observation_tokens=tuple(_list(data.get("observation_tokens"))),
            sampled_logprobs=tuple(_list(data.get("sampled_logprobs"))),
            reward=_number(data.get("reward")),
        )


@dataclass(frozen=True)
class Episode:
    """A rollout's record. Tokens are the model's own, never decoded and encoded again."""

    problem_id: str
    family: str
    messages: tuple[Message, ...]
    prompt_tokens: tuple[int, ...]
    sampled_tokens: tuple[int, ...]  # of all turns, one after the other
    text: str  # what was graded, the answer without thinking and control tokens; of several turns the last one's
    stop_reason: str  # "stop", or "length" when the answer was cut off
    grade: Grade | None  # None where nothing was graded
    reward: float
    reward_parts: Mapping[str, float] = field(default_factory=dict)
    diagnostics: tuple[str, ...] = ()  # why it did not pass, then what the tools said, a line each
    sampled_logprobs: tuple[float, ...] = ()  # known to who sampled, not to the environment
    turns: tuple[EpisodeTurn, ...] = ()  # of several turns; empty for a single answer
    level: str = ""  # how much the model could know; "open" is never a score
    end_reason: str = ""  # why an episode of several turns was over
    files: Mapping[str, str] = field(default_factory=dict)  # what an agent left in its workspace to be graded
    config: Mapping[str, Any] = field(default_factory=dict)  # the rules that it was played by: EpisodeConfig.to_json()
    category: str = ""  # of the problem, as its family is
    difficulty: str = ""
    entropy: tuple[float, ...] = ()  # in nats, of the model at each sampled token, where the run asked for it

    @property
    def cut_off(self) -> bool:
        return self.stop_reason == "length"

    @property
    def is_scored(self) -> bool:
        """Whether its reward and its grade may be counted among others: not if the model had the tests before it."""
        return self.level != "open"

    @property
    def passed(self) -> bool:
        return self.is_scored and self.grade is not None and self.grade.outcome is Outcome.PASSED

    @property
    def answer_file(self) -> tuple[str, str]:
        """The answer as `rtl-agent grade --response` takes it: the suffix of its file, and what is in it."""
        if self.files:
            return ".jsonl", json.dumps({"id": self.problem_id, "files": dict(self.files)}) + "\n"
        return ".txt", self.text

    def with_logprobs(self, logprobs: Sequence[float]) -> "Episode":
        """Those of all turns, one after the other."""
        if len(logprobs) != len(self.sampled_tokens):
            raise ValueError(f"{len(logprobs)} logprobs for {len(self.sampled_tokens)} sampled tokens")
        turns, start = [], 0
        for turn in self.turns:
            end = start + len(turn.sampled_tokens)
            turns.append(replace(turn, sampled_logprobs=tuple(logprobs[start:end])))
            start = end
        return replace(self, sampled_logprobs=tuple(logprobs), turns=tuple(turns))

    def without_tokens(self) -> "Episode":
        """For keeping many in memory: with its tokens an episode can have a megabyte."""
        return replace(self, prompt_tokens=(), sampled_tokens=(), sampled_logprobs=(), entropy=(), turns=())

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> "Episode":
        grade = _mapping(data.get("grade"))
        reward = data.get("reward", grade.get("reward"))
        messages = [
            Message(cast(Any, _text(message.get("role"))), _text(message.get("content")))
            for message in map(_mapping, _list(data.get("messages")))
        ]
        text = data.get("text")
        if text is None and messages and messages[-1].role == "assistant":
            text = messages.pop().content  # early records kept the answer there
        return Episode(
            problem_id=_text(data.get("problem_id") or grade.get("problem_id")) or "(no problem named)",
            family=_text(data.get("family")),
            messages=tuple(messages),
            prompt_tokens=tuple(_list(data.get("prompt_tokens"))),
            sampled_tokens=tuple(_list(data.get("sampled_tokens"))),
            text=_text(text),
            stop_reason=_text(data.get("stop_reason")),
            grade=read_grade(grade),
            reward=_number(reward.get("total") if isinstance(reward, Mapping) else reward) or 0.0,
            reward_parts=_numbers(data.get("reward_parts") or _mapping(reward).get("parts")),
            diagnostics=tuple(map(_text, _list(data.get("diagnostics")))),
            sampled_logprobs=tuple(_list(data.get("sampled_logprobs"))),
            turns=tuple(EpisodeTurn.from_json(turn) for turn in map(_mapping, _list(data.get("turns")))),
            level=_text(data.get("level")),
            end_reason=_text(data.get("end_reason")),
            files={path: text for path, text in _mapping(data.get("files")).items() if isinstance(text, str)},
            config=_mapping(data.get("config")),
            category=_text(data.get("category")),
            difficulty=_text(data.get("difficulty")),
            entropy=tuple(_list(data.get("entropy"))),
        )


@dataclass(frozen=True)
class RolloutRecord:
    """One line of a rollout file: an episode at a step, or why it was lost, which is never the model's fault."""

    step: int
    episode: Episode
    grade: Grade | None  # None where nothing was graded
    reward: float | None  # None where nothing was earned or lost
    lost: str = ""

    @property
    def outcome(self) -> Outcome | None:
        return Outcome.ERROR if self.lost else self.grade.outcome if self.grade else None

    @property
    def passed(self) -> bool:
        return self.outcome is Outcome.PASSED

    @property
    def counts(self) -> bool:
        """An episode that was lost, or that the grader failed on, says nothing of the model."""
        return self.outcome is not Outcome.ERROR

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> "RolloutRecord":
        """Without tokens: they are nine tenths of a line, and whoever wants them reads `Episode`."""
        reward = data.get("reward", _mapping(data.get("grade")).get("reward"))
        episode = Episode.from_json(data).without_tokens()
        return RolloutRecord(
            step=_whole(data.get("step")),
            episode=episode,
            grade=episode.grade,
            reward=_number(reward.get("total") if isinstance(reward, Mapping) else reward),
            lost=_text(data.get("lost")),
        )


def read_grade(data: Mapping[str, Any]) -> Grade | None:
    """A grade as any version, or any other writer, wrote it; None without an outcome."""
    outcomes = {outcome.value: outcome for outcome in Outcome}
    outcome = outcomes.get(_text(data.get("outcome")))
    if outcome is None:
        return None
    reward = _mapping(data.get("reward"))
    stages = [stage for stage in map(_mapping, _list(data.get("stages"))) if stage.get("name") in list(StageName)]
    return Grade(
        problem_id=_text(data.get("problem_id")),
        outcome=outcome,
        stages=tuple(
            Stage(
                StageName(stage["name"]),
                passed=_verdict(stage.get("passed")),
                score=_number(stage.get("score")) or 0.0,
                notes=tuple(map(_text, _list(stage.get("notes")))),
            )
            for stage in stages
        ),
        tests=tuple(_test(test) for test in map(_mapping, _list(data.get("tests"))) if test),
        diagnostics=tuple(_diagnostic(found) for found in _list(data.get("diagnostics"))),
        reward=Reward(
            _numbers(reward.get("parts")),
            _number(reward.get("total")) or 0.0,
            _number(reward.get("maximum")) or 0.0,
        ),
        reasons=tuple(map(_text, _list(data.get("reasons")))),
        timings=_numbers(data.get("timings")),
        tools={str(name): _text(version) for name, version in _mapping(data.get("tools")).items()},
        seed=_whole(data.get("seed")),
        path=_text(data.get("path")) or "exact",
        path_reason=_text(data.get("path_reason")),
        simulations=tuple(_simulation(one) for one in map(_mapping, _list(data.get("simulations"))) if one),
        readable=tuple(map(_text, _list(data.get("readable")))),
        log=_text(data.get("log")),
        terms=_numbers(data.get("terms")),
        extraction=_text(data.get("extraction")),
        progress=_progress(_mapping(data.get("progress"))),
        cached=data.get("cached") is True,
    )


def _simulation(one: Mapping[str, Any]) -> SimulationResult:
    return SimulationResult(
        service=_text(one.get("service")),
        item=_text(one.get("item")),
        seed=_whole(one.get("seed")),
        tests=_whole(one.get("tests")),
        passed=_whole(one.get("passed")),
        time_ns=_number(one.get("time_ns")),
        evaluated=None if one.get("evaluated") is None else _whole(one.get("evaluated")),
        held=None if one.get("held") is None else _whole(one.get("held")),
    )


def _progress(found: Mapping[str, Any]) -> Progress | None:
    score = _number(found.get("score"))
    if score is None:
        return None
    parts = [part for part in map(_mapping, _list(found.get("parts"))) if part]
    return Progress(
        score,
        tuple(
            ProgressPart(_text(part.get("name")), _number(part.get("value")), _text(part.get("reason")))
            for part in parts
        ),
        _numbers(found.get("signals")),
        found.get("beyond_tests") is True,
    )


def _checks(found: Mapping[str, Any]) -> Checks | None:
    if not found:
        return None
    signals = {str(name): _mapping(one) for name, one in _mapping(found.get("signals")).items()}
    return Checks(
        evaluated=_whole(found.get("evaluated")),
        held=_whole(found.get("held")),
        other=_whole(found.get("other")),
        changes_held=_whole(found.get("changes_held")),
        changes=_whole(found.get("changes")),
        whole=found.get("whole") is True,
        time_ns=_number(found.get("time_ns")) or 0.0,
        signals={
            name: Compared(*(_whole(one.get(count)) for count in ("compared", "matched", "commonest")))
            for name, one in signals.items()
        },
    )


def _test(test: Mapping[str, Any]) -> TestResult:
    return TestResult(
        name=_text(test.get("name")) or "(no name)",
        passed=_verdict(test.get("passed")),
        message=_text(test.get("message")) or None,
        time_ns=_number(test.get("time_ns")),
        where=_text(test.get("where")) or None,
        service=_text(test.get("service")),
        item=_text(test.get("item")),
        checks=_checks(_mapping(test.get("checks"))),
    )


def _diagnostic(found: Any) -> Diagnostic:
    known = _mapping(found)
    if not known:
        return Diagnostic("", "", "", 0, _text(found))
    place = (_text(known.get("file")), _whole(known.get("line")))
    told = (_text(known.get("tool")), _text(known.get("severity")), *place, _text(known.get("text")))
    return Diagnostic(*told, column=_whole(known.get("column")))


def _verdict(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None


def _number(value: Any) -> float | None:
    """None for what is no number, and for what neither JSON nor a browser has: NaN, infinity, 500 digits."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 1e300:
        return None
    return float(value)


def _whole(value: Any) -> int:
    """An int keeps all of its digits: seeds have 64 bits."""
    return value if type(value) is int else int(_number(value) or 0)


def _numbers(value: Any) -> dict[str, float]:
    known = ((name, _number(number)) for name, number in _mapping(value).items())
    return {str(name): number for name, number in known if number is not None}


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else []


def _text(value: Any) -> str:
    """Messages may hold parts instead of a string."""
    if value is None:
        return ""
    try:
        return value if isinstance(value, str) else json.dumps(value, indent=1, ensure_ascii=False)
    except RecursionError:
        return "(nested too deeply to be shown)"
