"""Says why bubblewrap cannot work on this machine, and what to do about it."""

import os
import re
import shutil
import stat
import subprocess
from pathlib import Path

from rtl_agent.sandbox._process import find_python
from rtl_agent.sandbox._slots import FIRST_UID, UIDS, reachable
from rtl_agent.sandbox._view import NAMESPACES

OLDEST = (0, 8)  # the first with --disable-userns
TRIAL_UID = FIRST_UID + UIDS  # no slot has it
TRIAL_SECONDS = 30


def check_available() -> list[str]:
    """Reasons in words, each with what to do; an empty list when boxes can be opened here."""
    bwrap = shutil.which("bwrap")
    if bwrap is None:
        return ["bwrap is not installed: run `apt-get install bubblewrap`"]
    reasons = []
    version = _version(bwrap)
    if version and version < OLDEST:
        return [f"bwrap {'.'.join(map(str, version))} is too old, 0.8 or newer is needed: install a newer bubblewrap"]
    if stat.S_IMODE(Path("/dev/null").stat().st_mode) & 0o006 != 0o006:
        # `iverilog -o /dev/null` as root leaves it like this.
        reasons.append("/dev/null is not writable for everybody: run `chmod 666 /dev/null` as root")
    if os.geteuid() == 0 and not (shutil.which("unshare") and shutil.which("setpriv")):
        reasons.append("unshare or setpriv is missing: run `apt-get install util-linux`")
    said = _trial(bwrap)
    if said:
        reasons.append(_explain(said))
    return reasons


def _version(bwrap: str) -> tuple[int, ...]:
    try:
        said = subprocess.run([bwrap, "--version"], capture_output=True, text=True, timeout=TRIAL_SECONDS, check=False)
    except (OSError, subprocess.SubprocessError):
        return ()
    found = re.search(r"(\d+)\.(\d+)", said.stdout)
    return tuple(map(int, found.groups())) if found else ()


def _trial(bwrap: str) -> str:
    """What bubblewrap says when it is started as a box is, its Python included; empty when all is well."""
    python, mounts = find_python(None)
    args = [bwrap, *NAMESPACES, "--ro-bind", "/usr", "/usr", "--dev", "/dev"]
    for name in ("/lib", "/lib64"):
        if Path(name).is_symlink():
            args += ["--symlink", str(Path(name).readlink()), name]
        elif Path(name).is_dir():
            args += ["--ro-bind", name, name]
    if any(not reachable(mount.source, TRIAL_UID) for mount in mounts) and os.geteuid() == 0:
        python, mounts = Path("/usr/bin/true"), ()  # such an interpreter is staged for a box, which is not tried here
    for mount in mounts:
        args += ["--ro-bind", str(mount.source), mount.target]
    program = [str(python), "-I", "-S", "-c", "import _ctypes, _signal, resource, select"]
    as_root = os.geteuid() == 0
    try:
        ran = subprocess.run(
            [*args, "--", *program],
            capture_output=True,
            text=True,
            timeout=TRIAL_SECONDS,
            check=False,
            env={},
            cwd="/",
            user=TRIAL_UID if as_root else None,
            group=TRIAL_UID if as_root else None,
            extra_groups=[] if as_root else None,
        )
    except (OSError, subprocess.SubprocessError) as error:
        return str(error)
    return "" if ran.returncode == 0 else ran.stderr.strip() or f"exit code {ran.returncode}"


def _explain(said: str) -> str:
    if "_ctypes" in said or "ModuleNotFoundError" in said:
        return f"the box's Python lacks a module ({said.splitlines()[-1]}): run `apt-get install python3`"
    if "Unknown option" in said:
        return f"bwrap is too old ({said}): install bubblewrap 0.8 or newer"
    for name, blocked, advice in (
        ("kernel/apparmor_restrict_unprivileged_userns", "1", "kernel.apparmor_restrict_unprivileged_userns=0"),
        ("kernel/unprivileged_userns_clone", "0", "kernel.unprivileged_userns_clone=1"),
        ("user/max_user_namespaces", "0", "user.max_user_namespaces=10000"),
    ):
        try:
            value = Path("/proc/sys", name).read_text().strip()
        except OSError:
            continue
        if value == blocked:
            more = ", or install an AppArmor profile that gives bwrap `userns,`" if "apparmor" in name else ""
            return f"user namespaces are blocked ({said}): run `sudo sysctl -w {advice}`{more}"
    if "namespace" in said or "uid map" in said or "Operation not permitted" in said:
        return (
            f"user namespaces are not allowed here ({said}): start the container with `--security-opt "
            "seccomp=unconfined --security-opt apparmor=unconfined --security-opt systempaths=unconfined`"
        )
    return f"bwrap does not start: {said}"
