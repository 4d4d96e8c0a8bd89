"""What an episode is by the config: prompts and turns share one budget of tokens."""

import pytest

from rtl_agent.envs.env import ProblemGroupBuilder
from rtl_agent.problems import load_problems
from rtl_agent.training.parse import parse


def builder(*words: str) -> ProblemGroupBuilder:
    config = parse("rl", words)
    return ProblemGroupBuilder(load_problems("bundled")[0], 1, config.student, "rtl_agent", config.episode, 4096)


@pytest.mark.parametrize("env", ["refine", "agentic"])
def test_the_first_prompt_leaves_room_for_a_turn_within_the_episode(env: str) -> None:
    budget = builder(f"env={env}", "episode_tokens=1000", "max_tokens=300").budget
    assert (budget.prompt, budget.total, budget.turn) == (700, 1000, 300)


@pytest.mark.parametrize("env", ["single", "refine", "agentic"])
def test_without_a_budget_the_context_is_the_limit(env: str) -> None:
    assert builder(f"env={env}", "max_tokens=300").budget.prompt == 3796
