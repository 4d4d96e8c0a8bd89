"""Generated problems as an agent would solve them: one command that writes the file, what it printed, one last word."""

import json
from collections.abc import Iterator
from dataclasses import replace

from rtl_agent.envs.agentic.builder import AgenticGroupBuilder
from rtl_agent.envs.dialects.dialect import ToolResult
from rtl_agent.envs.dialects.registry import dialect_for
from rtl_agent.problems import Problem
from rtl_agent.problems.generate import Instance, as_problem, instances
from rtl_agent.training.pretrain.batches import Pair
from rtl_agent.training.pretrain.generated import MODEL, RENDERER, SYSTEM, Course, answered

SHELL = "execute_bash"
WRITTEN = ToolResult(SHELL, "[exit code 0]")
LAST_WORD = "Done."


def conversations(seed: int, course: Course) -> Iterator[Pair]:
    """Without end."""
    dialect = dialect_for(MODEL, RENDERER)
    template = as_problem(instances(seed, 1)[0])
    tokenizer = AgenticGroupBuilder(template, 1, MODEL, RENDERER, SYSTEM).renderer.tokenizer
    end = tokenizer.encode("<|im_end|>")
    for instance, design in answered(seed, course):
        asked = AgenticGroupBuilder(_asked(template, instance), 1, MODEL, RENDERER, SYSTEM).prompt().tokens
        call = (*tokenizer.encode(call_that_writes(instance.target, design)), *end)
        shown = dialect.follow(call, [WRITTEN])
        said = (*call, *shown, *tokenizer.encode(LAST_WORD), *end)
        yield Pair(asked, said, shown=(len(call), len(call) + len(shown)))


def call_that_writes(path: str, design: str) -> str:
    command = f"cat > {path} <<'E'\n{design}E"
    return f"<tool_call>{json.dumps({'name': SHELL, 'args': {'command': command}})}</tool_call>"


def _asked(template: Problem, instance: Instance) -> Problem:
    """Without its harness, as in `generated.pairs`."""
    return replace(template, prompt=instance.text, targets=(instance.target,))
