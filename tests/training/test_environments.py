"""What an episode is by the config: prompts and turns share one budget of tokens."""

import pytest

from rtl_agent.problems import load_problems
from rtl_agent.training.environments import builder_for
from rtl_agent.training.parse import parse


@pytest.mark.parametrize("env", ["refine", "agentic"])
def test_the_first_prompt_leaves_room_for_a_turn_within_the_episode(env: str) -> None:
    config = parse("rl", [f"env={env}", "episode_tokens=1000", "max_tokens=300"])
    builder = builder_for(config, load_problems("bundled")[0], "rtl_agent", 4096)
    assert (builder.budget.prompt, builder.budget.total, builder.budget.turn) == (700, 1000, 300)


def test_without_a_budget_the_context_is_the_limit() -> None:
    problem = load_problems("bundled")[0]
    for env in ("single", "refine", "agentic"):
        config = parse("rl", [f"env={env}", "max_tokens=300"])
        assert builder_for(config, problem, "rtl_agent", 4096).budget.prompt == 3796
