"""The options of the reward, and of where answers are graded."""

from dataclasses import dataclass, replace
from typing import Any

from rtl_agent.grading.executors import GRADE_SERVER, LOCAL
from rtl_agent.grading.reward import PRESETS as REWARDS
from rtl_agent.grading.reward import RewardWeights, parse_weights
from rtl_agent.options import option


@dataclass(frozen=True)
class GradingConfig:
    """The reward, and how answers are graded."""

    reward: str = option(
        "staged",
        f"reward preset ({', '.join(REWARDS)}), with weights of reward terms over it (staged,latches=-0.2); *_coef "
        "change single weights",
    )
    format_coef: float | None = option(None, "weight of an answer in the right form", at_least=0)
    interface_coef: float | None = option(None, "weight of the ports that the specification names", at_least=0)
    syntax_coef: float | None = option(None, "weight of RTL that compiles", at_least=0)
    test_coef: float | None = option(None, "weight of the tests; 0 skips the simulation", at_least=0)
    jobs: int = option(0, "grades at a time; 0: one for each core", alias="grading_jobs", at_least=0, resume=True)
    executor: str = option(
        LOCAL,
        f"where to grade: {LOCAL}, ray, or {GRADE_SERVER} of an `rtl-agent grade-server`",
        resume=True,
    )
    sandbox: str = option(
        "", "where designs run: bubblewrap, docker or podman; empty: $RTL_AGENT_SANDBOX, else bubblewrap", resume=True
    )
    oss_sim_image: str = option(
        "",
        "container image with the simulators, such as CVDP's, for sandbox=docker and sandbox=podman; empty: this "
        "machine's simulators",
        resume=True,
    )

    def weights(self) -> RewardWeights:
        """The preset, with single weights replaced."""
        given: dict[str, Any] = {
            "format": self.format_coef,
            "interface": self.interface_coef,
            "syntax": self.syntax_coef,
            "tests": self.test_coef,
        }
        return replace(
            parse_weights(self.reward), **{name: value for name, value in given.items() if value is not None}
        )
