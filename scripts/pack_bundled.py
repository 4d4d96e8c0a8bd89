"""Pack the problems under bundled/ into the JSONL files that the package ships, in CVDP's two shapes.

    python scripts/pack_bundled.py [--check]

The directories are what people read and edit; the JSONL is what every reader of CVDP understands. `--check` writes
nothing and fails when the two differ.
"""

import difflib
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "bundled"
PACKED = ROOT / "rtl_agent" / "problems" / "data"


def read_tree(directory: Path) -> dict[str, str]:
    files = sorted(path for path in directory.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {str(path.relative_to(directory)): path.read_text() for path in files}


def as_hunk(old: str, new: str) -> str:
    """A unified diff without its file names, as agentic records have it."""
    lines = list(difflib.unified_diff(old.splitlines(keepends=True), new.splitlines(keepends=True), n=3))
    return "".join(lines[2:])


def record(directory: Path) -> dict[str, Any]:
    about = yaml.safe_load((directory / "problem.yaml").read_text())
    context = read_tree(directory / "context")
    reference = read_tree(directory / "reference")
    harness = read_tree(directory / "harness")
    golden = {target: reference[target] for target in about["targets"]}
    prompt = (directory / "prompt.md").read_text()
    head = {"id": directory.name, "categories": [about["category"], about["difficulty"]]}
    if about["kind"] == "agentic":
        patch = {path: as_hunk(context.get(path, ""), text) for path, text in golden.items()}
        system = "You work in a directory with a shell. Change only the files that the task names."
        return {
            **head,
            "system_message": system,
            "prompt": prompt,
            "context": context,
            "patch": patch,
            "harness": harness,
        }
    return {
        **head,
        "input": {"prompt": prompt, "context": context},
        "output": {"response": "", "context": golden},
        "harness": {"files": harness},
    }


def near_misses(directory: Path, targets: list[str]) -> Iterator[dict[str, Any]]:
    """Wrong designs: one file for a problem with one target, else a directory with all of them."""
    for path in sorted((directory / "near_misses").iterdir()):
        files = read_tree(path) if path.is_dir() else {targets[0]: path.read_text()}
        marked = re.search(r"^// near miss: (.+)$", "\n".join(files.values()), re.MULTILINE)
        if marked is None:
            raise SystemExit(f"{path}: the first line should be `// near miss: <what is wrong>`")
        yield {"id": directory.name, "name": path.stem, "wrong": marked[1], "files": files}


def pack() -> dict[Path, str]:
    """File -> text: one JSONL for each of the two shapes, and one of the wrong designs."""
    lines: dict[Path, list[str]] = {}
    for directory in sorted(path.parent for path in SOURCE.glob("*/problem.yaml")):
        packed = record(directory)
        name = "agentic.jsonl" if "patch" in packed else "single_shot.jsonl"
        lines.setdefault(PACKED / name, []).append(as_line(packed))
        wrong = near_misses(directory, list(packed.get("patch") or packed["output"]["context"]))
        lines.setdefault(PACKED / "near_misses" / "near_misses.jsonl", []).extend(map(as_line, wrong))
    return {path: "".join(parts) for path, parts in lines.items()}


def as_line(value: dict[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False) + "\n"


def main() -> int:
    stale = [path for path, text in pack().items() if not path.exists() or path.read_text() != text]
    if "--check" in sys.argv:
        for path in stale:
            print(f"{path.relative_to(ROOT)} is not what bundled/ says: run python scripts/pack_bundled.py")
        return 1 if stale else 0
    for path, text in pack().items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        print(f"{path.relative_to(ROOT)}: {text.count(chr(10))} lines")
    return 0


if __name__ == "__main__":
    sys.exit(main())
