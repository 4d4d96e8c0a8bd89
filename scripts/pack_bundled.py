"""Pack the problems under bundled/ into the JSONL files that the package ships, in CVDP's two shapes.

    python scripts/pack_bundled.py [--check]

The directories are what people read and edit; the JSONL is what every reader of CVDP understands. `--check` writes
nothing and fails when the two differ.
"""

import difflib
import json
import sys
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
        return {**head, "system_message": system, "prompt": prompt, "context": context, "patch": patch, "harness": harness}
    return {
        **head,
        "input": {"prompt": prompt, "context": context},
        "output": {"response": "", "context": golden},
        "harness": {"files": harness},
    }


def pack() -> dict[Path, str]:
    """File -> text: one JSONL for each of the two shapes."""
    lines: dict[Path, list[str]] = {}
    for directory in sorted(path.parent for path in SOURCE.glob("*/problem.yaml")):
        packed = record(directory)
        name = "agentic.jsonl" if "patch" in packed else "single_shot.jsonl"
        lines.setdefault(PACKED / name, []).append(json.dumps(packed, ensure_ascii=False) + "\n")
    return {path: "".join(parts) for path, parts in lines.items()}


def main() -> int:
    stale = [path for path, text in pack().items() if not path.exists() or path.read_text() != text]
    if "--check" in sys.argv:
        for path in stale:
            print(f"{path.relative_to(ROOT)} is not what bundled/ says: run python scripts/pack_bundled.py")
        return 1 if stale else 0
    PACKED.mkdir(exist_ok=True)
    for path, text in pack().items():
        path.write_text(text)
        print(f"{path.relative_to(ROOT)}: {text.count(chr(10))} problems")
    return 0


if __name__ == "__main__":
    sys.exit(main())
