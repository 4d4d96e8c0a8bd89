"""The end of a sequence alone, where a server can score it: the same values, and none before it."""

from collections.abc import Iterator

import pytest
import tinker

from rtl_agent.backends.connect import Connection, connect
from rtl_agent.teachers.scorer import TinkerScorer, TooLong
from tests.backends.tiny_model import CONTEXT, write_tiny_model

TOKENS = [11, 23, 5, 17, 42, 8, 19, 3]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Connection, str]]:
    model = write_tiny_model(tmp_path_factory.mktemp("model") / "tiny")
    with connect("embedded", models=[model]) as connection:
        yield connection, model


@pytest.mark.parametrize("topk", [0, 3])
async def test_tinkers_api_scores_the_end_alone(served: tuple[Connection, str], topk: int) -> None:
    connection, model = served
    scorer = TinkerScorer(await connection.service.create_sampling_client_async(base_model=model), model)
    whole = await scorer.score(TOKENS, topk=topk)
    end = await scorer.score(TOKENS, topk=topk, first=5)
    assert len(end.logprobs) == len(TOKENS)
    assert end.logprobs[:5] == (None,) * 5
    assert end.logprobs[5:] == pytest.approx(whole.logprobs[5:], abs=1e-5)
    assert [row and row.tokens for row in end.top[5:]] == [row and row.tokens for row in whole.top[5:]]
    with pytest.raises(TooLong, match="context"):
        await scorer.score([7] * (CONTEXT + 1))


class Older:
    """A server that knows no prompt_logprobs_last_n."""

    def __init__(self, client: tinker.SamplingClient) -> None:
        self.client, self.asked = client, list[int | None]()

    async def compute_logprobs_async(
        self, prompt: tinker.ModelInput, prompt_logprobs_last_n: int | None = None
    ) -> list[float | None]:
        self.asked.append(prompt_logprobs_last_n)
        if prompt_logprobs_last_n is not None:
            raise tinker.RequestFailedError("unknown field prompt_logprobs_last_n", "1", None)  # type: ignore[arg-type]
        return await self.client.compute_logprobs_async(prompt)


async def test_a_server_that_cannot_is_asked_for_all_of_it_and_once_only(served: tuple[Connection, str]) -> None:
    connection, model = served
    older = Older(await connection.service.create_sampling_client_async(base_model=model))
    scorer = TinkerScorer(older, model)  # type: ignore[arg-type]
    for _ in range(2):
        assert None not in (await scorer.score(TOKENS, first=5)).logprobs[1:]
    assert older.asked == [3, None, None]
