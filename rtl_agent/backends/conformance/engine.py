"""What any engine must do, as checks on the contract itself, without a server: `run_engine_checks(engine, model)`.

They take seconds on a small model, and say more directly than the server's checks what an engine got wrong.
"""

import inspect
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, cast, get_args

import numpy as np

from rtl_agent.backends.conformance.self_check import CheckResult
from rtl_agent.backends.conformance.subject import OTHER, OTHER_TARGETS, PROMPT, TARGETS, expect, expect_close
from rtl_agent.backends.engine.contract import (
    Adam,
    Engine,
    EngineError,
    Example,
    Lora,
    LossName,
    ModelInfo,
    SampledSequence,
    SampledToken,
    SampleRequest,
    Score,
    ScoreRequest,
    Snapshot,
    TrainedModel,
)

SECONDS = 120.0  # that any one sample may take
OUTSIDE = 5_000_000  # larger than any vocabulary
ADAM = Adam(learning_rate=0.01)


@dataclass(frozen=True)
class EngineSubject:
    """An engine with one small model of a few hundred positions."""

    engine: Engine
    model: str
    rank: int = 4

    @cached_property
    def info(self) -> ModelInfo:
        self.engine.base_snapshot(self.model).close()
        return next(info for info in self.engine.models() if info.name == self.model)

    def trained(self, steps: int = 2) -> TrainedModel:
        model = self.engine.create(self.model, Lora(self.rank, seed=1))
        for _ in range(steps):
            model.forward_backward([example()], "cross_entropy", {})
            model.step(ADAM)
        return model

    def close_to(self, found: object, wanted: object, what: str) -> None:
        expect_close(found, wanted, what, self.info.tolerance)


def example(tokens: Sequence[int] = PROMPT, targets: Sequence[int] = TARGETS, **inputs: Any) -> Example:
    weights = {} if inputs else {"weights": np.ones(len(tokens), np.float32)}
    return Example(np.asarray(tokens), {"target_tokens": np.asarray(targets), **weights, **inputs})


def request(**fields: Any) -> SampleRequest:
    return replace(SampleRequest(PROMPT, max_tokens=12, seed=5), **fields)


def sampled(snapshot: Snapshot, **fields: Any) -> SampledSequence:
    return snapshot.sample(request(**fields)).result(SECONDS)


def scored(snapshot: Snapshot, tokens: Sequence[int] = PROMPT, **fields: Any) -> Score:
    return snapshot.score(ScoreRequest(tokens, **fields)).result(SECONDS)


def logprobs_of(model: TrainedModel) -> "np.ndarray[tuple[int, ...], np.dtype[np.float32]]":
    return model.forward_backward([example()], "cross_entropy", {}, forward_only=True).logprobs[0]


def refused(call: Callable[[], object], what: str) -> None:
    try:
        found = call()
        if isinstance(found, Future):
            found.result(SECONDS)
    except EngineError as error:
        expect(len(str(error)) > 15, f"{what}: the error says nothing: {error!r}")
        return
    raise AssertionError(f"{what} was accepted")


def check_models_are_described(subject: EngineSubject) -> None:
    """`models` names the model with vocabulary, context, parameters and architecture."""
    info = subject.info
    expect(min(info.vocabulary, info.context, info.parameters) > 0, f"a size is missing: {info}")
    expect(info.architecture != "unknown", "the architecture is missing")
    expect(all(0 <= token < info.vocabulary for token in info.end_tokens), f"an end token is outside: {info}")


def check_samples_have_their_length_and_logprobs(subject: EngineSubject) -> None:
    """A sample has max_tokens tokens and a logprob for each; `score` of the same tokens gives the same logprobs."""
    snapshot = subject.engine.base_snapshot(subject.model)
    found = sampled(snapshot)
    sizes = len(found.tokens), len(found.logprobs)
    expect(sizes == (12, 12), f"{sizes[0]} tokens and {sizes[1]} logprobs, asked for 12")
    expect(found.stop_reason == "length", f"the stop reason is {found.stop_reason}")
    again = scored(snapshot, [*PROMPT, *found.tokens])
    subject.close_to(again.logprobs[-12:], found.logprobs, "logprobs of the sampler and of score")


def check_tokens_are_told_as_they_come(subject: EngineSubject) -> None:
    """`on_token` gets every token in order with its logprob and alternatives, all before the future is done."""
    told: list[SampledToken] = []
    future = subject.engine.base_snapshot(subject.model).sample(request(topk_logprobs=2), told.append)
    found = future.result(SECONDS)
    expect([one.token for one in told] == list(found.tokens), "the tokens told are not those of the result")
    expect([one.logprob for one in told] == list(found.logprobs), "the logprobs told are not those of the result")
    expect([list(one.topk) for one in told] == [list(row) for row in found.topk], "alternatives differ")


def check_a_cancelled_sample_ends(subject: EngineSubject) -> None:
    """Cancelling ends a running sample before its length; a sample beside it is as it is alone."""
    snapshot = subject.engine.base_snapshot(subject.model)
    alone, many = sampled(snapshot), subject.info.context - len(PROMPT)
    running, told = threading.Event(), list[int]()

    def on_token(one: SampledToken) -> None:
        told.append(one.token)
        running.set()
        time.sleep(0.002)

    long = snapshot.sample(request(max_tokens=many), on_token)
    expect(running.wait(SECONDS), "the sample did not begin")
    expect(long.cancel(), "a running sample cannot be cancelled")
    beside = sampled(snapshot)
    try:
        long.result(SECONDS)
    except CancelledError:
        expect(list(beside.tokens) == list(alone.tokens), "a cancelled neighbour changed a sample")
        expect(len(told) < many, "it was sampled to its end")
        return
    raise AssertionError("a cancelled sample has a result")


def check_seeds_repeat_among_others(subject: EngineSubject) -> None:
    """A seed gives the same tokens alone and beside others, to the bit if the model is exact; seeds differ."""
    snapshot = subject.engine.base_snapshot(subject.model)
    alone = sampled(snapshot)
    futures = [snapshot.sample(request(seed=seed, max_tokens=length)) for seed, length in ((6, 30), (5, 12), (7, 3))]
    beside = [future.result(SECONDS) for future in futures]
    expect(list(beside[1].tokens) == list(alone.tokens), "a seed does not repeat among other samples")
    if subject.info.exact:
        expect(list(beside[1].logprobs) == list(alone.logprobs), "the logprobs are not the same to the bit")
    subject.close_to(beside[1].logprobs, alone.logprobs, "logprobs beside others")
    expect(len({tuple(one.tokens[:3]) for one in beside}) == 3, "different seeds gave the same tokens")


def check_stops_end_a_sample(subject: EngineSubject) -> None:
    """A stop token ends a sample and is its last token."""
    snapshot = subject.engine.base_snapshot(subject.model)
    free = list(sampled(snapshot).tokens)
    found = sampled(snapshot, stop_tokens=frozenset({free[5]}))
    expect(list(found.tokens) == free[: free.index(free[5]) + 1], "the sample does not end with its stop")
    expect(found.stop_reason == "stop", f"the stop reason is {found.stop_reason}")


def check_greedy_and_top_k(subject: EngineSubject) -> None:
    """Temperature 0, however written, and top_k 1 take the likeliest token, which is the first alternative."""
    snapshot = subject.engine.base_snapshot(subject.model)
    greedy = sampled(snapshot, temperature=0.0, topk_logprobs=3)
    expect([row[0][0] for row in greedy.topk] == list(greedy.tokens), "the greedy token is not the first alternative")
    for what, other in (("1e-300", {"temperature": 1e-300}), ("top_k 1", {"top_k": 1}), ("top_p", {"top_p": 1e-6})):
        expect(list(sampled(snapshot, **other).tokens) == list(greedy.tokens), f"{what} is not greedy")


def check_scores_are_the_trainers(subject: EngineSubject) -> None:
    """`score` gives the trainer's logprobs; the first token has none; `last`, `topk`, `ranks` and `then` agree."""
    model = subject.trained()
    snapshot = model.snapshot()
    whole = scored(snapshot, [*PROMPT, TARGETS[-1]], topk=3, ranks=True)
    expect(whole.logprobs[0] is None and whole.ranks[0] is None and whole.topk[0] is None, "the first token has one")
    subject.close_to(whole.logprobs[1:], logprobs_of(model), "logprobs of score and of the trainer")
    part = scored(snapshot, [*PROMPT, TARGETS[-1]], last=2)
    subject.close_to(part.logprobs, whole.logprobs[-2:], "the last two logprobs")
    for token, logprob, row, rank in zip(TARGETS, whole.logprobs[1:], whole.topk[1:], whole.ranks[1:], strict=True):
        likeliest = [one for one, _ in row or ()]
        expect(len(likeliest) == 3 and rank is not None and rank >= 1, f"alternatives {row}, rank {rank}")
        tied = logprob == (row or [(0, 0.0)])[-1][1]
        expect(tied or (token in likeliest) == ((rank or 0) <= 3), f"{token} has rank {rank}, alternatives {row}")
    then = scored(snapshot, then=request(max_tokens=1)).then
    if then is not None:
        expect(list(then.tokens) == list(sampled(snapshot, max_tokens=1).tokens), "`then` is not what `sample` gives")


def check_snapshots_do_not_change(subject: EngineSubject) -> None:
    """Training goes on without touching a snapshot taken before; a new one has the new weights."""
    model = subject.trained()
    snapshot = model.snapshot()
    before = scored(snapshot).logprobs[1:]
    model.forward_backward([example()], "cross_entropy", {})
    model.step(ADAM)
    expect(list(scored(snapshot).logprobs[1:]) == list(before), "a snapshot changed with training")
    after = scored(model.snapshot()).logprobs[1:]
    moved = max(abs((a or 0) - (b or 0)) for a, b in zip(after, before, strict=True))
    expect(moved > subject.info.tolerance, "a new snapshot has the old weights")


def check_gradients_add_up(subject: EngineSubject) -> None:
    """Two passes and a step equal one pass over both; a forward pass leaves nothing; a step clears."""
    halves, whole = subject.trained(), subject.trained()
    pair = [example(), example(OTHER, OTHER_TARGETS)]
    for one in pair:
        halves.forward_backward([one], "cross_entropy", {})
        halves.forward_backward(pair, "cross_entropy", {}, forward_only=True)
    together = whole.forward_backward(pair, "cross_entropy", {})
    expect([len(one) for one in together.logprobs] == [len(PROMPT), len(OTHER)], "logprobs are out of order")
    for model in (halves, whole):
        model.step(ADAM)
    subject.close_to(logprobs_of(halves), logprobs_of(whole), "logprobs after the step")
    plain = Adam(learning_rate=1.0, beta1=0.0, beta2=0.0, eps=1.0)
    before = logprobs_of(whole)
    whole.step(plain)
    subject.close_to(logprobs_of(whole), before, "logprobs after a step without gradients")


def check_every_loss_is_known(subject: EngineSubject) -> None:
    """Each loss of the contract has a finite sum and logprobs; an unknown setting is refused."""
    model = subject.trained()
    arrays = {"logprobs": logprobs_of(model), "advantages": np.linspace(-1, 1, len(PROMPT), dtype=np.float32)}
    for loss in get_args(LossName):
        one = example() if loss == "cross_entropy" else example(**cast(Any, arrays))
        found = model.forward_backward([one], loss, {})
        expect(bool(np.isfinite(found.loss_sum)), f"{loss}: the loss is {found.loss_sum}")
        expect(found.logprobs[0].shape == (len(PROMPT),), f"{loss}: logprobs of shape {found.logprobs[0].shape}")
        refused(partial(model.forward_backward, [one], loss, {"no_such": 1.0}), f"{loss} with a setting `no_such`")


def check_checkpoints_continue(subject: EngineSubject) -> None:
    """Loaded with its optimizer a model continues as before; `load_snapshot` samples from the saved weights."""
    with tempfile.TemporaryDirectory() as folder:
        model, place = subject.trained(3), Path(folder) / "saved"
        model.save(place, optimizer=True)
        snapshot = subject.engine.load_snapshot(subject.model, place)
        found, wanted = scored(snapshot).logprobs[1:], scored(model.snapshot()).logprobs[1:]
        expect_close(found, wanted, "logprobs of the loaded snapshot", 1e-6)
        loaded = subject.engine.create(subject.model, Lora(subject.rank, seed=9))
        loaded.load(place, optimizer=True)
        for each in (model, loaded):
            each.forward_backward([example()], "cross_entropy", {})
            each.step(ADAM)
        expect_close(logprobs_of(loaded), logprobs_of(model), "logprobs after one more step", 1e-6)


def check_checkpoints_that_do_not_fit(subject: EngineSubject) -> None:
    """A missing checkpoint and one of another rank are refused, and the model is as it was."""
    with tempfile.TemporaryDirectory() as folder:
        subject.trained(1).save(Path(folder) / "saved", optimizer=False)
        other = subject.engine.create(subject.model, Lora(subject.rank + 1, seed=1))
        before = logprobs_of(other)
        refused(lambda: other.load(Path(folder) / "saved", optimizer=False), "a checkpoint of another rank")
        refused(lambda: other.load(Path(folder) / "none", optimizer=False), "a checkpoint that is not there")
        refused(lambda: subject.engine.load_snapshot(subject.model, Path(folder) / "none"), "a missing checkpoint")
        same = subject.engine.create(subject.model, Lora(subject.rank, seed=1))
        refused(lambda: same.load(Path(folder) / "saved", optimizer=True), "optimizer state that was not saved")
        expect_close(logprobs_of(other), before, "logprobs after refused loads", 1e-6)


def check_bad_requests_are_refused(subject: EngineSubject) -> None:
    """Impossible samples and scores are futures that failed with an EngineError; the snapshot goes on."""
    snapshot, context = subject.engine.base_snapshot(subject.model), subject.info.context
    bad: Sequence[Mapping[str, Any]] = (
        {"prompt": ()},
        {"prompt": (OUTSIDE,)},
        {"prompt": (-1,)},
        {"prompt": (3,) * (context + 1)},
        {"max_tokens": 0},
        {"max_tokens": context},
        {"temperature": -1.0},
        {"temperature": float("nan")},
        {"top_p": 0.0},
        {"top_p": 1.5},
        {"top_k": 0},
        {"topk_logprobs": -1},
    )
    for fields in bad:
        refused(partial(snapshot.sample, request(**fields)), str(fields)[:60])
    for tokens in ((), (OUTSIDE,), (-1,), (3,) * (context + 1)):
        refused(partial(snapshot.score, ScoreRequest(tokens)), f"a score of {str(tokens)[:40]}")
    expect(len(sampled(snapshot, prompt=(3,) * (context - 2), max_tokens=2).tokens) <= 2, "a full context")


def check_bad_examples_are_refused(subject: EngineSubject) -> None:
    """Bad examples are an EngineError, and leave no gradient behind."""
    model, untouched = subject.trained(), subject.trained()
    ones = np.ones(len(PROMPT), np.float32)
    bad: Mapping[str, Sequence[Example]] = {
        "no examples": [],
        "no tokens": [example((), ())],
        "a token outside": [example((*PROMPT[:-1], OUTSIDE))],
        "a target outside": [example(targets=(*TARGETS[:-1], OUTSIDE))],
        "a negative target": [example(targets=(*TARGETS[:-1], -1))],
        "targets of another length": [example(targets=TARGETS[:-1])],
        "too long": [example((3,) * (subject.info.context + 1), (3,) * (subject.info.context + 1))],
        "no weights": [replace(example(), inputs={"target_tokens": np.asarray(TARGETS)})],
        "a good one first": [example(), example((OUTSIDE,), (1,))],
        "a loss that is not finite": [replace(example(), inputs={**example().inputs, "weights": ones * np.inf})],
    }
    for what, examples in bad.items():
        refused(partial(model.forward_backward, examples, "cross_entropy", {}), what)
    for each in (model, untouched):
        each.step(ADAM)
    expect_close(logprobs_of(model), logprobs_of(untouched), "logprobs after refused examples", 1e-6)


def check_closed_snapshots_refuse(subject: EngineSubject) -> None:
    """Closing a snapshot fails what waits, and what comes later; other snapshots go on."""
    first, second = (subject.engine.base_snapshot(subject.model) for _ in range(2))
    waiting = [first.sample(request(seed=seed, max_tokens=200)) for seed in range(40)]
    first.close()
    refused(lambda: first.sample(request()), "a sample from a closed snapshot")
    refused(lambda: first.score(ScoreRequest(PROMPT)), "a score from a closed snapshot")
    for future in waiting:
        future.exception(SECONDS)  # done or failed, but nobody waits for ever
    expect(len(sampled(second).tokens) == 12, "another snapshot does not go on")


def check_sampling_beside_training(subject: EngineSubject) -> None:
    """Samples and training steps at the same time give what each gives alone."""
    alone_model, model = subject.trained(), subject.trained()
    snapshot = model.snapshot()
    alone = list(sampled(snapshot, max_tokens=40).tokens)
    futures = [snapshot.sample(request(max_tokens=40)) for _ in range(8)]
    for each in (model, alone_model):
        each.forward_backward([example()], "cross_entropy", {})
        each.step(ADAM)
    expect(all(list(future.result(SECONDS).tokens) == alone for future in futures), "training changed a sample")
    subject.close_to(logprobs_of(model), logprobs_of(alone_model), "logprobs of a model trained beside sampling")


def check_unknown_models_are_refused(subject: EngineSubject) -> None:
    """A name that names no model is an EngineError for training and for sampling."""
    refused(lambda: subject.engine.create("nobody/no-such-model", Lora(4)), "an unknown model")
    refused(lambda: subject.engine.base_snapshot("nobody/no-such-model"), "an unknown model")


ENGINE_CHECKS: Mapping[str, Callable[[EngineSubject], None]] = {
    name.removeprefix("check_"): check for name, check in list(globals().items()) if name.startswith("check_")
}


def run_engine_check(name: str, subject: EngineSubject) -> CheckResult:
    check, start, message = ENGINE_CHECKS[name], time.monotonic(), ""
    try:
        check(subject)
    except TimeoutError:
        message = f"no result after {SECONDS:.0f} s"
    except Exception as error:
        message = f"{type(error).__name__}: {error}"
    return CheckResult(name, inspect.getdoc(check) or name, not message, message, time.monotonic() - start)


def run_engine_checks(engine: Engine, model: str, rank: int = 4) -> list[CheckResult]:
    """Every check in turn. The model should be small: it is created two dozen times."""
    subject = EngineSubject(engine, model, rank)
    return [run_engine_check(name, subject) for name in ENGINE_CHECKS]
