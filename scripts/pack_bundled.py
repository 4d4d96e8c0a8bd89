"""Pack the problems under bundled/ into the JSONL files that the package ships, in CVDP's two shapes.

    python scripts/pack_bundled.py [--check]

The directories are what people read and edit; the JSONL is what every reader of CVDP understands. `--check` writes
nothing and fails when the two differ.
"""

import json
import sys
from pathlib import Path
from typing import Any

from rtl_agent.problems import Kind, as_record, read_near_misses
from rtl_agent.problems.directories import read_directories

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "bundled"
PACKED = ROOT / "rtl_agent" / "problems" / "data"


def pack() -> dict[Path, str]:
    """File -> text: one JSONL for each of the two shapes, and one of the wrong designs."""
    lines: dict[Path, list[str]] = {}
    for problem in read_directories(SOURCE):
        name = "agentic.jsonl" if problem.kind is Kind.AGENTIC else "single_shot.jsonl"
        lines.setdefault(PACKED / name, []).append(as_line(as_record(problem)))
        for miss in read_near_misses(problem):
            packed = {"id": miss.problem_id, "name": miss.name, "wrong": miss.wrong, "files": dict(miss.files)}
            lines.setdefault(PACKED / "near_misses" / "near_misses.jsonl", []).append(as_line(packed))
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
