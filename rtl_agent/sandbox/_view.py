"""What a box sees: the bubblewrap arguments that build its filesystem and its namespaces."""

from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath

from rtl_agent.sandbox.protocol import BoxSpec, Mount, WritablePlace

UID = 1000  # inside; the kernel knows the process by its slot's uid
DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
ETC_FILES: Mapping[str, bytes] = {
    "/etc/passwd": b"root:x:0:0:root:/root:/bin/sh\nuser:x:1000:1000:user:/tmp:/bin/sh\n",
    "/etc/group": b"root:x:0:\nuser:x:1000:\n",
    "/etc/hosts": b"127.0.0.1 localhost\n::1 localhost\n",
}
USR_LINKS = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
ETC_OF_HOST = ("/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives")
NAMESPACES = (
    # --unshare-all only tries the user namespace, and --disable-userns wants it asked for.
    *("--unshare-user", "--unshare-all", "--disable-userns", "--uid", str(UID), "--gid", str(UID)),
    *("--hostname", "box", "--new-session", "--as-pid-1", "--cap-drop", "ALL", "--clearenv"),
)


def tmpfs_bytes(spec: BoxSpec) -> int:
    """What all writable places of a box can hold together."""
    return sum(place.size_bytes for place in spec.places)


def view(
    spec: BoxSpec, python_mounts: Iterable[Mount], files: Mapping[str, int], sources: Mapping[Path, Path]
) -> list[str]:
    """Arguments for `spec`. `files`: fds with the content of made-up files; `sources`: where a mount's source is."""
    args = [*NAMESPACES, "--ro-bind", "/usr", "/usr"]
    for name in USR_LINKS:
        if Path(name).is_symlink():
            args += ["--symlink", str(Path(name).readlink()), name]
        elif Path(name).is_dir():
            args += ["--ro-bind", name, name]
    args += ["--perms", "0755", "--dir", "/etc"]
    for name in ETC_OF_HOST:
        args += ["--ro-bind-try", name, name]
    for name, fd in files.items():
        args += ["--perms", "0444", "--file", str(fd), name]
    args += [*(["--dev", "/dev"] if spec.ipc else bare_devices()), "--remount-ro", "/dev"]  # either is a tmpfs
    if spec.proc:
        args += ["--proc", "/proc"]
    for place in in_order([*python_mounts, *spec.mounts], spec):
        if isinstance(place, WritablePlace):
            args += ["--perms", f"{place.mode:04o}", "--size", str(place.size_bytes), "--tmpfs", place.path]
        else:
            args += ["--ro-bind", str(sources[place.source]), place.target]
    for link, target in spec.links.items():
        if not (spec.proc and PurePosixPath(link).is_relative_to("/proc")):
            args += ["--symlink", target, link]
    return [*args, "--remount-ro", "/", "--chdir", "/"]


def bare_devices() -> list[str]:
    """/dev without shared memory and terminals. bubblewrap's own has a devpts, whose modes a command can change."""
    args = ["--perms", "0755", "--tmpfs", "/dev"]
    for name in DEVICES:
        args += ["--dev-bind", f"/dev/{name}", f"/dev/{name}"]
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        args += ["--symlink", f"/proc/self/fd/{number}", f"/dev/{name}"]
    return [*args, "--symlink", "/proc/self/fd", "/dev/fd"]


def in_order(mounts: Iterable[Mount], spec: BoxSpec) -> list[Mount | WritablePlace]:
    """Outer places before those inside them, else the outer would hide the inner."""
    wanted: list[tuple[str, Mount | WritablePlace]] = [(place.path, place) for place in spec.places]
    wanted += [(mount.target, mount) for mount in mounts if mount.target not in spec.writable]
    places: dict[str, Mount | WritablePlace] = {}
    for target, place in wanted:
        if not target.startswith("/") or ".." in PurePosixPath(target).parts:
            raise ValueError(f"{target!r} is not an absolute path inside the box")
        places[str(PurePosixPath(target))] = place
    return [places[target] for target in sorted(places, key=lambda target: PurePosixPath(target).parts)]
