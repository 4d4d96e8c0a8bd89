"""What an endpoint may do wrong, and what becomes of it. The server is real, its answers are written here."""

from collections.abc import Iterator

import pytest

from rtl_agent.envs.episode import EpisodeFailed
from rtl_agent.evaluation import EvaluationError, ModelGone
from rtl_agent.evaluation.endpoint import Endpoint, EndpointReply
from rtl_agent.prompts import Message
from tests.evaluation.scripted import Body, Scripted, Told, scripted

KEY = "sk-very-secret"


@pytest.fixture
def server() -> Iterator[Scripted]:
    with scripted(lambda body: Told("fine")) as script:
        yield script


async def ask(url: str, key: str = KEY) -> tuple[EndpointReply, Endpoint]:
    endpoint = Endpoint(url, "some-model", key, timeout_seconds=10, pause_seconds=0.01)
    try:
        return await endpoint.ask([Message("user", "hello")], temperature=0.5, max_tokens=9, seed=3), endpoint
    finally:
        await endpoint.aclose()


async def test_what_is_sent_and_what_comes_back(server: Scripted) -> None:
    reply, _ = await ask(server.url)
    assert reply == EndpointReply("fine", "stop", {"prompt": 11, "answer": 7})
    (body,) = server.requests
    assert body["messages"] == [{"role": "user", "content": "hello"}]
    assert (body["model"], body["temperature"], body["max_tokens"], body["seed"]) == ("some-model", 0.5, 9, 3)
    assert server.keys == {f"Bearer {KEY}"}


async def test_without_a_key_none_is_sent(server: Scripted) -> None:
    await ask(server.url, key="")
    assert server.keys == {None}


async def test_an_answer_that_was_cut_off_says_so(server: Scripted) -> None:
    server.answer = lambda body: Told("half", finish_reason="length")
    assert (await ask(server.url))[0].stop_reason == "length"


async def test_an_overloaded_server_is_asked_again(server: Scripted) -> None:
    busy = [Told(status=429, error="slow", headers={"Retry-After": "0"}), Told(status=503, error="busy"), Told("now")]
    server.answer = lambda body: busy[len(server.requests) - 1]
    assert (await ask(server.url))[0].text == "now"


async def test_a_server_that_fails_on_and_on_fails_this_answer_only(server: Scripted) -> None:
    server.answer = lambda body: Told(status=500, error={"message": "out of memory"})
    with pytest.raises(EpisodeFailed, match="500: out of memory"):
        await ask(server.url)


async def test_a_prompt_that_is_refused_is_not_sent_again(server: Scripted) -> None:
    server.answer = lambda body: Told(status=400, error={"message": "the context is 8 tokens"})
    with pytest.raises(EpisodeFailed, match="context"):
        await ask(server.url)
    assert len(server.requests) == 1


@pytest.mark.parametrize(("status", "advice"), [(401, "--api-key-env"), (404, "--base-url")])
async def test_what_will_never_work_ends_everything_and_shows_no_key(
    server: Scripted, status: int, advice: str
) -> None:
    server.answer = lambda body: Told(status=status, error={"message": f"Incorrect key {KEY} given"})
    with pytest.raises(EvaluationError, match=advice) as caught:
        await ask(server.url)
    assert KEY not in str(caught.value)
    assert len(server.requests) == 1


async def test_nobody_there_is_said_once_it_is_sure() -> None:
    with scripted(lambda body: Told()) as gone:
        pass
    with pytest.raises(ModelGone, match="cannot be reached"):
        await ask(gone.url)


async def test_a_refused_parameter_is_sent_otherwise_or_no_more(server: Scripted) -> None:
    def picky(body: Body) -> Told:
        if "max_tokens" in body:
            said = "Unsupported parameter: 'max_tokens' is not supported, use 'max_completion_tokens' instead."
            return Told(status=400, error={"message": said})
        if "temperature" in body:
            return Told(status=400, error={"message": "Unsupported value: 'temperature' does not support 0.5"})
        return Told("at last")

    server.answer = picky
    reply, endpoint = await ask(server.url)
    assert reply.text == "at last"
    assert endpoint.given_up == ["temperature"]
    assert reply.not_sent == ("temperature",)
    assert server.requests[-1]["max_completion_tokens"] == 9


@pytest.mark.parametrize("raw", ["<html>", "[]", '{"choices": []}', '{"choices": [{}]}'])
async def test_another_kind_of_server_is_named_as_such(server: Scripted, raw: str) -> None:
    server.answer = lambda body: Told(raw=raw)
    with pytest.raises(EvaluationError, match="not an OpenAI-compatible endpoint"):
        await ask(server.url)


async def test_secrets_in_a_url_are_not_shown() -> None:
    endpoint = Endpoint("http://user:hidden@127.0.0.1:9/v1/?key=hidden", "m", KEY)
    assert endpoint.shown_url == "http://127.0.0.1:9/v1"
    assert KEY not in repr(endpoint)
    assert "hidden" not in repr(endpoint)
    await endpoint.aclose()


def test_what_is_no_url_is_refused() -> None:
    with pytest.raises(EvaluationError, match="'localhost:8000' is not a URL"):
        Endpoint("localhost:8000", "m")
    with pytest.raises(EvaluationError, match="not a URL") as caught:
        Endpoint("user:hidden@localhost:8000/v1?key=hidden", "m")
    assert "hidden" not in str(caught.value)
