"""Compare ways of learning on the embedded models, one (method, seed) at a time; write a page of docs/.

    python scripts/compare_methods.py run [--study teachers] [--only GLOB] [--seeds 0 1 2] [--part 1/2] [--minutes 60]
    python scripts/compare_methods.py write [--study teachers]

The studies: `comparison` of objectives (docs/comparison.md), `teachers` by what they read and know (docs/teachers.md),
`curriculum` of the order of problems (docs/curriculum.md), `rewards` by what a design that fails earns
(docs/rewards.md). Every job is a run of its own under --runs, which a kill does not lose: the next start goes on where
it stopped. A job that has ended leaves docs/STUDY/METHOD-SEED.json and is not run again. `write` needs these files
alone.
"""

import argparse
import fnmatch
import itertools
import json
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from rich.console import Console

ROOT = Path(__file__).resolve().parent.parent
BEGIN, END = "<!-- table -->", "<!-- end of table -->"
STEPS, EVERY = 40, 10
WINDOW = 5  # steps that one point of the picture of groups without signal is the mean of
COMMON = (
    "preset=embedded",
    "problems=generated_*",  # without the families held out whole: no method passes there
    f"generated_problems={4 * STEPS}",
    "batch_size=4",
    f"max_steps={STEPS}",
    f"eval_every={EVERY}",
    "eval_problems=24",
    "save_every=10",
    "exam_problems=36",
    "exam_samples=8",
    "exam_seed=92000",  # not the demo's, whose settings these are in part
    "exam_of=after",
    "learning_rate=1e-3",
    "grad_clip_norm=1000",
    "lr_schedule=linear",
    "behavior_if_log_dir_exists=resume",
)


@dataclass(frozen=True)
class Method:
    name: str
    mode: str
    words: tuple[str, ...]
    about: str


def _distill(name: str, about: str, reverse: float, forward: float, reward: float, *more: str) -> Method:
    weights = (f"kl_penalty_coef={reverse}", f"forward_kl_coef={forward}", f"reward_coef={reward}", "prefix_trust=0")
    return Method(name, "distill", (*weights, *more), about)


DEMO = (0.1, 1.0, 0.0, "prefix_trust=0.5")
METHODS = (
    Method("reward", "rl", (), "reward only"),
    _distill("reverse", "sampled reverse KL, as the seed had it", 1.0, 0.0, 0.0),
    _distill("reverse-reward", "sampled reverse KL + reward: the seed's objective", 1.0, 0.0, 1.0),
    _distill("forward", "forward KL to the teacher's 8 likeliest tokens", 0.0, 1.0, 0.0),
    _distill("mix", "half reverse, half forward KL", 0.5, 0.5, 0.0),
    _distill("mix-reward-0.5", "reverse 0.5 + forward 0.5 + reward", 0.5, 0.5, 1.0),
    _distill("mix-reward-0.7", "reverse 0.7 + forward 0.5 + reward", 0.7, 0.5, 1.0),
    _distill("mix-reward-1.0", "reverse 1.0 + forward 0.5 + reward", 1.0, 0.5, 1.0),
    _distill("weighted", "mix, each rollout's advice weighted by its reward", 0.5, 0.5, 0.0, "reward_weighted=true"),
    _distill("demo", "forward KL + a tenth of reverse KL, less after wrong tokens", *DEMO),
    _distill("demo-wide", "the same, one answer to each of 16 problems: `make demo`", *DEMO,
             "batch_size=16", "group_size=1", f"generated_problems={16 * STEPS}"),
    Method("supervised", "supervised", ("batch_size=16",), "references, as many answers as the others sample"),
    Method("supervised-long", "supervised",
           ("batch_size=16", f"generated_problems={16 * STEPS}", f"max_steps={4 * STEPS}", f"eval_every={4 * EVERY}"),
           "references, about as much CPU as the others use"),
    _distill("base-mix", "mix + reward 0.5 from the base-style student", 0.5, 0.5, 1.0,
             "student_model=rtl-agent/student-base"),
    Method("base-reward", "rl", ("model_name=rtl-agent/student-base",), "reward only from the base-style student"),
)  # fmt: skip

_WIDE = ("batch_size=16", "group_size=1", f"generated_problems={16 * STEPS}")
_OTHER = ("teacher_model=rtl-agent/teacher-2",)
_READER = ("student_model=rtl-agent/student-reader", "teacher_model=self", "teacher_weights=start")
_REVERSE = (1.0, 0.0, 0.0, *_WIDE)
TEACHERS = (
    _distill("same", "a teacher with the student's tokenizer", *DEMO, *_WIDE),
    _distill("other", "a teacher with another tokenizer: covering split, guarded forward term", *DEMO, *_WIDE, *_OTHER),
    _distill("other-unguarded", "the same, forward term without the guard", *DEMO, *_WIDE, *_OTHER,
             "forward_kl_guard=false"),
    _distill("same-reverse", "reverse KL alone, the student's tokenizer", *_REVERSE),
    _distill("other-reverse", "reverse KL alone, another tokenizer, covering split", *_REVERSE, *_OTHER),
    _distill("other-chunk", "reverse KL alone, every token bears its whole chunk", *_REVERSE, *_OTHER,
             "kl_credit=chunk"),
    _distill("other-share", "reverse KL alone, every token bears an equal share", *_REVERSE, *_OTHER,
             "kl_credit=share"),
    Method("reward", "rl", (), "reward alone, four answers to each of four problems"),
    _distill("self-reference", "itself, told the reference", *DEMO, *_WIDE, "teacher_model=self"),
    _distill("self-feedback", "itself, told what failed", *DEMO, *_WIDE, "teacher_model=self",
             "teacher_sees=feedback"),
    _distill("reader-reference", "a student that was taught to read: itself, told the reference", *DEMO, *_WIDE,
             *_READER),
    _distill("reader-feedback", "a student that was taught to read: itself, told what failed", *DEMO, *_WIDE, *_READER,
             "teacher_sees=feedback"),
)  # fmt: skip

# Half of the problems are of longer families, which this student never solves; of the others it solves one in ten.
# One epoch, with eight answers to a problem: of four, many groups are all alike by chance.
_MIXED = (
    "problems=generated_*,long_alu,long_mux,long_sequence_detector",
    "emphasis=long_alu*4,long_mux*4,long_sequence_detector*4",
    *("group_size=8", "generated_problems=80", "max_steps=20", "eval_problems=16"),
    *("exam_problems=24", "exam_samples=4"),
)
CURRICULA = (
    Method("none", "rl", _MIXED, "every problem once in each epoch"),
    Method("easy-first", "rl", (*_MIXED, "curriculum=easy-first"), "the same, easiest first"),
    Method("pools", "rl", (*_MIXED, "curriculum=pools"), "pools of easy, normal and hard problems"),
    Method("adaptive", "rl", (*_MIXED, "curriculum=adaptive"), "those whose pass rate is nearest a half"),
)

REWARDS = (
    Method("staged", "rl", ("reward=staged",), "staged: all tests or nothing"),
    Method("graded", "rl", ("reward=graded",), "graded: the share of tests passed"),
    Method("dense", "rl", ("reward=dense",), "dense: and how far the others came"),
)


@dataclass(frozen=True)
class Study:
    """What is compared, and the page that tells it."""

    name: str
    methods: tuple[Method, ...]
    signal: bool = False  # the table also says how many groups taught nothing
    progress: bool = False  # and how many answers earned by progress in tests that they failed

    @property
    def samples(self) -> int:
        """Answers to each problem of the exam; the last word on an option counts."""
        words = (word.partition("=") for word in (*COMMON, *self.methods[0].words))
        return int([value for name, _, value in words if name == "exam_samples"][-1])

    @property
    def results(self) -> Path:
        return ROOT / "docs" / self.name

    @property
    def page(self) -> Path:
        return ROOT / "docs" / f"{self.name}.md"


STUDIES = {
    study.name: study
    for study in (
        Study("comparison", METHODS),
        Study("teachers", TEACHERS),
        Study("curriculum", CURRICULA, signal=True),
        Study("rewards", REWARDS, signal=True, progress=True),
    )
}


def results(study: Study) -> dict[tuple[str, int], dict[str, Any]]:
    """By method and seed. The very same job of another study counts: its run would end with the same numbers. Other
    files beside them are none of ours."""
    every = [json.loads(file.read_text()) for one in STUDIES.values() for file in sorted(one.results.glob("*.json"))]
    done = {(tuple(one["words"]), one["seed"]): one for one in every if one.get("common") == list(COMMON)}
    jobs = ((method, seed) for method in study.methods for seed in sorted({seed for _, seed in done}))
    found = ((method, seed, done.get(((method.mode, *method.words), seed))) for method, seed in jobs)
    return {(method.name, seed): one for method, seed, one in found if one is not None}


def run(study: Study, method: Method, seed: int, runs: Path, console: Console) -> None:
    """Train, then keep what the comparison needs."""
    from rtl_agent.training.evaluate import read
    from rtl_agent.training.parse import parse
    from rtl_agent.training.start import start

    path = runs / f"{method.name}-{seed}"
    # Of its own: no job is spared a grade because another has paid for it.
    os.environ["XDG_CACHE_HOME"] = str(runs / "cache" / path.name)
    words = [*COMMON, f"seed={seed}", f"log_path={path}", *method.words]
    start(parse(method.mode, words), console)
    lines = [json.loads(line) for line in (path / "metrics.jsonl").read_text().splitlines()]
    found = {
        "method": method.name,
        "about": method.about,
        "seed": seed,
        "words": [method.mode, *method.words],
        "common": list(COMMON),
        "curve": curve(lines),
        "signal": signal(lines),
        "beyond_tests": beyond_tests(path),
        "exam": read(path)["after"],
    }
    study.results.mkdir(exist_ok=True)
    (study.results / f"{method.name}-{seed}.json").write_text(json.dumps(found, indent=1) + "\n")


def curve(lines: list[dict[str, Any]]) -> list[dict[str, float]]:
    """The evaluations by step, with the CPU seconds and the answer tokens that were spent until then."""
    points, cpu, tokens = [], 0.0, 0.0
    for line in lines:
        if "test/env/all/pass_rate" in line:
            points.append(
                {
                    "step": line["step"],
                    "cpu": round(cpu, 1),
                    "tokens": tokens,
                    "pass": line["test/env/all/pass_rate"],
                    "reward": line["test/env/all/reward/total"],
                    **({"kl_per_byte": kl} if (kl := line.get("teacher_kl_per_byte")) is not None else {}),
                }
            )
        cpu += line.get("time/cpu", 0.0)
        tokens += line.get("env/all/total_ac_tokens", 0.0)
    return points


def signal(lines: list[dict[str, Any]]) -> dict[str, list[float]]:
    """By step, the share of groups whose rewards were all equal; and of a curriculum, what it says of its problems."""
    steps = [line for line in lines if "groups/no_signal" in line]
    names = ("groups/no_signal", *(name for name in steps[0] if name.startswith("curriculum/"))) if steps else ()
    return {name: [round(line[name], 4) for line in steps] for name in names}


def beyond_tests(path: Path) -> float:
    """The share of answers that earned by progress in tests, without one more test passed."""
    from rtl_agent.runs import read_run

    grades = (episode.get("grade") or {} for episode in read_run(path).episodes())
    found = [bool((grade.get("progress") or {}).get("beyond_tests")) for grade in grades]
    return mean(found) if found else 0.0


def passed_at(points: list[dict[str, float]], axis: str, spent: float) -> float | None:
    """The pass rate when so much was spent, by a straight line between evaluations; None if it never was."""
    for before, after in itertools.pairwise(points):
        if before[axis] <= spent <= after[axis]:
            share = (spent - before[axis]) / max(after[axis] - before[axis], 1e-9)
            return before["pass"] + share * (after["pass"] - before["pass"])
    return None


def write(study: Study) -> None:
    """The table and the pictures, from the results that are there."""
    found: dict[str, list[dict[str, Any]]] = {}
    for (name, _), one in results(study).items():
        found.setdefault(name, []).append(one)
    known = [method for method in study.methods if method.name in found]
    cpu, tokens = _least_spent(known, found)
    rows = [
        f"| method | seeds | pass@1, greedy | pass@1, T = 1 | pass@{study.samples} | "
        f"at {cpu:,.0f} CPU s | at {tokens:,.0f} sampled tokens | CPU s |"
        + (" groups without signal | in the second half |" if study.signal else "")
        + (" answers that earn without a test |" if study.progress else ""),
        "| --- " * (8 + 2 * study.signal + study.progress) + "|",
    ]
    for method in known:
        of = found[method.name]
        cells = [
            _spread([one["exam"]["test"]["greedy"]["rates"]["pass_rate"] for one in of]),
            _spread([one["exam"]["test"]["sampled"]["rates"]["pass_rate"] for one in of]),
            _spread([one["exam"]["test"]["sampled"]["pass_at_k"] for one in of]),
            _spread([passed_at(one["curve"], "cpu", cpu) for one in of]),
            _spread([None if method.mode == "supervised" else passed_at(one["curve"], "tokens", tokens) for one in of]),
            f"{mean(one['curve'][-1]['cpu'] for one in of):,.0f}",
        ]
        if study.signal:
            without = [one["signal"]["groups/no_signal"] for one in of]
            cells += [_spread([mean(steps) for steps in without]), _spread([mean(_later(steps)) for steps in without])]
        if study.progress:
            cells.append(_spread([one["beyond_tests"] for one in of]))
        rows.append(f"| {method.about} | {len(of)} | " + " | ".join(cells) + " |")
    page = study.page.read_text()
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    study.page.write_text(f"{before}{BEGIN}\n" + "\n".join(rows) + f"\n{END}{after}")
    for axis, label in (("cpu", "CPU seconds of training"), ("tokens", "sampled tokens")):
        _draw(study, known, found, axis, label)
    if study.signal:
        _draw_signal(study, known, found)


def _later(steps: list[float]) -> list[float]:
    return steps[len(steps) // 2 :]


def _least_spent(known: list[Method], found: dict[str, list[dict[str, Any]]]) -> tuple[float, float]:
    """What every job spent at least: CPU seconds, and sampled tokens. `supervised` is far shorter and samples none."""
    ends = [one["curve"][-1] for method in known if method.name != "supervised" for one in found[method.name]]
    sampled = [end["tokens"] for end in ends if end["tokens"]]
    return min((end["cpu"] for end in ends), default=0.0), min(sampled, default=0.0)


def _spread(found: list[float | None]) -> str:
    """Mean and standard deviation of what was reached."""
    values = [value for value in found if value is not None]
    if not values:
        return "-"
    spread = f" ± {100 * stdev(values):.1f}" if len(values) > 1 else ""
    return f"{100 * mean(values):.1f}{spread} %"


def _draw(study: Study, known: list[Method], found: dict[str, list[dict[str, Any]]], axis: str, label: str) -> None:
    """Mean curve of every method; its seeds as thin lines."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 5), layout="constrained")
    axes = figure.add_subplot()
    for number, method in enumerate(known):
        if axis == "tokens" and method.mode == "supervised":
            continue
        curves = [one["curve"] for one in found[method.name]]
        colour, style = f"C{number % 10}", "-" if number < 10 else "--"
        for points in curves:
            axes.plot([p[axis] for p in points], [100 * p["pass"] for p in points], color=colour, alpha=0.2, lw=0.8)
        length = min(map(len, curves))
        axes.plot(
            [mean(points[at][axis] for points in curves) for at in range(length)],
            [100 * mean(points[at]["pass"] for points in curves) for at in range(length)],
            color=colour, linestyle=style, label=method.name,
        )  # fmt: skip
    axes.set(xlabel=label, ylabel="held-out pass rate, %", ylim=(0, 100))
    axes.grid(alpha=0.3)
    figure.legend(loc="outside right center")
    figure.savefig(study.results / f"by_{axis}.png", dpi=110)


def _draw_signal(study: Study, known: list[Method], found: dict[str, list[dict[str, Any]]]) -> None:
    """The share of groups without signal, the mean of all seeds over each WINDOW steps."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 4), layout="constrained")
    axes = figure.add_subplot()
    for number, method in enumerate(known):
        by_step = [
            mean(of) for of in zip(*(one["signal"]["groups/no_signal"] for one in found[method.name]), strict=True)
        ]
        windows = [by_step[at : at + WINDOW] for at in range(0, len(by_step), WINDOW)]
        ends = [min(at + WINDOW, len(by_step)) for at in range(0, len(by_step), WINDOW)]
        axes.plot(ends, [100 * mean(of) for of in windows], color=f"C{number % 10}", marker="o", label=method.name)
    axes.set(xlabel="step", ylabel=f"groups without signal, % of {WINDOW} steps", ylim=(0, 100))
    axes.grid(alpha=0.3)
    figure.legend(loc="outside right center")
    figure.savefig(study.results / "signal.png", dpi=110)


def _part(text: str) -> tuple[int, int]:
    part, _, parts = text.partition("/")
    if not (part.isdecimal() and parts.isdecimal() and 1 <= int(part) <= int(parts)):
        raise argparse.ArgumentTypeError(f"{text!r} is no PART/PARTS, such as 2/3")
    return int(part), int(parts)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("run", "write", "list"))
    parser.add_argument("--study", choices=STUDIES, default="comparison")
    parser.add_argument("--only", default="*", help="methods by name or glob")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument(
        "--part", type=_part, default="1/1", help="2/3: of every three jobs the second, for processes side by side"
    )
    parser.add_argument("--minutes", type=float, default=float("inf"), help="start no job after so long")
    parser.add_argument("--runs", type=Path, help="directory of the runs (default: runs/STUDY)")
    options = parser.parse_args()
    study = STUDIES[options.study]
    runs = options.runs or ROOT / "runs" / study.name
    console = Console(stderr=True)
    began = time.monotonic()
    jobs = [
        (method, seed)
        for seed in options.seeds
        for method in study.methods
        if fnmatch.fnmatch(method.name, options.only)
    ]
    part, parts = options.part
    jobs = jobs[part - 1 :: parts]
    for number, (method, seed) in enumerate(jobs, 1):
        done = (method.name, seed) in results(study)
        if options.what == "list":
            print(f"{method.name:16} seed {seed}  {'done' if done else 'to do'}  {method.about}")
        elif options.what == "run" and not done and time.monotonic() - began < 60 * options.minutes:
            console.rule(f"{number} of {len(jobs)}: {method.name}, seed {seed}")
            run(study, method, seed, runs, console)
    if options.what == "write":
        write(study)
    return 0


if __name__ == "__main__":
    sys.exit(main())
