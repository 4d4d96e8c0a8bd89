"""--model in all its forms."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from rtl_agent.backends.connect import Connection
from rtl_agent.envs.episode_config import EpisodeConfig
from rtl_agent.envs.kinds import resolved
from rtl_agent.evaluation import (
    EvaluationError,
    EvaluationOptions,
    ModelSpec,
    episode_config,
    evaluate,
    open_model,
    problem_set,
)
from rtl_agent.evaluation.models import TextModel, TokenModel
from rtl_agent.problems import Selection
from rtl_agent.runs import Checkpoint, RunError, RunWriter
from rtl_agent.training.config import STUDENT


@pytest.fixture(autouse=True)
def key(embedded: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TINKER_API_KEY", embedded.api_key)


async def token_model(spec: ModelSpec) -> TokenModel:
    async with open_model(spec) as model:
        assert isinstance(model, TokenModel)
        return model


async def test_our_own_models_are_asked_as_they_were_taught(embedded: Connection) -> None:
    model = await token_model(ModelSpec(STUDENT, backend=str(embedded.base_url)))
    assert (model.base, model.renderer, model.context) == (STUDENT, "rtl_agent", 4096)
    assert resolved(EpisodeConfig(), model.base).system == "short"
    assert resolved(EpisodeConfig(system="default"), model.base).system == "default"


async def test_saved_weights_on_a_server_know_their_base(embedded: Connection) -> None:
    client = embedded.service.create_lora_training_client(STUDENT, rank=0)
    path = client.save_weights_for_sampler("mine").result().path
    model = await token_model(ModelSpec(path, backend=str(embedded.base_url)))
    assert (model.name, model.base, model.weights) == (path, STUDENT, path)


@pytest.fixture
def run_directory(embedded: Connection, tmp_path: Path) -> Path:
    """A run with three checkpoints, the second of them the best."""
    client = embedded.service.create_lora_training_client(STUDENT, rank=0)
    config = {"student": STUDENT, "backend": embedded.base_url, "system": "spec-aware", "renderer_name": "rtl_agent",
              "env": "single", "level": "own-tests", "max_tokens": 77}  # fmt: skip
    with RunWriter.create(tmp_path / "run", config, if_exists="raise") as run:
        for step in (1, 2, 3):
            path = client.save_weights_for_sampler(f"step_{step}").result().path
            run.add_checkpoint(Checkpoint(f"step_{step}", step, None, path, best=step == 2))
        run.log_metrics(0, {"reward": 1.0})
    return tmp_path / "run"


@pytest.mark.parametrize(
    ("wish", "name"), [("", "step_2"), ("best", "step_2"), ("last", "step_3"), ("step_1", "step_1")]
)
async def test_a_run_directory_is_its_checkpoint(run_directory: Path, wish: str, name: str) -> None:
    model = await token_model(ModelSpec(str(run_directory), checkpoint=wish))
    assert model.name == f"run@{name}"
    assert model.weights.endswith(f"/sampler_weights/{name}")
    assert model.renderer == "rtl_agent"


def test_a_run_is_asked_as_it_asked_unless_told_otherwise(run_directory: Path) -> None:
    spec = ModelSpec(str(run_directory))
    assert episode_config(spec) == EpisodeConfig(system="spec-aware", max_tokens=77)
    assert episode_config(spec, max_tokens=5, level=None) == EpisodeConfig(system="spec-aware", max_tokens=5)
    assert episode_config(ModelSpec(STUDENT)) == EpisodeConfig()


async def test_wrong_wishes_are_sentences(run_directory: Path, embedded: Connection) -> None:
    wrong: dict[str, Callable[[], ModelSpec]] = {
        "no checkpoint 'step_9': there are step_1, step_2, step_3": lambda: ModelSpec(
            str(run_directory), checkpoint="step_9"
        ),
        "give the run directory": lambda: ModelSpec("tinker://a/sampler_weights/b"),
        "the server has no model nobody/knows": lambda: ModelSpec("nobody/knows", backend=str(embedded.base_url)),
        "is not a backend": lambda: ModelSpec(STUDENT, backend="somewhere"),
        "chooses from a run directory": lambda: ModelSpec(STUDENT, checkpoint="last"),
        "leave out --backend": lambda: ModelSpec("m", backend="embedded", base_url="http://127.0.0.1:9/v1"),
        "NAME of an environment variable": lambda: ModelSpec("m", base_url="http://h/v1", api_key_env="sk-123"),
        "no such environment variable": lambda: ModelSpec("m", base_url="http://h/v1", api_key_env="NOT_SET_AT_ALL"),
    }
    for sentence, spec in wrong.items():
        with pytest.raises(EvaluationError) as caught:
            async with open_model(spec()):
                pass
        assert sentence in str(caught.value)


async def test_a_run_without_checkpoints_is_a_sentence(tmp_path: Path) -> None:
    with RunWriter.create(tmp_path / "run", {"student": STUDENT}, if_exists="raise") as run:
        run.log_metrics(0, {"reward": 1.0})
    with pytest.raises(EvaluationError, match="no checkpoint to sample from"):
        async with open_model(ModelSpec(str(tmp_path / "run"))):
            pass
    (tmp_path / "run" / "metrics.jsonl").write_text("{\n")
    with pytest.raises(RunError, match="not valid JSON"):
        async with open_model(ModelSpec(str(tmp_path / "run"))):
            pass


async def test_tokens_and_text_give_the_same_answers(
    embedded: Connection, gates: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same weights over tinker's API and over OpenAI's: the same greedy text, asked by the same tokens."""
    monkeypatch.setenv("SERVER_KEY", embedded.api_key)
    chosen = problem_set(str(gates), Selection())
    options = EvaluationOptions(EpisodeConfig(max_tokens=24), jobs=1, cache=False)
    texts = []
    for name, spec in {
        "tokens": ModelSpec(STUDENT, backend=str(embedded.base_url)),
        "text": ModelSpec(STUDENT, base_url=f"{embedded.base_url}/v1", api_key_env="SERVER_KEY"),
    }.items():
        out = tmp_path / f"{name}.json"
        result, _ = await evaluate(spec, chosen, options, str(gates), out)
        assert not result.asked.lost
        texts.append([(sample.episode.text, sample.usage) for sample in result.asked.samples])
        assert json.loads(out.read_text())["settings"]["episode"]["system"] == "short"
        assert embedded.api_key not in out.read_text() + out.with_suffix(".jsonl").read_text()
    assert texts[0] == texts[1]
    assert all(usage["answer"] for _, usage in texts[0])


async def test_an_endpoint_is_a_model_of_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    async with open_model(ModelSpec("gpt", base_url="http://127.0.0.1:9/v1")) as model:
        assert isinstance(model, TextModel)
        assert model.backend == "openai http://127.0.0.1:9/v1"
        assert resolved(EpisodeConfig(), model.base).system == "default"
