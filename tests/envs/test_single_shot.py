"""The single-shot environment with the real grader: rewards, records, metrics, and faults that are no reward."""

import json
import pickle
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
import pytest_asyncio
from tinker_cookbook.completers import StopCondition, TokenCompleter, TokensWithLogprobs
from tinker_cookbook.rl.data_processing import trajectory_to_data
from tinker_cookbook.rl.metric_util import compute_trajectory_metrics
from tinker_cookbook.rl.rollouts import do_group_rollout

from rtl_agent.envs.env import EpisodeEnv, NoGrader, ProblemGroupBuilder, live_grader
from rtl_agent.envs.episode import EpisodeFailed
from rtl_agent.envs.episode_config import EpisodeConfig
from rtl_agent.envs.tokenizers import tokenizer_for
from rtl_agent.grading import ExecutorFault, Grade, Grader, Outcome, RewardWeights
from rtl_agent.grading.executors import GradeJob
from rtl_agent.problems import CocotbVersion, Needs, Problem
from rtl_agent.runs.episode import Episode

pytestmark = pytest.mark.asyncio(loop_scope="module")
ID = "rtl_mod_counter_0001"
MODULE = "rtl/mod_counter.sv"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def live() -> AsyncIterator[Grader]:
    async with Grader(jobs=2) as grader:
        with live_grader(grader):
            yield grader


@pytest.fixture
def counter(bundled: dict[str, Problem]) -> Problem:
    return bundled[ID]


def builder(
    problem: Problem, group_size: int = 1, *, max_prompt_tokens: int = 0, grader: str = "default"
) -> ProblemGroupBuilder:
    config = EpisodeConfig(system="default", max_prompt_tokens=max_prompt_tokens)
    return ProblemGroupBuilder(problem, group_size, "rtl-agent/student", "rtl_agent", config, grader=grader)


def reply(code: str) -> str:
    return f"Here it is.\n```systemverilog\n{code}```\n"


def reference(problem: Problem) -> str:
    assert problem.reference is not None
    return problem.reference[MODULE]


async def played(env: EpisodeEnv, text: str, stop_reason: str = "stop") -> tuple[float, dict[str, float], Episode]:
    """What a model that writes `text` gets for it."""
    _, stop = await env.initial_observation()
    tokens = tokenizer_for("rtl-agent/student").encode(text)
    action = [*tokens, *stop] if stop_reason == "stop" else tokens
    result = await env.step(action, extra={"stop_reason": stop_reason})  # type: ignore[arg-type]
    assert result.episode_done
    assert env.episode.sampled_tokens == tuple(action), "verbatim, the end of the message included"
    return result.reward, dict(result.metrics), env.episode


async def one(problem: Problem) -> EpisodeEnv:
    (env,) = await builder(problem).make_envs()
    return env


async def test_the_reference_earns_everything(live: Grader, counter: Problem) -> None:
    reward, metrics, episode = await played(await one(counter), reply(reference(counter)))
    assert reward == 1.4
    assert metrics == {
        "reward/format_valid": 0.1, "reward/interface_valid": 0.0, "reward/syntax_valid": 0.3,
        "reward/tests_passed": 1.0, "format_valid": 1.0, "interface_valid": 1.0, "syntax_valid": 1.0,
        "tests_passed": 1.0, "tests_fraction": 1.0, "pass_rate": 1.0, "cut_off": 0.0,
    }  # fmt: skip
    assert episode.reward_parts == {"format": 0.1, "syntax": 0.3, "tests": 1.0}
    assert episode.diagnostics == ()
    assert (episode.problem_id, episode.family, episode.stop_reason) == (ID, counter.family, "stop")


async def test_what_does_not_compile_keeps_the_tools_words(live: Grader, counter: Problem) -> None:
    broken = reference(counter).replace("assign tc", "asign tc")
    reward, metrics, episode = await played(await one(counter), reply(broken))
    assert reward == pytest.approx(0.1)
    assert (metrics["format_valid"], metrics["syntax_valid"], metrics["pass_rate"]) == (1.0, 0.0, 0.0)
    assert any("does not compile" in line for line in episode.diagnostics)
    assert any("mod_counter.sv" in line and "error" in line for line in episode.diagnostics)


async def test_an_answer_without_code_is_invalid(live: Grader, counter: Problem) -> None:
    reward, metrics, episode = await played(await one(counter), "I would rather not.")
    assert reward == 0
    assert episode.grade is not None
    assert episode.grade.outcome is Outcome.INVALID
    assert {metrics[name] for name in ("format_valid", "interface_valid", "syntax_valid", "pass_rate")} == {0.0}
    assert episode.diagnostics == ("the reply has no RTL: no code block, no module, no JSON with files",)


async def test_an_answer_that_was_cut_off_says_so(live: Grader, counter: Problem) -> None:
    reward, metrics, episode = await played(await one(counter), reply(reference(counter))[:300], "length")
    assert (reward, metrics["cut_off"], episode.stop_reason) == (0, 1.0, "length")
    assert episode.cut_off
    assert "cut off" in episode.diagnostics[0]


async def test_without_weight_on_tests_nothing_is_simulated_and_no_pass_is_claimed(counter: Problem) -> None:
    async with Grader(jobs=1, weights=RewardWeights(tests=0.0)) as proxy:
        with live_grader(proxy, "proxy"):
            right, wrong = await builder(counter, 2, grader="proxy").make_envs()
            reward, metrics, episode = await played(right, reply(reference(counter)))
            assert reward == pytest.approx(0.4)
            assert episode.grade is not None
            assert not episode.grade.simulations
            assert metrics["syntax_valid"] == 1.0
            _, of_invalid, _ = await played(wrong, "no")
    assert not {"tests_passed", "tests_fraction", "pass_rate"} & (metrics.keys() | of_invalid.keys())


async def test_a_record_survives_its_file(live: Grader, counter: Problem) -> None:
    _, _, episode = await played(await one(counter), "nothing")
    kept = episode.with_logprobs([-0.5] * len(episode.sampled_tokens))
    assert Episode.from_json(json.loads(json.dumps(kept.to_json()))) == kept
    with pytest.raises(ValueError, match="3 logprobs for 2 sampled tokens"):
        episode.with_logprobs([0.0, 0.0, 0.0])


async def test_a_builder_is_data_and_finds_its_grader_where_it_lands(counter: Problem) -> None:
    sent = pickle.loads(pickle.dumps(builder(counter, 3, grader="elsewhere")))
    assert sent == builder(counter, 3, grader="elsewhere")
    with pytest.raises(NoGrader, match="'elsewhere'"):
        await sent.make_envs()


async def test_a_prompt_that_cannot_fit_fails_the_episode_with_a_sentence(live: Grader, counter: Problem) -> None:
    (env,) = await builder(counter, max_prompt_tokens=50).make_envs()
    with pytest.raises(EpisodeFailed, match=rf"{ID}: the prompt .* 50 are allowed"):
        await env.initial_observation()


async def test_an_episode_that_has_not_ended_has_no_record(live: Grader, counter: Problem) -> None:
    with pytest.raises(RuntimeError, match="has not ended"):
        _ = (await one(counter)).episode


class NobodyThere:
    """An executor whose workers are gone."""

    async def fingerprint(self, cocotb_version: CocotbVersion) -> dict[str, str]:
        raise ExecutorFault("no node is left")

    async def run(self, job: GradeJob) -> Grade:
        raise AssertionError("there is nobody to run it")

    async def aclose(self) -> None: ...


async def test_a_fault_of_ours_is_no_reward(counter: Problem) -> None:
    async with Grader(executor=NobodyThere()) as grader:
        with live_grader(grader, "gone"):
            (env,) = await builder(counter, grader="gone").make_envs()
            with pytest.raises(EpisodeFailed, match=f"{ID} could not be graded: no node is left"):
                await played(env, reply(reference(counter)))
    with pytest.raises(RuntimeError, match="has not ended"):
        _ = env.episode


async def test_a_problem_that_needs_another_simulator_is_no_reward(live: Grader, counter: Problem) -> None:
    (env,) = await builder(replace(counter, needs=Needs.COMMERCIAL)).make_envs()
    with pytest.raises(EpisodeFailed, match="needs Cadence Xcelium"):
        await played(env, reply(reference(counter)))


class Writes(TokenCompleter):
    """A model that knows its answers by heart."""

    def __init__(self, answers: list[list[int]]) -> None:
        self.answers = answers

    async def __call__(
        self, model_input: object, stop: StopCondition, *, max_tokens: int | None = None
    ) -> TokensWithLogprobs:
        tokens = self.answers.pop()
        return TokensWithLogprobs(tokens, [-0.25] * len(tokens), "stop")


async def test_the_cookbooks_rollouts_metrics_and_data_take_it(live: Grader, counter: Problem) -> None:
    asked = builder(counter, 2)
    tokenizer, (end,) = asked.renderer.tokenizer, asked.renderer.get_stop_sequences()
    answers = [[*tokenizer.encode(text), end] for text in (reply(reference(counter)), "no")]
    group = await do_group_rollout(asked, Writes(list(answers)))
    assert sorted(group.get_total_rewards()) == [0.0, 1.4]
    metrics = compute_trajectory_metrics([group], [asked.logging_tags()])
    wanted = ("reward/total", "reward/format_valid", "reward/interface_valid", "reward/syntax_valid",
              "reward/tests_passed", "format_valid", "interface_valid", "syntax_valid", "tests_passed",
              "tests_fraction", "pass_rate", "ac_tokens_per_turn", "ob_tokens_per_turn", "turns_per_episode",
              "total_episodes")  # fmt: skip
    assert {f"env/all/{name}" for name in wanted} <= metrics.keys()
    assert metrics["env/all/reward/total"] == pytest.approx(0.7)
    assert metrics["env/all/pass_rate"] == 0.5
    trained_on = []
    for trajectory in group.trajectories_G:
        (datum,) = trajectory_to_data(trajectory, 1.0)
        mask = datum.loss_fn_inputs["mask"].to_numpy()
        trained_on.append([int(token) for token in datum.loss_fn_inputs["target_tokens"].to_numpy()[mask > 0]])
    assert sorted(trained_on) == sorted(answers), "the sampled tokens, verbatim"
