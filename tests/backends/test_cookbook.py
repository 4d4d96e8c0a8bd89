"""The cookbook's own training programs run against the server, unmodified, by base_url alone."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import chz
import pytest
import tinker
from tinker_cookbook.distillation import train_on_policy
from tinker_cookbook.distillation.datasets import DistillationDatasetConfig, TeacherConfig
from tinker_cookbook.rl import train
from tinker_cookbook.rl.types import Env, EnvGroupBuilder, RLDataset, RLDatasetBuilder, StepResult

from rtl_agent.backends.connect import Connection
from tests.backends.tiny_model import write_tiny_model

STEPS = 3


class EvenTokens(Env):
    """One turn; the reward is the share of even tokens."""

    def __init__(self, first: int) -> None:
        self.first = first

    async def initial_observation(self) -> tuple[tinker.ModelInput, list[int]]:
        return tinker.ModelInput.from_ints([self.first, 12, 13]), []

    async def step(self, action: list[int], *, extra: object = None) -> StepResult:
        even = sum(token % 2 == 0 for token in action) / len(action)
        return StepResult(even, True, tinker.ModelInput.empty(), [])


@dataclass(frozen=True)
class Group(EnvGroupBuilder):
    first: int

    async def make_envs(self) -> Sequence[Env]:
        return [EvenTokens(self.first) for _ in range(4)]


class Numbers(RLDataset):
    def get_batch(self, index: int) -> Sequence[EnvGroupBuilder]:
        return [Group(20 + index), Group(30 + index)]

    def __len__(self) -> int:
        return STEPS


@chz.chz
class NumbersBuilder(RLDatasetBuilder):
    async def __call__(self) -> tuple[RLDataset, None]:
        return Numbers(), None


@pytest.fixture(autouse=True)
def key(connection: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TINKER_API_KEY", connection.api_key)


def metrics(log: Path) -> list[dict[str, float]]:
    return [json.loads(line) for line in (log / "metrics.jsonl").read_text().splitlines()]


@pytest.mark.slow
async def test_rl_train(connection: Connection, tiny_model: str, tmp_path: Path) -> None:
    config = train.Config(
        learning_rate=1e-3,
        dataset_builder=NumbersBuilder(),
        model_name=tiny_model,
        recipe_name="even-tokens",
        max_tokens=8,
        log_path=str(tmp_path),
        base_url=connection.base_url,
        lora_rank=4,
        eval_every=0,
        save_every=1,
        loss_fn="ppo",
        compute_post_kl=True,
    )
    await train.main(config)
    rows = metrics(tmp_path)
    assert len(rows) >= STEPS
    assert all(abs(row["optim/kl_sample_train_v1"]) < 1e-3 for row in rows if "optim/kl_sample_train_v1" in row)
    assert any("env/all/reward/total" in row for row in rows)
    saved = [json.loads(line) for line in (tmp_path / "checkpoints.jsonl").read_text().splitlines()]
    assert saved[-1]["state_path"].startswith("tinker://")
    rest = tinker.RestClient(base_url=connection.base_url, api_key=connection.api_key)
    run = await rest.get_training_run_by_tinker_path_async(saved[-1]["state_path"])
    assert run.base_model == tiny_model


@pytest.mark.slow
async def test_train_on_policy(connection: Connection, tiny_model: str, tmp_path: Path) -> None:
    teacher = write_tiny_model(tmp_path / "teacher", seed=8)
    config = train_on_policy.Config(
        learning_rate=1e-3,
        dataset_configs=[
            DistillationDatasetConfig(
                dataset_builder=NumbersBuilder(), teacher_config=TeacherConfig(base_model=teacher), groups_per_batch=2
            )
        ],
        model_name=tiny_model,
        recipe_name="even-tokens",
        max_tokens=8,
        log_path=str(tmp_path / "log"),
        base_url=connection.base_url,
        lora_rank=4,
        eval_every=0,
        save_every=1,
    )
    await train_on_policy.main(config)
    rows = metrics(tmp_path / "log")
    assert len([row for row in rows if "teacher_kl" in row]) == STEPS
    assert all(abs(row["optim/kl_sample_train_v1"]) < 1e-3 for row in rows if "optim/kl_sample_train_v1" in row)
