"""Which files of a harness a tool may read while it works on a design: none, but those that its command names.

Inside a harness's Python the probe closes and opens /src (`probe/rtl_agent_probe_seal.py`). This is the host's side:
commands that a box runs without any Python, and the few files that a design which was given reads by itself.
"""

import posixpath
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import lru_cache

from rtl_agent.problems import Problem, Service
from rtl_agent.sandbox import Box

_PLACES = ("src/", "docs/", "rtl/", "verif/", "rundir/")  # what CVDP mounts; compose and Docker files stay outside
_HDL = (".v", ".sv", ".vh", ".svh")
_DATA_NAME = re.compile(r"[\w-]{1,80}\.(?:hex|mem|dat|data|txt|bin|csv|coe|mif|json|init|rom|vec|list|sdf)\b")
_QUOTED_NAME = re.compile(r'"(?:[\w.+-]*/)*([\w+-]{1,80}\.[A-Za-z]\w{0,7})"')
_MOST_NAMES = 500


def harness_files(problem: Problem) -> dict[str, str]:
    """The harness as a box has it."""
    return {path: text for path, text in problem.harness.files.items() if path.startswith(_PLACES)}


def kept_while_simulated(problem: Problem) -> tuple[str, ...]:
    """Data files of a harness that Verilog reads: a design that was given, or a testbench, names them.

    No problem of CVDP's development part has one. What a harness's Python reads comes from memory.
    """
    data = {path for path in harness_files(problem) if path.startswith("src/") and not path.endswith((".py", ".env"))}
    verilog = [text for path, text in (*problem.context.items(), *problem.harness.files.items()) if path.endswith(_HDL)]
    words = {word for text in verilog for word in _quoted_words(text)}
    named = {f"/{path}" for path in data if any(posixpath.basename(path) == posixpath.basename(word) for word in words)}
    return tuple(sorted(path for path in named if not path.endswith(_HDL)))


def own_files_beside(problem: Problem) -> tuple[str, ...]:
    """Files of the harness that stand in /code, beside the design, and are not those that were given."""
    found = harness_files(problem).items()
    return tuple(
        f"/code/{path}" for path, text in found if not path.startswith("src/") and problem.context.get(path) != text
    )


def names_a_design_may_read(problem: Problem) -> tuple[str, ...]:
    """Names of files that the specification or a given file speaks of: a harness may write these for the design."""
    names = {name for text in (problem.prompt, *problem.context.values()) for name in _data_names(text)}
    names |= {posixpath.basename(path) for path in problem.context}
    verilog = [text for path, text in (*problem.context.items(), *problem.harness.files.items()) if path.endswith(_HDL)]
    quoted = {name for text in verilog for name in _quoted_names(text)}
    return tuple(sorted(names | quoted))[:_MOST_NAMES]


@lru_cache(maxsize=512)  # of texts that are looked at for every submission of a problem
def _data_names(text: str) -> frozenset[str]:
    return frozenset(_DATA_NAME.findall(text))


@lru_cache(maxsize=512)
def _quoted_names(text: str) -> frozenset[str]:
    return frozenset(posixpath.basename(word) for word in _QUOTED_NAME.findall(text))


@lru_cache(maxsize=512)
def _quoted_words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r'"([^"\n]{1,200})"', text))


def named_files(problem: Problem, words: str) -> frozenset[str]:
    """Files of the harness that a command names, and those that these name in turn, as paths in the box."""
    files = {f"/{path}": text for path, text in harness_files(problem).items() if path.startswith("src/")}
    found: set[str] = set()
    texts = [words]
    while texts:
        text = texts.pop()
        more = [path for path in files if path in text and path not in found]
        found.update(more)
        texts += [files[path] for path in more]
    return frozenset(found)


@asynccontextmanager
async def closed_harness(
    box: Box, problem: Problem, service: Service, argv: Sequence[str], env: Mapping[str, str]
) -> AsyncIterator[frozenset[str]]:
    """While it lasts nothing of /src can be opened but the files that are yielded: those that the command names.

    A shell may put the service's variables into its command, so these count as words of it.
    """
    named = named_files(problem, " ".join([*argv, *(env[name] for name in service.env if name in env)]))
    files = sorted(f"/{path}" for path in harness_files(problem) if path.startswith("src/"))
    beside = [path for path in own_files_beside(problem) if not path.endswith(_HDL) and path not in " ".join(argv)]
    if beside:
        await box.run(["chmod", "0", *beside])
    if named:
        await box.run(["chmod", "0", *(path for path in files if path not in named)])
    else:
        await box.run(["chmod", "0", "/src"])
    try:
        yield named
    finally:
        await box.run(["chmod", "755" if service.src_writable else "555", "/src"])
        await box.run(["chmod", "444", *files, *beside])
