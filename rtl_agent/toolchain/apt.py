"""Packages through the machine's own apt, from the mirror that it uses, without installing anything on the system."""

import os
import platform
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rtl_agent.toolchain.building import InstallError, run

_HELPER = Path("/usr/lib/apt/apt-helper")
# Debian's names of what `uname -m` says.
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


@dataclass(frozen=True)
class Mirror:
    """A main archive that this machine's apt knows."""

    distribution: str  # "debian" or "ubuntu"
    uri: str
    keyring: str  # "" for apt's default


def architecture() -> str:
    """This machine's, as Debian calls it."""
    return _ARCHITECTURES.get(platform.machine(), platform.machine())


def main_archive(etc: Path = Path("/etc/apt")) -> Mirror:
    """Where this machine gets Debian's or Ubuntu's main archive; InstallError when apt has no such source."""
    if not _HELPER.exists():
        raise InstallError("there is no apt on this machine")
    for mirror in _sources(etc):
        if mirror.distribution in ("debian", "ubuntu"):
            return mirror
    raise InstallError(f"apt has no source of Debian's or Ubuntu's main archive in {etc}")


def _sources(etc: Path) -> Iterator[Mirror]:
    """The configured sources, of both of apt's file formats."""
    for file in sorted(etc.glob("sources.list.d/*.sources")):
        for stanza in re.split(r"\n\s*\n", file.read_text()):
            fields = dict(re.findall(r"^([\w-]+):[ \t]*(.*)$", stanza, re.MULTILINE))
            if "deb" in fields.get("Types", "").split() and fields.get("Enabled", "yes") != "no":
                key = fields.get("Signed-By", "")
                for uri in fields.get("URIs", "").split():
                    yield from _mirrors(uri, key if key.startswith("/") else "")
    for file in (etc / "sources.list", *sorted(etc.glob("sources.list.d/*.list"))):
        text = file.read_text() if file.exists() else ""
        for options, uri in re.findall(r"^deb[ \t]+(?:\[([^\]\n]*)\][ \t]+)?(\S+)[ \t]+\S+", text, re.MULTILINE):
            signed = re.search(r"signed-by=(/\S+)", options)
            yield from _mirrors(uri, signed[1] if signed else "")


def _mirrors(uri: str, keyring: str) -> Iterator[Mirror]:
    if uri.startswith("mirror+file:"):  # as Debian's cloud images have it: a file that lists mirrors
        file = Path("/" + uri.removeprefix("mirror+file:").lstrip("/"))
        for line in file.read_text().splitlines() if file.exists() else ():
            if line.strip() and not line.startswith("#"):
                yield from _mirrors(line.split()[0], keyring)
        return
    uri = uri.rstrip("/")
    yield Mirror(uri.rpartition("/")[2], uri, keyring)


def fetch(uri: str, sha256: str, target: Path) -> None:
    """Download one file; InstallError when it is not there or is not the one that was pinned."""
    argv = [str(_HELPER), "-oAPT::Sandbox::User=root", "download-file", uri, str(target), f"SHA256:{sha256}"]
    run(argv, f"get {uri}")


def unpack(package: Path, root: Path) -> None:
    """The files of a .deb below `root`; its scripts are not run."""
    if not shutil.which("dpkg-deb"):
        raise InstallError("dpkg-deb, which unpacks packages, was not found")
    run(["dpkg-deb", "--extract", str(package), str(root)], f"unpack {package.name}")


def download(mirror: Mirror, suite: str, packages: tuple[str, ...], apt: Path) -> list[Path]:
    """A suite's packages and all they depend on: apt resolves against an empty system, so libc comes along.

    `apt` is a directory for apt's own files; signatures are checked as always.
    """
    for directory in ("lists/partial", "archives/partial", "parts"):
        (apt / directory).mkdir(parents=True)
    (apt / "status").touch()
    signed = f"[signed-by={mirror.keyring}] " if mirror.keyring else ""
    (apt / "sources.list").write_text(f"deb {signed}{mirror.uri} {suite} main\n")
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
    run([*apt_get, "update"], f"read the package list of {suite}")
    run([*apt_get, "install", "--yes", "--download-only", *packages], f"get {', '.join(packages)} of {suite}")
    return sorted((apt / "archives").glob("*.deb"))
