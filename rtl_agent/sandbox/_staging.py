"""Makes mount sources reachable for a slot's uid, such as a checkout under a /root that nobody else may enter."""

import os
import shutil
import stat
from collections.abc import Iterable, Sequence
from pathlib import Path

from rtl_agent.sandbox._slots import state_directory
from rtl_agent.sandbox.protocol import SandboxError

# In a mount namespace of its own, so that nothing can be left mounted.
# Arguments: stage, uid, number of sources, the sources, the command.
SCRIPT = """
set -e
stage=$1 uid=$2 count=$3
shift 3
mount -t tmpfs -o mode=0755,size=1m none "$stage"
number=0
while [ "$number" -lt "$count" ]; do
    if [ -d "$1" ]; then mkdir "$stage/$number"; else : > "$stage/$number"; fi
    mount --bind -- "$1" "$stage/$number"
    number=$((number + 1))
    shift
done
exec setpriv --reuid "$uid" --regid "$uid" --clear-groups -- "$@"
"""


def reachable(path: Path, uid: int) -> bool:
    """May `uid`, in no group but its own, enter every directory above `path`?"""
    return all(_allows(parent, uid, stat.S_IXOTH) for parent in path.parents)


def readable(path: Path, uid: int) -> bool:
    return _allows(path, uid, stat.S_IROTH | (stat.S_IXOTH if path.is_dir() else 0))


def _allows(path: Path, uid: int, wanted: int) -> bool:
    status = path.stat()
    mode = status.st_mode
    if status.st_uid == uid:
        mode >>= 6
    elif status.st_gid == uid:
        mode >>= 3
    return mode & wanted == wanted


def resolve(sources: Iterable[Path]) -> dict[Path, Path]:
    """Where each source really is."""
    found = {}
    for source in sources:
        try:
            found[source] = source.resolve(strict=True)
        except OSError as error:
            raise SandboxError(f"mount source {source} is not there: {error.strerror}") from error
    return found


def stage(sources: dict[Path, Path], uid: int) -> tuple[dict[Path, Path], list[str]]:
    """Where `uid` finds the sources, and the command to prefix (empty when all of them can be reached as they are)."""
    for source, real in sources.items():
        if not readable(real, uid):
            raise SandboxError(
                f"mount source {source} cannot be read by the sandbox's user: run `chmod -R o+rX {real}`, "
                "or mount a directory that everybody may read"
            )
    hidden = sorted({real for real in sources.values() if not reachable(real, uid)})
    if not hidden:
        return sources, []
    missing = [tool for tool in ("unshare", "setpriv", "mount", "sh") if not shutil.which(tool)]
    if missing:
        raise SandboxError(f"{hidden[0]} is below a private directory, and {missing[0]} is missing: install util-linux")
    place = state_directory() / "stage"
    if not place.exists():
        place.mkdir(exist_ok=True)
        place.chmod(0o755)
    staged = {real: place / str(number) for number, real in enumerate(hidden)}
    return {source: staged.get(real, real) for source, real in sources.items()}, prefix(place, uid, hidden)


def prefix(place: Path, uid: int, hidden: Sequence[Path]) -> list[str]:
    unshare, shell = shutil.which("unshare") or "unshare", shutil.which("sh") or "sh"
    arguments = [str(place), str(uid), str(len(hidden)), *map(os.fspath, hidden)]
    return [unshare, "--mount", "--propagation", "private", "--", shell, "-c", SCRIPT, "stage", *arguments]
