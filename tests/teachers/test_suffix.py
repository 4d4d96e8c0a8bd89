"""The end of a sequence alone, where a server can score it: the same values, and none before it."""

import math
from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import pytest
import tinker

from rtl_agent.backends.connect import Connection, connect
from rtl_agent.teachers.scorer import ScoringError, TinkerScorer, TooLong
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


class Says:
    """A server that gives these scores of any prompt."""

    def __init__(self, logprobs: Any, top: Any = None) -> None:
        self.answer = SimpleNamespace(prompt_logprobs=logprobs, topk_prompt_logprobs=top)

    async def compute_logprobs_async(self, prompt: tinker.ModelInput, **ignored: Any) -> Any:
        return self.answer.prompt_logprobs

    async def sample_async(self, prompt: tinker.ModelInput, **ignored: Any) -> Any:
        return self.answer


LIKELIEST = [None, *[[(1, -0.5), (2, -1.5)]] * 3]


@pytest.mark.parametrize(
    ("logprobs", "top", "said"),
    [
        (None, None, "no logprobs of a prompt"),
        ([None, -1.0, -2.0, 0.5], None, "the logprob 0.5 at position 3"),
        ([None, -1.0, -2.0, math.inf], None, "the logprob inf at position 3"),
        ([None] * 4, None, "no logprob at any of 3 positions"),
        ([None, *[math.nan] * 3], None, "no logprob at any of 3 positions"),  # what the API says of what is missing
        ([None, *[-1.0] * 5], None, "6 logprobs for 4 tokens"),
        ([None, *[-1.0] * 3], None, ""),
        ([None, -1.0, None, -1.0], None, ""),
        ([None, *[-1.0] * 3], LIKELIEST, ""),
        ([None, *[-1.0] * 3], [*LIKELIEST, *LIKELIEST], "likeliest tokens at 8 of 4 positions"),
        ([None, *[-1.0] * 3], [*LIKELIEST[:3], [(1, math.nan), (2, -1.0)]], "position 3 logprobs that are no prob"),
        ([None, *[-1.0] * 3], [*LIKELIEST[:3], [(1, 2.0), (2, -1.0)]], "position 3 logprobs that are no probabilities"),
        ([None, *[-1.0] * 3], [*LIKELIEST[:3], [(1, -math.inf)]], "position 3 logprobs that are no probabilities"),
    ],
)
async def test_what_a_tinker_server_says_is_checked_too(logprobs: Any, top: Sequence[Any] | None, said: str) -> None:
    scorer = TinkerScorer(Says(logprobs, top), "model")  # type: ignore[arg-type]
    if not said:
        assert len((await scorer.score(TOKENS[:4], topk=2 if top else 0)).logprobs) == 4
        return
    with pytest.raises(ScoringError, match=f"model gave .*{said}"):
        await scorer.score(TOKENS[:4], topk=2 if top else 0)
