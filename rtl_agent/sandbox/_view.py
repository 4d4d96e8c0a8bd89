"""What a box sees: the bubblewrap arguments that build its filesystem and its namespaces."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from rtl_agent.sandbox.protocol import MIB, BoxSpec, Mount

UID = 1000  # inside; the kernel knows the process by its slot's uid
SHM_BYTES = 64 * MIB
ETC_FILES: Mapping[str, bytes] = {
    "/etc/passwd": b"root:x:0:0:root:/root:/bin/sh\nuser:x:1000:1000:user:/tmp:/bin/sh\n",
    "/etc/group": b"root:x:0:\nuser:x:1000:\n",
    "/etc/hosts": b"127.0.0.1 localhost\n::1 localhost\n",
}
ETC_OF_HOST = ("/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives")
NAMESPACES = (
    # --unshare-all only tries the user namespace, and --disable-userns wants it asked for.
    *("--unshare-user", "--unshare-all", "--disable-userns", "--uid", str(UID), "--gid", str(UID)),
    *("--hostname", "box", "--new-session", "--as-pid-1", "--cap-drop", "ALL", "--clearenv"),
)


@dataclass(frozen=True)
class Tmpfs:
    target: str
    size: int
    mode: str = "0755"


def tmpfs_bytes(spec: BoxSpec) -> int:
    """What all writable places of a box can hold together."""
    return spec.disk_bytes * (len(spec.writable) + 1) + SHM_BYTES


def view(
    spec: BoxSpec, python_mounts: Iterable[Mount], files: Mapping[str, int], sources: Mapping[Path, Path]
) -> list[str]:
    """Arguments for `spec`. `files`: fds with the content of made-up files; `sources`: where a mount's source is."""
    args = [*NAMESPACES, "--ro-bind", "/usr", "/usr"]
    for name in ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"):
        if Path(name).is_symlink():
            args += ["--symlink", str(Path(name).readlink()), name]
        elif Path(name).is_dir():
            args += ["--ro-bind", name, name]
    args += ["--perms", "0755", "--dir", "/etc"]
    for name in ETC_OF_HOST:
        args += ["--ro-bind-try", name, name]
    for name, fd in files.items():
        args += ["--perms", "0444", "--file", str(fd), name]
    args += ["--dev", "/dev", "--perms", "1777", "--size", str(SHM_BYTES), "--tmpfs", "/dev/shm"]
    args += ["--remount-ro", "/dev"]  # bubblewrap's /dev is itself a tmpfs without a size
    if spec.proc:
        args += ["--proc", "/proc"]
    for place in in_order([*python_mounts, *spec.mounts], [Tmpfs("/tmp", spec.disk_bytes, "1777")], spec):
        if isinstance(place, Tmpfs):
            args += ["--perms", place.mode, "--size", str(place.size), "--tmpfs", place.target]
        else:
            args += ["--ro-bind", str(sources[place.source]), place.target]
    for link, target in spec.links.items():
        if not (spec.proc and PurePosixPath(link).is_relative_to("/proc")):
            args += ["--symlink", target, link]
    return [*args, "--remount-ro", "/", "--chdir", "/"]


def in_order(mounts: Iterable[Mount], own: Iterable[Tmpfs], spec: BoxSpec) -> list[Mount | Tmpfs]:
    """Outer places before those inside them, else the outer would hide the inner."""
    wanted: list[Mount | Tmpfs] = [*own, *mounts]
    wanted += [Tmpfs(place, spec.disk_bytes) for place in spec.writable]
    places: dict[str, Mount | Tmpfs] = {}
    for place in wanted:
        if not place.target.startswith("/") or ".." in PurePosixPath(place.target).parts:
            raise ValueError(f"{place.target!r} is not an absolute path inside the box")
        places[str(PurePosixPath(place.target))] = place
    return [places[target] for target in sorted(places, key=lambda target: PurePosixPath(target).parts)]
