"""A real code model before and after it is taught on this machine; `make real`. Results go to docs/real-model/.

    python scripts/real_model.py run [--only GLOB] [--minutes 60] [--steps 2] [--out FOLDER]
    python scripts/real_model.py list
    python scripts/real_model.py ship METHOD         (its adapter in bfloat16, into the repository)
    python scripts/real_model_page.py        (tables, curves and answers into docs/real-model.md)

Jobs, in their order: the model is fetched; it is evaluated; it is trained by each method, and evaluated after each.
Every job can be killed at any moment and goes on with the next start; --minutes stops a job in order (a run saves a
checkpoint). What an evaluation found is kept as docs/real-model/WHO-SET.json: counts and verdicts, no texts of
problems. A training whose result is there and whose run is not is not repeated: its shipped adapter is evaluated.
--steps makes a short try of everything, with a few problems of each set, in FOLDER alone.
"""

import argparse
import fnmatch
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "docs" / "real-model"
NAME, MODEL = "qwen2.5-coder-1.5b-instruct", "Qwen/Qwen2.5-Coder-1.5B-Instruct"
ADAPTER = "rtl-agent/qwen2.5-coder-1.5b-rtl"
CVDP = "cvdp_v1.0.2_nonagentic_code_generation_no_commercial.jsonl"
CVDP_PROBLEMS = 30
INTERRUPTED = 130


@dataclass(frozen=True)
class ProblemSet:
    """What is asked, and how: `words` are options of `rtl-agent eval`."""

    name: str
    about: str
    source: str
    words: tuple[str, ...]
    short: tuple[str, ...]  # for a short try
    needs_cvdp: bool = False


# Greedy, and at temperature 1 with 8 samples. The instances are those of every evaluation (seed 90000 and so on are for
# choosing settings).
SETS = (
    ProblemSet("trained", "unseen instances of the 12 trained families", "generated:count=72", (), ("--limit", "2")),
    ProblemSet("new", "the 4 families held out whole", "generated:new,count=32", (), ("--limit", "2")),
    ProblemSet("bundled", "the bundled single-shot problems", "bundled", ("--max-tokens", "900"), ("--limit", "1")),
    ProblemSet("cvdp", "easy CVDP problems, cid002 and cid003", CVDP, ("--max-tokens", "900"), ("--limit", "1"), True),
    ProblemSet("trained-8", "the first 24 of the trained, 8 samples at T = 1", "generated:count=24", ("-n", "8"),
               ("--limit", "1")),
    ProblemSet("new-8", "the first 8 of the new, 8 samples at T = 1", "generated:new,count=8", ("-n", "8"),
               ("--limit", "1")),
)  # fmt: skip


@dataclass(frozen=True)
class Method:
    name: str
    about: str
    mode: str
    words: tuple[str, ...]
    steps: int


COMMON = (
    f"model_name={MODEL}",
    "cvdp_jsonl_path=generated",
    "generated_problems=2400",
    "max_tokens=176",  # a reference has 36 to 155; what goes on for longer teaches little, and all others wait for it
    *("lora_rank=8", "train_unembed=false"),  # an adapter of 18 MB in bfloat16
    "lr_schedule=linear",
    "grad_clip_norm=1",
    "eval_every=0",
    "save_every=1",
    "behavior_if_log_dir_exists=resume",
)
_SELF = (
    *("teacher_model=self", "teacher_sees=reference", "teacher_weights=start"),
    *("forward_kl_coef=1", "preflight_problems=0"),
)
# Rows that decode together read the weights together: 32 cost little more than 8 (scripts/measure_linear.py). Four
# answers to a problem: what the sampler, the teacher and the trainer read before an answer is three times as long as
# the answer, and is computed once for all four. Four optimizer steps to a batch of answers, and answers nearer to the
# greedy ones, which soft targets allow: the terms that ask for fresh answers at temperature 1 are off.
_LARGE = (
    *("kl_penalty_coef=0", "reward_coef=0", "prefix_trust=1"),
    *("batch_size=8", "group_size=4", "num_substeps=4"),
    *("temperature=0.7", "learning_rate=3e-4"),
)
METHODS = (
    Method("supervised", "the references themselves", "supervised",
           ("batch_size=16", "group_size=1", "num_substeps=2", "learning_rate=8e-4", "warmup_steps=1"), 20),
    Method("self", "itself, told the reference", "distill",
           (*_SELF, *_LARGE), 16),
    Method("reward", "the graded reward, 8 answers to a problem", "rl",
           ("reward=graded", "batch_size=2", "group_size=8", "learning_rate=5e-4"), 10),
    Method("both", "both", "distill",
           (*_SELF, "kl_penalty_coef=0.1", "prefix_trust=0.3", "one_pass=true", "reward=graded", "batch_size=2",
            "group_size=8", "learning_rate=5e-4"), 10),
)  # fmt: skip


@dataclass(frozen=True)
class Job:
    """`command` are the words after `rtl-agent`; it is done when `result` is there."""

    name: str
    command: tuple[str, ...]
    result: Path
    cvdp: bool = False
    run: Path = Path()  # of a training


@dataclass(frozen=True)
class Place:
    """Where runs and results are. A short try has steps, and leaves docs/ alone."""

    runs: Path
    results: Path
    steps: int = 0

    def jobs(self) -> Iterator[Job]:
        yield Job("fetch", ("models", "fetch", NAME), self.runs / "fetched")
        yield from self._evaluations("before", MODEL)
        for method in METHODS:
            run = self.runs / method.name
            words = [*COMMON, *method.words, f"log_path={run}", f"max_steps={self.steps or method.steps}"]
            if self.steps:
                words = _short(words)
            yield Job(
                f"train-{method.name}",
                ("train", method.mode, *words),
                self.results / f"train-{method.name}.json",
                run=run,
            )
            yield from self._evaluations(method.name, self._taught(method.name, run))

    def _taught(self, method: str, run: Path) -> str:
        """The run, or in a checkout that has its result alone the adapter that was made of it."""
        result = self.results / f"train-{method}.json"
        if run.exists() or not result.is_file():
            return str(run)
        return str(json.loads(result.read_text()).get("adapter") or run)

    def _evaluations(self, who: str, model: str) -> Iterator[Job]:
        for one in SETS:
            source = str(Path(os.environ.get("RTL_AGENT_CVDP", "")) / one.source) if one.needs_cvdp else one.source
            words = ["eval", source, "--model", model, *one.words, *(one.short if self.steps else ())]
            if "--max-tokens" not in words:
                words += ["--max-tokens", "384"]
            if one.needs_cvdp and os.environ.get("RTL_AGENT_CVDP") and not self.steps:
                words += [word for name in cvdp_ids() for word in ("--id", name)]
            out = self.runs / "evals" / f"{who}-{one.name}.json"
            yield Job(
                f"{who}-{one.name}",
                (*words, "--out", str(out)),
                self.results / f"{who}-{one.name}.json",
                one.needs_cvdp,
            )


def _short(words: list[str]) -> list[str]:
    """One problem in a step, and groups of two where there are groups."""
    small = {"batch_size": "1", "num_substeps": "1"}
    options = dict(word.split("=", 1) for word in words)
    small |= {"group_size": "2"} if options["group_size"] != "1" else {}
    return [f"{name}={value}" for name, value in (options | small).items()]


def ship(run: Path, result: Path) -> None:
    """The last checkpoint's adapter in bfloat16: half of float32, and what is computed with anyway."""
    import torch
    from safetensors.torch import load_file, save_file

    from rtl_agent.backends.adapters import WEIGHTS
    from rtl_agent.backends.models.registry import SHIPPED
    from rtl_agent.backends.server.checkpoint_store import CheckpointStore, parse
    from rtl_agent.runs import read_run

    checkpoint = read_run(run).checkpoints[-1]
    folder = CheckpointStore(run / "checkpoints").directory(parse(checkpoint.sampler_path or ""))
    target = SHIPPED / ADAPTER.partition("/")[2]
    target.mkdir(exist_ok=True)
    weights = load_file(folder / WEIGHTS)
    save_file({key: value.to(torch.bfloat16) for key, value in weights.items()}, target / WEIGHTS)
    for file in ("adapter_config.json", "checkpoint.json"):
        (target / file).write_text(json.dumps(json.loads((folder / file).read_text()), indent=2) + "\n")
    _write(result, json.loads(result.read_text()) | {"adapter": ADAPTER, "adapter_step": checkpoint.step})
    print(f"{ADAPTER}: step {checkpoint.step}, {(target / WEIGHTS).stat().st_size / 1e6:.1f} MB in {target}")


def cvdp_ids() -> list[str]:
    """The 30 shortest of the easy problems of both categories, written down once."""
    file = RESULTS / "cvdp_ids.json"
    if not file.is_file():
        from rtl_agent.problems import load_problems

        every = load_problems(str(Path(os.environ["RTL_AGENT_CVDP"]) / CVDP))
        easy = [one for one in every if one.difficulty == "easy" and one.category in ("cid002", "cid003")]
        easy.sort(key=lambda one: len(one.prompt) + sum(map(len, one.context.values())))
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(sorted(one.id for one in easy[:CVDP_PROBLEMS]), indent=1) + "\n")
    return list(json.loads(file.read_text()))


def run(job: Job, until: float) -> bool:
    """Whether it came to its end. Stopped in order at `until`: what it has done is kept by the command itself."""
    print(f"--- {job.name}", flush=True)
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # in the background of a script: the job would ignore it too
        signal.signal(signal.SIGINT, signal.default_int_handler)
    process = subprocess.Popen([sys.executable, "-m", "rtl_agent.cli.main", *job.command])
    try:
        code = process.wait(timeout=max(1.0, until - time.monotonic()) if until < float("inf") else None)
    except (subprocess.TimeoutExpired, KeyboardInterrupt):
        process.send_signal(signal.SIGINT)
        process.wait()
        return False
    if code not in (0, INTERRUPTED):
        sys.exit(f"{job.name} ended with exit code {code}; mend what it says and start again")
    return code == 0


def keep(job: Job) -> None:
    """What a job leaves in its `result`; of the generated problems, which are ours, some answers as well."""
    job.result.parent.mkdir(parents=True, exist_ok=True)
    if job.command[0] == "eval":
        evaluation = Path(job.command[-1])
        _write(job.result, digest(evaluation))
        if job.result.stem.endswith("-trained"):
            _write(job.result.with_name(job.result.stem.replace("-trained", "-answers.json")), answers(evaluation))
    elif job.command[0] == "models":
        job.result.write_text("")
    else:
        _write(job.result, curve(job.run))


def _write(file: Path, found: object) -> None:
    """Whole or not at all: a job whose result is there is not run again."""
    unfinished = file.with_suffix(".part")
    unfinished.write_text(json.dumps(found, indent=1) + "\n")
    unfinished.replace(file)


def curve(run: Path) -> dict[str, Any]:
    """What a training cost, and how it went."""
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    names = {"reward": "env/all/reward/total", "passed": "env/all/tests_passed", "teacher_kl": "teacher_kl"}
    names |= {"loss": "loss/imitation"}
    points = [
        {"step": number, **{name: line.get(metric) for name, metric in names.items()}, **_spent(line)}
        for number, line in enumerate(lines, 1)
    ]
    total = [line.get("cost/tokens_trained_on") or 0 for line in lines]  # of the run so far
    for point, now, before in zip(points, total, [0, *total], strict=False):
        point["trained"] = now - before
    return {"curve": points}


def _spent(line: dict[str, Any]) -> dict[str, float]:
    names = {"seconds": "time/total", "cpu": "time/cpu", "answers": "env/all/total_episodes"}
    names |= {"tokens": "env/all/total_ac_tokens"}
    return {name: line.get(metric) or 0 for name, metric in names.items()}


def answers(evaluation: Path) -> dict[str, dict[str, str]]:
    """By problem: what was asked, what was written, and what the grader said, of one in six."""
    from rtl_agent.evaluation.samples import EvaluationSample

    lines = evaluation.with_suffix(".jsonl").read_text().splitlines()[1:]
    kept = {}
    for line in sorted(lines, key=lambda line: str(json.loads(line)["episode"]["problem_id"]))[::6]:
        episode = EvaluationSample.from_json(json.loads(line)).episode
        asked = next(message.content for message in reversed(episode.messages) if message.role == "user")
        grade = episode.grade
        kept[episode.problem_id] = {
            "asked": asked,
            "text": episode.text,
            "outcome": str(grade.outcome) if grade else "error",
            "reason": grade.reasons[0] if grade and grade.reasons else "",
        }
    return kept


def digest(evaluation: Path) -> dict[str, Any]:
    """Counts and verdicts of an evaluation, with mistakes by kind; no texts."""
    from rtl_agent.evaluation.mistakes import Judged, count, mistakes
    from rtl_agent.evaluation.samples import EvaluationSample
    from rtl_agent.grading import SyncGrader
    from rtl_agent.problems import load_problems
    from rtl_agent.problems.generate import HELD_OUT_WHOLE, TRAINED, identifier, instances
    from rtl_agent.problems.sources import TEST_SEED

    found = json.loads(evaluation.read_text())
    source = found["settings"]["problems"]
    problems = {one.id: one for one in load_problems(source)}
    families = HELD_OUT_WHOLE if "new" in source else TRAINED
    drawn = instances(TEST_SEED, len(problems), families=families, split="held-out") if "generated" in source else []
    by_id = {identifier(one): one for one in drawn}
    lines = evaluation.with_suffix(".jsonl").read_text().splitlines()[1:]
    samples = [EvaluationSample.from_json(json.loads(line)) for line in lines]
    with SyncGrader(jobs=2) as grader:
        judged = [
            Judged(
                problems[one.episode.problem_id], one.episode.text, one.episode.grade, by_id.get(one.episode.problem_id)
            )
            for one in samples
            if one.episode.grade is not None
        ]
        kinds = count(mistakes(judged, grader))
    kept = ("summary", "by", "samples_each", "k", "problems", "errors", "tokens", "seconds", "settings", "versions")
    told = {name: found[name] for name in kept}
    told["settings"] = {**found["settings"], "problems": Path(source).name}  # a file's place is this machine's
    return {**told, "mistakes": {str(kind): number for kind, number in kinds.items()}}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("run", "list", "ship"))
    parser.add_argument("method", nargs="?", default="self", help="of ship")
    parser.add_argument("--only", default="*", help="jobs by name or glob: before-*, train-self")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="stop in order after so long")
    parser.add_argument("--steps", type=int, default=0, help="a short try: so many steps, a few problems")
    parser.add_argument("--out", type=Path, help="folder of runs (default: runs/real, a short try runs/real-short)")
    options = parser.parse_args(arguments)
    runs = options.out or ROOT / "runs" / ("real-short" if options.steps else "real")
    place = Place(runs, runs / "results" if options.steps else RESULTS, options.steps)
    if options.what == "ship":
        ship(place.runs / options.method, place.results / f"train-{options.method}.json")
        return 0
    until = time.monotonic() + 60 * options.minutes
    for job in place.jobs():
        if not fnmatch.fnmatch(job.name, options.only):
            continue
        if job.cvdp and not os.environ.get("RTL_AGENT_CVDP"):
            print(f"{job.name}: left out, RTL_AGENT_CVDP does not name the folder of CVDP's files")
        elif options.what == "list":
            print(f"{job.name:20} {'done' if job.result.exists() else 'to do'}")
        elif not job.result.exists():
            if not run(job, until):
                print(f"stopped in {job.name}; the same command goes on there")
                return 0
            keep(job)
    return 0


if __name__ == "__main__":
    sys.exit(main())
