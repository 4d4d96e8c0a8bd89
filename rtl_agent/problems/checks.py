"""What every problem source must do, whatever it is made of: a conformance suite that any source can be run through.

    for fault in check_source("mine:whatever"):
        print(fault)

`tests/problems/test_sources.py` runs it over the sources that come with the package.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import PurePosixPath

from rtl_agent.problems.cvdp import as_record, parse_record
from rtl_agent.problems.problem import BadField, Needs, NoSuchProblems, Problem, family_of, why_unsafe
from rtl_agent.problems.select import Split
from rtl_agent.problems.sources import LoadOptions, ProblemGenerator, find_source

Check = Callable[[str, Sequence[Problem]], Iterator[str]]


def check_source(source: str) -> list[str]:
    """What is wrong with a source, a sentence each; [] for one that conforms. `source` is what a user would write."""
    find, argument = find_source(source)
    problems = list(find(argument, LoadOptions()))
    return [f"{check.__name__}: {fault}" for check in CHECKS for fault in check(source, problems)]


def has_problems(source: str, problems: Sequence[Problem]) -> Iterator[str]:
    """An empty source says so with `NoSuchProblems`."""
    if not problems:
        yield "no problems, and no NoSuchProblems that says why"


def ids_are_unique(source: str, problems: Sequence[Problem]) -> Iterator[str]:
    """Answers, grades and rollouts are found by id."""
    for identifier, times in Counter(problem.id for problem in problems).items():
        if times > 1:
            yield f"{identifier} occurs {times} times"


def ids_have_their_form(source: str, problems: Sequence[Problem]) -> Iterator[str]:
    """`<set>_<topic>_<number>`: the topic is the family, which decides the side of a split."""
    for problem in problems:
        try:
            if family_of(problem.id) != problem.family:
                yield f"{problem.id} is of the family {problem.family!r}"
        except BadField as bad:
            yield bad.reason


def loads_the_same_again(source: str, problems: Sequence[Problem]) -> Iterator[str]:
    """A run that is resumed loads its problems again and goes on in the same order."""
    find, argument = find_source(source)
    again = list(find(argument, LoadOptions()))
    if [problem.id for problem in again] != [problem.id for problem in problems]:
        yield "the second time there are other problems, or another order"
    for first, second in zip(problems, again, strict=False):
        if first.id == second.id and first != second:
            yield f"{first.id} differs the second time"


def says_what_it_skips(source: str, problems: Sequence[Problem]) -> Iterator[str]:
    """With `on_bad` a source that can be read is read all the same, and nothing is said about it."""
    find, argument = find_source(source)
    skipped: list[object] = []
    again = list(find(argument, LoadOptions(on_bad=skipped.append)))
    if skipped or len(again) != len(problems):
        yield f"with on_bad {len(again)} problems instead of {len(problems)}, and {len(skipped)} bad ones"


def paths_are_safe(source: str, problems: Sequence[Problem]) -> Iterator[str]:
    """Every file is written below a workspace."""
    for problem in problems:
        for path in (*problem.targets, *problem.context, *problem.harness.files, *(problem.reference or {})):
            if (reason := why_unsafe(path)) is not None:
                yield f"{problem.id}: {path!r} {reason}"


def can_be_asked_and_judged(source: str, problems: Sequence[Problem]) -> Iterator[str]:
    """There is a task, and where open tools judge it, a target and a service."""
    for problem in problems:
        if not problem.prompt.strip():
            yield f"{problem.id} has an empty prompt"
        if problem.needs is Needs.OPEN_TOOLS and not (problem.targets and problem.harness.services):
            yield f"{problem.id} has no target, or no service that judges it"
        if problem.reference is not None and set(problem.reference) != set(problem.targets):
            yield f"{problem.id}: its reference has other files than its targets"


def does_not_show_the_harness(source: str, problems: Sequence[Problem]) -> Iterator[str]:
    """The model gets prompt and context: a file of the harness among them gives the tests away."""
    for problem in problems:
        hidden = {text for path, text in problem.harness.files.items() if PurePosixPath(path).suffix == ".py"}
        for path, text in problem.context.items():
            if text.strip() and text in hidden:
                yield f"{problem.id} shows a file of its harness as {path}"


def survives_a_file(source: str, problems: Sequence[Problem]) -> Iterator[str]:
    """A problem is the same after it was written as a CVDP record and read back."""
    for problem in problems:
        try:
            same = parse_record(as_record(problem)) == problem
        except (BadField, LookupError) as error:
            yield f"{problem.id} cannot be written as a CVDP record: {error}"
            continue
        if not same:
            yield f"{problem.id} is another problem when it is read back from its CVDP record"


def draws_by_seed(source: str, problems: Sequence[Problem]) -> Iterator[str]:
    """A generator draws what the seed says, more of it when more is asked for, and keeps the two sides apart."""
    find, _ = find_source(source)
    if not isinstance(find, ProblemGenerator):
        return
    few, many, other = (find.draw(seed, count) for seed, count in ((1, 4), (1, 8), (2, 8)))
    if [problem.id for problem in many[:4]] != [problem.id for problem in few]:
        yield "the first problems depend on how many are drawn"
    if {problem.id for problem in many} & {problem.id for problem in other}:
        yield "two seeds draw the same problem"
    if {problem.id for problem in many} & {problem.id for problem in find.draw(1, 8, split=Split.HELD_OUT)}:
        yield "a problem is on both sides of the split"
    try:
        find.draw(1, 1, families=["there_is_no_such_family"])
        yield "a family that does not exist raises no NoSuchProblems"
    except NoSuchProblems:
        pass


CHECKS: tuple[Check, ...] = (
    has_problems,
    ids_are_unique,
    ids_have_their_form,
    loads_the_same_again,
    says_what_it_skips,
    paths_are_safe,
    can_be_asked_and_judged,
    does_not_show_the_harness,
    survives_a_file,
    draws_by_seed,
)
