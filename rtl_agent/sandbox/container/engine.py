"""The daemon behind a container sandbox, through its API: images, containers, and what others left behind.

Docker's own client speaks to Podman too, which serves the same API. Its calls block: they run in threads.
"""

import io
import os
import re
import tarfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from rtl_agent.sandbox.protocol import SandboxError

REPOSITORY = "localhost/rtl-agent/box"
LABEL = "rtl-agent.owner"
CALL_SECONDS = 120  # a loaded machine starts a container in seconds
GONE_SECONDS = 60.0


@dataclass(frozen=True)
class EngineKind:
    """One that we know: where its socket is, and how somebody starts it."""

    name: str
    variable: str
    sockets: Callable[[], Sequence[str]]
    start: str

    def address(self) -> str:
        if named := os.environ.get(self.variable):
            return named
        sockets = self.sockets()
        return "unix://" + next((path for path in sockets if os.path.exists(path)), sockets[0])  # noqa: PTH110


def _runtime(path: str) -> str:
    return f"{os.environ.get('XDG_RUNTIME_DIR') or f'/run/user/{os.getuid()}'}/{path}"


def _docker_sockets() -> Sequence[str]:
    return ("/var/run/docker.sock", _runtime("docker.sock"))


def _podman_sockets() -> Sequence[str]:
    everybody, own = "/run/podman/podman.sock", _runtime("podman/podman.sock")
    return (everybody, own) if os.geteuid() == 0 else (own, everybody)


DOCKER = EngineKind("docker", "DOCKER_HOST", _docker_sockets, "systemctl start docker")
PODMAN = EngineKind("podman", "CONTAINER_HOST", _podman_sockets, "systemctl start podman.socket")


class Engine:
    """A connection to one daemon. SandboxError, in words, where it refuses."""

    def __init__(self, kind: EngineKind) -> None:
        self.kind, self.address = kind, kind.address()
        if not self.address.startswith("unix://"):
            raise SandboxError(
                f"{kind.variable}={self.address} is a daemon on another machine: a box is spoken to through a socket "
                "file and its own file descriptors, so the daemon has to run here"
            )
        try:
            import docker
        except ImportError as error:
            raise SandboxError("the Python package docker is missing: run `pip install 'rtl-agent[docker]'`") from error
        self._errors = (docker.errors.DockerException, OSError)  # those of its HTTP client are OSErrors
        self._api_error = docker.errors.APIError
        self._not_found = docker.errors.NotFound
        try:
            self.api: Any = docker.APIClient(base_url=self.address, version="auto", timeout=CALL_SECONDS)
            self.info: Mapping[str, Any] = self.api.info()
        except self._errors as error:
            raise SandboxError(self._unreachable(str(error))) from error
        self._images: dict[str, str] = {}

    def _unreachable(self, said: str) -> str:
        path = self.address.removeprefix("unix://")
        if os.path.exists(path) and not os.access(path, os.W_OK):  # noqa: PTH110
            advice = (
                f"you may not use it: have somebody run `usermod -aG {self.kind.name} {os.environ.get('USER', '')}`"
            )
        else:
            advice = f"start it (`{self.kind.start}`), or name another one with {self.kind.variable}"
        return f"no {self.kind.name} daemon answers at {self.address} ({said[:200]}): {advice}"

    def obstacles(self) -> list[str]:
        """Why its containers would not do as boxes."""
        found = []
        if self.info.get("OSType", "linux") != "linux" or "Docker Desktop" in str(self.info.get("OperatingSystem")):
            found.append(
                "this daemon runs its containers in a virtual machine, where a box cannot be reached: "
                "run rtl-agent itself in a container or in that machine"
            )
        if self.info.get("MemoryLimit") is False or self.info.get("PidsLimit") is False:
            found.append(
                f"{self.kind.name} cannot limit memory or processes here (no cgroup that it may write): "
                "run its daemon as root, or on cgroup v2 with delegation"
            )
        return found

    def image(self, base: str, links: Mapping[str, str]) -> str:
        """The image of a box: `base`, or nothing but what a root directory needs, with these links."""
        files = _root_files(links) if not base else _archive({}, links, ())
        if base and not links:
            self._must_have(base)
            return base
        digest = sha256(files + (self._must_have(base) if base else "").encode()).hexdigest()[:16]
        name = f"{REPOSITORY}:{digest}"
        if name not in self._images:
            if not self._has(name):
                self._make(name, base, files)
            self._images[name] = name
        return name

    def _must_have(self, image: str) -> str:
        """Its digest. An image is never pulled: what runs tests is what somebody put here."""
        if image not in self._images:
            try:
                self._images[image] = str(self.api.inspect_image(image)["Id"])
            except self._not_found as error:
                get = f"{self.kind.name} pull {image}"
                raise SandboxError(
                    f"the image {image} is not on this machine: run `{get}`, or load or build it"
                ) from error
            except self._errors as error:
                raise SandboxError(f"{self.kind.name}: {error}") from error
        return self._images[image]

    def _has(self, image: str) -> bool:
        try:
            self.api.inspect_image(image)
        except self._not_found:
            return False
        except self._errors as error:
            raise SandboxError(f"{self.kind.name}: {error}") from error
        return True

    def _make(self, name: str, base: str, files: bytes) -> None:
        repository, _, tag = name.rpartition(":")
        try:
            if not base:
                self._import(repository, tag, files)
                return
            made = self.api.create_container(base, command=["true"], entrypoint=["true"], labels={LABEL: owner()})["Id"]
            try:
                self.api.put_archive(made, "/", files)
                self.api.commit(made, repository=repository, tag=tag)
            finally:
                self.api.remove_container(made, force=True, v=True)
        except self._errors as error:
            raise SandboxError(f"{self.kind.name} cannot make the image of a box: {error}") from error

    def _import(self, repository: str, tag: str, files: bytes) -> None:
        """One layer that is this archive. Podman takes no tag with it, so it gets one afterwards."""
        said = str(self.api.import_image_from_data(files))
        found = re.search(r"sha256:[0-9a-f]{64}", said)
        if found is None:
            raise SandboxError(f"{self.kind.name} cannot make the image of a box: {said[:300]}")
        self.api.tag(found[0], repository, tag=tag)

    def inspect_image(self, image: str) -> Mapping[str, Any]:
        self._must_have(image)
        found: Mapping[str, Any] = self.api.inspect_image(image)
        return found

    def start(self, image: str, command: Sequence[str], name: str, host: Mapping[str, Any]) -> str:
        """A running container's id."""
        made = ""
        try:
            created = self.api.create_container(
                image,
                entrypoint=list(command),
                use_config_proxy=False,
                name=name,
                hostname="box",
                user="0:0",
                working_dir="/",
                labels={LABEL: owner()},
                healthcheck={"test": ["NONE"]},
                host_config=self.api.create_host_config(**host),
            )
            made = str(created["Id"])
            self.api.start(made)
        except self._errors as error:
            if made:
                self.remove(made)
            raise SandboxError(
                f"{self.kind.name} cannot start a box: {getattr(error, 'explanation', error)}"
            ) from error
        return made

    def ended(self, container: str) -> str:
        """Why it no longer runs; "" while it does."""
        try:
            state = self.api.inspect_container(container)["State"]
        except self._not_found:
            return "its container ended at once"
        except self._errors as error:
            return f"{self.kind.name}: {error}"
        if state.get("Running") or state.get("Status") in ("created", "running"):
            return ""
        return f"its container ended with exit code {state.get('ExitCode')} {state.get('Error') or ''}".strip()

    def kill(self, container: str) -> None:
        with suppress(*self._errors):  # it may have ended
            self.api.kill(container)

    def remove(self, container: str) -> None:
        """Until it is gone. The engine removes it by itself once its init has ended, so this may come second."""
        deadline = time.monotonic() + GONE_SECONDS
        while True:
            try:
                self.api.remove_container(container, force=True, v=True)
            except self._not_found:
                return
            except self._api_error as error:  # the engine is removing it
                if time.monotonic() > deadline:
                    raise SandboxError(
                        f"{self.kind.name} cannot remove the container {container[:12]}: {error}"
                    ) from error
            except self._errors as error:
                raise SandboxError(f"{self.kind.name} went away: {error}") from error
            time.sleep(0.02)

    def remove_leftovers(self) -> None:
        """Containers whose owner is gone."""
        try:
            for found in self.api.containers(all=True, filters={"label": LABEL}):
                if is_gone(str((found.get("Labels") or {}).get(LABEL, ""))):
                    self.remove(found["Id"])
        except self._errors as error:
            raise SandboxError(f"{self.kind.name}: {error}") from error


def owner() -> str:
    """This process, so that another one can say later whether it is gone."""
    return " ".join((*_place(), str(os.getpid()), _start_time(os.getpid())))


def is_gone(said: str) -> bool:
    """False for processes of other pid namespaces, of which nothing is known here."""
    boot, namespace, pid, start = (said.split() + [""] * 4)[:4]
    own_boot, own_namespace = _place()
    if boot != own_boot:
        return bool(boot)
    return namespace == own_namespace and pid.isdigit() and _start_time(int(pid)) != start


def _place() -> tuple[str, str]:
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return boot, os.readlink("/proc/self/ns/pid")  # noqa: PTH115


def _start_time(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except OSError:
        return "none"


def _root_files(links: Mapping[str, str]) -> bytes:
    """A root directory for this machine's /usr."""
    from rtl_agent.sandbox._view import ETC_FILES, USR_LINKS

    merged = {name: str(Path(name).readlink()) for name in USR_LINKS if Path(name).is_symlink()}
    return _archive(ETC_FILES, {**merged, **links}, ("usr", "tmp", "proc", "sys", "dev", "etc"))


def _archive(files: Mapping[str, bytes], links: Mapping[str, str], directories: Sequence[str]) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        seen: set[str] = set()

        def directory(path: str) -> None:
            if path and path not in seen:
                directory(path.rpartition("/")[0])
                seen.add(path)
                entry = tarfile.TarInfo(path)
                entry.type, entry.mode = tarfile.DIRTYPE, 0o755
                archive.addfile(entry)

        for path in directories:
            directory(path)
        for path, data in sorted(files.items()):
            directory(path.strip("/").rpartition("/")[0])
            entry = tarfile.TarInfo(path.strip("/"))
            entry.size, entry.mode = len(data), 0o444
            archive.addfile(entry, io.BytesIO(data))
        for path, target in sorted(links.items()):
            directory(path.strip("/").rpartition("/")[0])
            entry = tarfile.TarInfo(path.strip("/"))
            entry.type, entry.linkname = tarfile.SYMTYPE, target
            archive.addfile(entry)
    return made.getvalue()
