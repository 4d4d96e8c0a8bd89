"""A generated problem as an agent's: the specification lies in a file, and the task says where."""

import hashlib
from dataclasses import replace
from pathlib import PurePosixPath
from random import Random

from rtl_agent.problems.problem import Kind, Problem

SPECIFICATION = "docs/specification.md"
_OPENINGS = (
    "Write the module `{module}` in the new file `{path}`.",
    "Create `{path}` with the Verilog module `{module}`.",
    "Implement the module `{module}`. It belongs in `{path}`, which is not there yet.",
    "The file `{path}` is missing: write it, with the module `{module}` as its content.",
)
_WHERE = (
    "Its specification is `{document}`.",
    "What it does is described in `{document}`.",
    "Ports, reset and behaviour are given in `{document}`; keep to it exactly.",
    "Read `{document}` first and follow it in every detail.",
)
_MORE = (
    "No other file needs to change.",
    "It must compile with `iverilog -g2012`.",
    "The code has to be synthesisable.",
    "Names, widths and timing are checked.",
    "You may write a bench of your own below `verif`.",
)


def as_workspace(problem: Problem) -> Problem:
    """The same design asked for in another way, in words that depend on the problem's id alone."""
    random = Random(f"workspace {problem.id}")
    (path,) = problem.targets
    names = {"module": PurePosixPath(path).stem, "path": path, "document": SPECIFICATION}
    said = [random.choice(_OPENINGS), random.choice(_WHERE), *random.sample(_MORE, random.randrange(3))]
    between = random.choice((" ", "\n", "\n\n"))
    return replace(
        problem,
        id=_identifier(problem),
        kind=Kind.AGENTIC,
        prompt=between.join(said).format(**names),
        context={SPECIFICATION: f"{problem.prompt}\n"},
    )


def _identifier(problem: Problem) -> str:
    stem, _, digest = problem.id.rpartition("_")
    return f"{stem}_{hashlib.sha256(f'workspace {digest}'.encode()).hexdigest()[:12]}"
