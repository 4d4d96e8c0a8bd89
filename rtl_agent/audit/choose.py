"""Which mutations stand for all: spread over classes of mistakes, and within a class over the lines of the design."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from random import Random

from rtl_agent.audit.trees import Mutation


def in_turn(mutations: Sequence[Mutation], seed: str) -> Iterator[Mutation]:
    """All of them, the most telling choice first: one of each class in turn; of a class, of each place and operator
    before a second one of the same. The same seed gives the same order."""
    random = Random(f"mutants {seed}")
    groups: dict[str, list[Mutation]] = defaultdict(list)
    for one in mutations:
        groups[one.group].append(one)
    order = sorted(groups)
    random.shuffle(order)
    waiting = {name: _spread(groups[name], random) for name in order}
    while waiting:
        for name in list(waiting):
            try:
                yield next(waiting[name])
            except StopIteration:
                del waiting[name]


def _spread(mutations: Sequence[Mutation], random: Random) -> Iterator[Mutation]:
    left = list(mutations)
    random.shuffle(left)
    lines: dict[tuple[str, int], int] = defaultdict(int)
    operators: dict[str, int] = defaultdict(int)
    while left:
        at = min(range(len(left)), key=lambda i: (lines[left[i].file, left[i].line] + operators[left[i].operator], i))
        one = left.pop(at)
        lines[one.file, one.line] += 1
        operators[one.operator] += 1
        yield one
