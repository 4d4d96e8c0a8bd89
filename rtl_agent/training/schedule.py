"""The learning rate of a step."""

import math

from rtl_agent.training.config import Schedule


def learning_rate(step: int, total: int, *, peak: float, schedule: Schedule, warmup: int) -> float:
    """Rises over the warm-up, then stays or falls to 0 just after the last step."""
    if step < warmup:
        return peak * (step + 1) / (warmup + 1)
    if schedule == "constant":
        return peak
    done = (step - warmup) / max(1, total - warmup)
    return peak * (1 - done if schedule == "linear" else 0.5 * (1 + math.cos(math.pi * done)))
