"""An evaluation end to end: a scripted endpoint, the real grader, files on a real disk."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from rtl_agent.envs.episode_config import EpisodeConfig
from rtl_agent.evaluation import EvaluationError, EvaluationOptions, EvaluationResult, ModelSpec, evaluate, problem_set
from rtl_agent.evaluation.evaluate import default_out
from rtl_agent.evaluation.samples import SampleFile
from rtl_agent.grading import Extraction
from rtl_agent.problems import Selection
from tests.evaluation.gates import expression_in, right, wrong
from tests.evaluation.scripted import Body, Scripted, Told, scripted
from tests.training.conftest import answer

KEY = "sk-very-secret"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Scripted]:
    monkeypatch.setenv("A_KEY", KEY)
    with scripted(right) as script:
        yield script


async def run(
    server: Scripted,
    gates: Path,
    out: Path,
    options: EvaluationOptions | None = None,
    *,
    limit: int = 0,
    fresh: bool = False,
) -> EvaluationResult:
    spec = ModelSpec("scripted", base_url=server.url, api_key_env="A_KEY")
    chosen = problem_set(str(gates), Selection(), limit=limit)
    result, written = await evaluate(
        spec, chosen, options or EvaluationOptions(jobs=2, cache=False), str(gates), out, fresh=fresh
    )
    assert written == out
    return result


async def test_right_and_wrong_answers_are_counted_by_group(server: Scripted, gates: Path, tmp_path: Path) -> None:
    """`and` passes 2 of 3 samples, `xor` none, the others all."""
    seen: Counter[str] = Counter()

    def answer(body: Body) -> Told:
        asked = expression_in(body)
        seen[asked] += 1
        return wrong(body) if asked == "a ^ b" or (asked == "a & b" and seen[asked] == 2) else right(body)

    server.answer = answer
    out = tmp_path / "result.json"
    result = await run(server, gates, out, EvaluationOptions(samples=3, jobs=2, ks=(1, 2, 3), at_a_time=2))
    whole = result.whole
    assert (whole.problems, whole.samples, whole.passed) == (4, 12, 8)
    one, two, three = whole.pass_at
    assert one.cvdp == pytest.approx(one.unbiased) == pytest.approx((2 / 3 + 1 + 0 + 1) / 4)
    assert (two.unbiased, two.cvdp) == (pytest.approx(3 / 4), pytest.approx((8 / 9 + 2) / 4))
    assert (three.unbiased, three.cvdp) == (pytest.approx(3 / 4), pytest.approx((26 / 27 + 2) / 4))
    assert one.low < one.unbiased < one.high
    groups = result.groups
    assert groups["difficulty"]["easy"].passed == 5
    assert groups["category"]["cid004"].pass_at[0].unbiased == 0.5
    assert {name: part.passed for name, part in groups["family"].items()} == {
        "and_gate": 2, "keep_gate": 3, "or_gate": 3, "xor_gate": 0,
    }  # fmt: skip
    assert whole.reward == pytest.approx(whole.reward_parts["tests"] + 0.4)
    assert whole.rates["syntax_valid"] == 1.0


async def test_the_result_has_what_it_takes_to_repeat_it_and_no_key(
    server: Scripted, gates: Path, tmp_path: Path
) -> None:
    out = tmp_path / "result.json"
    await run(server, gates, out, limit=1)
    told = json.loads(out.read_text())
    settings = told["settings"]
    assert (settings["model"], settings["backend"]) == ("scripted", f"openai {server.url}")
    assert (settings["episode"]["level"], settings["temperature"], settings["seed"]) == ("spec", 0.0, 0)
    assert settings["tools"]["iverilog"]
    assert settings["grading"]
    assert told["versions"]["rtl-agent"]
    assert told["problems"][0] | {"digest": ""} == {
        "id": "rtl_and_gate_0001", "digest": "", "category": "cid003", "difficulty": "easy", "family": "and_gate",
        "samples": 1, "passed": 1, "rewards": [1.4],
    }  # fmt: skip
    assert server.keys == {f"Bearer {KEY}"}
    for file in tmp_path.iterdir():
        assert KEY not in file.read_text()


async def test_the_same_command_asks_only_for_what_is_missing(server: Scripted, gates: Path, tmp_path: Path) -> None:
    out = tmp_path / "result.json"
    first = await run(server, gates, out, EvaluationOptions(temperature=1.0, jobs=2))
    assert (len(server.requests), first.asked.reused) == (4, 0)
    lines = out.with_suffix(".jsonl")
    kept = lines.read_text().splitlines()
    lines.write_text("\n".join(kept[:3]) + "\n" + kept[3][:80])  # killed while it wrote the third answer
    again = await run(server, gates, out, EvaluationOptions(temperature=1.0, jobs=2))
    assert (len(server.requests), again.asked.reused, again.whole.passed) == (6, 2, 4)
    more = await run(server, gates, out, EvaluationOptions(temperature=1.0, jobs=2, samples=2))
    assert (len(server.requests), more.asked.reused, more.whole.samples) == (10, 4, 8)
    seeds = Counter(body["seed"] for body in server.requests)
    assert len(seeds) == 8  # two samples of each problem, each with a seed of its own, the same when asked again


async def test_answers_of_other_settings_are_not_mixed_in(server: Scripted, gates: Path, tmp_path: Path) -> None:
    out = tmp_path / "result.json"
    await run(server, gates, out, limit=1)
    before = out.with_suffix(".jsonl").read_text()
    with pytest.raises(EvaluationError, match="max_tokens: 1024 -> 64") as caught:
        await run(server, gates, out, EvaluationOptions(EpisodeConfig(max_tokens=64)), limit=1)
    assert "--fresh" in str(caught.value)
    assert out.with_suffix(".jsonl").read_text() == before
    with pytest.raises(EvaluationError, match="extraction: 'forgiving' -> 'cvdp'"):
        await run(server, gates, out, EvaluationOptions(EpisodeConfig(extraction="cvdp")), limit=1)
    fresh = await run(server, gates, out, EvaluationOptions(EpisodeConfig(max_tokens=64)), limit=1, fresh=True)
    assert fresh.asked.reused == 0


async def test_the_way_that_answers_are_read_is_a_choice_and_recorded(
    server: Scripted, gates: Path, tmp_path: Path
) -> None:
    def with_a_shell_block(body: Body) -> Told:
        return Told(f"```bash\nls\n```\n{answer(expression_in(body))}")

    server.answer = with_a_shell_block
    for extraction, passed in ((Extraction.FORGIVING, 1), (Extraction.CVDP, 0)):
        out = tmp_path / f"{extraction}.json"
        result = await run(
            server, gates, out, EvaluationOptions(EpisodeConfig(extraction=extraction), jobs=2, cache=False), limit=1
        )
        assert result.whole.passed == passed
        assert json.loads(out.read_text())["settings"]["episode"]["extraction"] == extraction
        assert [sample.episode.grade and sample.episode.grade.extraction for sample in result.asked.samples] == [
            extraction
        ]


async def test_answers_to_other_words_are_not_mixed_in(
    server: Scripted, gates: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "result.json"
    before = await run(server, gates, out, limit=1)
    monkeypatch.setattr("rtl_agent.prompts.system_message._text", lambda stem: "Other words.")
    with pytest.raises(EvaluationError, match=r"what a model is told besides the problem .* is worded differently"):
        await run(server, gates, out, limit=1)
    assert len(server.requests) == 1, "nothing is asked before it is refused"
    anew = await run(server, gates, out, limit=1, fresh=True)
    assert server.requests[1]["messages"][0]["content"].startswith("Other words.")
    assert default_out(before.settings) != default_out(anew.settings), "without --out it starts anew"


async def test_what_the_endpoint_refused_is_still_told_when_nothing_is_asked_any_more(
    server: Scripted, gates: Path, tmp_path: Path
) -> None:
    def picky(body: Body) -> Told:
        refusal = Told(status=400, error="Unsupported parameter: 'temperature'")
        return refusal if "temperature" in body else right(body)

    server.answer = picky
    out = tmp_path / "result.json"
    first = await run(server, gates, out, limit=2)
    assert first.notes == ("the endpoint refused temperature: 2 of 2 answers were asked for without it",)
    asked = len(server.requests)
    again = await run(server, gates, out, limit=2)
    assert (len(server.requests), again.notes) == (asked, first.notes)
    assert json.loads(out.read_text())["notes"] == list(first.notes)
    server.answer = right
    more = await run(server, gates, out)
    assert more.notes == ("the endpoint refused temperature: 2 of 4 answers were asked for without it",)


async def test_a_problem_that_was_mended_is_asked_anew(server: Scripted, gates: Path, tmp_path: Path) -> None:
    out, copy = tmp_path / "result.json", tmp_path / "gates.jsonl"
    copy.write_text(gates.read_text())
    await run(server, copy, out)
    copy.write_text(gates.read_text().replace("with y = a & b.", "so that y = a & b."))
    assert (await run(server, copy, out)).asked.reused == 3


async def test_two_processes_do_not_write_the_same_answers(server: Scripted, gates: Path, tmp_path: Path) -> None:
    out = tmp_path / "result.json"
    result = await run(server, gates, out, limit=1)
    with (
        SampleFile(result.samples_file, result.settings),
        pytest.raises(EvaluationError, match="another process is writing"),
    ):
        await run(server, gates, out, limit=1)


async def test_what_the_endpoint_cannot_answer_is_left_out_and_counted(
    server: Scripted, gates: Path, tmp_path: Path
) -> None:
    def answer(body: Body) -> Told:
        return Told(status=400, error="no") if expression_in(body) == "a | b" else right(body)

    server.answer = answer
    out = tmp_path / "result.json"
    result = await run(server, gates, out)
    assert (result.whole.problems, result.whole.passed) == (3, 3)
    assert [lost.problem_id for lost in result.asked.lost] == ["rtl_or_gate_0001"]
    told = json.loads(out.read_text())
    assert told["errors"]["count"] == 1
    assert "400: no" in told["errors"]["samples"][0]["why"]
    server.answer = right
    assert (await run(server, gates, out)).whole.passed == 4


async def test_a_wrong_key_ends_it_and_keeps_what_was_graded(server: Scripted, gates: Path, tmp_path: Path) -> None:
    out = tmp_path / "result.json"
    server.answer = lambda body: right(body) if len(server.requests) < 3 else Told(status=401, error="no")
    with pytest.raises(EvaluationError, match="401"):
        await run(server, gates, out, EvaluationOptions(at_a_time=1, jobs=1))
    assert not out.exists()
    server.answer = right
    assert (await run(server, gates, out)).asked.reused == 2
