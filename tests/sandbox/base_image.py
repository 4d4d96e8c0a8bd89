"""A base image from nothing: Debian by debootstrap, from the mirror that this machine's apt uses."""

import shutil
import subprocess
import tempfile
from pathlib import Path

from rtl_agent.sandbox.container.engine import Engine, EngineKind
from rtl_agent.toolchain import apt

NAME = "localhost/rtl-agent-test/debian"
SUITE = "bookworm"
# What a site's own base image has: how its package managers reach their registries.
OF_SITE = ("/usr/local/share/ca-certificates", "/etc/pip.conf")


def make_base(kind: EngineKind) -> str:
    """Its name."""
    engine = Engine(kind)
    with tempfile.TemporaryDirectory(prefix="rtl-agent-base-") as folder:
        root = Path(folder) / "root"
        subprocess.run(
            ["debootstrap", "--variant=minbase", SUITE, root, apt.main_archive().uri], check=True, capture_output=True
        )
        for path in map(Path, OF_SITE):
            target = root / path.relative_to("/")
            if path.is_dir():
                shutil.copytree(path, target, dirs_exist_ok=True)
            elif path.exists():
                shutil.copy(path, target)
        archive = Path(folder) / "root.tar"
        subprocess.run(["tar", "--create", "--file", archive, "--directory", root, "."], check=True)
        said = engine.api.import_image_from_file(str(archive), repository=NAME, tag=SUITE)
    assert "error" not in str(said), said
    return f"{NAME}:{SUITE}"
