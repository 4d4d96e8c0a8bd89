"""The tools of an episode: what the model is told of them, and what happens when it calls one."""

from collections.abc import Mapping
from typing import Any

from rtl_agent.envs.agentic.eda_tools import WrongArgument, lint, path_in_workspace, simulate
from rtl_agent.envs.agentic.observation import head_and_tail, observation
from rtl_agent.envs.agentic.workspace import Workspace
from rtl_agent.envs.episode_config import EpisodeConfig, Level
from rtl_agent.envs.session import ToolCall, ToolSpec

MOST_COMMAND_BYTES = 100_000  # Linux takes 128 KiB for one argument
SUBMIT = "submit"
_NONE: Mapping[str, Any] = {"type": "object", "properties": {}, "required": []}

EXECUTE_BASH = ToolSpec(
    "execute_bash",
    "Runs a command with bash in /code and returns what it printed, stdout and stderr together, and its exit code.",
    {
        "type": "object",
        "properties": {"command": {"type": "string", "description": "the command, of one line or of several"}},
        "required": ["command"],
    },
)
LINT = ToolSpec(
    "lint",
    "Compiles with Icarus Verilog, lints with Verilator, and lists what they say, the most important first.",
    {
        "type": "object",
        "properties": {
            "files": {
                "type": "array",
                "items": {"type": "string"},
                "description": "paths below /code; every design file of rtl/ if left out",
            }
        },
        "required": [],
    },
)
SIMULATE = ToolSpec(
    "simulate",
    "Compiles a test bench of yours together with every design file of rtl/, runs it in /code/rundir, and tells the "
    "first failure. A Python file is run by pytest.",
    {
        "type": "object",
        "properties": {"bench": {"type": "string", "description": "its path below /code, such as rundir/tb.sv"}},
        "required": ["bench"],
    },
)
SUBMIT_ONCE = ToolSpec(SUBMIT, "Says that the files are finished. The task ends, and they are judged.", _NONE)
SUBMIT_WITH_FEEDBACK = ToolSpec(
    SUBMIT, "Has the files judged. If they fail, you are told what failed, and may go on while tries are left.", _NONE
)


def can_submit(config: EpisodeConfig) -> bool:
    """Feedback is had by submitting, whatever other tools there are."""
    return config.extra_tools or config.level == Level.FEEDBACK


def tool_specs(config: EpisodeConfig) -> tuple[ToolSpec, ...]:
    """The tools that there are by these rules."""
    tools = [EXECUTE_BASH]
    if config.extra_tools and Level(config.level).has_tools:
        tools += [LINT, SIMULATE]
    if can_submit(config):
        tools.append(SUBMIT_WITH_FEEDBACK if config.level == Level.FEEDBACK else SUBMIT_ONCE)
    return tuple(tools)


class Toolbox:
    """Runs calls in a workspace. `submit` is told of here, and taken by the session."""

    def __init__(self, workspace: Workspace, config: EpisodeConfig) -> None:
        self._workspace, self._config = workspace, config
        self.specs = tool_specs(config)

    def check(self, call: ToolCall) -> str:
        """What is wrong with a call, for the model; "" if it can be run."""
        spec = next((spec for spec in self.specs if spec.name == call.name), None)
        if spec is None:
            return f"there is no tool {call.name[:100]!r}; there are: {', '.join(spec.name for spec in self.specs)}"
        known = spec.parameters["properties"]
        for name in spec.parameters["required"]:
            if name not in call.arguments:
                return f"{spec.name} needs the argument `{name}`"
        for name, value in call.arguments.items():
            if name not in known:
                return f"{spec.name} has no argument {str(name)[:100]!r}; it has: {', '.join(known) or 'none'}"
            if not _fits(value, known[name]["type"]):
                wanted = "a list of strings" if known[name]["type"] == "array" else "a string"
                return f"the argument `{name}` of {spec.name} must be {wanted}"
        return ""

    async def run(self, call: ToolCall, seconds: float) -> str:
        """What the model is shown. `seconds` are those that the episode still has."""
        config = self._config
        if self._workspace.cpu_left <= 0:
            return "[not run: the CPU time of all commands together is used up; only the files as they are now count]"
        try:
            if call.name == LINT.name:
                files = [path_in_workspace(name) for name in call.arguments.get("files") or ()]
                return head_and_tail(await lint(self._workspace, files, config, seconds), config.shown_characters)
            if call.name == SIMULATE.name:
                bench = path_in_workspace(call.arguments["bench"])
                return head_and_tail(await simulate(self._workspace, bench, config, seconds), config.shown_characters)
            return await self._bash(call.arguments["command"], seconds)
        except WrongArgument as wrong:
            return f"[not run: {wrong}]"

    async def _bash(self, command: str, seconds: float) -> str:
        text = command.encode(errors="replace")
        if b"\0" in text:
            raise WrongArgument("a command cannot have a NUL character")
        if len(text) > MOST_COMMAND_BYTES:
            raise WrongArgument(f"the command is longer than {MOST_COMMAND_BYTES:,} bytes; write long files in pieces")
        config = self._config
        result = await self._workspace.run(["bash", "-c", text.decode()], seconds=seconds)
        return observation(result, config.shown_characters, min(config.command_seconds, seconds), config.output_bytes)


def _fits(value: object, wanted: str) -> bool:
    if wanted == "array":
        return isinstance(value, list | tuple) and all(isinstance(item, str) for item in value)
    return isinstance(value, str)
