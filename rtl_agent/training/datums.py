"""The tokens of an episode as the trainer wants them.

The cookbook's `trajectory_to_data` does the same (a test compares them), but its module imports `datasets`, and that
pandas and pyarrow: a second of CPU for each start, for nothing that is used here.
"""

import tinker
import torch
from tinker_cookbook.rl.types import Trajectory


def trajectory_to_data(trajectory: Trajectory) -> list[tinker.Datum]:
    """A datum for each sequence: turns whose observation begins with all that was before continue the same one.

    Advantages are 0; the objective fills them in.
    """
    data: list[tinker.Datum] = []
    tokens: list[int] = []
    logprobs: list[float] = []
    mask: list[float] = []
    for turn in trajectory.transitions:
        shown, said = turn.ob.to_ints(), turn.ac
        if shown[: len(tokens)] == tokens:
            shown = shown[len(tokens) :]
        else:
            data.append(_datum(tokens, logprobs, mask))
            tokens, logprobs, mask = [], [], []
        tokens += [*shown, *said.tokens]
        logprobs += [*(0.0 for _ in shown), *said.logprobs]
        mask += [*(0.0 for _ in shown), *(1.0 for _ in said.tokens)]
    if tokens:
        data.append(_datum(tokens, logprobs, mask))
    return data


def _datum(tokens: list[int], logprobs: list[float], mask: list[float]) -> tinker.Datum:
    """Position i predicts token i + 1."""
    return tinker.Datum(
        model_input=tinker.ModelInput.from_ints(tokens[:-1]),
        loss_fn_inputs={
            "target_tokens": _tensor(tokens[1:]),
            "logprobs": _tensor(logprobs[1:]),
            "advantages": _tensor([0.0] * (len(tokens) - 1)),
            "mask": _tensor(mask[1:]),
        },
    )


def _tensor(values: list[int] | list[float]) -> tinker.TensorData:
    return tinker.TensorData.from_torch(torch.tensor(values))
