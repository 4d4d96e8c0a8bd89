"""What a run costs: prices, the sum over all starts, the limits, and the forecast."""

import io
import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from typer.testing import CliRunner

from rtl_agent.cli.main import app
from rtl_agent.report import write_report
from rtl_agent.runs import Episode, read_run
from rtl_agent.training.cost import Price, Tokens, load_prices
from rtl_agent.training.errors import BadConfig
from rtl_agent.training.parse import choose_resumed, configure
from rtl_agent.training.spending import FILE, Spending
from rtl_agent.training.start import train
from tests.training.conftest import RunIn

SHORT = ("max_steps=3", "batch_size=2", "group_size=2", "max_tokens=12", "eval_every=0")
OWN = '[models]\n"rtl-agent/student" = { prefill = 1000.0, sample = 2000.0, train = 3000.0 }\n'


def own_prices(folder: Path, text: str = OWN) -> Path:
    file = folder / "prices.toml"
    file.write_text(text)
    return file


def test_a_price_is_for_a_million_tokens_of_each_kind() -> None:
    price = Price(prefill=1.0, sample=10.0, train=100.0, as_of=date(2026, 10, 7))
    assert price.of(Tokens(prefill=1_000_000, sample=500_000, train=20_000)) == pytest.approx(1 + 5 + 2)


def test_shipped_prices_hold_on_tinker_alone_and_own_ones_everywhere(tmp_path: Path) -> None:
    prices = load_prices(str(own_prices(tmp_path)))
    assert prices.price("Qwen/Qwen3-8B", "tinker") is not None
    assert prices.price("Qwen/Qwen3-8B", "http://localhost:8910") is None
    assert prices.price("rtl-agent/student", "embedded") is not None


def test_every_shipped_price_is_dated_and_whole() -> None:
    prices = load_prices()
    assert prices.source.startswith("https://")
    for name, price in prices.published.items():
        assert min(price.prefill, price.sample, price.train) > 0, name
        assert price.retired is None or price.as_of <= price.retired, name


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[models", "not valid TOML"),
        ("", "no prices"),
        ('[models]\n"m" = 3', "m needs numbers"),
        ('[models]\n"m" = { prefill = 1, sample = 2 }', "m needs numbers"),
        ('[models]\n"m" = { prefill = -1, sample = 2, train = 3 }', "m needs numbers"),
        ('[models]\n"m" = { prefill = nan, sample = 2, train = 3 }', "m needs numbers"),
        ('[models]\n"m" = { prefill = true, sample = 2, train = 3 }', "m needs numbers"),
        ('[models]\n"m" = { prefill = 1, sample = 2, train = 3, input = 4 }', "has input"),
        ('[models]\n"m" = { prefill = 1, sample = 2, train = 3, as_of = "today" }', "as_of is not a date"),
    ],
)
def test_a_bad_price_file_is_named_with_its_fault(tmp_path: Path, text: str, said: str) -> None:
    file = own_prices(tmp_path, text)
    with pytest.raises(BadConfig, match=said) as error:
        load_prices(str(file))
    assert str(file) in str(error.value)


def test_a_price_file_that_is_missing_is_said() -> None:
    with pytest.raises(BadConfig, match="cannot be read"):
        load_prices("/nowhere/prices.toml")


def test_spending_goes_on_from_earlier_starts(tmp_path: Path) -> None:
    config = configure("rl", prices=str(own_prices(tmp_path)))
    first = Spending.of(config, tmp_path)
    first.sampled()(1000, 500)
    first.trained(200)
    told = first.settle({"test/env/all/pass_rate": 0.25})
    assert told["cost/dollars"] == pytest.approx((1000 * 1000 + 500 * 2000 + 200 * 3000) / 1e6)
    second = Spending.of(config, tmp_path)
    second.scored(None)(300)
    told = second.settle({"test/env/all/pass_rate": 0.75})
    assert (told["cost/tokens_read"], told["cost/tokens_sampled"], told["cost/tokens_trained_on"]) == (1300, 500, 200)
    assert told["cost/tokens"] == 2000
    assert told["cost/dollars_per_point"] == pytest.approx(told["cost/dollars"] / 50)
    assert told["cost/hours"] >= first.hours


def test_without_a_price_there_are_tokens_and_hours_and_no_dollars(tmp_path: Path) -> None:
    spending = Spending.of(configure("rl"), tmp_path)
    spending.sampled()(10, 10)
    told = spending.settle({})
    assert "cost/dollars" not in told
    assert told["cost/tokens"] == 20
    by_the_hour = Spending.of(configure("rl", hour_price=2.0), tmp_path)
    by_the_hour.hours = 3.0
    assert by_the_hour.dollars == pytest.approx(6.0)


@pytest.mark.parametrize("limit", ["max_cost=0.001", "max_tokens_total=1", "max_hours=1e-9"])
def test_a_limit_ends_the_run_after_its_step_with_a_checkpoint(
    run_in: RunIn, tmp_path: Path, limit: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = run_in("rl", *SHORT, limit, f"prices={own_prices(tmp_path)}", "save_every=0")
    run = read_run(path)
    assert [line["step"] for line in run.metrics] == [0]
    assert run.checkpoints[-1].step == 1
    kept = json.loads((path / FILE).read_text())
    assert kept["dollars"] == pytest.approx(run.metrics[-1]["cost/dollars"])
    assert "estimated cost $" in write_report(path, curves=False).page.read_text()


def test_a_run_at_its_limit_says_so_when_it_is_resumed_and_goes_on_with_a_higher_one(
    run_in: RunIn, tmp_path: Path
) -> None:
    path = run_in("rl", *SHORT, "max_tokens_total=1")
    console = Console(file=io.StringIO(), width=1000)
    again = train(choose_resumed(path).config, console=console)
    assert again.limit
    assert again.steps == 1
    said = console.file.getvalue()  # type: ignore[attr-defined]  # a StringIO
    assert "ended after 1 of 3 steps by max_tokens_total=1" in said
    assert "train resume" in said
    assert train(choose_resumed(path, ["max_tokens_total=0"]).config, console=console).steps == 3
    assert read_run(path).metrics[-1]["cost/tokens"] > read_run(path).metrics[0]["cost/tokens"]


def test_what_a_run_spends_is_what_its_records_hold(run_in: RunIn, tmp_path: Path) -> None:
    path = run_in("distill", *SHORT, "max_steps=1", "kl_penalty_coef=1", "forward_kl_coef=0")
    episodes = [Episode.from_json(one) for one in read_run(path).episodes()]
    kept = {row["model"]: row for row in json.loads((path / FILE).read_text())["tokens"]}
    sampled = sum(len(one.sampled_tokens) for one in episodes)
    whole = sampled + sum(len(one.prompt_tokens) for one in episodes)
    student, teacher = kept["rtl-agent/student"], kept["rtl-agent/teacher"]
    assert student["sample"] == sampled
    assert student["prefill"] == whole - sampled
    assert student["train"] == whole - len(episodes)  # inputs and targets are shifted by one
    assert teacher["prefill"] == whole


def test_a_dry_run_counts_and_starts_nothing(gates: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["distill", "--dry-run", f"cvdp_jsonl_path={gates}", "max_steps=5", "batch_size=2", "group_size=4"]
    found = CliRunner().invoke(app, ["train", *words, f"prices={own_prices(tmp_path)}", "hour_price=1"])
    assert found.exit_code == 0, found.output
    assert "dry run: 5 steps, 40 rollouts" in found.stdout
    assert "dollars in all" in found.stdout
    assert "estimates" in found.stdout
    assert max(map(len, found.stdout.splitlines()[:12])) <= 80
    assert not (tmp_path / "runs").exists()


def test_a_dry_run_is_near_what_the_run_then_uses(run_in: RunIn, gates: Path, tmp_path: Path) -> None:
    from rtl_agent.training.forecast import LEAST, MOST, forecast

    path = run_in("distill", *SHORT, "forward_kl_coef=0", "kl_penalty_coef=1")
    kept = {row["model"]: row for row in json.loads((path / FILE).read_text())["tokens"]}
    options: dict[str, Any] = {
        "cvdp_jsonl_path": str(gates),
        "max_steps": 3,
        "batch_size": 2,
        "group_size": 2,
        "max_tokens": 12,
    }
    found = forecast(configure("distill", eval_every=0, preflight_problems=0, kl_penalty_coef=1.0,
                               forward_kl_coef=0.0, one_pass=False, **options))  # fmt: skip
    for one in found.work:
        for kind in ("prefill", "train"):
            used = kept[one.model][kind]
            assert 0.8 * getattr(one.tokens[LEAST], kind) <= used <= 1.2 * getattr(one.tokens[MOST], kind), one


def test_a_model_without_a_tokenizer_cannot_be_foreseen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    found = CliRunner().invoke(app, ["train", "rl", "--dry-run", "model_name=./nowhere", "renderer_name=qwen3"])
    assert found.exit_code == 2
    assert "tokenizer" in found.output
