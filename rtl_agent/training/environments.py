"""How the run's problems are asked: one builder of environments for training and evaluation."""

from rtl_agent.envs.env import ProblemGroupBuilder
from rtl_agent.envs.episode_config import AGENTIC, EpisodeConfig
from rtl_agent.problems import Kind, Problem
from rtl_agent.training.config import Config


def builder_for(config: Config, problem: Problem, renderer_name: str, context: int) -> ProblemGroupBuilder:
    """`context` is the most tokens that the model takes. The first prompt leaves room for one turn at least."""
    return ProblemGroupBuilder(
        problem, config.group_size, config.student, renderer_name, episode_of(config), context=context
    )


def episode_of(config: Config) -> EpisodeConfig:
    return EpisodeConfig(
        kind=config.env,
        level=config.level if config.env == AGENTIC else "",
        system=config.system,
        max_tokens=config.max_tokens,
        episode_tokens=config.episode_tokens,
        max_prompt_tokens=config.max_prompt_tokens,
        max_turns=config.max_turns,
        rounds=config.rounds,
        tries=config.tries,
        extra_tools=config.extra_tools,
        episode_seconds=config.episode_seconds,
        command_seconds=config.command_seconds,
        refine_reward=config.refine_reward,
        extraction=config.extraction,
        timeout_seconds=config.timeout_seconds,
    )


def kinds_for(config: Config, problems: list[Problem]) -> tuple[Kind, ...]:
    """One reply can answer single-shot problems only. An agent is given agentic ones; others if there are none."""
    if config.env != AGENTIC:
        return (Kind.SINGLE_SHOT,)
    agentic = any(problem.kind is Kind.AGENTIC for problem in problems)
    return (Kind.AGENTIC,) if agentic else (Kind.SINGLE_SHOT,)
