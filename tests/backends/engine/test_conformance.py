"""Every registered engine passes the engine suite; a broken one fails the check that guards what is broken."""

from collections.abc import Iterator

import pytest

from rtl_agent.backends.conformance.engine import ENGINE_CHECKS, EngineSubject, run_engine_check
from rtl_agent.backends.engine.contract import Engine, EngineError, Lora
from rtl_agent.backends.engine.registry import ENGINES, EngineByModel, EngineOptions, choose_engine
from tests.backends.engine.tiny_architectures import write_architecture
from tests.backends.test_conformance_can_fail import (
    BrokenEngine,
    ForwardTrains,
    LiveSnapshot,
    NoOptimizerState,
    NoStops,
    NoTopK,
    OneSeed,
    Reversed,
    Wrapped,
)

# For each engine a small model that it can run: the fixture that writes it.
MODELS = {"qwen3": "tiny_model", "transformers": "tiny_llama"}


@pytest.fixture(scope="session")
def tiny_llama(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write_architecture("llama", tmp_path_factory.mktemp("model") / "llama")


@pytest.fixture(scope="module", params=list(ENGINES))
def subject(request: pytest.FixtureRequest) -> Iterator[EngineSubject]:
    model: str = request.getfixturevalue(MODELS[request.param])
    engine = ENGINES[request.param].create([model], EngineOptions())
    yield EngineSubject(engine, model)
    engine.close()


@pytest.mark.parametrize("name", ENGINE_CHECKS)
def test_an_engine_keeps_the_contract(name: str, subject: EngineSubject) -> None:
    assert run_engine_check(name, subject).message == ""


@pytest.mark.parametrize("name", ["checkpoints_continue", "gradients_add_up", "scores_are_the_trainers"])
def test_rank_0_keeps_it_too(name: str, subject: EngineSubject) -> None:
    whole = EngineSubject(subject.engine, subject.model, rank=0)
    assert run_engine_check(name, whole).message == ""


class BrokenBase(BrokenEngine):
    """Broken base snapshots too."""

    def base_snapshot(self, base: str):  # type: ignore[no-untyped-def]
        return self.create(base, Lora(4)).snapshot()


@pytest.mark.parametrize(
    ("kind", "check"),
    [
        (ForwardTrains, "gradients_add_up"),
        (Reversed, "gradients_add_up"),
        (NoOptimizerState, "checkpoints_continue"),
        (LiveSnapshot, "snapshots_do_not_change"),
        (OneSeed, "seeds_repeat_among_others"),
        (NoStops, "stops_end_a_sample"),
        (NoTopK, "greedy_and_top_k"),
    ],
)
def test_a_broken_engine_is_found(kind: type[Wrapped], check: str, tiny_model: str) -> None:
    engine: Engine = BrokenBase(tiny_model)
    try:
        engine.kind = kind  # type: ignore[attr-defined]
        assert not run_engine_check(check, EngineSubject(engine, tiny_model)).passed
    finally:
        engine.close()


def test_the_engine_is_chosen_by_the_model(tiny_model: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    assert choose_engine(tiny_model) == "qwen3"
    assert choose_engine(tiny_model, "qwen3") == "qwen3"
    with pytest.raises(EngineError, match="did you mean qwen3"):
        choose_engine(tiny_model, "qwen")
    llama = tmp_path_factory.mktemp("llama")
    (llama / "config.json").write_text('{"model_type": "llama"}')
    with pytest.raises(EngineError, match="llama"):
        choose_engine(str(llama))


def test_one_server_runs_models_on_the_engines_that_can(
    tiny_model: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A second engine is a plug-in; here one that runs what the first refuses, under its own name."""
    llama = tmp_path_factory.mktemp("llama")
    (llama / "config.json").write_text('{"model_type": "llama"}')
    created = []

    class LlamaKind:
        def refusal(self, directory: object) -> str | None:
            return None

        def create(self, models: object, options: object) -> Engine:
            created.append(models)
            return BrokenEngine(tiny_model)

    ENGINES.register("llama")(LlamaKind())
    try:
        engine = EngineByModel([tiny_model, str(llama)], EngineOptions())
        assert [engine.engine_name(name) for name in (tiny_model, str(llama))] == ["qwen3", "llama"]
        assert engine.base_snapshot(tiny_model).base == tiny_model
        assert created == []
        forced = EngineByModel([tiny_model], EngineOptions(), "llama")
        assert forced.models()
        assert created == [[tiny_model]]
        engine.close()
        forced.close()
    finally:
        ENGINES.unregister("llama")
