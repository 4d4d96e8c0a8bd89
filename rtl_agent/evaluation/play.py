"""One episode to be watched, and kept as a rollout."""

import re
import time
from pathlib import Path

from rtl_agent.backends.watch import while_alive
from rtl_agent.envs.episode import EpisodeFailed
from rtl_agent.runs.episode import Episode
from rtl_agent.evaluation.errors import EvaluationError
from rtl_agent.evaluation.evaluate import Options, opened
from rtl_agent.evaluation.models import ModelSpec
from rtl_agent.evaluation.players import Watcher
from rtl_agent.evaluation.settings import Settings
from rtl_agent.problems import Problem
from rtl_agent.runs.files import append_line, cannot, to_line
from rtl_agent.training.seeds import seed_of


async def play(
    spec: ModelSpec, problem: Problem, options: Options, source: str, watcher: Watcher, out: Path | None = None
) -> tuple[Episode, Path]:
    """The episode, and the JSONL it was added to. The first sample of an evaluation with these options is the same."""
    async with opened(spec, options, source, [problem]) as table:
        work = table.player.play(problem, seed_of(options.seed, problem.id, 0), watcher)
        try:
            played = await while_alive(table.check, work)
        except EpisodeFailed as failure:
            raise EvaluationError(f"the episode came to no end that can be judged: {failure}") from failure
        path = out or _default_out(table.settings, problem)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise cannot("write", path, error) from error
        append_line(path, to_line(played.episode.to_json()))
    return played.episode, path


def _default_out(settings: Settings, problem: Problem) -> Path:
    model = re.sub(r"[^A-Za-z0-9.@]+", "-", settings.model).strip("-")
    return Path("plays") / f"{problem.id}-{model[:60]}-{settings.env}-{time.strftime('%Y%m%d-%H%M%S')}.jsonl"
