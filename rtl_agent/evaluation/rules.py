"""Which environment is played and by which rules; what of them is recorded."""

from dataclasses import asdict, dataclass
from typing import Any

from rtl_agent.envs.agentic import AgenticConfig, Level
from rtl_agent.envs.refine import Counted, RefineConfig
from rtl_agent.evaluation.errors import EvaluationError

SINGLE, REFINE, AGENTIC = ENVS = ("single", "refine", "agentic")
USUAL_LEVEL = {SINGLE: Level.SPEC, REFINE: Level.FEEDBACK, AGENTIC: Level.OWN_TESTS}


@dataclass(frozen=True)
class Rules:
    """Of all environments; each takes what concerns it."""

    env: str = SINGLE
    level: str = ""  # "": the environment's usual one
    extra_tools: bool = False
    max_turns: int = 50
    tries: int = 3
    rounds: int = 2
    counted: str = Counted.LAST
    max_conversation: int = 0  # tokens; 0: the model's context, where it is known

    def __post_init__(self) -> None:
        if self.env not in ENVS:
            raise EvaluationError(f"--env {self.env}: choose from {', '.join(ENVS)}")
        levels = list(Level) if self.env == AGENTIC else [USUAL_LEVEL[self.env]]
        if self.level and self.level not in levels:
            raise EvaluationError(f"--level {self.level}: --env {self.env} has {', '.join(levels)}")
        if self.counted not in list(Counted):
            raise EvaluationError(f"--counted {self.counted}: choose from {', '.join(Counted)}")

    @property
    def information(self) -> Level:
        return Level(self.level) if self.level else USUAL_LEVEL[self.env]

    def refine(self, context: int | None) -> RefineConfig:
        return RefineConfig(self.rounds, Counted(self.counted), self.budget(context))

    def agentic(self, context: int | None) -> AgenticConfig:
        return AgenticConfig(
            level=self.information,
            extra_tools=self.extra_tools,
            max_turns=self.max_turns,
            max_tokens=self.budget(context),
            tries=self.tries,
        )

    def budget(self, context: int | None) -> int | None:
        """Most tokens of a conversation, where anybody knows a limit."""
        own = 0 if self.env == SINGLE else self.max_conversation
        known = [limit for limit in (own, context) if limit]
        return min(known, default=None)

    def recorded(self) -> dict[str, Any]:
        """What an answer depends on, also the rules that no option changes: a later version may have others."""
        if self.env == SINGLE:
            return {}
        rules = asdict(self.refine(None) if self.env == REFINE else self.agentic(None))
        elsewhere = ("level", "max_tokens")  # the level has a field of its own; of tokens, what was wished is kept
        return {
            "max_conversation": self.max_conversation,
            **{name: value for name, value in rules.items() if name not in elsewhere},
        }
