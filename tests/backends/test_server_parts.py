"""The parts of the server that no well-behaved client shows: gaps in the order, freeing, faults of the engine."""

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path

import pytest

from rtl_agent.backends.engine.contract import (
    EngineError,
    Lora,
    OnToken,
    SampledSequence,
    SampleRequest,
    Score,
    ScoreRequest,
)
from rtl_agent.backends.server.checkpoint_store import Address, CheckpointStore, StoredRun, parse
from rtl_agent.backends.server.futures import KEPT_AFTER_RETRIEVAL, KEPT_UNASKED, Payload, RequestFutures, json_payload
from rtl_agent.backends.server.sessions import SamplingSession, SamplingSessions
from rtl_agent.backends.server.training_run import TrainingQueue
from rtl_agent.web.errors import RequestError

RECORD = StoredRun("run", "model", Lora(4), None, "2026-01-01T00:00:00+00:00")
WHERE = Address("run", "weights", "a")


async def test_calls_that_come_early_wait_for_their_turn() -> None:
    queue, order = TrainingQueue("test"), []

    def call(number: int) -> Callable[[], None]:
        return lambda: order.append(number)

    await asyncio.gather(*(queue.submit(number, call(number)) for number in (3, 2, 5, 1, 4)))
    assert order == [1, 2, 3, 4, 5]
    with pytest.raises(RequestError, match="already used"):
        queue.submit(3, call(3))


async def test_a_gap_is_given_up_after_a_while() -> None:
    queue = TrainingQueue("test", gap_seconds=0.05)
    assert await queue.submit(4, lambda: "ran") == "ran"


async def test_an_error_of_one_call_does_not_stop_the_next() -> None:
    queue = TrainingQueue("test")

    def fail() -> None:
        raise EngineError("no")

    first, second = queue.submit(1, fail), queue.submit(2, lambda: 7)
    with pytest.raises(EngineError):
        await first
    assert await second == 7


async def test_calls_that_wait_when_a_model_is_unloaded_fail() -> None:
    queue, started, go_on, closed = TrainingQueue("test"), threading.Event(), threading.Event(), threading.Event()

    def long() -> None:
        started.set()
        go_on.wait(30)

    running, waiting = queue.submit(1, long), queue.submit(2, lambda: None)
    await asyncio.to_thread(started.wait, 30)
    queue.close(closed.set)
    for call in (running, waiting):
        with pytest.raises(EngineError, match="unloaded"):
            await call
    assert not closed.is_set(), "the model must not be closed under a call that runs"
    go_on.set()
    assert await asyncio.to_thread(closed.wait, 30)


async def _answer() -> Payload:
    return json_payload({"fine": True})


async def test_futures_are_freed_after_retrieval_and_by_age() -> None:
    futures = RequestFutures()
    retrieved = futures.start("a", "s", _answer())
    futures.start("b", "s", _answer())
    await asyncio.sleep(0)
    assert await futures.wait(retrieved) == json_payload({"fine": True})
    now = time.monotonic()
    futures.sweep(now)
    assert len(futures) == 2, "an answer can be asked for again for a while"
    futures.sweep(now + KEPT_AFTER_RETRIEVAL + 1)
    assert futures.find("a") is None
    assert futures.find("b") is not None
    futures.sweep(now + KEPT_UNASKED + 1)
    assert len(futures) == 0


async def test_a_future_outlasts_a_poll_and_can_be_cancelled() -> None:
    futures, work = RequestFutures(), asyncio.Event()

    async def wait() -> Payload:
        await work.wait()
        return json_payload({})

    future = futures.start("a", "s", wait())
    assert await futures.wait(future, seconds=0.01) is None
    futures.cancel("a")
    await asyncio.wait({future.task})
    assert future.task.cancelled()


async def test_an_engine_that_breaks_is_a_server_error_in_a_sentence() -> None:
    async def broken() -> Payload:
        raise RuntimeError("CUDA error: out of everything")

    answer = await RequestFutures().start("a", "s", broken()).task
    assert b'"category": "server"' in answer.body
    assert b"out of everything" in answer.body


class CountingSnapshot:
    """Counts how often it is closed."""

    base = "model"

    def __init__(self) -> None:
        self.closed = 0

    def sample(self, request: SampleRequest, on_token: OnToken | None = None) -> "Future[SampledSequence]":
        raise NotImplementedError

    def score(self, request: ScoreRequest) -> "Future[Score]":
        raise NotImplementedError

    def close(self) -> None:
        self.closed += 1


async def test_samplers_beyond_the_kept_ones_are_freed_and_say_so() -> None:
    samplers = SamplingSessions(kept=2)
    made = [SamplingSession(str(number), "session", "model", snapshot=CountingSnapshot()) for number in range(4)]
    snapshots = [sampler.snapshot for sampler in made]
    for sampler in made:
        samplers.add(sampler)
    assert samplers.loaded() == 2
    assert [snapshot.closed for snapshot in snapshots if isinstance(snapshot, CountingSnapshot)] == [1, 1, 0, 0]
    with pytest.raises(EngineError, match="save_weights_for_sampler"):
        await samplers.open(made[0])


async def test_a_sampler_with_a_path_is_loaded_again() -> None:
    samplers = SamplingSessions(kept=1)
    saved = SamplingSession("saved", "session", "model", load=CountingSnapshot)
    first = await samplers.open(saved)
    samplers.add(saved)
    samplers.add(SamplingSession("newer", "session", "model", snapshot=CountingSnapshot()))
    assert isinstance(first, CountingSnapshot)
    assert first.closed == 1
    assert await samplers.open(saved) is not first
    samplers.drop_session("session")
    assert samplers.loaded() == 0


async def test_a_sampler_in_use_is_not_freed() -> None:
    samplers = SamplingSessions(kept=1)
    used = SamplingSession("used", "session", "model", snapshot=CountingSnapshot())
    samplers.add(used)
    async with samplers.use(used) as snapshot:
        samplers.add(SamplingSession("newer", "session", "model", snapshot=CountingSnapshot()))
        assert isinstance(snapshot, CountingSnapshot)
        assert not snapshot.closed


def _save(text: str) -> Callable[[Path], None]:
    def save(directory: Path) -> None:
        directory.mkdir()
        (directory / "weights").write_text(text)

    return save


def test_a_save_that_fails_leaves_the_old_checkpoint(tmp_path: Path) -> None:
    checkpoints = CheckpointStore(tmp_path)
    checkpoints.write(RECORD, WHERE, _save("old"))

    def full(directory: Path) -> None:
        _save("new")(directory)
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        checkpoints.write(RECORD, WHERE, full, overwrite=True)
    assert (checkpoints.directory(WHERE) / "weights").read_text() == "old"
    checkpoints.write(RECORD, WHERE, _save("new"), overwrite=True)
    assert (checkpoints.directory(WHERE) / "weights").read_text() == "new"
    assert len([path for path in checkpoints.directory(WHERE).parent.iterdir() if path.is_dir()]) == 1


def test_checkpoints_are_found_by_another_server(tmp_path: Path) -> None:
    CheckpointStore(tmp_path).write(RECORD, WHERE, _save("x"), ttl_seconds=3600, user_metadata={"step": "3"})
    found = CheckpointStore(tmp_path).of_run("run")
    assert [checkpoint.address for checkpoint in found] == [WHERE]
    assert found[0].user_metadata == {"step": "3"}
    assert CheckpointStore(tmp_path).record("run") == RECORD
    with pytest.raises(EngineError, match="already exists"):
        CheckpointStore(tmp_path).write(RECORD, WHERE, _save("y"))


@pytest.mark.parametrize(
    "path", ["", "run/weights/a", "tinker://run/weights", "tinker://run/other/a", "tinker://run/weights/../..", "tinker:///weights/a",
             "tinker://run/weights/.a", "tinker://../weights/a", "tinker://run/weights/a\n", "tinker://run/weights/a/b"]
)  # fmt: skip
def test_paths_that_are_no_checkpoints(path: str) -> None:
    with pytest.raises(EngineError):
        parse(path)
