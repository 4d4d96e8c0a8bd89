"""The kinds of environments by name, and what follows for an episode from its configuration and its model."""

from dataclasses import dataclass, replace

from rtl_agent.envs.agentic.session import AgenticKind
from rtl_agent.envs.episode_config import AGENTIC, REFINE, SINGLE, EpisodeConfig, Level
from rtl_agent.envs.refine import RefineKind
from rtl_agent.envs.session import EnvironmentKind
from rtl_agent.envs.single_shot import SingleShotKind
from rtl_agent.options import BadOption
from rtl_agent.problems import NEEDS_IN_WORDS, Kind, Needs, Problem
from rtl_agent.prompts import system_names
from rtl_agent.registry import PluginError, Registry, UnknownName, did_you_mean

ENVIRONMENT_KINDS: Registry[EnvironmentKind] = Registry(
    "environment kind",
    "rtl_agent.environments",
    {SINGLE: SingleShotKind(), REFINE: RefineKind(), AGENTIC: AgenticKind()},
)
OWN_MODELS = "rtl-agent/"  # were taught with the short system message, and have not seen another


def kind_of(config: EpisodeConfig) -> EnvironmentKind:
    """BadOption where there is no such kind."""
    try:
        return ENVIRONMENT_KINDS[config.kind]
    except UnknownName as error:
        near = did_you_mean(config.kind, ENVIRONMENT_KINDS)
        raise BadOption("env", config.kind, f"choose from {', '.join(ENVIRONMENT_KINDS)}{near}") from error
    except PluginError as error:
        raise BadOption("env", config.kind, str(error)) from error


def resolved(config: EpisodeConfig, model_name: str = "") -> EpisodeConfig:
    """The same with what was left open filled in: the kind's usual level, the model's system message."""
    kind = kind_of(config)
    level = config.level or kind.levels[0].value
    if level not in kind.levels:
        known = ", ".join(one for one in Level if one in kind.levels)
        raise BadOption("level", level, f"env={config.kind} has {known}")
    system = config.system or ("short" if model_name.startswith(OWN_MODELS) else "default")
    if system not in system_names():
        raise BadOption("system", system, f"choose from {', '.join(system_names())}")
    return replace(config, level=level, system=system)


def why_unplayable(problem: Problem, config: EpisodeConfig) -> str:
    """Why a problem cannot be asked so, or graded here; "" where it can."""
    if problem.needs is not Needs.OPEN_TOOLS:
        return f"it needs {NEEDS_IN_WORDS[problem.needs]}"
    if problem.kind not in kind_of(config).problem_kinds:
        more = ", which takes more than one turn (env=agentic)" if problem.kind is Kind.AGENTIC else ""
        return f"it is {problem.kind.value}{more}"
    return ""


@dataclass(frozen=True)
class TokenBudget:
    """How long a conversation may become."""

    total: int | None  # of the whole conversation: prompt, turns and observations; None: nobody knows a limit
    turn: int  # an episode ends when the next turn could not be at least this long
    most_of_prompt: int = 0  # 0: as much as leaves room for one turn

    def has_room(self, tokens: int) -> bool:
        """Whether another turn may follow a conversation of this length."""
        return self.total is None or tokens + self.turn <= self.total

    @property
    def prompt(self) -> int | None:
        """The maximum length of the first prompt."""
        if self.total is None:
            return self.most_of_prompt or None
        room = self.total - self.turn
        return min(self.most_of_prompt or room, room)


def token_budget(config: EpisodeConfig, context: int | None) -> TokenBudget:
    """`context` is the most tokens that the model takes, None where that is not known."""
    own = config.episode_tokens if kind_of(config).several_turns else 0
    total = min((limit for limit in (own, context) if limit), default=None)
    return TokenBudget(total, config.max_tokens, config.max_prompt_tokens)
