"""Play a group's episodes: sample, grade, ask the teacher; each as soon as it can begin."""

from collections.abc import Sequence
from dataclasses import dataclass

import tinker
from tinker_cookbook.completers import StopCondition, TokenCompleter, TokensWithLogprobs
from tinker_cookbook.rl.data_processing import trajectory_to_data
from tinker_cookbook.rl.types import InitialObservationOverflow, Trajectory, Transition

from rtl_agent.envs.episode import EpisodeFailed
from rtl_agent.teachers import Teacher
from rtl_agent.training.clock import Clock
from rtl_agent.training.environments import GroupBuilder, RecordedEnv
from rtl_agent.training.group import Group, Rollout
from rtl_agent.training.seeds import seed_of
from rtl_agent.training.together import together


@dataclass(frozen=True)
class Policy:
    """A student as it is sampled from in one step."""

    client: tinker.SamplingClient
    max_tokens: int
    temperature: float
    seed: int  # of this step
    clock: Clock

    def seeded(self, *parts: object) -> "SeededCompleter":
        return SeededCompleter(self, seed_of(self.seed, *parts))


@dataclass
class SeededCompleter(TokenCompleter):
    """One episode's student: every turn has a seed of its own."""

    policy: Policy
    seed: int
    turn: int = 0

    async def __call__(
        self, model_input: tinker.ModelInput, stop: StopCondition, *, max_tokens: int | None = None
    ) -> TokensWithLogprobs:
        """The tokens as sampled, never decoded and encoded again."""
        policy = self.policy
        params = tinker.SamplingParams(
            max_tokens=min(policy.max_tokens, max_tokens or policy.max_tokens),
            temperature=policy.temperature,
            stop=stop,
            seed=seed_of(self.seed, self.turn),
        )
        self.turn += 1
        with policy.clock.during("sample"):
            answer = await policy.client.sample_async(prompt=model_input, num_samples=1, sampling_params=params)
        sampled = answer.sequences[0]
        return TokensWithLogprobs(list(sampled.tokens), list(sampled.logprobs or ()), sampled.stop_reason)


async def play_group(builder: GroupBuilder, policy: Policy, teacher: Teacher | None = None) -> Group:
    """All episodes of a group at once. What fails leaves the group and is said; it is never a reward of 0."""
    envs: Sequence[RecordedEnv] = await builder.make_envs()
    try:
        played = await together(
            _play(env, policy.seeded(builder.problem.id, index), teacher) for index, env in enumerate(envs)
        )
    finally:
        await builder.cleanup()
    rollouts = tuple(one for one in played if isinstance(one, Rollout))
    return Group(builder.problem, rollouts, tuple(one for one in played if isinstance(one, str)))


async def _play(env: RecordedEnv, completer: SeededCompleter, teacher: Teacher | None) -> Rollout | str:
    """A rollout, or why there is none."""
    clock = completer.policy.clock
    try:
        trajectory = await _episode(env, completer)
    except EpisodeFailed as failure:
        return str(failure)
    data = tuple(trajectory_to_data(trajectory, 0.0))
    sampled = [logprob for transition in trajectory.transitions for logprob in transition.ac.logprobs]
    episode = env.episode.with_logprobs(sampled)
    if teacher is None:
        return Rollout(episode, trajectory, data)
    with clock.during("teacher"):
        advice = await together(teacher.advise(tokens_of(datum)) for datum in data)
    return Rollout(episode, trajectory, data, tuple(advice))


async def _episode(env: RecordedEnv, completer: SeededCompleter) -> Trajectory:
    first = await env.initial_observation()
    if isinstance(first, InitialObservationOverflow):
        raise EpisodeFailed("the prompt is longer than the model's context")
    observation, stop = first
    transitions: list[Transition] = []
    while True:
        action = await completer(observation, stop)
        with completer.policy.clock.during("grade"):
            result = await env.step(action.tokens, extra={"stop_reason": action.stop_reason})
        transitions.append(
            Transition(observation, action, result.reward, result.episode_done, result.metrics, result.logs)
        )
        if result.episode_done:
            return Trajectory(transitions, result.next_observation)
        observation, stop = result.next_observation, result.next_stop_condition


def tokens_of(datum: tinker.Datum) -> list[int]:
    """The whole sequence again, which inputs and targets have shifted against each other."""
    targets = datum.loss_fn_inputs["target_tokens"].to_numpy()
    return [*datum.model_input.to_ints(), int(targets[-1])]
