"""Generated problems as an agent would solve them: calls, what they printed, one last word."""

import json
from dataclasses import replace
from random import Random

from rtl_agent.envs.dialects.registry import dialect_for
from rtl_agent.envs.env import ProblemGroupBuilder
from rtl_agent.envs.episode_config import AGENTIC, EpisodeConfig
from rtl_agent.envs.session import ToolResult
from rtl_agent.problems import Kind, Problem, load_problems
from rtl_agent.problems.generate import SPECIFICATION, as_workspace
from rtl_agent.training.pretrain.batches import Pair

SYSTEM, RENDERER, MODEL = "short", "rtl_agent", "rtl-agent/student"
SHELL = "execute_bash"
EXIT_0 = "[exit code 0]"
LAST_WORD = "Done."
FOREIGN = 0.5  # share of tasks, and of documents, with lines about other designs
MOST_FOREIGN = 24  # lines before, and after; few are more common
MOST_FILES = 2  # of other designs, in the workspace


class Conversations:
    """Tells them as tokens. `seed` decides what of other designs stands in a workspace.

    That is taken from the bundled problems that ask for one reply. The agentic ones stay unseen, to be tested on.
    """

    def __init__(self, seed: int) -> None:
        self._dialect = dialect_for(MODEL, RENDERER)
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
        builder = ProblemGroupBuilder(problem, 1, MODEL, RENDERER, EpisodeConfig(AGENTIC, system=SYSTEM))
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
