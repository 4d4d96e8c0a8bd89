"""Whatever is sent, the answer is a status and a sentence, and the server goes on."""

import socket
from collections.abc import Iterator

import httpx
import pytest
from tinker.proto import tinker_public_pb2 as pb

from rtl_agent.backends.connect import Connection

PROTOBUF = {"Content-Type": "application/x-protobuf"}


@pytest.fixture(scope="module")
def http(connection: Connection) -> Iterator[httpx.Client]:
    headers = {"X-API-Key": connection.api_key}
    with httpx.Client(base_url=f"{connection.base_url}/api/v1", headers=headers, timeout=60) as client:
        yield client


@pytest.fixture(scope="module")
def model(http: httpx.Client, tiny_model: str) -> str:
    session = http.post("create_session", json={}).json()["session_id"]
    future = http.post("create_model", json={"session_id": session, "model_seq_id": 0, "base_model": tiny_model})
    return str(http.post("retrieve_future", json=future.json()).json()["model_id"])


def sentence(answer: httpx.Response) -> str:
    error = str(answer.json()["error"])
    assert "Traceback" not in error
    assert len(error) > 15
    return error


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("create_model", b"{", 400),
        ("create_model", b"[]", 400),
        ("create_model", b"\xff\xfe", 400),
        ("create_model", b'{"session_id": "x", "model_seq_id": 0, "base_model": "m"}', 404),
        ("create_model", b'{"session_id": "x", "model_seq_id": -1, "base_model": "m"}', 400),
        ("optim_step", b'{"model_id": "x", "adam_params": {"learning_rate": "fast"}}', 400),
        ("optim_step", b'{"model_id": "x", "adam_params": {"learning_rate": NaN}}', 400),
        ("optim_step", b'{"model_id": "x", "adam_params": {}}', 404),
        ("forward_backward", b"this is no protobuf", 400),
        ("forward_backward", b"", 404),
        ("retrieve_future", b'{"request_id": "nobody:train:0:1"}', 404),
        ("asample", b'{"sampling_session_id": "x", "seq_id": 0, "prompt": {"chunks": []}, "sampling_params": {}}', 404),
        ("create_sampling_session", b'{"session_id": "x", "sampling_session_seq_id": 0}', 404),
        ("weights_info", b'{"tinker_path": "tinker://../../weights/passwd"}', 400),
        ("session_heartbeat", b'{"session_id": "x"}', 404),
        ("no_such_endpoint", b"{}", 404),
    ],
)
def test_bad_bodies(http: httpx.Client, path: str, body: bytes, status: int) -> None:
    answer = http.post(path, content=body)
    assert answer.status_code == status
    sentence(answer)


def test_a_wrong_method_and_climbing_paths(http: httpx.Client) -> None:
    assert http.put("create_model").status_code == 405
    for path in ("..%2f..", "%2e%2e/checkpoints", "x/checkpoints/weights/%2e%2e"):
        answer = http.request("DELETE" if "weights" in path else "GET", f"training_runs/{path}")
        assert answer.status_code in (400, 404)
        sentence(answer)


def test_no_key_no_answer(connection: Connection) -> None:
    keys: list[list[tuple[bytes, bytes]]] = [[], [(b"X-API-Key", b"tml-")], [(b"X-API-Key", "é".encode())]]
    for headers in keys:
        answer = httpx.post(f"{connection.base_url}/api/v1/create_session", json={}, headers=headers)
        assert answer.status_code == 401
        sentence(answer)
    assert httpx.get(f"{connection.base_url}/api/v1/healthz").json() == {"status": "ok"}


def test_a_body_that_is_too_large(http: httpx.Client) -> None:
    """Said by its length, before anything is sent."""
    url = http.base_url
    lines = ("POST /api/v1/forward_backward HTTP/1.1", "Host: x", f"X-API-Key: {http.headers['X-API-Key']}")
    with socket.create_connection((url.host, url.port or 80)) as wire:
        wire.sendall("\r\n".join([*lines, f"Content-Length: {10**12}", "", ""]).encode())
        answer = wire.recv(10_000).decode()
    assert answer.startswith("HTTP/1.1 413")
    assert "send smaller batches" in answer


def _datum() -> pb.Datum:
    datum = pb.Datum()
    datum.model_input.add().encoded_text.tokens = b"\x01\x00\x00\x00\x02\x00\x00\x00"
    return datum


def _tensor(**fields: object) -> pb.Tensor:
    return pb.Tensor(**fields)  # type: ignore[arg-type]  # hostile on purpose


def _with(name: str, tensor: pb.Tensor) -> pb.Datum:
    datum = _datum()
    datum.loss_fn_inputs[name].CopyFrom(tensor)
    return datum


def _int64(number: int) -> bytes:
    return number.to_bytes(8, "little")


def _images() -> pb.Datum:
    datum = pb.Datum()
    datum.model_input.add().image.data = b"GIF89a"
    return datum


HOSTILE = {
    "tokens of odd length": pb.Datum(model_input=[pb.Chunk(encoded_text=pb.EncodedTextChunk(tokens=b"\x01\x02\x03"))]),
    "negative tokens": pb.Datum(model_input=[pb.Chunk(encoded_text=pb.EncodedTextChunk(tokens=b"\xff" * 8))]),
    "an image": _images(),
    "no chunk at all": pb.Datum(),
    "no type": _with("target_tokens", _tensor(dense=b"12345678")),
    "half a number": _with("target_tokens", _tensor(dense=b"123", dtype=pb.DTYPE_INT64)),
    "too small for its shape": _with("target_tokens", _tensor(dense=b"12345678", dtype=pb.DTYPE_INT64, shape=[2])),
    "a shape of 10^18": _with("target_tokens", _tensor(dense=b"", dtype=pb.DTYPE_INT64, shape=[10**9, 10**9])),
    "a negative shape": _with("target_tokens", _tensor(dense=b"", dtype=pb.DTYPE_INT64, shape=[-1, 2])),
    "sparse and huge": _with(
        "target_tokens",
        _tensor(
            dtype=pb.DTYPE_INT64,
            shape=[2, 10**12],
            sparse_csr=pb.SparseCsr(values=b"", crow_indices=b"\0" * 24, col_indices=b""),
        ),
    ),
    "sparse out of bounds": _with(
        "target_tokens",
        _tensor(
            dtype=pb.DTYPE_INT64,
            shape=[2, 4],
            sparse_csr=pb.SparseCsr(values=_int64(1), crow_indices=_int64(0) + _int64(1) * 2, col_indices=_int64(9)),
        ),
    ),
}


def test_hostile_tensors(http: httpx.Client, model: str) -> None:
    for sequence_id, (what, datum) in enumerate(HOSTILE.items(), 1):
        request = pb.ForwardBackwardRequest(model_id=model, seq_id=sequence_id, data=[datum], loss_fn="cross_entropy")
        future = http.post("forward_backward", content=request.SerializeToString(), headers=PROTOBUF)
        assert future.status_code == 200, what
        answer = http.post("retrieve_future", json=future.json())
        assert answer.json()["category"] == "user", f"{what}: {answer.json()}"
        sentence(answer)


def test_a_cancelled_sample_disturbs_no_other(http: httpx.Client, tiny_model: str) -> None:
    session = http.post("create_session", json={}).json()["session_id"]
    ask = {"session_id": session, "sampling_session_seq_id": 0, "base_model": tiny_model}
    sampler = http.post("create_sampling_session", json=ask).json()["sampling_session_id"]

    def sample(sequence_id: int) -> dict[str, object]:
        body = {
            "sampling_session_id": sampler,
            "seq_id": sequence_id,
            "num_samples": 4,
            "prompt": {"chunks": [{"type": "encoded_text", "tokens": [3, 4]}]},
            "sampling_params": {"max_tokens": 200, "stop": []},
        }
        future: dict[str, object] = http.post("asample", json=body).json()
        return future

    futures = [sample(sequence_id) for sequence_id in range(6)]
    for future in futures[::2]:
        assert http.post("cancel_future", json={"request_id": future["request_id"]}).status_code == 200
    for future in futures[1::2]:
        answer = http.post("retrieve_future", json={"request_id": future["request_id"]})
        assert len(pb.SampleResponse.FromString(answer.content).sequences) == 4
    gone = http.post("retrieve_future", json={"request_id": futures[0]["request_id"]})
    assert gone.status_code == 410
    sentence(gone)


def test_the_same_sequence_id_runs_once(http: httpx.Client, model: str) -> None:
    """A client whose connection broke sends a request again: it gets the same future."""
    body = {"model_id": model, "seq_id": len(HOSTILE) + 1, "adam_params": {"learning_rate": 0.1}}
    futures = [http.post("optim_step", json=body).json() for _ in range(2)]
    assert futures[0] == futures[1]
    assert "metrics" in http.post("retrieve_future", json=futures[0]).json()
    body["seq_id"] = 1
    http.post("cancel_future", json={"request_id": f"{model}:1"})
    assert "already used" in sentence(http.post("optim_step", json=body))
