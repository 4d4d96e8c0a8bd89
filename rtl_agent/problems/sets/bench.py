"""A Verilog bench that prints its verdict -> the harness of a `Problem`.

The harness has one pytest item. What it does is in `grading/probe/rtl_agent_bench.py`: the design is simulated alone,
and the bench in a simulation of its own, so that nothing the design prints, writes, ends or names reaches the verdict.
All of the set's own Verilog is in one JSON file, which no compiler or simulator of the design may open.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rtl_agent.problems.harness import COMPOSE_FILE, read_harness
from rtl_agent.problems.problem import BadRecord, Harness, NoSuchProblems

_COMPOSE = """\
services:
  bench:
    image: __OSS_SIM_IMAGE__
    volumes:
      - ./src/:/src/:ro
    env_file: ./src/.env
    command: pytest -o cache_dir=/code/rundir/.cache /src/test_bench.py -v
"""
_TEST = '''\
"""The design, judged by the Verilog bench of its problem set."""

from rtl_agent_bench import judge


def test_bench():
    verdict = judge("/src/bench.json")
    assert verdict.passed, verdict.said
'''


@dataclass(frozen=True)
class VerilogBench:
    """What a set has for one problem, and how its own scripts read what the bench prints."""

    module: str  # of the design
    bench: Sequence[str]
    reference: str
    passes: str  # a regular expression on the lines that are printed
    fails: Sequence[str] = ()  # and those that must not be there
    reference_module: str = ""  # "": found by slang
    compares: bool = False  # the bench instantiates the reference, too
    top: str = ""
    defaults: str = ""  # before every file: a time scale
    data: Mapping[str, str] = field(default_factory=dict)  # files that the bench reads

    def harness(self, target: str) -> Harness:
        env = {"SIM": "icarus", "TOPLEVEL_LANG": "verilog", "TOPLEVEL": self.module}
        env |= {"VERILOG_SOURCES": f"/code/{target}", "PYTHONPATH": "/src"}
        plan = {
            "module": self.module,
            "bench": list(self.bench),
            "reference": self.reference,
            "reference_module": self.reference_module,
            "compares": self.compares,
            "top": self.top,
            "defaults": self.defaults,
            "data": dict(self.data),
            "passes": self.passes,
            "fails": list(self.fails),
        }
        files = {
            COMPOSE_FILE: _COMPOSE,
            "src/.env": "".join(f"{name} = {value}\n" for name, value in env.items()),
            "src/bench.json": json.dumps(plan, indent=1),
            "src/test_bench.py": _TEST,
        }
        return read_harness(files)


@dataclass(frozen=True)
class Asked:
    """What stands behind the colon: a directory, and settings after commas."""

    path: Path
    settings: Mapping[str, str]
    every: bool  # those too that cannot be graded


def asked(source: str, argument: str, settings: Mapping[str, Sequence[str]]) -> Asked:
    """`PATH,name=value,all`; the settings that there are, with their values, the first one the default."""
    first, *words = argument.split(",")
    if not first:
        raise NoSuchProblems(f"{source} needs the directory of a checkout: {source}:PATH")
    path = Path(first).expanduser()
    if not path.is_dir():
        raise NoSuchProblems(f"{source}:{argument}: {path} is not a directory; name a checkout")
    chosen = {name: values[0] for name, values in settings.items()}
    every = False
    for word in filter(None, map(str.strip, words)):
        name, _, value = word.partition("=")
        if word == "all":
            every = True
        elif name not in settings or value not in settings[name]:
            known = ["all", *(f"{name}={'|'.join(values)}" for name, values in settings.items())]
            raise NoSuchProblems(f"{source}:{argument}: {word} is not one of {', '.join(known)}")
        else:
            chosen[name] = value
    return Asked(path, chosen, every)


def text_of(path: Path) -> str:
    """BadRecord says which file of a checkout is missing or unreadable. Benches have the odd byte of Latin-1."""
    try:
        return path.read_bytes().decode("utf-8", "replace").replace("\r\n", "\n")
    except OSError as error:
        raise BadRecord(path, 0, path.name, f"cannot be read: {error.strerror}") from error


# Comments, strings, escaped names, words and macros, and everything else one character at a time.
_TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\\\S+|[A-Za-z_$`][\w$]*|.', re.DOTALL)


def tokens(text: str) -> Iterator[str]:
    for found in _TOKEN.finditer(text):
        yield found[0]


def words(text: str) -> list[str]:
    """Names and keywords, in order."""
    return [token for token in tokens(text) if token[0].isalpha() or token[0] == "_"]


def renamed(text: str, names: Mapping[str, str]) -> str:
    """A set's own text with other names for its modules; comments and strings stay."""
    return "".join(names.get(token, token) for token in tokens(text))
