"""Every bundled design, attack and entry of accepts/ under each sandbox: the same outcome everywhere?

    python scripts/sandbox_parity.py docker podman [-n 2] [-k WORDS] [-m MARKS] [--image]
    python scripts/sandbox_parity.py container --within rtl-agent:core

The tests that grade them state each one's outcome, on both paths of the grader. They are run once for each sandbox that
is named, with RTL_AGENT_SANDBOX set to it, on daemons that are started for them; the table counts what they said.
With --within they are run in containers of an image, by the Docker that DOCKER_HOST names, as the image's own user.
"""

import argparse
import os
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.sandbox.engines import ENGINES, engine  # noqa: E402
from tests.sandbox.images import make_image  # noqa: E402
from tests.sandbox.test_sandbox_containers import KINDS  # noqa: E402

SUITES = {"bundled designs": "test_bundled", "attacks": "test_attacks", "accepts": "test_accepts"}


def within(image: str, folder: str) -> list[str]:
    """What runs Python in a container that sees this checkout and its packages: the image's Python, with its tools."""
    Path(folder).chmod(0o777)
    mounts = [f"--volume={ROOT}:{ROOT}:ro", f"--volume={folder}:{folder}", f"--workdir={ROOT}"]
    packages = f"--env=PYTHONPATH={ROOT}:{sysconfig.get_path('purelib')}"
    variables = [packages, "--env=RTL_AGENT_SANDBOX", "--env=PYTHONDONTWRITEBYTECODE=1"]
    return ["docker", "run", "--rm", "--init", "--network=none", *mounts, *variables, image, "python3"]


def run(
    sandbox: str, variables: Mapping[str, str], options: Sequence[str], image: str = ""
) -> dict[str, dict[str, str]]:
    """Suite -> test -> what became of it."""
    found = {}
    for suite, module in SUITES.items():
        with tempfile.TemporaryDirectory() as folder:
            report = Path(folder) / "report.xml"
            words = [f"tests/grading/{module}.py", "-q", "-p", "no:cacheprovider", f"--junit-xml={report}", *options]
            env = {**os.environ, **variables, "RTL_AGENT_SANDBOX": sandbox}
            python = within(image, folder) if image else [sys.executable]
            subprocess.run([*python, "-m", "pytest", *words], cwd=ROOT, env=env, check=False)
            found[suite] = outcomes(report)
    return found


def outcomes(report: Path) -> dict[str, str]:
    said = {}
    for case in ElementTree.parse(report).iter("testcase"):
        kinds = {child.tag for child in case} & {"failure", "error", "skipped"}
        said[case.get("name", "")] = min(kinds, default="passed")
    return said


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sandboxes", nargs="+", help="bubblewrap, docker, podman, container")
    parser.add_argument("-n", default="2", help="workers of pytest")
    parser.add_argument("-k", default="", help="only tests with these words, as pytest takes them")
    parser.add_argument("-m", default="", help="only tests with these marks, as pytest takes them")
    parser.add_argument("--image", action="store_true", help="with the tools of an image that is made for it: -k exact")
    parser.add_argument("--within", metavar="IMAGE", default="", help="in containers of this image")
    chosen = parser.parse_args()
    options = ["-n", chosen.n, *(["-k", chosen.k] if chosen.k else []), *(["-m", chosen.m] if chosen.m else [])]
    print("| sandbox | " + " | ".join(SUITES) + " | minutes |")
    print("| --- " * (len(SUITES) + 2) + "|")
    well = True
    for sandbox in chosen.sandboxes:
        begun = time.monotonic()
        with ExitStack() as stack:
            variables = dict(stack.enter_context(engine(sandbox))) if sandbox in ENGINES else {}
            if chosen.image:
                os.environ.update(variables)
                variables["RTL_AGENT_OSS_SIM_IMAGE"] = make_image(KINDS[sandbox].kind)
            found = run(sandbox, variables, options, chosen.within)
        cells = []
        for said in found.values():
            counts = Counter(said.values())
            well &= set(counts) <= {"passed", "skipped"} and counts["passed"] > 0
            cells.append(f"{counts['passed']} of {len(said) - counts['skipped']}")
            for name, outcome in said.items():
                if outcome in ("failure", "error"):
                    print(f"{sandbox}: {outcome}: {name}", file=sys.stderr)
        print(f"| {sandbox} | {' | '.join(cells)} | {(time.monotonic() - begun) / 60:.0f} |", flush=True)
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main())
