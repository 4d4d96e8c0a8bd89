"""The server as an OpenAI-compatible endpoint, asked by OpenAI's own client and by vLLM's fields."""

from collections.abc import Iterator
from typing import Any

import httpx
import openai
import pytest
from tinker import types

from rtl_agent.backends.connect import Connection
from tests.backends.tiny_model import CONTEXT

MESSAGES: Any = [{"role": "system", "content": "Answer."}, {"role": "user", "content": "What is a mux?"}]
PROMPT = "module mux(input a, input b, output y);"


@pytest.fixture(scope="module")
def client(connection: Connection) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{connection.base_url}/v1", api_key=connection.api_key, max_retries=0) as client:
        yield client


def test_a_question_is_answered_and_counted(client: openai.OpenAI, tiny_model: str) -> None:
    told = client.chat.completions.create(model=tiny_model, messages=MESSAGES, max_tokens=8, seed=5)
    (choice,) = told.choices
    assert choice.message.role == "assistant"
    assert choice.finish_reason in ("stop", "length")
    assert told.usage
    assert told.usage.total_tokens == told.usage.prompt_tokens + told.usage.completion_tokens
    assert 1 <= told.usage.completion_tokens <= 8


def test_a_seed_repeats_and_choices_differ(client: openai.OpenAI, tiny_model: str) -> None:
    first, again = (
        client.chat.completions.create(model=tiny_model, messages=MESSAGES, max_tokens=8, seed=5, n=3).choices
        for _ in range(2)
    )
    texts = [choice.message.content for choice in first]
    assert texts == [choice.message.content for choice in again]
    assert len(set(texts)) > 1


def test_saved_weights_are_asked_by_their_path(connection: Connection, client: openai.OpenAI, tiny_model: str) -> None:
    trainer = connection.service.create_lora_training_client(tiny_model, rank=0)
    path = trainer.save_weights_for_sampler("asked").result().path
    trained, base = (
        client.completions.create(model=model, prompt=PROMPT, max_tokens=8, temperature=0).choices[0].text
        for model in (path, tiny_model)
    )
    assert trained == base  # not a step was trained


def test_models_are_listed_and_retrieved(client: openai.OpenAI, tiny_model: str) -> None:
    assert tiny_model in [model.id for model in client.models.list()]
    found = client.models.retrieve(tiny_model)
    assert found.id == tiny_model
    assert found.model_extra == {"max_model_len": CONTEXT}
    with pytest.raises(openai.NotFoundError) as refused:
        client.models.retrieve("nobody/knows")
    assert refused.value.code == "model_not_found"


def test_a_prompt_may_be_text_or_tokens_one_or_many(
    connection: Connection, client: openai.OpenAI, tiny_model: str
) -> None:
    tokenizer = connection.service.create_lora_training_client(tiny_model, rank=1).get_tokenizer()
    texts = [PROMPT, "assign y = s ? a : b;"]
    ids: Any = [tokenizer.encode(text) for text in texts]
    options: Any = {"model": tiny_model, "max_tokens": 6, "seed": 3}
    alone = [client.completions.create(prompt=text, **options).choices[0].text for text in texts]
    for prompt in (texts, ids):
        choices = client.completions.create(prompt=prompt, **options).choices
        assert [choice.text for choice in choices] == alone
        assert [choice.index for choice in choices] == [0, 1]
    assert client.completions.create(prompt=ids[1], **options).choices[0].text == alone[1]
    many = client.completions.create(prompt=texts, n=2, **options)
    assert [many.choices[index].text for index in (0, 2)] == alone
    assert many.usage
    assert many.usage.prompt_tokens == sum(map(len, ids))
    assert len(client.completions.create(model=tiny_model, prompt=PROMPT).choices[0].text) > 0


def test_a_text_to_stop_at_is_not_in_the_answer(client: openai.OpenAI, tiny_model: str) -> None:
    options: Any = {"model": tiny_model, "prompt": PROMPT, "max_tokens": 40, "seed": 5}
    whole = client.completions.create(**options).choices[0].text
    stop = whole[len(whole) // 2 : len(whole) // 2 + 3]
    for stops in (stop, ["never in it", stop]):
        cut = client.completions.create(stop=stops, **options).choices[0]
        assert cut.text == whole[: whole.index(stop)]
        assert cut.finish_reason == "stop"
        streamed = client.completions.create(stop=stops, stream=True, **options)
        assert "".join(chunk.choices[0].text for chunk in streamed) == cut.text


@pytest.mark.parametrize("n", [1, 3])
def test_a_streamed_completion_is_the_whole_one_in_pieces(client: openai.OpenAI, tiny_model: str, n: int) -> None:
    options: Any = {"model": tiny_model, "prompt": [PROMPT, "wire w;"], "max_tokens": 24, "seed": 11, "n": n}
    options |= {"logprobs": 2}
    whole = client.completions.create(**options)
    texts = [""] * len(whole.choices)
    tokens: list[list[str]] = [[] for _ in texts]
    offsets: list[list[int]] = [[] for _ in texts]
    reasons: list[str | None] = [None] * len(texts)
    chunks = list(client.completions.create(stream=True, stream_options={"include_usage": True}, **options))
    for chunk in chunks[:-1]:
        assert chunk.usage is None
        (choice,) = chunk.choices
        texts[choice.index] += choice.text
        reasons[choice.index] = choice.finish_reason or reasons[choice.index]
        if choice.logprobs:
            tokens[choice.index] += choice.logprobs.tokens or []
            offsets[choice.index] += choice.logprobs.text_offset or []
    assert texts == [choice.text for choice in whole.choices]
    assert reasons == [choice.finish_reason for choice in whole.choices]
    assert tokens == [choice.logprobs.tokens for choice in whole.choices if choice.logprobs]
    assert offsets == [choice.logprobs.text_offset for choice in whole.choices if choice.logprobs]
    assert chunks[-1].choices == []
    assert chunks[-1].usage == whole.usage
    assert len(chunks) > len(texts) + 2, "the text came in one piece"


def test_a_streamed_chat_is_the_whole_one_in_pieces(client: openai.OpenAI, tiny_model: str) -> None:
    options: Any = {"model": tiny_model, "messages": MESSAGES, "max_completion_tokens": 24, "seed": 2}
    options |= {"logprobs": True, "top_logprobs": 2}
    whole = client.chat.completions.create(**options).choices[0]
    chunks = list(client.chat.completions.create(stream=True, **options))
    assert chunks[0].choices[0].delta.role == "assistant"
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == whole.message.content
    assert chunks[-1].choices[0].finish_reason == whole.finish_reason
    assert whole.logprobs
    streamed = [one for chunk in chunks if (found := chunk.choices[0].logprobs) for one in found.content or []]
    assert streamed == whole.logprobs.content
    assert all(len(one.top_logprobs) == 2 for one in streamed)


def test_a_stream_ends_with_done(connection: Connection, tiny_model: str) -> None:
    headers = {"Authorization": f"Bearer {connection.api_key}"}
    body = {"model": tiny_model, "prompt": PROMPT, "stream": True, "max_tokens": 3}
    with httpx.stream("POST", f"{connection.base_url}/v1/completions", json=body, headers=headers) as answer:
        lines = [line for line in answer.iter_lines() if line]
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert all(line.startswith("data: ") for line in lines)
    assert lines[-1] == "data: [DONE]"


def test_logprobs_are_those_of_the_tinker_api(connection: Connection, client: openai.OpenAI, tiny_model: str) -> None:
    """The same tokens, scored over two APIs: to the bit, since one engine computes both."""
    sampler = connection.service.create_sampling_client(base_model=tiny_model)
    told = client.completions.create(
        model=tiny_model,
        prompt=PROMPT,
        max_tokens=6,
        seed=4,
        logprobs=3,
        echo=True,
        extra_body={"return_token_ids": True},
    ).choices[0]
    extra = told.model_extra or {}
    tokens = [*extra["prompt_token_ids"], *extra["token_ids"]]
    scores = sampler.compute_logprobs(types.ModelInput.from_ints(extra["prompt_token_ids"])).result()
    assert told.logprobs
    assert told.logprobs.token_logprobs
    assert told.logprobs.token_logprobs[0] is None
    prompt = len(extra["prompt_token_ids"])
    assert told.logprobs.token_logprobs[1:prompt] == scores[1:]
    assert len(told.logprobs.token_logprobs) == len(tokens)
    assert told.text.startswith(PROMPT)
    assert told.logprobs.text_offset
    assert told.logprobs.tokens
    assert told.logprobs.top_logprobs
    for offset, token in zip(told.logprobs.text_offset, told.logprobs.tokens, strict=True):
        assert told.text[offset:].startswith(token) or "\ufffd" in token
    for likeliest in told.logprobs.top_logprobs[1:]:
        assert 1 <= len(likeliest) <= 4


@pytest.mark.parametrize("max_tokens", [0, 1, 5])
def test_prompt_logprobs_in_vllms_shape(
    connection: Connection, client: openai.OpenAI, tiny_model: str, max_tokens: int
) -> None:
    ids = [11, 23, 5, 17, 42, 8]
    sampler = connection.service.create_sampling_client(base_model=tiny_model)
    expected = sampler.compute_logprobs(types.ModelInput.from_ints(ids)).result()
    told = client.completions.create(
        model=tiny_model, prompt=ids, max_tokens=max_tokens, seed=1, extra_body={"prompt_logprobs": 4}
    )
    rows = (told.choices[0].model_extra or {})["prompt_logprobs"]
    assert len(rows) == len(ids)
    assert rows[0] is None
    for token, row, logprob in zip(ids[1:], rows[1:], expected[1:], strict=True):
        own = row[str(token)]
        assert own["logprob"] == logprob
        assert isinstance(own["decoded_token"], str)
        assert sorted(entry["rank"] for entry in row.values())[:4] == [1, 2, 3, 4]
        assert len(row) == (4 if own["rank"] <= 4 else 5)
        ordered = sorted(row.values(), key=lambda entry: entry["rank"])
        assert [entry["logprob"] for entry in ordered] == sorted((e["logprob"] for e in ordered), reverse=True)
    assert told.usage
    assert told.usage.completion_tokens == max_tokens


def test_a_prompt_that_fills_the_context_can_be_scored(client: openai.OpenAI, tiny_model: str) -> None:
    told = client.completions.create(
        model=tiny_model, prompt=[7] * CONTEXT, max_tokens=0, extra_body={"prompt_logprobs": 0}
    )
    rows = (told.choices[0].model_extra or {})["prompt_logprobs"]
    assert [len(row) for row in rows[1:]] == [1] * (CONTEXT - 1)
    with pytest.raises(openai.BadRequestError) as refused:
        client.completions.create(model=tiny_model, prompt=[7] * (CONTEXT + 1), max_tokens=0)
    assert refused.value.code == "context_length_exceeded"


def test_errors_are_those_that_the_client_knows(connection: Connection, client: openai.OpenAI, tiny_model: str) -> None:
    with pytest.raises(openai.NotFoundError) as unknown:
        client.completions.create(model="nobody/knows", prompt=PROMPT)
    assert unknown.value.code == "model_not_found"
    assert unknown.value.param == "model"
    assert "nobody/knows" in unknown.value.message
    with pytest.raises(openai.NotFoundError):
        client.chat.completions.create(model="tinker://run/weights/none", messages=MESSAGES, stream=True)
    stranger = openai.OpenAI(base_url=f"{connection.base_url}/v1", api_key="tml-wrong", max_retries=0)
    with pytest.raises(openai.AuthenticationError) as wrong:
        stranger.completions.create(model=tiny_model, prompt=PROMPT)
    assert wrong.value.code == "invalid_api_key"
    with pytest.raises(openai.BadRequestError) as long:
        client.completions.create(model=tiny_model, prompt=PROMPT, max_tokens=CONTEXT)
    assert long.value.type == "invalid_request_error"
    assert long.value.code == "context_length_exceeded"
    assert long.value.param == "max_tokens"


async def test_many_at_once_and_the_async_client(connection: Connection, tiny_model: str) -> None:
    import asyncio

    async with openai.AsyncOpenAI(base_url=f"{connection.base_url}/v1", api_key=connection.api_key) as client:

        async def one(seed: int) -> str:
            stream = await client.completions.create(
                model=tiny_model, prompt=PROMPT, seed=seed, max_tokens=16, stream=True
            )
            return "".join([chunk.choices[0].text async for chunk in stream])

        alone = [await one(seed) for seed in range(3)]
        together = await asyncio.gather(*(one(seed) for seed in range(24)))
    assert together[:3] == alone
    assert len(set(together)) > 12
