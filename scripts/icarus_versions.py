"""Unpacks Icarus 12 and 13 from Debian's newer suites beside the system's own and grades the bundled problems on each.

    .venv/bin/python scripts/icarus_versions.py            every version, then a table
    .venv/bin/python scripts/icarus_versions.py --quick    references only, no near misses
    .venv/bin/python scripts/icarus_versions.py --prepare  only unpack; prints RTL_AGENT_ICARUS=... lines

The packages come by the ordinary apt client from the mirror that this machine uses: nothing is installed on the system.
They are trees as set-up makes them (rtl_agent/toolchain/icarus.py): they work in boxes, named by RTL_AGENT_ICARUS.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rtl_agent.problems import load_near_misses
from rtl_agent.toolchain import apt
from rtl_agent.toolchain.building import InstallError, complete
from rtl_agent.toolchain.home import home
from rtl_agent.toolchain.icarus import read_tree, write_stamp
from rtl_agent.toolchain.icarus_install import bring_libraries, lay_out, libc_is_too_old, prove
from rtl_agent.toolchain.install import pip_into

SUITES = {"12": "trixie", "13": "sid"}


@dataclass(frozen=True)
class Row:
    """What one Icarus said of the bundled problems."""

    name: str
    version: str
    references: int
    near_misses: int
    surprises: list[str]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--prepare", action="store_true", help="only unpack")
    options.add_argument("--quick", action="store_true", help="references only, no near misses")
    options.add_argument("--only", choices=sorted(SUITES), help="one version")
    options.add_argument("--cache", type=Path, default=home() / "icarus", help="where they are kept (%(default)s)")
    chosen = options.parse_args()
    versions = [chosen.only] if chosen.only else sorted(SUITES)
    prefixes = {version: prepare(version, chosen.cache.absolute()) for version in versions}
    if chosen.prepare:
        for prefix in prefixes.values():
            print(f"RTL_AGENT_ICARUS={prefix}")
        return
    if not chosen.only:
        prefixes = {"system": Path("/usr"), **prefixes}
    rows = [grade_bundled(name, prefix, chosen.quick) for name, prefix in prefixes.items()]
    print(f"{'icarus':<10}{'version':<10}{'references':>11}{'near misses':>13}{'unexpected verdicts':>21}")
    for row in rows:
        print(f"{row.name:<10}{row.version:<10}{row.references:>11}{row.near_misses:>13}{len(row.surprises):>21}")
    for row in rows:
        for surprise in row.surprises:
            print(f"Icarus {row.version}: {surprise}")
    if any(row.surprises for row in rows):
        sys.exit(1)


def prepare(version: str, cache: Path) -> Path:
    """The prefix of one version, unpacked if it is not there yet."""
    prefix = cache / f"icarus-{version}"
    if not read_tree(prefix):
        suite = SUITES[version]
        print(f"Unpacking Icarus {version} from Debian {suite} in {prefix} (about a minute) ...", flush=True)
        cache.mkdir(parents=True, exist_ok=True)
        try:
            with complete(prefix) as tree, tempfile.TemporaryDirectory() as scratch:
                unpack(suite, tree, Path(scratch))
                prove(tree, f"{version}.0")
                write_stamp(tree, f"{version}.0", f"Debian's package of {suite}")
        except InstallError as error:
            sys.exit(f"Icarus {version}: {error}")
    return prefix


def unpack(suite: str, tree: Path, scratch: Path) -> None:
    """The suite's iverilog, whichever revision it has today; signed by Debian, not pinned."""
    mirror = apt.main_archive()
    if mirror.distribution != "debian":
        raise InstallError("this machine's apt has no source of Debian's main archive")
    for package in apt.download(mirror, suite, ("iverilog",), scratch / "iverilog"):
        if package.name.startswith("iverilog_"):
            apt.unpack(package, scratch / "root")
    lay_out(scratch / "root", tree)
    if libc_is_too_old():
        bring_libraries(mirror, suite, tree, scratch, pip_into)


def grade_bundled(name: str, prefix: Path, quick: bool) -> Row:
    """Grade every bundled reference, and every near miss unless in a hurry."""
    print(f"Grading the bundled problems on Icarus {name} (minutes) ...", flush=True)
    env = {**os.environ, "RTL_AGENT_ICARUS": str(prefix)}
    right = grades(["--reference"], env)
    misses = [] if quick else list(load_near_misses())
    wrong: list[dict[str, Any]] = []
    if misses:
        with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
            file.writelines(json.dumps({"id": miss.problem_id, "files": dict(miss.files)}) + "\n" for miss in misses)
            file.flush()
            wrong = grades(["--response", file.name], env)
    surprises = [f"{grade['problem_id']}: reference {say(grade)}" for grade in right if grade["outcome"] != "passed"]
    surprises += [
        f"{miss.problem_id}: near miss {miss.name} {say(grade)}"
        for miss, grade in zip(misses, wrong, strict=True)
        if grade["outcome"] not in ("failed", "invalid")
    ]
    return Row(name, right[0]["tools"]["iverilog"], len(right), len(wrong), surprises)


def grades(what: list[str], env: dict[str, str]) -> list[dict[str, Any]]:
    argv = [str(Path(sys.executable).parent / "rtl-agent"), "grade", "bundled", *what, "--json"]
    done = subprocess.run(argv, env=env, capture_output=True, text=True, check=False)
    try:
        return list(json.loads(done.stdout))
    except ValueError:
        sys.exit(f"{' '.join(argv[1:])} printed no grades:\n{(done.stdout + done.stderr)[-2000:]}")


def say(grade: dict[str, Any]) -> str:
    return f"{grade['outcome']} ({grade['reasons'][0]})" if grade["reasons"] else str(grade["outcome"])


if __name__ == "__main__":
    main()
