"""What an agentic episode allows: what is known, which tools there are, and every limit."""

from dataclasses import dataclass

from rtl_agent.envs.level import Level
from rtl_agent.envs.token_budget import TokenBudget
from rtl_agent.sandbox import MIB


@dataclass(frozen=True)
class CommandLimits:
    """Of one command, and of all commands of an episode together."""

    wall_seconds: float = 60.0
    cpu_seconds: float = 60.0  # of each process of a command
    episode_cpu_seconds: float = 600.0
    memory_bytes: int = 2048 * MIB  # of the whole workspace where cgroups can be written, else of each process
    disk_bytes: int = 256 * MIB  # of /code, and again of /tmp
    file_bytes: int = 64 * MIB
    processes: int = 128
    output_bytes: int = 16 * MIB  # more ends the command
    shown_characters: int = 8_000  # of a command's output: half from its head, half from its tail


@dataclass(frozen=True)
class AgenticConfig(TokenBudget):
    """The rules of an episode."""

    level: Level = Level.OWN_TESTS
    extra_tools: bool = False  # lint, simulate and submit beside execute_bash
    max_turns: int = 50
    max_tokens: int | None = None
    turn_tokens: int = 256
    max_parse_errors: int = 3  # in a row
    max_calls: int = 8  # in one turn
    wall_seconds: float = 3_600.0  # in tools: how long sampling, a sandbox or a grade take is up to who else waits
    tries: int = 3  # submits of level `feedback`
    limits: CommandLimits = CommandLimits()

    def __post_init__(self) -> None:
        counts = ("max_turns", "max_parse_errors", "max_calls", "tries")
        if wrong := [name for name in counts if getattr(self, name) < 1]:
            raise ValueError(f"{wrong[0]} is {getattr(self, wrong[0])}: it must be 1 or more")

    @property
    def can_submit(self) -> bool:
        """Feedback is had by submitting, whatever other tools there are."""
        return self.extra_tools or self.level is Level.FEEDBACK
