"""`rtl_agent.evaluate`: an evaluation as one call, for programs and notebooks."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from rtl_agent.evaluation.evaluate import EvaluationOptions, problem_set
from rtl_agent.evaluation.evaluate import evaluate as run
from rtl_agent.evaluation.models import ModelSpec, episode_config
from rtl_agent.evaluation.result import EvaluationResult
from rtl_agent.grading.executors import LOCAL
from rtl_agent.problems import Selection

__all__ = ["EvaluationResult", "evaluate"]


def evaluate(
    problems: str,
    model: str,
    *,
    samples: int = 1,
    k: tuple[int, ...] = (),
    temperature: float | None = None,
    seed: int = 0,
    reward: str = "staged",
    limit: int = 0,
    backend: str = "",
    engine: str = "",
    base_url: str = "",
    api_key_env: str = "",
    checkpoint: str = "",
    renderer: str = "",
    jobs: int | None = None,
    executor: str = LOCAL,
    out: Path | None = None,
    fresh: bool = False,
    **episode: Any,
) -> EvaluationResult:
    """Ask a model, grade its answers, and return pass@k with intervals, as `rtl-agent eval` does.

    Args:
        problems: what `load_problems` takes: `bundled`, `generated`, a CVDP file, a directory, ...
        model: a model's or adapter's name, a run directory, a model's or adapter's folder, or a tinker:// path.
        samples: answers to each problem.
        k: for pass@k; 1 and `samples` if not given.
        temperature: 0 with one sample and 1 with several if not given.
        limit: only so many problems; 0 for all.
        base_url: an OpenAI-compatible endpoint, asked by text; `api_key_env` names the variable with its key.
        checkpoint: of a run: best, last or a name.
        seed: seed of sampling.
        reward: reward weights, as `parse_weights` reads them.
        backend: embedded, tinker or http://host:port; the run's own, or embedded, if not given.
        engine: qwen3 or transformers on an embedded server; the one that fits the model, if not given.
        renderer: how messages become tokens; by the model's name if not given.
        jobs: grades at a time.
        executor: where answers are graded: local, ray, or `http://HOST:PORT` of a grade server.
        out: the JSON file of the result; answers are kept next to it, and the same call resumes with them.
        fresh: throw away answers of an earlier call.
        **episode: fields of `EpisodeConfig`, such as kind="agentic", max_tokens=2048, extraction="cvdp".

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> import rtl_agent as ra
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     out = Path(folder) / "result.json"
        ...     result = ra.evaluate("generated:counter", "rtl-agent/student", limit=2, max_tokens=200, out=out)
        >>> result.whole.problems, result.whole.pass_at[0].unbiased
        (2, 0.0)
    """
    spec = ModelSpec(model, backend, base_url, api_key_env, checkpoint, renderer, engine)
    rules = episode_config(spec, **episode)
    options = EvaluationOptions(
        rules,
        samples=samples,
        temperature=temperature,
        seed=seed,
        ks=tuple(sorted(set(k))),
        reward=reward,
        jobs=jobs,
        executor=executor,
    )
    chosen = problem_set(problems, Selection(), episode=rules, limit=limit)
    work = run(spec, chosen, options, problems, out, fresh=fresh)
    with ThreadPoolExecutor(1) as thread:  # of its own, since a notebook's event loop is running already
        return thread.submit(asyncio.run, work).result()[0]
