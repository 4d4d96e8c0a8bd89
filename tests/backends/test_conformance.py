"""The embedded server passes every check of the conformance suite."""

import pytest

from rtl_agent.backends.conformance import CHECKS, Subject, run_check
from rtl_agent.backends.connect import Connection


@pytest.mark.parametrize("name", CHECKS)
async def test_embedded_server(name: str, connection: Connection, tiny_model: str) -> None:
    subject = Subject(connection.service, tiny_model, connection.base_url, connection.api_key)
    result = await run_check(name, subject, most_seconds=60)
    assert result.passed, result.message


@pytest.mark.parametrize(
    "name",
    [
        "info_of_a_model",
        "loss_ppo",
        "sampler_logprobs_are_the_trainers",
        "a_sampler_is_a_snapshot",
        "checkpoint_with_optimizer",
        "sampler_weights_by_path",
        "checkpoints_are_listed_and_deleted",
    ],
)
async def test_rank_0_trains_every_weight(name: str, connection: Connection, tiny_model: str) -> None:
    subject = Subject(connection.service, tiny_model, connection.base_url, connection.api_key, rank=0)
    result = await run_check(name, subject, most_seconds=60)
    assert result.passed, result.message
