"""Whoever asks: what fails by no fault of the model is tried again, then left out."""

from dataclasses import dataclass, field
from pathlib import Path

from rtl_agent.envs.episode import EpisodeFailed
from rtl_agent.envs.episode_config import EpisodeConfig
from rtl_agent.evaluation.players import Played, Watcher
from rtl_agent.evaluation.samples import TRIES, SampleFile, ask_all
from rtl_agent.evaluation.settings import EvaluationSettings
from rtl_agent.grading import Grade, Outcome
from rtl_agent.problems import Problem, load_problems
from rtl_agent.runs.episode import Episode

SETTINGS = EvaluationSettings("p", "m", "", "b", "r", 0.0, 0, "staged", "g", {}, "t", EpisodeConfig())


@dataclass
class Failing:
    """Fails so often for each problem, then answers."""

    failures: dict[str, int]
    tries: list[str] = field(default_factory=list)

    async def play(self, problem: Problem, seed: int, watcher: Watcher) -> Played:
        self.tries.append(problem.id)
        if self.tries.count(problem.id) <= self.failures.get(problem.id, 0):
            raise EpisodeFailed("the sandbox was gone")
        grade = Grade(problem.id, Outcome.PASSED)
        return Played(Episode(problem.id, problem.family, (), (), (), "", "stop", grade, 1.4))


async def test_an_error_is_retried_then_left_out(gates: Path, tmp_path: Path) -> None:
    problems = load_problems(str(gates))
    player = Failing({problems[0].id: TRIES - 1, problems[1].id: TRIES})
    with SampleFile(tmp_path / "samples.jsonl", SETTINGS) as file:
        asked = await ask_all(problems, 1, player, file, seed=0, at_a_time=2)
    assert [sample.episode.problem_id for sample in asked.samples] == [problems[at].id for at in (0, 2, 3)]
    (lost,) = asked.lost
    assert (lost.problem_id, lost.why) == (problems[1].id, "the sandbox was gone")
    assert len((tmp_path / "samples.jsonl").read_text().splitlines()) == 4  # the settings and three answers
