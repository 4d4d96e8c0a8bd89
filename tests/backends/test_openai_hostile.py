"""Whatever is sent to /v1, the answer is a status and an error in OpenAI's shape, and the server goes on."""

import json
import socket
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from rtl_agent.backends.connect import Connection

TYPES = {400: "invalid_request_error", 401: "invalid_request_error", 404: "invalid_request_error"}
LONG = 240  # tokens: most of the tiny model's context


@pytest.fixture(scope="module")
def http(connection: Connection) -> Iterator[httpx.Client]:
    headers = {"Authorization": f"Bearer {connection.api_key}"}
    with httpx.Client(base_url=f"{connection.base_url}/v1", headers=headers, timeout=60) as client:
        yield client


def error_of(answer: httpx.Response, status: int) -> dict[str, Any]:
    assert answer.status_code == status, answer.text[:500]
    error: dict[str, Any] = answer.json()["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert error["type"] == TYPES.get(status, "invalid_request_error")
    assert len(error["message"]) > 15
    assert "Traceback" not in error["message"]
    return error


COMPLETION: dict[str, Any] = {"prompt": "wire", "max_tokens": 2}
CHAT: dict[str, Any] = {"messages": [{"role": "user", "content": "hi"}], "max_tokens": 2}


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"prompt": None}, "prompt"),
        ({"prompt": 7}, "prompt"),
        ({"prompt": ""}, "prompt"),
        ({"prompt": []}, "prompt"),
        ({"prompt": [[]]}, "prompt"),
        ({"prompt": ["a", ""]}, "prompt"),
        ({"prompt": [1, "a"]}, "prompt"),
        ({"prompt": ["a", [1]]}, None),  # texts and tokens may be mixed, this is fine
        ({"prompt": [True]}, "prompt"),
        ({"prompt": [1.5]}, "prompt"),
        ({"prompt": [-1]}, "prompt"),
        ({"prompt": [10**30]}, "prompt"),
        ({"prompt": {"text": "a"}}, "prompt"),
        ({"prompt": ["a"] * 129}, "prompt"),
        ({"prompt": ["a"] * 65, "n": 2}, "prompt"),
        ({"n": 0}, "n"),
        ({"n": 10**9}, "n"),
        ({"n": "3"}, "n"),
        ({"max_tokens": -1}, "max_tokens"),
        ({"max_tokens": 2.5}, "max_tokens"),
        ({"max_tokens": 10**30}, "max_tokens"),
        ({"max_tokens": True}, "max_tokens"),
        ({"temperature": -0.1}, "temperature"),
        ({"temperature": "hot"}, "temperature"),
        ({"top_p": 0}, "top_p"),
        ({"top_p": 1.01}, "top_p"),
        ({"top_k": -7}, "top_k"),
        ({"seed": 2**64}, "seed"),
        ({"stop": [""]}, "stop"),
        ({"stop": ["x"] * 65}, "stop"),
        ({"stop": 5}, "stop"),
        ({"logprobs": -1}, "logprobs"),
        ({"logprobs": 10**6}, "logprobs"),
        ({"prompt_logprobs": -1}, "prompt_logprobs"),
        ({"prompt_logprobs": 1, "stream": True}, "prompt_logprobs"),
        ({"stream_options": {"include_usage": True}}, "stream_options"),
        ({"stream": "yes"}, "stream"),
        ({"best_of": 4}, "best_of"),
        ({"suffix": "end"}, "suffix"),
        ({"logit_bias": {"5": 100}}, "logit_bias"),
        ({"frequency_penalty": 0.5}, "frequency_penalty"),
        ({"response_format": {"type": "json_object"}}, "response_format"),
        ({"model": 5}, "model"),
        ({"model": None}, "model"),
    ],
    ids=lambda value: json.dumps(value)[:40] if isinstance(value, dict) else None,
)
def test_completions_with_a_wrong_field(
    http: httpx.Client, tiny_model: str, fields: dict[str, Any], param: str | None
) -> None:
    answer = http.post("completions", json={"model": tiny_model, **COMPLETION, **fields})
    if param is None:
        assert answer.status_code == 200
        return
    named = error_of(answer, 400)["param"]
    assert named.split(".")[0] == param


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"messages": []}, "messages"),
        ({"messages": "hi"}, "messages"),
        ({"messages": [{"role": "king", "content": "hi"}]}, "messages"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, "messages"),
        ({"messages": [{"content": "hi"}]}, "messages"),
        ({"tools": [{"type": "function"}]}, "tools"),
        ({"functions": [{}]}, "tools"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"max_completion_tokens": 10**6}, "max_tokens"),
        ({"top_logprobs": 3}, "top_logprobs"),
        ({"logprobs": 3}, "logprobs"),
        ({"n": -5}, "n"),
    ],
    ids=lambda value: json.dumps(value)[:40] if isinstance(value, dict) else None,
)
def test_chats_with_a_wrong_field(http: httpx.Client, tiny_model: str, fields: dict[str, Any], param: str) -> None:
    answer = http.post("chat/completions", json={"model": tiny_model, **CHAT, **fields})
    assert error_of(answer, 400)["param"].split(".")[0] == param


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"\xff\xfe",
        b'{"model": "\\ud800", "prompt": "a"}',
        b'{"model": "a", "prompt": "\\ud800"}',
        b'{"model": "a", "prompt": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"model": "a", "prompt": "a", "x": ' + b'{"a":' * 50_000 + b"1" + b"}" * 50_000 + b"}",
        b'{"model": "a", "prompt": "a", "temperature": NaN}',
        b'{"model": "a", "prompt": "a", "temperature": 1e999}',
        b'{"model": "a", "prompt": "a", "seed": ' + b"9" * 100_000 + b"}",
    ],
    ids=range(12),
)
@pytest.mark.parametrize("path", ["completions", "chat/completions"])
def test_bodies_that_are_no_request(http: httpx.Client, path: str, body: bytes) -> None:
    error_of(http.post(path, content=body), 400)


def test_paths_methods_and_keys(http: httpx.Client, connection: Connection) -> None:
    assert error_of(http.post("no_such_endpoint", json={}), 404)["code"] == "unknown_url"
    error_of(http.get("completions"), 405)
    assert error_of(http.get("models/nobody%2Fknows"), 404)["code"] == "model_not_found"
    for value in (b"", b"Bearer tml-wrong", b"Bearer \xff\xfe", b"Basic x"):
        answer = httpx.post(f"{connection.base_url}/v1/completions", json={}, headers={b"Authorization": value})
        assert error_of(answer, 401)["code"] == "invalid_api_key"


@pytest.mark.parametrize(
    "name", ["", "../../etc", "/etc", "a" * 5000, "tinker://", "tinker://../weights/x", "a\0b", "é"]
)
def test_model_names_that_name_nothing(http: httpx.Client, name: str) -> None:
    answer = http.post("completions", json={"model": name, **COMPLETION})
    assert answer.status_code in (400, 404)
    error_of(answer, answer.status_code)


@pytest.mark.parametrize("temperature", [1e-300, 1e-7, 1e300])
def test_extreme_temperatures(http: httpx.Client, tiny_model: str, temperature: float) -> None:
    options = {"model": tiny_model, "prompt": "wire", "max_tokens": 8, "seed": 3}
    told = http.post("completions", json={**options, "temperature": temperature}).json()["choices"][0]["text"]
    if temperature < 1:
        assert told == http.post("completions", json={**options, "temperature": 0}).json()["choices"][0]["text"]


def test_a_text_that_no_context_holds_is_refused_before_it_is_tokenized(http: httpx.Client, tiny_model: str) -> None:
    answer = http.post("completions", json={"model": tiny_model, "prompt": "a " * 5_000_000})
    assert error_of(answer, 400)["code"] == "context_length_exceeded"


def _busy(http: httpx.Client, tiny_model: str) -> dict[str, Any]:
    body = {"model": tiny_model, "prompt": "wire", "max_tokens": LONG, "ignore_eos": True, "n": 32}
    return {**body, "stream": True}


def test_streams_that_are_cancelled_free_their_places(http: httpx.Client, tiny_model: str) -> None:
    for _ in range(12):
        with http.stream("POST", "completions", json=_busy(http, tiny_model)) as answer:
            next(answer.iter_lines())
    told = http.post("completions", json={"model": tiny_model, **COMPLETION, "seed": 1}).json()
    assert told["choices"][0]["finish_reason"] in ("length", "stop")


def _raw(http: httpx.Client, path: str, body: dict[str, Any]) -> socket.socket:
    content = json.dumps(body).encode()
    lines = (f"POST /v1/{path} HTTP/1.1", "Host: x", f"Authorization: {http.headers['Authorization']}")
    head = "\r\n".join([*lines, f"Content-Length: {len(content)}", "", ""]).encode()
    wire = socket.create_connection((http.base_url.host, http.base_url.port or 80))
    wire.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    wire.sendall(head + content)
    return wire


def test_readers_that_do_not_read_hold_up_nobody(http: httpx.Client, tiny_model: str) -> None:
    wires = [_raw(http, "completions", {**_busy(http, tiny_model), "logprobs": 20}) for _ in range(4)]
    try:
        told = http.post("completions", json={"model": tiny_model, **COMPLETION})
        assert told.status_code == 200
    finally:
        for wire in wires:
            wire.close()
    assert http.post("completions", json={"model": tiny_model, **COMPLETION}).status_code == 200


def test_a_slow_reader_gets_everything(http: httpx.Client, tiny_model: str) -> None:
    body = {"model": tiny_model, "prompt": "wire", "max_tokens": 40, "seed": 9, "ignore_eos": True}
    whole = http.post("completions", json=body).json()["choices"][0]["text"]
    received = b""
    with _raw(http, "completions", {**body, "stream": True}) as wire:
        while b"[DONE]" not in received:
            received += wire.recv(64)
            time.sleep(0.001)
    events = [line for line in received.decode().splitlines() if line.startswith("data: {")]
    assert "".join(json.loads(line[6:])["choices"][0]["text"] for line in events) == whole


def test_whole_answers_for_clients_that_hang_up(http: httpx.Client, tiny_model: str) -> None:
    for _ in range(6):
        _raw(http, "completions", {**_busy(http, tiny_model), "stream": False}).close()
    assert http.post("completions", json={"model": tiny_model, **COMPLETION}).status_code == 200
