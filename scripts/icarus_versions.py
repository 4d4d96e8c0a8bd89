"""Unpacks Icarus 12 and 13 from Debian's newer suites beside the system's own and grades the bundled problems on each.

    .venv/bin/python scripts/icarus_versions.py            every version, then a table
    .venv/bin/python scripts/icarus_versions.py --quick    references only, no near misses
    .venv/bin/python scripts/icarus_versions.py --prepare  only unpack; prints RTL_AGENT_ICARUS=... lines

The packages come by the ordinary apt client from the mirror that this machine uses, in an apt directory of its own:
nothing is installed on the system. They need a newer libc than Debian 12 has, so each program is a small script that
starts the real one with the unpacked libc; Python, which cocotb loads into vvp, then runs on that libc too.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rtl_agent.problems import load_near_misses
from rtl_agent.toolchain.home import home
from rtl_agent.toolchain.versions import ask_version

SUITES = {"12": "trixie", "13": "sid"}

# $0 has a slash however it is started: the kernel and sh hand a script the path that they found.
WRAPPER = """\
#!/bin/sh
root=$(cd "${{0%/*}}/{up}" && pwd)
exec "$root/{loader}" --argv0 "{name}" --library-path "{libraries}" "$root/{real}" {options}"$@"
"""


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
    prefixes: dict[str, Path | None] = {version: prepare(version, chosen.cache.absolute()) for version in versions}
    if chosen.prepare:
        for prefix in prefixes.values():
            print(f"RTL_AGENT_ICARUS={prefix}")
        return
    if not chosen.only:
        prefixes = {"system": None, **prefixes}
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
    if not (prefix / "complete").exists():
        print(f"Unpacking Icarus {version} from Debian {SUITES[version]} in {prefix} (about a minute) ...", flush=True)
        shutil.rmtree(prefix, ignore_errors=True)
        prefix.mkdir(parents=True)
        for package in download(SUITES[version], prefix / "apt"):
            run(["dpkg-deb", "--extract", str(package), str(prefix / "root")])
        shutil.rmtree(prefix / "apt")
        wrap(prefix)
        run(["chmod", "-R", "a+rX", str(prefix)])
        (prefix / "complete").touch()
    found = ask_version("iverilog", prefix / "bin" / "iverilog")
    if found.partition(".")[0] != version:
        sys.exit(f"Debian {SUITES[version]} gave Icarus {found or 'that does not start'}, not {version}.")
    return prefix


def download(suite: str, apt: Path) -> list[Path]:
    """The suite's iverilog and all it depends on: apt resolves against an empty system, so libc comes along."""
    for directory in ("lists/partial", "archives/partial", "parts"):
        (apt / directory).mkdir(parents=True)
    (apt / "status").touch()
    mirror, keyring = debian_mirror()
    signed = f"[signed-by={keyring}] " if keyring else ""
    (apt / "sources.list").write_text(f"deb {signed}{mirror} {suite} main\n")
    settings = {
        "Dir::Etc::SourceList": apt / "sources.list",
        "Dir::Etc::SourceParts": apt / "parts",
        "Dir::Etc::PreferencesParts": apt / "parts",
        "Dir::State::Lists": apt / "lists",
        "Dir::State::Status": apt / "status",
        "Dir::Cache::Archives": apt / "archives",
        "Dir::Cache::PkgCache": "",
        "Dir::Cache::SrcPkgCache": "",
        "APT::Install-Recommends": "false",
        "APT::Sandbox::User": "root" if os.geteuid() == 0 else "",
        "Acquire::Languages": "none",
        "Debug::NoLocking": "true",
    }
    apt_get = ["apt-get", "-qq", *(f"-o{name}={value}" for name, value in settings.items())]
    run([*apt_get, "update"])
    run([*apt_get, "install", "--yes", "--download-only", "iverilog"])
    return sorted((apt / "archives").glob("*.deb"))


def debian_mirror() -> tuple[str, str]:
    """Where this machine gets Debian's main archive, and the keyring that signs it ("" for the default)."""
    for entry in apt_sources():
        uri, suites = entry["uri"].rstrip("/"), entry["suites"].split()
        if uri.endswith("/debian") and any("security" not in suite for suite in suites):
            return uri, entry["key"]
    sys.exit("no source of Debian's main archive in /etc/apt: Icarus 12 and 13 are taken from its newer suites.")


def apt_sources() -> Iterator[dict[str, str]]:
    """The configured sources, of both of apt's file formats."""
    for file in sorted(Path("/etc/apt").glob("sources.list.d/*.sources")):
        for stanza in re.split(r"\n\s*\n", file.read_text()):
            fields = dict(re.findall(r"^([\w-]+):[ \t]*(.*)$", stanza, re.MULTILINE))
            if "deb" in fields.get("Types", "").split() and fields.get("Enabled", "yes") != "no":
                key = fields.get("Signed-By", "")
                for uri in fields.get("URIs", "").split():
                    yield {"uri": uri, "suites": fields.get("Suites", ""), "key": key if key.startswith("/") else ""}
    for file in (Path("/etc/apt/sources.list"), *sorted(Path("/etc/apt").glob("sources.list.d/*.list"))):
        text = file.read_text() if file.exists() else ""
        for options, uri, suite in re.findall(r"^deb\s+(?:\[(.*?)\]\s+)?(\S+)\s+(\S+)", text, re.MULTILINE):
            signed = re.search(r"signed-by=(/\S+)", options)
            yield {"uri": uri, "suites": suite, "key": signed[1] if signed else ""}


def wrap(prefix: Path) -> None:
    """Scripts in bin/ and in the compiler's own directory: the driver starts ivlpp and ivl by path."""
    root = prefix / "root"
    multiarch = next(root.glob("usr/lib/*/ivl")).parent.name
    loader = next(path for path in root.rglob("ld-linux*.so.*") if path.is_file()).relative_to(prefix)
    ivl = Path("root/usr/lib") / multiarch / "ivl"
    # The unpacked libraries first, then the host's for what only Python needs (libssl, libffi, ...).
    own = [directory for directory in (f"usr/lib/{multiarch}", f"lib/{multiarch}") if (root / directory).is_dir()]
    libraries = ":".join([*(f"$root/root/{directory}" for directory in own), f"/usr/lib/{multiarch}", "/usr/lib"])

    def script(path: Path, up: str, real: Path, options: str = "") -> None:
        path.parent.mkdir(exist_ok=True)
        path.write_text(
            WRAPPER.format(up=up, loader=loader, name=path.name, libraries=libraries, real=real, options=options)
        )
        path.chmod(0o755)

    script(prefix / "bin/iverilog", "..", Path("root/usr/bin/iverilog"), f'-B "$root/{ivl}" ')
    script(prefix / "bin/vvp", "..", Path("root/usr/bin/vvp"), f'-M "$root/{ivl}" ')
    for name in ("ivl", "ivlpp"):
        program = prefix / ivl / name
        program.rename(program.with_name(f"{name}.real"))
        script(program, "/".join([".."] * len(ivl.parts)), ivl / f"{name}.real")


def grade_bundled(name: str, prefix: Path | None, quick: bool) -> Row:
    """Grade every bundled reference, and every near miss unless in a hurry."""
    print(f"Grading the bundled problems on Icarus {name} (minutes) ...", flush=True)
    env = {**os.environ, "RTL_AGENT_ICARUS": str(prefix)} if prefix else dict(os.environ)
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


def run(argv: list[str]) -> None:
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{argv[0]} {argv[-1]} failed:\n{(done.stdout + done.stderr)[-2000:]}")


if __name__ == "__main__":
    main()
