"""The server as an OpenAI-compatible endpoint: what it answers, and what it refuses in a sentence."""

from collections.abc import Mapping
from typing import Any

import httpx
import pytest

from rtl_agent.backends.connect import Connection
from tests.backends.tiny_model import CONTEXT

QUESTION = [{"role": "system", "content": "Payload."}, {"role": "user", "content": "What is a mux?"}]


def ask(connection: Connection, model: str, key: str | None = None, **fields: object) -> httpx.Response:
    headers = {"Authorization": f"Bearer {connection.api_key if key is None else key}"}
    body = {"model": model, "messages": QUESTION, "max_tokens": 8, "seed": 5, **fields}
    return httpx.post(f"{connection.base_url}/v1/chat/completions", json=body, headers=headers, timeout=60)


def test_a_question_is_answered_and_counted(connection: Connection, tiny_model: str) -> None:
    told: Mapping[str, Any] = ask(connection, tiny_model).json()
    (choice,) = told["choices"]
    assert choice["message"]["role"] == "assistant"
    assert choice["finish_reason"] in ("stop", "length")
    usage = told["usage"]
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]
    assert 1 <= usage["completion_tokens"] <= 8


def test_a_seed_repeats_and_choices_differ(connection: Connection, tiny_model: str) -> None:
    first, again = (ask(connection, tiny_model, n=3).json()["choices"] for _ in range(2))
    texts = [choice["message"]["content"] for choice in first]
    assert texts == [choice["message"]["content"] for choice in again]
    assert len(set(texts)) > 1


def test_saved_weights_are_asked_by_their_path(connection: Connection, tiny_model: str) -> None:
    client = connection.service.create_lora_training_client(tiny_model, rank=0)
    path = client.save_weights_for_sampler("asked").result().path
    trained, base = (ask(connection, model, temperature=0).json()["choices"] for model in (path, tiny_model))
    assert trained == base  # not a step was trained


def test_models_are_listed(connection: Connection, tiny_model: str) -> None:
    headers = {"Authorization": f"Bearer {connection.api_key}"}
    told = httpx.get(f"{connection.base_url}/v1/models", headers=headers).json()
    assert tiny_model in [model["id"] for model in told["data"]]


def test_a_text_to_stop_at_is_not_in_the_answer(connection: Connection, tiny_model: str) -> None:
    whole = ask(connection, tiny_model, max_tokens=40).json()["choices"][0]["message"]["content"]
    stop = whole[len(whole) // 2 : len(whole) // 2 + 3]
    cut = ask(connection, tiny_model, max_tokens=40, stop=stop).json()["choices"][0]
    assert cut["message"]["content"] == whole[: whole.index(stop)]
    assert cut["finish_reason"] == "stop"


@pytest.mark.parametrize(
    ("fields", "status", "sentence"),
    [
        ({"key": "tml-wrong"}, 401, "key"),
        ({"stream": True}, 400, "does not stream"),
        ({"tools": [{"type": "function"}]}, 400, "tools"),
        ({"messages": []}, 400, "messages"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, 400, "text only"),
        ({"max_tokens": CONTEXT}, 400, "context"),
        ({"n": 10_000}, 400, "n"),
    ],
)
def test_refusals(connection: Connection, tiny_model: str, fields: dict[str, Any], status: int, sentence: str) -> None:
    refused = ask(connection, tiny_model, **fields)
    assert refused.status_code == status, refused.text
    assert sentence in refused.json()["error"]["message"]


def test_an_unknown_model_is_named(connection: Connection) -> None:
    refused = ask(connection, "nobody/knows")
    assert refused.status_code == 400
    assert "nobody/knows" in refused.json()["error"]["message"]
