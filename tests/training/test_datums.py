"""An episode's tokens become what the cookbook would make of them."""

import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import pytest
import tinker
from tinker_cookbook.completers import TokensWithLogprobs
from tinker_cookbook.rl import data_processing
from tinker_cookbook.rl.types import Trajectory, Transition

from rtl_agent.training.datums import trajectory_to_data

Turn = tuple[Sequence[int], Sequence[int]]


def trajectory(turns: Sequence[Turn]) -> Trajectory:
    transitions = []
    for number, (shown, said) in enumerate(turns):
        action = TokensWithLogprobs(list(said), [-0.5 * (number + 1) - token / 8 for token in said])
        transitions.append(Transition(tinker.ModelInput.from_ints(list(shown)), action, 0.0, False))
    return Trajectory(transitions, tinker.ModelInput.empty())


@pytest.mark.parametrize(
    "turns",
    [
        [],
        [([5, 6], [7])],
        [([5, 6], [])],
        [([5, 6], [7, 8]), ([5, 6, 7, 8, 9], [10])],
        [([5, 6], [7, 8]), ([5, 6, 7, 8], [10])],
        [([5, 6], [7, 8]), ([5, 6, 7, 9], [10])],
        [([5, 6], [7, 8]), ([5, 6], [10]), ([5, 6, 10, 11], [12, 13])],
        [([5, 6], [7, 8]), ([5, 6, 7, 8, 9], [10]), ([5], [10]), ([5, 10, 2], [1])],
    ],
    ids=["none", "one", "nothing said", "grows", "nothing shown", "another", "shorter", "two of two"],
)
def test_data_are_the_cookbooks(turns: Sequence[Turn]) -> None:
    ours = trajectory_to_data(trajectory(turns))
    theirs = data_processing.trajectory_to_data(trajectory(turns), 0.0)
    assert [datum.model_input.to_ints() for datum in ours] == [datum.model_input.to_ints() for datum in theirs]
    assert [inputs(datum) for datum in ours] == [inputs(datum) for datum in theirs]


def inputs(datum: tinker.Datum) -> dict[str, tuple[Any, list[float]]]:
    return {name: (tensor.shape, tensor.to_numpy().tolist()) for name, tensor in datum.loss_fn_inputs.items()}


def test_numbers_are_floats_even_where_nothing_was_said() -> None:
    """The cookbook's advantages are integers there."""
    (datum,) = trajectory_to_data(trajectory([([5, 6], [])]))
    kinds = {name: tensor.dtype for name, tensor in datum.loss_fn_inputs.items()}
    assert kinds == {"target_tokens": "int64", "logprobs": "float32", "advantages": "float32", "mask": "float32"}


def test_a_start_of_training_does_not_import_pandas() -> None:
    """Nor what brings it: a second of CPU."""
    code = "import sys, rtl_agent.training.start; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert {"torch", "tinker_cookbook"} <= set(done.stdout.split())
    assert not {"datasets", "pandas", "pyarrow"} & set(done.stdout.split())
