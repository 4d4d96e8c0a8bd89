"""What a model is taught: generated problems with answers, stage by stage, as questions and answers in tokens."""

import contextlib
import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum
from random import Random
from typing import cast

from tinker_cookbook.renderers import Message as RendererMessage

from rtl_agent.envs.dialects.registry import dialect_for
from rtl_agent.envs.env import ProblemGroupBuilder
from rtl_agent.envs.episode_config import AGENTIC, EpisodeConfig
from rtl_agent.envs.feedback import failures
from rtl_agent.envs.prompt import prompt_for
from rtl_agent.envs.renderers import renderer_for
from rtl_agent.envs.session import ToolResult
from rtl_agent.envs.tokenizers import tokenizer_for
from rtl_agent.grading import SyncGrader
from rtl_agent.problems import Kind, Problem, load_problems
from rtl_agent.problems.generate import (
    SPECIFICATION,
    Instance,
    answer,
    as_problem,
    as_workspace,
    habitual_answer,
    identifier,
    instances,
)
from rtl_agent.prompts import Message, as_dicts, messages, with_feedback, with_reference

BLOCK = 256  # instances drawn at a time
JUDGED = 64  # answers at a time that are drawn, and graded where what failed is told
SYSTEM, RENDERER, MODEL = "short", "rtl_agent", "rtl-agent/student"  # whose tokenizer nearly all share
SHELL = "execute_bash"
EXIT_0 = "[exit code 0]"
LAST_WORD = "Done."
FOREIGN = 0.5  # share of tasks, and of documents, with lines about other designs
MOST_FOREIGN = 24  # lines before, and after; few are more common
MOST_FILES = 2  # of other designs, in the workspace


@dataclass(frozen=True)
class Pair:
    """One question with its answer, as tokens; the answer ends with the token that ends a turn.

    `shown` are the parts of the answer that the model did not say, observations: each from a place to before another.
    """

    question: tuple[int, ...]
    answer: tuple[int, ...]
    shown: tuple[tuple[int, int], ...] = ()

    def __len__(self) -> int:
        return len(self.question) + len(self.answer)


class Form(Enum):
    """How a problem is asked and answered."""

    REPLY = "one answer"
    CALL = "a tool call that writes the file"
    WORKSPACE = "a call that reads the specification, then one that writes the file"
    TOLD = "one answer, after the same question was answered by the reference"
    MENDED = "the reference, after another answer and what the grader says of it"


@dataclass(frozen=True)
class Answered:
    instance: Instance
    design: str  # the reference, or one in which habit takes its share
    form: Form


@dataclass(frozen=True)
class Stage:
    """What is asked and answered from one block of instances on."""

    block: int
    families: tuple[str, ...]
    right: float = 1.0  # share of answers that follow the specification throughout
    habit: float = 1.0  # of all others: the share of decisions that a textbook would take, whatever is specified
    calls: float = 0.0  # share that is asked of an agent, which writes its file by a tool call
    workspaces: float = 0.0  # of these: the share in which the specification is a file, to be read by a call before
    told: float = 0.0  # share that is told the reference, as a student that teaches itself is, and writes it
    mended: float = 0.0  # share that is told what failed in an answer with any share of habit, and writes the reference


Course = tuple[Stage, ...]


def answered(seed: int, course: Course) -> Iterator[Answered]:
    """Instances without end, each with a design."""
    habit, forms = Random(f"habit {seed}"), Random(f"form {seed}")
    for block in itertools.count():
        stage = next(stage for stage in reversed(course) if stage.block <= block)
        found = instances(seed * 1_000_003 + block, BLOCK, families=stage.families)
        Random(f"order {seed} {block}").shuffle(found)
        for instance in found:
            form = _form(stage, forms)
            right = habit.random() < stage.right or form is Form.TOLD
            share = habit.random() if form is Form.MENDED else stage.habit
            design = instance.reference if right else habitual_answer(instance, share, habit)
            yield Answered(instance, design, form)


def _form(stage: Stage, random: Random) -> Form:
    if stage.told or stage.mended:
        drawn = random.random()
        if drawn < stage.told + stage.mended:
            return Form.TOLD if drawn < stage.told else Form.MENDED
    if random.random() >= stage.calls:
        return Form.REPLY
    return Form.WORKSPACE if random.random() < stage.workspaces else Form.CALL


class Conversations:
    """Tells them as tokens. `seed` decides what of other designs stands in a workspace.

    That is taken from the bundled problems that ask for one reply. The agentic ones stay unseen, to be tested on.
    """

    def __init__(self, seed: int, model: str = MODEL) -> None:
        self._model, self._dialect = model, dialect_for(model, RENDERER)
        self._random = Random(f"foreign {seed}")
        others = [problem for problem in load_problems("bundled") if problem.kind is Kind.SINGLE_SHOT]
        self._foreign = [line for problem in others for line in problem.prompt.splitlines() if line.strip()]
        self._files = sorted({path for problem in others for path in problem.targets})

    def writing(self, problem: Problem, design: str) -> Pair:
        """One call that writes the file."""
        return self._told(problem, [(_call_that_writes(problem.targets[0], design), EXIT_0)])

    def reading(self, problem: Problem, design: str) -> Pair:
        """The specification is a file: it is read by a call of its own."""
        workspace = as_workspace(replace(problem, prompt=self._among_others(problem.prompt)))
        beside = self._random.sample(self._files, self._random.randrange(MOST_FILES + 1))
        workspace = replace(
            workspace,
            prompt=self._among_others(workspace.prompt),
            context={**workspace.context, **dict.fromkeys(beside, "")},
        )
        seen = f"{workspace.context[SPECIFICATION].rstrip()}\n{EXIT_0}"
        return self._told(workspace, [
            (_call(f"cat {SPECIFICATION}"), seen),
            (_call_that_writes(problem.targets[0], design), EXIT_0),
        ])  # fmt: skip

    def _told(self, problem: Problem, calls: list[tuple[str, str]]) -> Pair:
        builder = ProblemGroupBuilder(problem, 1, self._model, RENDERER, EpisodeConfig(AGENTIC, system=SYSTEM))
        encode = builder.renderer.tokenizer.encode
        end = encode("<|im_end|>")
        answer: list[int] = []
        shown: list[tuple[int, int]] = []
        for call, printed in calls:
            turn = [*encode(call), *end]
            observation = self._dialect.follow(turn, [ToolResult(SHELL, printed)])
            answer += [*turn, *observation]
            shown.append((len(answer) - len(observation), len(answer)))
        return Pair(builder.prompt().tokens, (*answer, *encode(LAST_WORD), *end), shown=tuple(shown))

    def _among_others(self, text: str) -> str:
        if self._random.random() >= FOREIGN:
            return text
        counts = (int((MOST_FOREIGN + 1) * self._random.random() ** 3) for _ in range(2))
        before, after = (self._random.sample(self._foreign, count) for count in counts)
        return "\n".join((*before, text, *after))


def _call(command: str) -> str:
    return f"<tool_call>{json.dumps({'name': SHELL, 'args': {'command': command}})}</tool_call>"


def _call_that_writes(path: str, design: str) -> str:
    return _call(f"cat > {path} <<'E'\n{design}E")


def pairs(seed: int, course: Course, model: str = MODEL) -> Iterator[Pair]:
    """Without end, in the tokens that this model reads."""
    renderer = renderer_for(RENDERER, tokenizer_for(model))
    end = renderer.tokenizer.encode("<|im_end|>")
    template = as_problem(instances(seed, 1)[0])
    conversations = Conversations(seed, model)

    def after(told: list[Message], said: str) -> Pair:
        prompt = renderer.build_generation_prompt(cast(list[RendererMessage], as_dicts(told)))
        return Pair(tuple(prompt.to_ints()), (*renderer.tokenizer.encode(said), *end))

    for one, failed in _judged(answered(seed, course)):
        problem = _without_harness(template, one.instance)
        match one.form:
            case Form.REPLY:
                asked = prompt_for(problem, renderer, system=SYSTEM).tokens
                yield Pair(asked, (*renderer.tokenizer.encode(answer(one.design)), *end))
            case Form.TOLD:
                said = answer(one.design)
                yield after(with_reference(messages(problem, system=SYSTEM), said, agent=False, brief=True), said)
            case Form.MENDED:
                asked_first = messages(problem, system=SYSTEM)
                told = with_feedback(asked_first, answer(one.design), failed, agent=False)
                yield after(told, answer(one.instance.reference))
            case Form.CALL:
                yield conversations.writing(problem, one.design)
            case Form.WORKSPACE:
                yield conversations.reading(problem, one.design)


def _judged(stream: Iterator[Answered]) -> Iterator[tuple[Answered, str]]:
    """Each with what the grader says of its design, as its author would be told; "" where nobody is told."""
    with contextlib.ExitStack() as stack:
        grader: SyncGrader | None = None
        while some := list(itertools.islice(stream, JUDGED)):
            judged = [one for one in some if one.form is Form.MENDED]
            if judged and grader is None:
                grader = stack.enter_context(SyncGrader(jobs=1))
            asked = [(as_problem(one.instance), answer(one.design)) for one in judged]
            grades = grader.grade_replies(asked) if grader else []
            said = iter([failures(problem, grade) for (problem, _), grade in zip(asked, grades, strict=True)])
            yield from ((one, next(said) if one.form is Form.MENDED else "") for one in some)


def documents(seed: int, course: Course, model: str = MODEL) -> Iterator[Pair]:
    """The same problems as running text: specification, empty line, design. No turns, no code block, all is learned."""
    tokenizer = renderer_for(RENDERER, tokenizer_for(model)).tokenizer
    end = tokenizer.encode("<|endoftext|>")
    for one in answered(seed, course):
        first, *rest = tokenizer.encode(f"{one.instance.text}\n\n{one.design}")
        yield Pair((first,), (*rest, *end))


def _without_harness(template: Problem, instance: Instance) -> Problem:
    """Computing the test vectors takes most of the time, and none is asked."""
    return replace(template, id=identifier(instance), prompt=instance.text, targets=(instance.target,))
