"""What is known and what is guessed of each problem for one model, put together."""

from collections.abc import Sequence
from dataclasses import dataclass

from rtl_agent.difficulty.pass_rates import NEVER, PassRates, Tries
from rtl_agent.difficulty.prior import Prior, fit_prior
from rtl_agent.problems import Problem, problem_digest

PRIOR_TRIES = 4.0  # tries that the prior counts for beside a problem's own


@dataclass(frozen=True)
class Difficulty:
    """One problem for one model, or for all models together."""

    problem: Problem
    digest: str
    tries: Tries
    prior: float

    @property
    def estimate(self) -> float:
        """The pass rate to expect of the next answer."""
        return (self.tries.solved + PRIOR_TRIES * self.prior) / (self.tries.tried + PRIOR_TRIES)


def difficulties(
    problems: Sequence[Problem], rates: PassRates, *, model: str = "", untrained: bool = False
) -> tuple[list[Difficulty], Prior]:
    """In the order of the problems, with the prior that was fitted on those of them that were tried."""
    digests = [problem_digest(problem) for problem in problems]
    tries = rates.tries(digests, model=model, untrained=untrained)
    prior = fit_prior(problems, tries)
    pairs = zip(problems, digests, strict=True)
    return [Difficulty(one, digest, tries.get(digest, NEVER), prior.rate(one)) for one, digest in pairs], prior
