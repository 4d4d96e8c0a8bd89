"""Teachers as a command line names them: one or several, each with a server of its own, and who teaches what.

    teacher_model=Qwen/Qwen3-Coder-30B-A3B-Instruct,rtl-agent/teacher
    teacher_backend=openai:http://gpu1:8000/v1,embedded
    teacher_for=cid016:rtl-agent/teacher,fifo*:rtl-agent/teacher

Options that say where or how have one value for all teachers, or one for each. A rule names a category, a family or a
problem, perhaps with `*`; the first that fits decides, and the first teacher has all the rest.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Protocol

from rtl_agent.options import BadOption
from rtl_agent.problems import Problem
from rtl_agent.registry import did_you_mean

SAME = "same"  # the student's server
SELF = "self"  # in place of a teacher's name
OPENAI = "openai"
_BACKENDS = "same, embedded, tinker, http://host:port (Tinker's API) or openai:http://host:port/v1"


@dataclass(frozen=True)
class TeacherSpec:
    """One teacher, and where it is. Empty strings are filled in from what the model is."""

    name: str
    backend: str = SAME
    tokenizer: str = ""  # a folder, or a name on the hub
    renderer: str = ""
    key_variable: str = ""  # the environment variable that holds the server's key

    @property
    def is_openai(self) -> bool:
        return self.backend.startswith((f"{OPENAI}:", f"{OPENAI}+"))


@dataclass(frozen=True)
class Rule:
    pattern: str
    teacher: str

    def fits(self, problem: Problem) -> bool:
        return any(fnmatchcase(name, self.pattern) for name in (problem.category, problem.family, problem.id))


class TeacherFields(Protocol):
    """The fields of `ModelConfig` that are read here."""

    @property
    def backend(self) -> str: ...
    @property
    def teacher(self) -> str: ...
    @property
    def teacher_backend(self) -> str: ...
    @property
    def teacher_tokenizer(self) -> str: ...
    @property
    def teacher_renderer_name(self) -> str: ...
    @property
    def teacher_api_key_env(self) -> str: ...
    @property
    def teacher_for(self) -> str: ...


def teacher_specs(model: TeacherFields) -> tuple[TeacherSpec, ...]:
    """BadOption where the options do not fit each other."""
    names = _items(model.teacher)
    if not names:
        raise BadOption("teacher_model", model.teacher, "name a model")
    if len(set(names)) < len(names):
        raise BadOption("teacher_model", model.teacher, "a teacher is named twice")
    backends = _each("teacher_backend", model.teacher_backend, names)
    tokenizers = _each("teacher_tokenizer", model.teacher_tokenizer, names)
    renderers = _each("teacher_renderer_name", model.teacher_renderer_name, names)
    variables = _each("teacher_api_key_env", model.teacher_api_key_env, names)
    for backend in backends:
        _check_backend(backend)
    for variable in variables:
        if variable and not variable.isidentifier():
            # Not quoted: it may be the key itself, which config.json would keep.
            raise BadOption("teacher_api_key_env", "...", "it is the name of an environment variable, not the key")
    found = zip(names, backends, tokenizers, renderers, variables, strict=True)
    return tuple(
        TeacherSpec(name, SAME if backend in ("", model.backend) else backend, tokenizer, renderer, variable)
        for name, backend, tokenizer, renderer, variable in found
    )


def teacher_rules(model: TeacherFields) -> tuple[Rule, ...]:
    """A teacher is named in full, or by what comes after the last slash."""
    names = _items(model.teacher)
    found = []
    for rule in _items(model.teacher_for):
        pattern, colon, wanted = (part.strip() for part in rule.partition(":"))
        if not (pattern and colon and wanted):
            raise BadOption("teacher_for", rule, "write PATTERN:TEACHER, such as cid016:Qwen/Qwen3-8B or fifo*:teacher")
        meant = [name for name in names if wanted in (name, name.rpartition("/")[2])]
        if len(meant) != 1:
            why = "is not in teacher_model" if not meant else "names several teachers"
            raise BadOption("teacher_for", rule, f"{wanted} {why}{did_you_mean(wanted, names, most=1)}")
        found.append(Rule(pattern, meant[0]))
    return tuple(found)


def teacher_of(problem: Problem, names: Sequence[str], rules: Sequence[Rule]) -> str:
    return next((rule.teacher for rule in rules if rule.fits(problem)), names[0])


def idle_rules(rules: Sequence[Rule], problems: Sequence[Problem]) -> list[Rule]:
    """Rules that fit no problem: probably a slip of the pen."""
    return [rule for rule in rules if not any(rule.fits(problem) for problem in problems)]


def _check_backend(backend: str) -> None:
    """Which kinds of OpenAI-compatible server there are, their module knows."""
    scheme, _, url = backend.partition(":")
    if scheme == OPENAI or scheme.startswith(f"{OPENAI}+"):
        if not url.startswith(("http://", "https://")):
            raise BadOption("teacher_backend", backend, "give the server's URL: openai:http://host:port/v1")
    elif backend not in ("", SAME, "embedded", "tinker") and scheme not in ("http", "https"):
        raise BadOption("teacher_backend", backend, f"use {_BACKENDS}")


def _items(text: str) -> list[str]:
    return [item.strip() for item in text.split(",") if item.strip()]


def _each(option: str, text: str, names: Sequence[str]) -> list[str]:
    """One for all, or one for each; an empty one between commas stays empty."""
    given = [item.strip() for item in text.split(",")]
    if len(given) == 1:
        return given * len(names)
    if len(given) != len(names):
        raise BadOption(option, text, f"{len(given)} values for {len(names)} teachers: give one, or one for each")
    return given


def check_teachers(model: TeacherFields) -> None:
    """BadOption where names, servers and rules do not go together."""
    names = [spec.name for spec in teacher_specs(model)]
    teacher_rules(model)
    if SELF in names and (len(names) > 1 or model.teacher_backend not in ("", SAME)):
        raise BadOption("teacher_model", model.teacher, "the student teaches itself alone, and on its own server")
