"""The comparison's table is made of its results alone, and says where there are none."""

import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "compare_methods.py"


@pytest.fixture
def compare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    spec = importlib.util.spec_from_file_location("compare_methods", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "ROOT", tmp_path)
    study = module.STUDIES["comparison"]
    study.results.mkdir(parents=True)
    study.page.write_text(f"Before.\n{module.BEGIN}\nold\n{module.END}\nAfter.\n")
    return module


def result(method: str, seed: int, passed: float, points: list[tuple[float, float, float]]) -> dict[str, Any]:
    rates = {"rates": {"pass_rate": passed}, "pass_at_k": 1.0}
    curve = [{"cpu": cpu, "tokens": tokens, "pass": share} for cpu, tokens, share in points]
    return {"method": method, "seed": seed, "curve": curve, "exam": {"test": {"greedy": rates, "sampled": rates}}}


def keep(compare: ModuleType, *results: dict[str, Any]) -> None:
    methods = {method.name: method for method in compare.METHODS}
    for one in results:
        method = methods[one["method"]]
        one |= {"words": [method.mode, *method.words], "common": list(compare.COMMON)}
        file = compare.STUDIES["comparison"].results / f"{one['method']}-{one['seed']}.json"
        file.write_text(json.dumps(one))


def test_the_table_has_mean_and_spread_and_what_was_reached_at_equal_cost(compare: ModuleType) -> None:
    keep(
        compare,
        result("reward", 0, 0.4, [(0, 0, 0.0), (100, 1000, 0.5)]),
        result("reward", 1, 0.6, [(0, 0, 0.0), (100, 1000, 0.5)]),
        result("reverse", 0, 0.9, [(0, 0, 0.0), (200, 2000, 1.0)]),
        result("supervised", 0, 0.9, [(0, 0, 0.0), (40, 0, 0.9)]),
    )
    study = compare.STUDIES["comparison"]
    compare.write(study)
    page = study.page.read_text()
    assert page.startswith("Before.\n")
    assert page.endswith("\nAfter.\n")
    assert "old" not in page
    assert "at 100 CPU s | at 1,000 sampled tokens" in page
    cells = {line.split(" | ")[0]: line.split(" | ")[1:] for line in page.splitlines() if line.startswith("| ")}
    assert cells["| reward only"][:2] == ["2", "50.0 ± 14.1 %"]
    assert cells["| sampled reverse KL, as the seed had it"][4:6] == ["50.0 %", "50.0 %"]
    assert cells["| references, as many answers as the others sample"][4:6] == [
        "-",
        "-",
    ]  # it ended before, samples none
    assert (study.results / "by_cpu.png").is_file()


def test_the_same_job_of_another_study_is_taken_and_one_with_other_options_is_not(compare: ModuleType) -> None:
    both, curve = compare.STUDIES["teachers"], [(0.0, 0.0, 0.0), (1.0, 1.0, 1.0)]
    keep(compare, result("demo-wide", 1, 0.9, curve), result("reverse", 0, 0.8, curve))
    assert {key: one["method"] for key, one in compare.results(both).items()} == {("same", 1): "demo-wide"}
    (compare.STUDIES["comparison"].results / "something_else.json").write_text('{"pairs": 3}')
    assert len(compare.results(both)) == 1
    file = compare.STUDIES["comparison"].results / "demo-wide-1.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "common": ["max_steps=1"]}))
    assert not compare.results(both)


@pytest.mark.parametrize(
    ("study", "answers"), [("comparison", 16), ("teachers", 16), ("rewards", 16), ("curriculum", 32)]
)
def test_every_method_of_a_study_is_a_run_with_as_many_answers_a_step(
    compare: ModuleType, study: str, answers: int
) -> None:
    from rtl_agent.training.parse import parse

    for method in compare.STUDIES[study].methods:
        config = parse(method.mode, [*compare.COMMON, *method.words])
        group = 1 if method.mode == "supervised" else config.optim.group_size
        assert config.optim.batch_size * group == answers, method.name


def test_a_curriculum_is_shown_by_its_groups_without_signal(compare: ModuleType) -> None:
    study = compare.STUDIES["curriculum"]
    study.results.mkdir(parents=True)
    study.page.write_text(f"{compare.BEGIN}\n{compare.END}\n")
    for method, shares in (("none", [0.75, 0.5, 0.5, 0.25]), ("adaptive", [0.5, 0.25, 0.0, 0.0])):
        one = result(method, 0, 0.5, [(0, 0, 0.0), (100, 1000, 0.5)])
        words = next([own.mode, *own.words] for own in study.methods if own.name == method)
        one |= {"words": words, "common": list(compare.COMMON), "signal": {"groups/no_signal": shares}}
        (study.results / f"{method}-0.json").write_text(json.dumps(one))
    compare.write(study)
    cells = {line.split(" | ")[0]: line.split(" | ")[-2:] for line in study.page.read_text().splitlines()}
    assert "pass@4" in study.page.read_text()
    assert cells["| every problem once in each epoch"] == ["50.0 %", "37.5 % |"]
    assert cells["| those whose pass rate is nearest a half"] == ["18.8 %", "0.0 % |"]
    assert (study.results / "signal.png").is_file()


def test_an_unknown_part_is_refused(compare: ModuleType) -> None:
    with pytest.raises(compare.argparse.ArgumentTypeError, match="no PART/PARTS"):
        compare._part("3/2")
