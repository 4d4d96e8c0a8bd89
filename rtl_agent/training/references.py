"""A problem's reference as an answer to learn by heart: what supervised training has in place of samples."""

import json

import numpy as np
import tinker

from rtl_agent.envs.env import ProblemGroupBuilder
from rtl_agent.problems import Problem
from rtl_agent.training.advantages import Lesson
from rtl_agent.training.errors import BadConfig


def answer_with(problem: Problem) -> str:
    """The reference in the form that a reply has: a fenced block for one file, JSON for several."""
    if not problem.reference:
        raise BadConfig(f"{problem.id} has no reference to learn from: choose other problems, or another mode")
    if len(problem.targets) == 1:
        return f"```verilog\n{problem.reference[problem.targets[0]]}```"
    return json.dumps({"code": [{path: problem.reference[path]} for path in problem.targets]})


def reference_lesson(builder: ProblemGroupBuilder) -> Lesson:
    """Cross-entropy on the answer's tokens and on the one that ends the turn."""
    renderer = builder.renderer
    asked = builder.prompt().tokens
    said = renderer.tokenizer.encode(answer_with(builder.problem), add_special_tokens=False)
    tokens = [*asked, *said, _end_of_turn(renderer.get_stop_sequences())]
    weights = np.zeros(len(tokens) - 1, np.float32)
    weights[len(asked) - 1 :] = 1.0
    datum = tinker.Datum(
        model_input=tinker.ModelInput.from_ints(tokens[:-1]),
        loss_fn_inputs={
            "target_tokens": tinker.TensorData.from_numpy(np.asarray(tokens[1:], np.int64)),
            "weights": tinker.TensorData.from_numpy(weights),
        },
    )
    return Lesson((), (datum,), (), ())


def _end_of_turn(stops: list[str] | list[int]) -> int:
    if not stops or not isinstance(stops[0], int):
        raise BadConfig("supervised training needs a renderer that ends a turn with a token of its own")
    return stops[0]
