"""A grade and an end as numbers of one episode; the cookbook averages them over a batch as env/all/<name>."""

from enum import StrEnum

from rtl_agent.grading import Grade, Outcome, StageName

RATES = {
    StageName.FORMAT: "format_valid",
    StageName.INTERFACE: "interface_valid",
    StageName.SYNTAX: "syntax_valid",
    StageName.TESTS: "tests_passed",
}


def grade_metrics(grade: Grade) -> dict[str, float | int]:
    """Earned parts of the reward as reward/<name>, and what was right whatever it earned.

    A stage that could not be judged (no interface is known, nothing was simulated) has no rate: the cookbook averages
    over the episodes that have one. reward/total it computes itself.
    """
    metrics: dict[str, float | int] = {}
    for name, rate in RATES.items():
        metrics[f"reward/{rate}"] = grade.reward.parts.get(name.value, 0.0)
        stage = grade.stage(name)
        never_reached = grade.outcome is Outcome.INVALID and (name in grade.reward.parts or name is not StageName.TESTS)
        if stage.passed is not None or never_reached:
            metrics[rate] = float(bool(stage.passed))
    if "tests_passed" in metrics:
        metrics["tests_fraction"] = grade.stage(StageName.TESTS).score
        metrics["pass_rate"] = float(grade.outcome is Outcome.PASSED)
    return metrics


def end_metrics(ended: StrEnum) -> dict[str, float | int]:
    """One of its kind is 1: averaged over a batch they are the shares of episodes that ended so."""
    return {f"end/{reason.value}": float(reason is ended) for reason in type(ended)}
