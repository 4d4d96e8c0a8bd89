"""Random mutations of true records and replies, for a given time: extract and the reader must not raise, nor take long.

    python scripts/fuzz.py --seconds 60 --seed 1

Prints how many were tried and each new way to fail, by exception and place, with the shortest input that shows it.
"""

import argparse
import json
import random
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path

from rtl_agent.grading.extract import extract
from rtl_agent.grading.submission import Extraction
from rtl_agent.problems import BadRecord, NoSuchProblems, Problem, load_problems, read_problems
from rtl_agent.problems.sources import bundled_path

SLOW_SECONDS = 2.0
MOST_BYTES = 60_000
PIECES = [
    *(b"```", b"```verilog\n", b"~~~\n", b"<think>", b"</think>", b'{"code": [{', b"}]}", b"\\ud800", b"\\u0000"),
    *(b"\0", b"\xff", b"\r\n", b"\n" * 50, b"[" * 50, b'"', b"\\", b"1" * 4400, b"null", b"{}", b"[]", b"-1e999"),
    *(b"endmodule```", b"````", b"> ", b"<answer>", b"</answer>", b"### rtl/a.sv\n", b"// File: rtl/a.sv\n", b"&lt;="),
    *(b'{"response": "', b"/*", b"*/", b"\xc2\xa0", b"\xef\xbb\xbf", b"```{.verilog}\n", b"package p;"),
    *(b"module m;", b"endmodule\n", b"..", b"/", b"2001-99-99", b"&a [*a]", b"!!python/object:os.system", b"\t", b": "),
]


def mutate(data: bytes, others: list[bytes], chance: random.Random) -> bytes:
    """A few changes: bytes, pieces that mean something, parts lost, doubled or taken from another seed."""
    for _ in range(chance.choice((1, 1, 2, 3, 8))):
        at, to = sorted(chance.randrange(len(data) + 1) for _ in range(2))
        to = min(to, at + chance.choice((1, 4, 100, MOST_BYTES)))
        match chance.randrange(6):
            case 0:
                data = data[:at] + bytes([chance.randrange(256)]) + data[at + 1 :]
            case 1:
                data = data[:at] + chance.choice(PIECES) + data[at:]
            case 2:
                data = data[:at] + data[to:]
            case 3:
                data = data[:to] + data[at:to] * chance.choice((1, 2, 30)) + data[to:]
            case 4:
                other = chance.choice(others)
                start = chance.randrange(len(other) + 1)
                data = data[:at] + other[start : start + chance.choice((10, 1000))] + data[to:]
            case 5:
                data = data[:at] + chance.choice(PIECES) + data[to:]
        data = data[:MOST_BYTES]
    return data


def reply_seeds(problems: list[Problem]) -> list[bytes]:
    seeds = []
    for problem in problems:
        files = dict(problem.reference or {})
        seeds.append(json.dumps({"code": [{path: text} for path, text in files.items()]}).encode())
        seeds += [f"<think>Well.</think>Here:\n```verilog\n{text}```\nDone.\n".encode() for text in files.values()]
        seeds += [text.encode() for text in files.values()]
        seeds.append("".join(f"### {path}\n```verilog\n{text}```\n" for path, text in files.items()).encode())
        seeds.append(json.dumps({"response": "\n".join(files.values())}).encode())
        seeds.append(("<answer>\n" + "".join(f"> // File: {path}\n> {text}" for path, text in files.items())).encode())
    return seeds


def try_reply(problems: list[Problem], data: bytes, chance: random.Random) -> None:
    problem = chance.choice(problems)
    found = extract(problem, data.decode(errors="surrogateescape"), chance.choice(list(Extraction)))
    if not set(found.files) <= set(problem.targets):
        raise AssertionError("a file that is no target was taken")


def try_record(file: Path, data: bytes) -> None:
    file.write_bytes(data)
    try:
        read_problems(file, skip_bad=len(data) % 2 == 0)
    except (BadRecord, NoSuchProblems):
        return


def mutate_record(lines: list[bytes], chance: random.Random) -> bytes:
    """The line itself, or with more effect: one of the short texts in it, the compose file most often."""
    line = chance.choice(lines)
    if chance.random() < 0.3:
        return mutate(line, lines, chance)
    record = json.loads(line)
    harness = record["harness"].get("files", record["harness"])
    for path in [path for path in harness if path.endswith(".py")]:
        harness[path] = harness[path][:200]  # long, and only searched for a few words
    owner = chance.choice((harness, harness, record.get("input", record), record.get("output", record), record))
    texts = [key for key, value in owner.items() if isinstance(value, str) and value]
    key = "docker-compose.yml" if owner is harness and chance.random() < 0.6 else chance.choice(texts or ["id"])
    text = str(owner.get(key, "x")).encode()
    owner[key] = mutate(text, [text, *PIECES], chance).decode(errors="surrogateescape")
    return json.dumps(record).encode()


class Findings:
    """One for each exception and place; the shortest input is kept."""

    def __init__(self) -> None:
        self.shortest: dict[str, bytes] = {}
        self.counts: dict[str, int] = {}

    def run(self, name: str, call: Callable[[], None], data: bytes) -> None:
        started = time.perf_counter()
        try:
            call()
        except Exception as error:
            frames = [f for f in traceback.extract_tb(error.__traceback__) if "rtl_agent" in f.filename]
            place = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "?"
            self._note(f"{name}: {type(error).__name__} at {place}", data)
        if (spent := time.perf_counter() - started) > SLOW_SECONDS:
            self._note(f"{name}: slower than {SLOW_SECONDS:g} s", data)
            print(f"{name}: {spent:.1f} s for {len(data)} bytes", flush=True)

    def _note(self, what: str, data: bytes) -> None:
        self.counts[what] = self.counts.get(what, 0) + 1
        if what not in self.shortest or len(data) < len(self.shortest[what]):
            self.shortest[what] = data


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, help="write the shortest input of each finding to this folder")
    options = parser.parse_args()
    chance = random.Random(options.seed)
    problems = load_problems("bundled")
    replies = reply_seeds(problems)
    records = [line for file in sorted(bundled_path().glob("*.jsonl")) for line in file.read_bytes().splitlines()]
    findings, tried = Findings(), {"extract": 0, "reader": 0}
    end = time.monotonic() + options.seconds
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "mutated.jsonl"
        while time.monotonic() < end:
            data = mutate(chance.choice(replies), replies, chance)
            findings.run("extract", lambda data=data: try_reply(problems, data, chance), data)
            record = mutate_record(records, chance)
            findings.run("reader", lambda record=record: try_record(file, record), record)
            tried["extract"] += 1
            tried["reader"] += 1
    print(", ".join(f"{count} inputs to {name}" for name, count in tried.items()))
    for number, (what, data) in enumerate(sorted(findings.shortest.items())):
        print(f"{what}: {findings.counts[what]} times, shortest {len(data)} bytes: {data[:100]!r}")
        if options.keep:
            options.keep.mkdir(parents=True, exist_ok=True)
            (options.keep / f"finding_{number}").write_bytes(data)
    return 1 if findings.shortest else 0


if __name__ == "__main__":
    raise SystemExit(main())
