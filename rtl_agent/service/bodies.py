"""What clients send, as pydantic models: the same ones check it and describe it in the OpenAPI schema."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from rtl_agent.grading import PRESETS
from rtl_agent.problems import CocotbVersion
from rtl_agent.web.errors import RequestError

MOST_AT_ONCE = 256
_MOST_FILES = 1024

Id = Annotated[str, Field(min_length=1, max_length=200, description="The id of a problem of this server's set.")]
Hash = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
# 7.0 is an integer to JSON Schema.
Integer = Annotated[int, BeforeValidator(lambda value: int(value) if _is_integral(value) else value)]
Files = Annotated[dict[str, str], Field(max_length=_MOST_FILES, description="Path -> text.")]
Preset = Literal["staged", "graded", "dense", "binary"]
assert set(PRESETS) == {"staged", "graded", "dense", "binary"}


def _is_integral(value: object) -> bool:
    return isinstance(value, float) and value.is_integer()


class Body(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class _Judging(Body):
    reward: Preset = Field("staged", description="The weights of the reward.")


class _Reply(_Judging):
    # Without a longest length: with one, pydantic refuses half a surrogate pair, which models do write.
    reply: str = Field(description="What a model said.")
    extraction: Literal["forgiving", "cvdp"] = Field("forgiving", description="How files are read from the reply.")


class _Files(_Judging):
    files: Files


class Reply(_Reply):
    """A model's reply to a problem of the set."""

    problem: Id


class FilesFor(_Files):
    """Files for a problem of the set."""

    problem: Id


class ReplyToRecord(_Reply):
    """A model's reply to a problem that comes with it."""

    record: dict[str, Any] = Field(description="A problem, as a line of a CVDP data set.")


class FilesForRecord(_Files):
    """Files for a problem that comes with them."""

    record: dict[str, Any] = Field(description="A problem, as a line of a CVDP data set.")


Submitted = Reply | FilesFor | ReplyToRecord | FilesForRecord


class WholeService(Body):
    name: str = Field(max_length=200)
    argv: list[str] = Field(min_length=1, max_length=1000)
    env: dict[str, str]
    src_writable: bool


class WholeHarness(Body):
    files: dict[str, str]
    services: list[WholeService] = Field(min_length=1, max_length=100)
    cocotb_version: Literal["1.9.2", "2.0.1"]


assert {version.value for version in CocotbVersion} == {"1.9.2", "2.0.1"}


class WholeProblem(Body):
    """A problem with its harness, as rtl-agent's own client sends it."""

    id: str = Field(min_length=1, max_length=200)
    family: str
    category: str
    difficulty: str
    kind: Literal["single-shot", "agentic"]
    needs: Literal["open-tools"]
    prompt: str
    context: dict[str, str]
    targets: list[str] = Field(min_length=1, max_length=_MOST_FILES)
    harness: WholeHarness
    reference: dict[str, str] | None = None
    system_message: str | None = None
    answer: str | None = None


class Job(Body):
    """A job of rtl-agent's own client. The grade comes back without a reward."""

    problem: Id
    problem_key: Hash = Field(description="Of all of the problem that reaches a box.")
    tools: Hash = Field(description="Of the tools that the client saw at /executor.")
    files: Files
    refused: list[str] = Field(max_length=_MOST_FILES)
    seed: Integer = Field(ge=0, lt=1 << 32)
    terms: list[str] = Field(max_length=100, description="Names of reward terms.")
    simulate: bool
    only: list[str] = Field(max_length=1000, description="Patterns of the tests that are asked for; none: all.")
    output: bool = Field(description="Keep what the tools printed.")
    checks: bool = Field(description="Count what the checks of each test find.")
    timeout_seconds: float = Field(gt=0, le=86400, description="Maximum seconds of each service of the harness.")
    path: Literal["exact", "fast", "auto"]


class JobWithProblem(Job):
    """The same with its problem, for a server that takes problems."""

    whole: WholeProblem


T = TypeVar("T", bound=Body)


def read_submitted(data: Any, *, accepts_problems: bool) -> list[Submitted]:
    """One, or a list of them."""
    if isinstance(data, list):
        if not 1 <= len(data) <= MOST_AT_ONCE:
            raise RequestError(422, f"{len(data)} submissions in one request: send 1 to {MOST_AT_ONCE}")
        return [_read_one(one, f"[{at}]", accepts_problems=accepts_problems) for at, one in enumerate(data)]
    return [_read_one(data, "", accepts_problems=accepts_problems)]


def _read_one(data: Any, where: str, *, accepts_problems: bool) -> Submitted:
    if not isinstance(data, Mapping):
        raise RequestError(422, f"{where or 'the body'} should be an object with `problem` and `reply` or `files`")
    of_record, of_files = "record" in data, "files" in data
    if of_record and not accepts_problems:
        raise not_accepted()
    if of_record and of_files:
        return _read(FilesForRecord, data, where)
    if of_record:
        return _read(ReplyToRecord, data, where)
    return _read(FilesFor, data, where) if of_files else _read(Reply, data, where)


def read_job(data: Any, *, accepts_problems: bool) -> Job:
    if isinstance(data, Mapping) and "whole" in data:
        if not accepts_problems:
            raise not_accepted()
        return _read(JobWithProblem, data, "")
    return _read(Job, data, "")


def not_accepted() -> RequestError:
    return RequestError(
        403, "this server judges its own problems only: start it with --accept-problems, or send a `problem` of its set"
    )


def _read(model: type[T], data: Any, where: str) -> T:
    try:
        return model.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        place = where + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"])
        raise RequestError(422, f"{place.lstrip('.')[:200] or 'the body'}: {first['msg']}") from None
