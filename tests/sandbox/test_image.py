"""The image of the Dockerfile, made from an empty base: its size, its user, and what a grade in it says."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sandbox.base_image import make_base
from tests.sandbox.engines import ENGINES, engine
from tests.sandbox.test_sandbox_containers import KINDS

pytestmark = [pytest.mark.containers, pytest.mark.slow, pytest.mark.long]
ROOT = Path(__file__).resolve().parents[2]
IMAGE = "rtl-agent:core"
MOST_BYTES = 1.2e9
ARBITER = "rtl_fixed_priority_arbiter_0001"
REFERENCE = f"rtl-agent grade bundled --id {ARBITER} --reference --no-cache --json"
NAMESPACES = ("seccomp=unconfined", "apparmor=unconfined", "systempaths=unconfined")


class Image:
    """Built by `make image`, and run with the engine's own command."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.engine = ["podman", "--remote"] if name == "podman" else [name]

    def call(self, *words: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run([*self.engine, *words], capture_output=True, text=True, check=False)

    def run(self, command: str, *options: str) -> "subprocess.CompletedProcess[str]":
        return self.call("run", "--rm", "--network=none", *options, IMAGE, "sh", "-c", command)


@pytest.fixture(scope="module", params=ENGINES)
def image(request: pytest.FixtureRequest) -> Iterator[Image]:
    name = request.param
    if shutil.which(name) is None:
        pytest.fail(f"{name} is missing: run `sh scripts/setup.sh --containers`")
    with engine(name) as variables, pytest.MonkeyPatch.context() as patch:
        for variable, value in variables.items():
            patch.setenv(variable, value)
        base = make_base(KINDS[name].kind)
        built = Image(name)
        words = [f"ENGINE={' '.join(built.engine)}", f"BASE={base}", "IMAGE_FLAGS=--network=host"]
        done = subprocess.run(
            ["make", "image", *words],
            cwd=ROOT,
            env={**os.environ, "DOCKER_BUILDKIT": "0"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
        print(done.stdout[-100:])
        yield built


def test_the_image_is_small_and_its_user_is_not_root(image: Image) -> None:
    size, user = image.call("image", "inspect", "--format", "{{.Size}} {{.Config.User}}", IMAGE).stdout.split()
    assert int(size) < MOST_BYTES
    assert user == "rtl-agent"
    assert image.run("id -u").stdout.strip() == "10001"


def test_a_grade_where_the_container_is_the_outer_box(image: Image) -> None:
    """Without namespaces: as the image's user, and as the container's root."""
    options = ["--cap-add=MKNOD"] if image.name == "podman" else []
    for user in ([], ["--user=0"]):
        done = image.run(REFERENCE, "--env=RTL_AGENT_SANDBOX=container", *options, *user)
        [grade] = json.loads(done.stdout)
        assert grade["outcome"] == "passed", done.stderr
        assert grade["tools"]["sandbox"].startswith("container, weaker than bubblewrap")
        assert "fallback" not in grade["tools"]
        assert "weaker than bubblewrap" in " ".join(done.stderr.split())
    doctor = image.run("rtl-agent doctor", "--env=RTL_AGENT_SANDBOX=container", *options)
    assert doctor.returncode == 0, doctor.stdout
    assert "sandbox: container works" in doctor.stdout


def test_a_grade_where_the_container_may_make_namespaces(image: Image) -> None:
    done = image.run(REFERENCE, *(f"--security-opt={option}" for option in NAMESPACES if image.name == "docker"))
    [grade] = json.loads(done.stdout)
    assert grade["outcome"] == "passed", done.stderr
    assert "sandbox" not in grade["tools"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--security-opt=no-new-privileges",), "start it without, or as its root"),
        (("--cap-drop=CHOWN",), "--cap-add=CHOWN"),
        (("--cap-drop=ALL", "--user=0"), "--cap-add=SETUID"),
        (("--user=4711:4711",), "cannot give a job a uid of its own"),
    ],
)
def test_what_it_cannot_work_with_is_said(image: Image, options: tuple[str, ...], said: str) -> None:
    added = [] if "--cap-drop=ALL" in options else ["--cap-add=MKNOD"]
    done = image.run("rtl-agent doctor", "--env=RTL_AGENT_SANDBOX=container", *added, *options)
    assert done.returncode == 1
    assert said in " ".join(done.stdout.split()), done.stdout + done.stderr
