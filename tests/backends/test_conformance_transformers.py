"""A server whose models run on the transformers engine passes every check of the conformance suite as well."""

from collections.abc import Iterator

import pytest

from rtl_agent.backends.conformance import CHECKS, Subject, run_check
from rtl_agent.backends.connect import Connection, connect
from rtl_agent.backends.models.registry import TOKENIZER
from tests.backends.engine.tiny_architectures import write_architecture


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("models")
    return {name: write_architecture(name, folder / name, tokenizer=TOKENIZER) for name in ("llama", "gemma3")}


@pytest.fixture(scope="module")
def served(models: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connection]:
    with connect("embedded", models=list(models.values()), state=tmp_path_factory.mktemp("state")) as connection:
        yield connection


@pytest.mark.parametrize("name", CHECKS)
async def test_a_served_llama(name: str, served: Connection, models: dict[str, str]) -> None:
    subject = Subject(served.service, models["llama"], served.base_url, served.api_key)
    result = await run_check(name, subject, most_seconds=60)
    assert result.passed, result.message


@pytest.mark.parametrize(
    "name",
    ["sampler_logprobs_are_the_trainers", "loss_ppo", "checkpoint_with_optimizer", "seeds_repeat", "custom_loss"],
)
async def test_a_served_gemma3(name: str, served: Connection, models: dict[str, str]) -> None:
    subject = Subject(served.service, models["gemma3"], served.base_url, served.api_key)
    result = await run_check(name, subject, most_seconds=60)
    assert result.passed, result.message
