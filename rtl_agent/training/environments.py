"""What an episode is, by the config: one answer, an answer that is refined, or an agent with a shell."""

from rtl_agent.envs.env import EpisodeEnv, ProblemGroupBuilder
from rtl_agent.envs.agentic import AgenticConfig, CommandLimits, Level
from rtl_agent.envs.agentic.builder import AgenticGroupBuilder
from rtl_agent.envs.agentic.env import AgenticEnv
from rtl_agent.envs.refine import Counted, RefineConfig, RefineEnv, RefineGroupBuilder
from rtl_agent.problems import Kind, Problem
from rtl_agent.training.config import Config

GroupBuilder = ProblemGroupBuilder | RefineGroupBuilder | AgenticGroupBuilder
RecordedEnv = EpisodeEnv | RefineEnv | AgenticEnv


def builder_for(config: Config, problem: Problem, renderer_name: str, context: int) -> GroupBuilder:
    """`context` is the most tokens that the model takes. The first prompt leaves room for one turn at least."""
    tokens = min(config.episode_tokens or context, context)
    room = (context if config.env == "single" else tokens) - config.max_tokens
    most = min(config.max_prompt_tokens or room, room)
    common = (problem, config.group_size, config.student, renderer_name, config.system, most)
    if config.env == "refine":
        rules = RefineConfig(
            rounds=config.rounds,
            counted=Counted(config.refine_reward),
            max_tokens=tokens,
            turn_tokens=config.max_tokens,
        )
        return RefineGroupBuilder(*common, config=rules)
    if config.env == "agentic":
        return AgenticGroupBuilder(*common, config=agentic_rules(config, tokens))
    return ProblemGroupBuilder(*common)


def agentic_rules(config: Config, tokens: int) -> AgenticConfig:
    return AgenticConfig(
        level=Level(config.level),
        extra_tools=config.extra_tools,
        max_turns=config.max_turns,
        max_tokens=tokens,
        turn_tokens=config.max_tokens,
        tries=config.tries,
        wall_seconds=config.episode_seconds,
        limits=CommandLimits(wall_seconds=config.command_seconds, cpu_seconds=config.command_seconds),
    )


def kinds_for(config: Config, problems: list[Problem]) -> tuple[Kind, ...]:
    """One reply can answer single-shot problems only. An agent is given agentic ones; others if there are none."""
    if config.env != "agentic":
        return (Kind.SINGLE_SHOT,)
    agentic = any(problem.kind is Kind.AGENTIC for problem in problems)
    return (Kind.AGENTIC,) if agentic else (Kind.SINGLE_SHOT,)
