"""A teacher on a server of its own: `rtl-agent serve` by vLLM's fields, in front of it a network that fails."""

import io
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest
from rich.console import Console

from rtl_agent.backends.connect import Connection
from rtl_agent.runs import read_run
from rtl_agent.teachers import patience
from rtl_agent.training import preflight
from rtl_agent.training.config import TEACHER
from rtl_agent.training.errors import BackendGone, BadConfig
from rtl_agent.training.parse import parse
from rtl_agent.training.start import train
from tests.teachers.answers import answering, fixture
from tests.threads import serving_in_a_thread
from tests.training.conftest import RunIn

SAME_NUMBERS = ("teacher_kl", "env/all/reward/total", "optim/entropy")


def served(server: Connection) -> list[str]:
    return [f"teacher_backend=openai:{server.base_url}/v1", "teacher_api_key_env=TINKER_API_KEY"]


def metrics(run: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]


def test_a_teacher_by_openais_api_advises_as_by_tinkers(run_in: RunIn, server: Connection, tmp_path: Path) -> None:
    """To the bit: one engine computes both."""
    options = ["eval_every=0", "forward_kl_coef=0.5", "kl_penalty_coef=1", "one_pass=false"]
    first = metrics(run_in("distill", *options))
    (tmp_path / "run").rename(tmp_path / "first")
    second = metrics(run_in("distill", *options, *served(server)))
    assert len(first) == len(second) == 2
    for mine, theirs in zip(first, second, strict=True):
        assert [mine[name] for name in SAME_NUMBERS] == [theirs[name] for name in SAME_NUMBERS]
        assert mine["teacher_kl"] != 0


def test_what_a_slow_teacher_is_waited_for_is_said(
    server: Connection, gates: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TINKER_API_KEY", server.api_key)
    monkeypatch.setattr(preflight, "SAID_AFTER", 0.0)
    card = fixture("vllm")["models"]
    card["data"][0] |= {"id": TEACHER, "max_model_len": 4096}
    said = io.StringIO()
    with answering({"/v1/models": card, "/v1/completions": (500, {"error": "out of memory"})}) as url:
        words = train_words(server, gates, tmp_path / "run", f"teacher_backend=openai:{url}/v1")
        with pytest.raises(BadConfig, match="answered 500 to /completions: out of memory"):
            train(parse("distill", words), console=Console(file=said, width=300))
    assert f"waiting for {TEACHER} on vLLM at {url}/v1 to score a known Verilog module" in said.getvalue()


def train_words(server: Connection, gates: Path, run: Path, *words: str) -> list[str]:
    where = [f"backend={server.base_url}", f"cvdp_jsonl_path={gates}", f"log_path={run}", "preset=embedded"]
    small = ["batch_size=2", "group_size=2", "max_tokens=24", "max_steps=3", "eval_every=0", "save_every=0"]
    return [*where, *small, "preflight_problems=0", *words]


def test_teacher_and_student_are_compared_before_the_first_step(
    server: Connection, gates: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TINKER_API_KEY", server.api_key)
    words = train_words(server, gates, tmp_path / "run", "max_steps=1", "preflight_problems=3", *served(server))
    said = io.StringIO()
    train(parse("distill", words), console=Console(file=said, width=200))
    assert "gives a known Verilog module -" in said.getvalue()
    assert "of 3 training problems the teacher rtl-agent/teacher passes" in said.getvalue()
    [found] = json.loads((tmp_path / "run" / "preflight.json").read_text())
    assert (found["teacher"], found["problems"]) == (TEACHER, 3)
    better = (found["teacher_passed"], found["teacher_reward"]) > (found["student_passed"], found["student_reward"])
    assert ("is not better than the student" in said.getvalue()) != better


def test_each_problem_has_the_teacher_that_the_rule_names(
    server: Connection, gates: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second teacher is the student itself, on its own server: it agrees with every token."""
    monkeypatch.setenv("TINKER_API_KEY", server.api_key)
    two = ["teacher_model=rtl-agent/teacher,rtl-agent/student", "teacher_for=*or_gate*:student", "heldout=false"]
    backends = [f"teacher_backend=openai:{server.base_url}/v1,same", "teacher_api_key_env=TINKER_API_KEY"]
    words = train_words(server, gates, tmp_path / "run", *two, *backends, "max_steps=1", "batch_size=4")
    train(parse("distill", words), console=Console(file=io.StringIO()))
    rollouts = read_run(tmp_path / "run").episodes()
    agreed = {one["problem_id"]: max(map(abs, one["reverse_kl"])) < 1e-4 for one in rollouts}
    assert agreed == {f"rtl_{name}_gate_0001": name in ("or", "xor") for name in ("and", "or", "xor", "keep")}


class Network:
    """Stands before a server: passes requests on, or says 503 while it is down."""

    def __init__(self, target: str) -> None:
        self.target, self.down = target, threading.Event()
        self.goes_down_after, self.comes_back_after, self.scored, self.refused = -1, -1, 0, 0

    def takes(self, path: str) -> bool:
        if path.endswith("/completions"):
            self.scored += 1
            if self.scored == self.goes_down_after:
                self.down.set()
        if self.down.is_set():
            self.refused += 1
            if self.refused == self.comes_back_after:
                self.down.clear()
            return False
        return True


@contextmanager
def network(target: str) -> Iterator[tuple[str, Network]]:
    state = Network(target)

    class Handler(BaseHTTPRequestHandler):
        def _pass(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", "0")))
            if not state.takes(self.path):
                status, data = 503, b'{"error": {"message": "the server is being restarted"}}'
            else:
                headers = {"Authorization": self.headers.get("Authorization", "")}
                answer = httpx.request(self.command, f"{target}{self.path}", content=body, headers=headers, timeout=60)
                status, data = answer.status_code, answer.content
            self.send_response(status)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = _pass

        def log_message(self, *arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    with serving_in_a_thread(server):
        yield f"http://127.0.0.1:{server.server_port}", state


def test_a_run_waits_for_a_teacher_that_is_gone_and_goes_on(
    server: Connection, gates: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TINKER_API_KEY", server.api_key)
    monkeypatch.setattr(patience, "FIRST_PAUSE", 0.01)
    said = io.StringIO()
    with network(str(server.base_url)) as (url, state):
        state.goes_down_after, state.comes_back_after = 5, 6
        where = [f"teacher_backend=openai:{url}/v1", "teacher_api_key_env=TINKER_API_KEY"]
        train(
            parse("distill", train_words(server, gates, tmp_path / "run", *where)),
            console=Console(file=said, width=300),
        )
    assert state.refused == 6
    assert said.getvalue().count("the teacher does not answer") == said.getvalue().count("answers again") == 1
    assert "answered 503 to /completions: the server is being restarted. The run waits for it" in said.getvalue()
    assert [line["step"] for line in metrics(tmp_path / "run")] == [0, 1, 2]


def test_a_teacher_that_stays_away_ends_the_run_with_a_checkpoint_and_the_run_resumes(
    server: Connection, gates: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TINKER_API_KEY", server.api_key)
    quiet = Console(file=io.StringIO())
    where = ["teacher_api_key_env=TINKER_API_KEY"]
    whole = train_words(server, gates, tmp_path / "whole", *where, f"teacher_backend=openai:{server.base_url}/v1")
    train(parse("distill", whole), console=quiet)
    with network(str(server.base_url)) as (url, state):
        words = train_words(server, gates, tmp_path / "run", *where, f"teacher_backend=openai:{url}/v1")
        state.goes_down_after = 2 + 4 + 3  # the known text, a step of four answers, and into the second
        with pytest.raises(
            BackendGone, match=r"was silent for 0 s.*\n.*Resume with: rtl-agent train resume"
        ) as failure:
            train(parse("distill", [*words, "teacher_patience=0"]), console=quiet)
        assert failure.value.exit_code == 3
        assert [line["step"] for line in metrics(tmp_path / "run")] == [0]
        state.down.clear()
        result = train(parse("distill", [*words, "behavior_if_log_dir_exists=resume"]), console=quiet)
    assert result.resumed_at == 1
    first, second = metrics(tmp_path / "whole"), metrics(tmp_path / "run")
    assert [[line[name] for name in SAME_NUMBERS] for line in first] == [
        [line[name] for name in SAME_NUMBERS] for line in second
    ]


def scored(k: int) -> Callable[[Any], Any]:
    """Scores of any prompt that could be a model's, with as many of its likeliest tokens."""

    def completion(body: Any) -> Any:
        rows = [
            {str(token + more): {"logprob": -2.0 - (7 * at + token) % 101 / 50 - more} for more in range(k)}
            for at, token in enumerate(body["prompt"])
        ]
        return {"choices": [{"index": 0, "text": "", "prompt_logprobs": [None, *rows[1:]]}]}

    return completion


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["teacher_backend=openai:{serve}/v1"], "answered 401.*teacher_api_key_env"),
        (["teacher_backend=openai:{serve}/v1", "teacher_api_key_env=NOT_SET"], "NOT_SET: this variable .* is not set"),
        (["teacher_backend=openai:{serve}/v1", "{key}", "teacher_model=rtl-agent/teachre"], "did you mean rtl-agent/t"),
        (
            ["teacher_backend=openai:{serve}/v1", "{key}", "teacher_tokenizer=/nowhere"],
            "no such folder.*teacher_tokeni",
        ),
        (
            ["teacher_backend=openai:{serve}/v1", "{key}", "teacher_renderer_name=morse"],
            "teacher .*no renderer .*morse",
        ),
        (["teacher_backend=openai:http://127.0.0.1:9/v1"], "127.0.0.1:9/v1 cannot be reached"),
        (["teacher_backend=openai+tgi:{serve}/v1", "{key}"], "openai.tgi is not a kind of server"),
        (["teacher_backend=http://127.0.0.1:9"], "no server answers at http://127.0.0.1:9"),
        (["teacher_backend=embedded", "teacher_model=rtl-agent/teachre"], "did you mean rtl-agent/teacher"),
        (["teacher_for=nosuch*:teacher"], "no problem to learn from has the category, family or id nosuch"),
        (["teacher_backend=openai:{short}/v1"], "takes 64 tokens, and a short Verilog module has"),
        (["teacher_backend=openai:{silent}/v1"], "does not tell how likely it finds a prompt"),
        (["teacher_backend=openai:{zeros}/v1"], "gave every token of a Verilog module the logprob 0"),
        (["teacher_backend=openai:{flat}/v1"], "gave every token of a Verilog module the logprob -1.5"),
        (
            ["teacher_backend=openai:{capped}/v1"],
            "prompt logprobs of 8, which is greater than max allowed: 5",
        ),
        (["teacher_backend=openai:{bare}/v1"], "at most 1 of its likeliest tokens at a position, and 8 were asked for"),
        (["teacher_backend=openai:{closing}/v1"], "cannot be reached"),
        (["teacher_backend=openai:http://host:port/v1"], "URL cannot be read"),
        (["teacher_backend=openai:{other}/v1"], "rtl-agent/teacher is not the tokenizer of"),
    ],
)
def test_a_teacher_that_cannot_teach_is_said_before_anything_is_written(
    words: list[str],
    said: str,
    server: Connection,
    gates: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TINKER_API_KEY", server.api_key)
    card = fixture("vllm")["models"]
    card["data"][0]["id"] = TEACHER

    def models(context: int) -> dict[str, Any]:
        return {**card, "data": [{**card["data"][0], "max_model_len": context}]}

    def constant(value: float) -> Any:
        def completion(body: Any) -> Any:
            rows = [{str(token): {"logprob": value, "rank": 1, "decoded_token": ""}} for token in body["prompt"]]
            return {"choices": [{"index": 0, "text": "", "prompt_logprobs": [None, *rows[1:]]}]}

        return {"/v1/models": models(4096), "/v1/completions": completion}

    def capped(body: Any) -> Any:
        asked = body["prompt_logprobs"]
        return 400, {
            "error": {"message": f"Requested prompt logprobs of {asked}, which is greater than max allowed: 5"}
        }

    def closing(body: Any) -> Any:
        raise ConnectionAbortedError

    unscored = {"/v1/models": models(4096), "/v1/completions": {"choices": [{"index": 0, "text": "x"}]}}
    with (
        answering({"/v1/models": models(64)}) as short,
        answering(unscored) as silent,
        answering(constant(0.0)) as zeros,
        answering(constant(-1.5)) as flat,
        answering({"/v1/models": models(4096), "/tokenize": {"tokens": [1, 2, 3], "count": 3}}) as other,
        answering({"/v1/models": models(4096), "/v1/completions": capped}) as limited,
        answering({"/v1/models": models(4096), "/v1/completions": scored(1)}) as bare,
        answering({"/v1/models": models(4096), "/v1/completions": closing}) as gone,
    ):
        places = {"serve": server.base_url, "short": short, "silent": silent, "zeros": zeros, "flat": flat}
        places |= {"capped": limited, "bare": bare, "closing": gone}
        filled = [word.format(**places, other=other, key="teacher_api_key_env=TINKER_API_KEY") for word in words]
        config = parse("distill", train_words(server, gates, tmp_path / "runs" / "new", *filled))
        with pytest.raises(BadConfig, match=said) as failure:
            train(config, console=Console(file=io.StringIO()))
    assert failure.value.exit_code == 2
    assert not list(tmp_path.iterdir())


def test_a_teacher_whose_context_is_too_short_for_the_problems_is_said(
    run_in: RunIn, server: Connection, tmp_path: Path
) -> None:
    """Its server answers the known text, and could not answer these prompts."""

    card = fixture("vllm")["models"]
    card["data"][0] |= {"id": TEACHER, "max_model_len": 300}
    with answering({"/v1/models": card, "/v1/completions": scored(8)}) as url:
        words = [f"teacher_backend=openai:{url}/v1", "max_tokens=256"]
        with pytest.raises(
            BadConfig, match=r"its server takes 300 tokens, and .* has .* before an answer of up to 256"
        ):
            run_in("distill", *words)
    assert not (tmp_path / "run").exists()
