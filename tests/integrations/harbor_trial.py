"""Run in Harbor's environment: real trials of a task, its containers replaced by mount namespaces; results as JSON.

Docker's Compose plugin and a registry would be needed for Harbor's own containers. A `Room` is what a test can have
instead: this machine, with directories of its own at /code, /tests, /logs and /solution. Of a Dockerfile only COPY is
done; simulators and `rtl-agent` are this machine's.
"""

import asyncio
import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

from harbor.environments.base import BaseEnvironment, ExecResult
from harbor.environments.capabilities import EnvironmentCapabilities
from harbor.models.trial.config import AgentConfig, EnvironmentConfig, TaskConfig, TrialConfig
from harbor.trial.trial import Trial

INSIDE = ("code", "tests", "logs", "solution")


class Room(BaseEnvironment):
    @staticmethod
    def type() -> str:
        return "room"

    @property
    def capabilities(self) -> EnvironmentCapabilities:
        return EnvironmentCapabilities(disable_internet=True)

    def _validate_definition(self) -> None:
        assert (self.environment_dir / "Dockerfile").is_file()

    async def start(self, force_build: bool) -> None:
        self.place: Path = self.trial_paths.trial_dir.resolve() / f"room-{self.session_id[-40:]}"
        for name in (*INSIDE, "logs/agent", "logs/verifier", "logs/artifacts"):
            (self.place / name).mkdir(parents=True)
        for line in (self.environment_dir / "Dockerfile").read_text().splitlines():
            if line.startswith("COPY "):
                *sources, target = line.split()[1:]
                for source in sources:
                    copy(self.environment_dir / source, self._outside(target), into=target.endswith("/"))

    async def stop(self, delete: bool) -> None:
        shutil.rmtree(self.place, ignore_errors=True)

    def _outside(self, path: str) -> Path:
        assert path.strip("/").partition("/")[0] in INSIDE, path
        return self.place / path.strip("/")

    async def upload_file(self, source_path: Path | str, target_path: str) -> None:
        copy(Path(source_path), self._outside(target_path))

    async def upload_dir(self, source_dir: Path | str, target_dir: str) -> None:
        copy(Path(source_dir), self._outside(target_dir))

    async def download_file(self, source_path: str, target_path: Path | str) -> None:
        copy(self._outside(source_path), Path(target_path))

    async def download_dir(self, source_dir: str, target_dir: Path | str) -> None:
        copy(self._outside(source_dir), Path(target_dir))

    async def exec(
        self,
        command: str,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        timeout_sec: int | None = None,
        user: str | int | None = None,
    ) -> ExecResult:
        argv = ["bwrap", "--die-with-parent", "--cap-add", "ALL"]
        for place in sorted(place for place in Path("/").iterdir() if place.name not in INSIDE):
            kind, source = ("--symlink", place.readlink()) if place.is_symlink() else ("--dev-bind", place)
            argv += [kind, str(source), str(place)]
        for name in INSIDE:
            argv += ["--bind", str(self.place / name), f"/{name}"]
        process = await asyncio.create_subprocess_exec(
            *argv,
            *("--chdir", cwd or "/code", "bash", "-c", command),
            env={**os.environ, **(env or {})},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        stdout, stderr = await asyncio.wait_for(process.communicate(), timeout_sec)
        return ExecResult(stdout=stdout.decode(), stderr=stderr.decode(), return_code=process.returncode or 0)


def copy(source: Path, target: Path, *, into: bool = False) -> None:
    if source.is_dir():
        shutil.copytree(source, target, dirs_exist_ok=True, symlinks=True)
    else:
        target = target / source.name if into else target
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, target)


async def trial(task: Path, agent: str, out: Path) -> dict[str, Any]:
    config = TrialConfig(
        task=TaskConfig(path=task),
        trials_dir=out / agent,
        agent=AgentConfig(name=agent),
        environment=EnvironmentConfig(import_path=f"{Path(__file__).stem}:Room"),
    )
    result = await (await Trial.create(config)).run()
    return {
        "mode": result.verifier_environment_mode,
        "rewards": result.verifier_result.rewards if result.verifier_result else None,
        "exception": result.exception_info.exception_type if result.exception_info else "",
        "message": result.exception_info.exception_message if result.exception_info else "",
    }


async def main() -> None:
    task, out, *agents = sys.argv[1:]
    print("\n" + json.dumps({agent: await trial(Path(task), agent, Path(out)) for agent in agents}))


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    asyncio.run(main())
