"""The cookbook's own training programs run against the server, unmodified, by base_url alone.

It is imported by the tests themselves: 2 s of CPU that every worker would pay for tests it leaves out.
"""

import json
from pathlib import Path

import pytest
import tinker

from rtl_agent.backends.connect import Connection
from tests.backends.tiny_model import write_tiny_model


@pytest.fixture(autouse=True)
def key(connection: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TINKER_API_KEY", connection.api_key)


def metrics(log: Path) -> list[dict[str, float]]:
    return [json.loads(line) for line in (log / "metrics.jsonl").read_text().splitlines()]


@pytest.mark.slow
async def test_rl_train(connection: Connection, tiny_model: str, tmp_path: Path) -> None:
    from tinker_cookbook.rl import train

    from tests.backends.even_tokens import STEPS, NumbersBuilder

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
    from tinker_cookbook.distillation import train_on_policy
    from tinker_cookbook.distillation.datasets import DistillationDatasetConfig, TeacherConfig

    from tests.backends.even_tokens import STEPS, NumbersBuilder

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
