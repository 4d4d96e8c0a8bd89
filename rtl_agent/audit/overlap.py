"""How much of one set of problems is in another: runs of words of specifications, and of tokens of their RTL.

A model that was trained on a problem has not been tested by it, and sets copy from each other: the same specification,
the same design under other names. So two things are compared: eight words in a row of the specification, case and
punctuation aside; and twenty tokens in a row of the RTL (reference and given files) without comments, every name but
keywords replaced by how many tokens ago it stood last, so that renamed copies are the same.

What problems of several families share is no sign of a copy (a form of questions, a usual reset): such runs are left
out.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from hashlib import blake2b
from re import findall
from typing import Any

from rtl_agent.grading.verilog_tokens import Kind, tokens
from rtl_agent.problems import Problem

WORDS, TOKENS = 8, 20  # 8 words: what published decontaminations take
COMMON = 4  # families of one set that share a run: from here on it is how such problems are written
NOTABLE = 0.5  # share of a problem's runs
_RESERVED = (
    "always always_comb always_ff always_latch and assign automatic begin bit buf byte case casex casez const default "
    "defparam disable else end endcase endfunction endgenerate endinterface endmodule endpackage endtask enum event "
    "export for force forever fork function generate genvar if import initial inout input int integer interface join "
    "localparam logic longint modport module nand negedge nor not or output package packed parameter posedge priority "
    "real reg release repeat return shortint signed string struct supply0 supply1 task time tri tri0 tri1 type typedef "
    "union unique unsigned var void wait wand while wire wor xnor xor $signed $unsigned $clog2 $bits"
)
_KEYWORDS = frozenset(_RESERVED.split())

Run = bytes  # a digest of words or tokens in a row


@dataclass(frozen=True)
class Nearest:
    """The problem of the other set that shares most, and the share of this problem's runs that it has."""

    id: str
    share: float


@dataclass(frozen=True)
class ProblemOverlap:
    """One problem of A. `*_seen` is the share of its runs that are anywhere in B; None where it has no such text."""

    id: str
    family: str
    specification: Nearest | None
    specification_seen: float | None
    rtl: Nearest | None
    rtl_seen: float | None

    @property
    def most(self) -> float:
        """Of any single problem."""
        return max((one.share for one in (self.specification, self.rtl) if one is not None), default=0.0)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def overlaps(
    a: Sequence[Problem], b: Sequence[Problem], *, words: int = WORDS, rtl: int = TOKENS
) -> list[ProblemOverlap]:
    """For each problem of `a`, in order. A problem that is in both sets is a copy of itself."""
    specifications = _shared(a, b, [set(word_runs(one.prompt, words)) for one in (*a, *b)])
    designs = _shared(a, b, [set(rtl_runs(one, rtl)) for one in (*a, *b)])
    return [
        ProblemOverlap(one.id, one.family, *specification, *design)
        for one, specification, design in zip(a, specifications, designs, strict=True)
    ]


def word_runs(text: str, length: int) -> Iterator[Run]:
    """A shorter text is one run."""
    yield from _runs(findall(r"\w+", text.lower()), length)


def rtl_runs(problem: Problem, length: int) -> Iterator[Run]:
    """Of every RTL file that the problem shows, and of its reference; each file by itself."""
    files = {**problem.context, **(problem.reference or {})}
    for path, text in sorted(files.items()):
        if path.endswith((".v", ".sv", ".svh", ".vh")):
            found = [one.text for one in tokens(text) if one.kind is not Kind.COMMENT]
            yield from _runs(_without_names(found, length), length)


def _without_names(words: Sequence[str], far: int) -> list[str]:
    last: dict[str, int] = {}
    found = []
    for index, word in enumerate(words):
        if (word[0].isalpha() or word[0] in "_\\") and word not in _KEYWORDS:
            since = index - last.get(word, -far)
            last[word] = index
            word = f"\0{since if since < far else 0}"
        found.append(word)
    return found


def _runs(words: Sequence[str], length: int) -> Iterator[Run]:
    for start in range(max(1, len(words) - length + 1) if words else 0):
        yield _digest(words[start : start + length])


def _digest(words: Iterable[str]) -> Run:
    return blake2b(" ".join(words).encode(errors="backslashreplace"), digest_size=8).digest()


def _shared(
    a: Sequence[Problem], b: Sequence[Problem], runs: Sequence[set[Run]]
) -> Iterator[tuple[Nearest | None, float | None]]:
    of_a, of_b = runs[: len(a)], runs[len(a) :]
    usual = _usual(a, of_a) | _usual(b, of_b)
    holders: dict[Run, list[int]] = defaultdict(list)
    for index, found in enumerate(of_b):
        for run in found - usual:
            holders[run].append(index)
    for found in of_a:
        own = found - usual
        if not own:
            yield None, None
            continue
        counts = Counter(index for run in own for index in holders.get(run, ()))
        best = max(counts, key=lambda index: (counts[index], -index), default=None)
        nearest = None if best is None else Nearest(b[best].id, counts[best] / len(own))
        yield nearest, sum(run in holders for run in own) / len(own)


def _usual(problems: Sequence[Problem], runs: Sequence[set[Run]]) -> set[Run]:
    families: dict[Run, set[str]] = defaultdict(set)
    for problem, found in zip(problems, runs, strict=True):
        for run in found:
            families[run].add(problem.family)
    return {run for run, names in families.items() if len(names) >= COMMON}


def warning(train: Sequence[Problem], tests: Sequence[Problem], *, notable: float = NOTABLE) -> str:
    """A sentence if tests are among what is learned from; empty if not.

    Problems drawn by seed are left out: other instances of a family are what their tests are about.
    """
    learned, asked = ([one for one in side if not one.family.startswith("generated_")] for side in (train, tests))
    found = overlaps(asked, learned)
    copies = sorted((one for one in found if one.most >= notable), key=lambda one: -one.most)
    if not copies:
        return ""
    first = copies[0]
    nearest = max((one for one in (first.specification, first.rtl) if one), key=lambda one: one.share)
    return (
        f"{len(copies)} of {len(tests)} held-out problems share {notable:.0%} or more of their text or RTL with a "
        f"problem that is trained on, so what they score is no test; the first: {first.id} with {nearest.id} "
        f"({nearest.share:.0%}). `rtl-agent problems overlap` lists them"
    )
