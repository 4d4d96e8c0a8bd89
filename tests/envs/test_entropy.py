"""The entropy that is recorded of a student, from the likeliest tokens that its server tells."""

import asyncio
import math
from types import SimpleNamespace
from typing import Any, cast

import pytest
import tinker

from rtl_agent.envs.rollout import Policy, entropy_of


def shares(*found: float) -> list[tuple[int, float]]:
    return [(token, math.log(share)) for token, share in enumerate(found)]


def test_it_is_exact_where_all_tokens_are_told() -> None:
    assert entropy_of(shares(0.25, 0.25, 0.25, 0.25)) == pytest.approx(math.log(4), abs=1e-3)
    assert entropy_of(shares(1.0)) == 0
    assert entropy_of([(0, 0.0), (1, -1000.0)]) == 0


def test_the_others_are_one_more_token() -> None:
    """Too low by no more than their share times the logarithm of their number."""
    whole, told = [0.5, 0.2, *[0.03] * 10], [0.5, 0.2]
    exact, found = entropy_of(shares(*whole)), entropy_of(shares(*told))
    assert found < exact <= found + 0.3 * math.log(10) + 1e-3
    assert found == pytest.approx(-sum(share * math.log(share) for share in (0.5, 0.2, 0.3)), abs=1e-3)


def test_rounding_makes_no_negative_share() -> None:
    assert entropy_of([(0, 1e-6), (1, -20.0)]) == pytest.approx(0, abs=1e-6)


class Server:
    """Tells the likeliest tokens where it is asked for them, and knows how."""

    def __init__(self, *, knows: bool) -> None:
        self.knows = knows
        self.asked: list[dict[str, Any]] = []

    async def sample_async(self, **asked: Any) -> Any:
        self.asked.append(asked)
        tops = [shares(0.5, 0.5)] * 2 if self.knows and asked["topk_sample_logprobs"] else None
        sequence = SimpleNamespace(tokens=[1, 2], logprobs=[-0.7, -0.7], stop_reason="stop", topk_logprobs=tops)
        return SimpleNamespace(sequences=[sequence])


@pytest.mark.parametrize(("topk", "knows", "told"), [(4, True, 2), (4, False, 0), (0, True, 0)])
def test_it_is_recorded_where_the_option_asks_and_the_server_tells(topk: int, knows: bool, told: int) -> None:
    server = Server(knows=knows)
    policy = Policy(cast(tinker.SamplingClient, server), 8, 1.0, 0, entropy_topk=topk)
    sampled = asyncio.run(policy.completer("p", 0)(tinker.ModelInput.from_ints([1]), []))
    assert sampled.entropy == pytest.approx([math.log(2)] * told, abs=1e-3)
    assert server.asked[0]["topk_sample_logprobs"] == topk
