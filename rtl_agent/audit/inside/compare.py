"""Simulate designs beside a right one on the same stimuli, or have Yosys prove them equal. Runs inside a box.

Reads a job as JSON from stdin, writes a verdict for each design as JSON to stdout.
"""

import contextlib
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path("/code")


PATIENCE = 20  # times the CPU seconds: what a busy machine may take for them


def run(argv: list[str], cwd: Path, seconds: float) -> int | None:
    """The exit code; None where so many seconds of CPU were not enough. A verdict must not depend on how busy the
    machine is: the clock on the wall ends only what does not compute."""

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), int(seconds) + 1))

    with (cwd / "said.txt").open("wb") as said:
        process = subprocess.Popen(argv, cwd=cwd, stdout=said, stderr=said, start_new_session=True, preexec_fn=limited)
        try:
            code = process.wait(PATIENCE * seconds)
            return None if code in (-signal.SIGXCPU, -signal.SIGKILL) else code
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return None


def write(folder: Path, files: dict[str, str]) -> list[str]:
    """Relative paths of what is compiled; headers are found by `include."""
    for path, text in files.items():
        to = folder / path
        to.parent.mkdir(parents=True, exist_ok=True)
        to.write_text(text, errors="replace")
    return [path for path in files if path.endswith((".sv", ".v"))]


def traced(folder: Path, files: dict[str, str], bench: str, seconds: float) -> str:
    """Simulate into trace.txt: done, broken, or hangs."""
    sources = write(folder, {**files, "audit_bench.v": bench})
    includes = sorted({f"-I{Path(path).parent}" for path in files})
    compiled = run(["iverilog", "-g2012", "-s", "audit_bench", *includes, "-o", "out.vvp", *sources], folder, 10)
    if compiled != 0:
        return "broken"
    ended = run(["vvp", "-n", "out.vvp"], folder, seconds)
    if ended is None:
        return "hangs"
    return "done" if ended == 0 and (folder / "trace.txt").exists() else "broken"


def differs(reference: Path, other: Path) -> bool:
    """Where the right design says 0 or 1, the other must say the same; elsewhere it may say anything."""
    with reference.open() as right, other.open() as wrong:
        for line, said in zip(right, wrong, strict=False):
            if line != said and any(a != b for a, b in zip(line, said, strict=False) if a in "01"):
                return True
    return reference.stat().st_size != other.stat().st_size


def simulate(job: dict[str, Any]) -> list[str]:
    """For each design: differs, hangs, broken, or same. A bench that the right design does not stand is left out."""
    verdicts = ["same"] * len(job["designs"])
    stood = 0
    for bench in job["benches"]:
        right = ROOT / "right"
        shutil.rmtree(right, ignore_errors=True)
        right.mkdir()
        if traced(right, job["right"], bench, 4 * job["seconds"]) != "done":
            continue
        stood += 1
        for at, files in enumerate(job["designs"]):
            if verdicts[at] != "same":
                continue
            folder = ROOT / "other"
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            found = traced(folder, files, bench, job["seconds"])
            if found != "done":
                verdicts[at] = found
            elif differs(right / "trace.txt", folder / "trace.txt"):
                verdicts[at] = "differs"
    return verdicts if stood else ["unknown"] * len(job["designs"])


def read_script(paths: list[str], top: str, parameters: dict[str, str]) -> str:
    sets = "".join(f" -chparam {name} {value}" for name, value in parameters.items())
    return (
        f"read_verilog -sv {' '.join(paths)}\nhierarchy -check -top {top}{sets}\nproc\nflatten\nopt_clean\n"
        "memory -nomap\nmemory_map\nasync2sync\nopt_clean\n"
    )


def prove(job: dict[str, Any]) -> list[str]:
    """For each design: proved, or unknown. `tops` are [module, parameters, watch]; each must be proved."""
    verdicts = []
    for number, files in enumerate(job["designs"]):
        folder = ROOT / f"prove{number}"
        folder.mkdir(parents=True)
        right = [f"right/{path}" for path in write(folder / "right", job["right"])]
        other = [f"other/{path}" for path in write(folder / "other", files)]
        verdicts.append(
            "proved"
            if all(
                proved_by_registers(folder, right, other, top, sets, job["seconds"])
                or (watch and proved_by_reachable_states(folder, right, other, top, sets, watch, job["seconds"]))
                for top, sets, watch in job["tops"]
            )
            else "unknown"
        )
    return verdicts


def proved_by_registers(
    folder: Path, right: list[str], other: list[str], top: str, sets: dict[str, str], seconds: float
) -> bool:
    """By registers of the same names, then by induction. Both have the same clocks and asynchronous events."""
    script = (
        f"{read_script(right, top, sets)}rename -top gold\ndesign -stash gold\n"
        f"{read_script(other, top, sets)}rename -top gate\ndesign -stash gate\n"
        "design -copy-from gold -as gold gold\ndesign -copy-from gate -as gate gate\n"
        "equiv_make gold gate equiv\nhierarchy -top equiv\nopt -share_all\n"
        "equiv_struct\nequiv_simple -seq 3\nequiv_induct -seq 5\nequiv_status -assert\n"
    )
    (folder / "prove.ys").write_text(script)
    return run(["yosys", "-q", "-s", "prove.ys"], folder, seconds) == 0


def proved_by_reachable_states(
    folder: Path, right: list[str], other: list[str], top: str, sets: dict[str, str], watch: str, seconds: float
) -> bool:
    """By ABC's property-directed reachability: from any state, once the reset was on, no output ever differs.

    `watch` is the module that says so. Registers with another clock, and latches, are free to be anything on either
    side, as is what is x: 0 in the right design, 1 in the other. Merging what is always equal (`scorr`) comes first:
    without it a register that differs until it is loaded took more than 30 s instead of 0.7 s.
    """
    (folder / "watch.v").write_text(watch)
    script = (
        f"{read_script(right, top, sets)}setundef -zero\nrename -top gold\ndesign -stash gold\n"
        f"{read_script(other, top, sets)}setundef -one\nrename -top gate\ndesign -stash gate\n"
        "design -copy-from gold -as gold gold\ndesign -copy-from gate -as gate gate\n"
        "miter -equiv -flatten gold gate audit_both\nread_verilog watch.v\nhierarchy -top audit_watch\n"
        "proc\nflatten\nopt -full\ntechmap\nopt -fast\ndfflegalize -cell $_DFF_P_ 01\ntechmap\nopt_clean\n"
        f"abc -dff -clk audit_tick -script +strash;logic;undc;strash;dc2;scorr;dc2;pdr,-T,{int(seconds)};strash\n"
    )
    (folder / "reach.ys").write_text(script)
    run(["yosys", "-q", "-l", "reach.log", "-s", "reach.ys"], folder, 2 * seconds)
    log = folder / "reach.log"
    return log.exists() and log.read_text(errors="replace").count("Property proved") == 1


def main() -> None:
    job = json.load(sys.stdin)
    verdicts = simulate(job) if job["what"] == "simulate" else prove(job)
    json.dump(verdicts, sys.stdout)


if __name__ == "__main__":
    main()
