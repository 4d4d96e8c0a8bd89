"""The options of sampling ahead: how old a rollout's weights may be, and what happens to answers that take long."""

from dataclasses import dataclass
from typing import Literal, get_args

from rtl_agent.options import option

Stale = Literal["train", "drop"]
MODES = ("distill", "rl")  # supervised training samples nothing


@dataclass(frozen=True)
class OverlapConfig:
    """Sampling while the step before trains."""

    max_steps_off_policy: int = option(
        0,
        "sample so many batches ahead: batch k by the weights after step k - N, while earlier ones train; 0: each "
        "batch by the newest weights",
        modes=MODES,
        at_least=0,
        at_most=8,
    )
    ratio_cap: float = option(
        2.0,
        "truncate the importance ratio of a token sampled by older weights (loss_fn=importance_sampling only); 0: not "
        "truncated",
        modes=MODES,
        at_least=0,
        resume=True,
    )
    tail_tokens: int = option(
        0,
        "a group with an answer longer than this is trained one step later for each such length, so that no step "
        "waits for it; 0: a step waits for all of its groups",
        modes=MODES,
        at_least=0,
    )
    stale_groups: Stale = option(
        "train",
        "groups that are older than max_steps_off_policy when they end: train on them by their own ratios, or drop "
        "them as soon as they are late",
        choices=get_args(Stale),
        modes=MODES,
    )

    @property
    def is_on_policy(self) -> bool:
        """Every batch is sampled by the weights that it trains."""
        return not self.max_steps_off_policy and not self.tail_tokens
