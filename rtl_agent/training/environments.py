"""What an episode is, by the config: one answer, an answer that is refined, or an agent with a shell."""

from rtl_agent.envs import SingleShotEnv, SingleShotGroupBuilder
from rtl_agent.envs.agentic import AgenticConfig, CommandLimits, Level
from rtl_agent.envs.agentic.builder import AgenticGroupBuilder
from rtl_agent.envs.agentic.env import AgenticEnv
from rtl_agent.envs.refine import Counted, RefineConfig, RefineEnv, RefineGroupBuilder
from rtl_agent.problems import Kind, Problem
from rtl_agent.training.config import Config

GroupBuilder = SingleShotGroupBuilder | RefineGroupBuilder | AgenticGroupBuilder
RecordedEnv = SingleShotEnv | RefineEnv | AgenticEnv


def builder_for(config: Config, problem: Problem, renderer_name: str, context: int) -> GroupBuilder:
    """`context` is the most tokens that the model takes. The first prompt leaves room for one turn at least."""
    tokens = min(config.episode.episode_tokens or context, context)
    room = (context if config.episode.kind == "single" else tokens) - config.episode.max_tokens
    most = min(config.episode.max_prompt_tokens or room, room)
    common = (problem, config.optim.group_size, config.student, renderer_name, system_of(config), most)
    if config.episode.kind == "refine":
        rules = RefineConfig(
            rounds=config.episode.rounds,
            counted=Counted(config.episode.refine_reward),
            max_tokens=tokens,
            turn_tokens=config.episode.max_tokens,
        )
        return RefineGroupBuilder(*common, config=rules)
    if config.episode.kind == "agentic":
        return AgenticGroupBuilder(*common, config=agentic_rules(config, tokens))
    return SingleShotGroupBuilder(*common)


def system_of(config: Config) -> str:
    return config.episode.system or ("short" if config.student.startswith("rtl-agent/") else "default")


def agentic_rules(config: Config, tokens: int) -> AgenticConfig:
    return AgenticConfig(
        level=Level(config.episode.level or Level.OWN_TESTS),
        extra_tools=config.episode.extra_tools,
        max_turns=config.episode.max_turns,
        max_tokens=tokens,
        turn_tokens=config.episode.max_tokens,
        tries=config.episode.tries,
        wall_seconds=config.episode.episode_seconds,
        limits=CommandLimits(wall_seconds=config.episode.command_seconds, cpu_seconds=config.episode.command_seconds),
    )


def kinds_for(config: Config, problems: list[Problem]) -> tuple[Kind, ...]:
    """One reply can answer single-shot problems only. An agent is given agentic ones; others if there are none."""
    if config.episode.kind != "agentic":
        return (Kind.SINGLE_SHOT,)
    agentic = any(problem.kind is Kind.AGENTIC for problem in problems)
    return (Kind.AGENTIC,) if agentic else (Kind.SINGLE_SHOT,)
