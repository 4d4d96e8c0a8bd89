"""Our boxes as Inspect's sandbox `rtl_agent`, for its own agents and tools: `exec`, `read_file` and `write_file`.

What a sample is about stands in its metadata, so that the sandbox and the scorer find its problem.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any, Literal, NoReturn, overload

from inspect_ai.util import (
    ExecResult,
    OutputLimitExceededError,
    SandboxEnvironment,
    SandboxEnvironmentConfigType,
    SandboxEnvironmentLimits,
    SandboxUserUnsupportedError,
    sandboxenv,
)

from rtl_agent.envs.agentic.workspace import CODE, Workspace, workshop
from rtl_agent.envs.episode_config import AGENTIC, EpisodeConfig
from rtl_agent.envs.kinds import resolved
from rtl_agent.problems import CocotbVersion, Harness, Kind, Needs, Problem, load_problems, problem_digest
from rtl_agent.sandbox import CommandResult, Ended

SANDBOX = "rtl_agent"
_NO_PROBLEM = Problem(
    id="inspect_workspace_0001",
    family="workspace",
    category="",
    difficulty="",
    kind=Kind.AGENTIC,
    needs=Needs.OPEN_TOOLS,
    prompt="",
    context={},
    targets=(),
    harness=Harness({}, (), CocotbVersion.V2),
)
_MISSING, _DIRECTORY, _FORBIDDEN, _NOT_REGULAR = 81, 82, 83, 84  # exit codes of the scripts below
# By the box's own user, so that rights count, and within the box, so that a link leads nowhere else.
_READ = f"""[ -e "$1" ] || exit {_MISSING}; [ -d "$1" ] && exit {_DIRECTORY}; [ -f "$1" ] || exit {_NOT_REGULAR}
[ -r "$1" ] || exit {_FORBIDDEN}; exec cat -- "$1\""""
_WRITE = f"""[ -d "$1" ] && exit {_DIRECTORY}; [ -e "$1" ] && [ ! -f "$1" ] && exit {_NOT_REGULAR}
[ -e "$1" ] && [ ! -w "$1" ] && exit {_FORBIDDEN}; mkdir -p -- "${{1%/*}}" || exit {_FORBIDDEN}; exec cat > "$1\""""
_RUN = 'cd -- "$1" && shift && exec "$@"'


class ProblemChanged(Exception):
    """A problem is not the one that a sample was made of. The message names it."""


def asked_of(sample_id: object, metadata: Mapping[str, Any]) -> tuple[Problem, EpisodeConfig]:
    """What a sample of ours is about, as its metadata say."""
    asked = metadata["rtl_agent"]
    problem = _loaded(asked["problems"], asked["limit"]).get(str(sample_id))
    if problem is None or problem_digest(problem) != asked["digest"]:
        raise ProblemChanged(f"{sample_id} of {asked['problems']} is not what it was when this sample was made")
    return problem, EpisodeConfig(**asked["episode"])


@cache
def _loaded(source: str, limit: int) -> dict[str, Problem]:
    return {problem.id: problem for problem in load_problems(source, count=limit)}


@sandboxenv(name=SANDBOX)
class RTLSandbox(SandboxEnvironment):
    """A box for each sample: with the problem's workspace and tools at the level of its episode; for samples of other
    tasks an empty one with all tools. One user, no network, no processes that outlive their command."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__()
        self.workspace = workspace

    @classmethod
    def default_concurrency(cls) -> int | None:
        return 32

    @classmethod
    async def sample_init(
        cls, task_name: str, config: SandboxEnvironmentConfigType | None, metadata: dict[str, Any]
    ) -> dict[str, SandboxEnvironment]:
        problem, episode = _NO_PROBLEM, resolved(EpisodeConfig(kind=AGENTIC))
        if "rtl_agent" in metadata:
            problem, episode = asked_of(metadata["__sample_id__"], metadata)
        made = Workspace(workshop(), problem, episode)
        await made.open()
        return {"default": cls(made)}

    @classmethod
    async def sample_cleanup(
        cls,
        task_name: str,
        config: SandboxEnvironmentConfigType | None,
        environments: dict[str, SandboxEnvironment],
        interrupted: bool,
    ) -> None:
        for environment in environments.values():
            await environment.as_type(RTLSandbox).workspace.close()

    async def exec(
        self,
        cmd: list[str],
        input: str | bytes | None = None,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        user: str | None = None,
        timeout: int | None = None,
        timeout_retry: bool = True,
        concurrency: bool = True,
    ) -> ExecResult[str]:
        if user is not None:
            raise SandboxUserUnsupportedError(f"a box has one user: a command cannot run as {user!r}")
        if any("\0" in word for word in cmd):
            raise ValueError("a command cannot have a NUL character")
        most = SandboxEnvironmentLimits.MAX_EXEC_OUTPUT_SIZE
        argv = ["sh", "-c", _RUN, "sh", _path(cwd or CODE), *cmd]
        result = await self._run(argv, env=env, stdin=_bytes(input), seconds=timeout, keep_bytes=most)
        stdout, stderr = (stream.decode(errors="replace") for stream in (result.stdout, result.stderr))
        if result.truncated or result.ended is Ended.OUTPUT:
            raise OutputLimitExceededError(SandboxEnvironmentLimits.MAX_EXEC_OUTPUT_SIZE_STR, stdout or stderr)
        if result.exit_code == 126 and "ermission denied" in stderr:
            raise PermissionError(stderr.strip())
        code = result.exit_code if result.exit_code >= 0 else 128 - result.exit_code  # as a shell says it
        return ExecResult(result.ok, code, stdout, stderr)

    async def write_file(self, file: str, contents: str | bytes) -> None:
        result = await self._run(["sh", "-c", _WRITE, "sh", _path(file)], stdin=_bytes(contents))
        if not result.ok:
            _refuse(file, result)

    @overload
    async def read_file(self, file: str, text: Literal[True] = True) -> str: ...

    @overload
    async def read_file(self, file: str, text: Literal[False]) -> bytes: ...

    async def read_file(self, file: str, text: bool = True) -> str | bytes:
        most = SandboxEnvironmentLimits.MAX_READ_FILE_SIZE
        result = await self._run(["sh", "-c", _READ, "sh", _path(file)], output_bytes=most + 1, keep_bytes=most)
        if result.truncated or result.ended is Ended.OUTPUT:
            raise OutputLimitExceededError(SandboxEnvironmentLimits.MAX_READ_FILE_SIZE_STR, None)
        if not result.ok:
            _refuse(file, result)
        return result.stdout.decode() if text else result.stdout

    async def _run(self, argv: list[str], **options: Any) -> CommandResult:
        result = await self.workspace.execute(argv, **options)
        if result.ended is Ended.WALL_TIME:
            raise TimeoutError(f"the command was stopped after {result.wall_seconds:.0f} seconds")
        return result


def _path(name: str) -> str:
    if "\0" in name:
        raise ValueError("a path cannot have a NUL character")
    return name if name.startswith("/") else f"{CODE}/{name}"


def _bytes(text: str | bytes | None) -> bytes:
    return text.encode(errors="replace") if isinstance(text, str) else text or b""


def _refuse(file: str, result: CommandResult) -> NoReturn:
    """As Python itself would have said."""
    said = result.stderr.decode(errors="replace").strip()
    match result.exit_code:
        case 81:
            raise FileNotFoundError(f"{file} does not exist")
        case 82:
            raise IsADirectoryError(f"{file} is a directory")
        case 83:
            raise PermissionError(f"{file} may not be read or written by the box's user. {said}".strip())
        case 84:
            raise PermissionError(f"{file} is not a regular file")
        case _:
            raise OSError(f"{file}: {said or result.ended.value}")
