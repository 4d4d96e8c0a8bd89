"""What Prometheus reads: jobs by how they ended, those that run and wait, and how long a grade takes."""

import logging
from collections.abc import Callable

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    Info,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)

from rtl_agent.grading import Grade, Outcome

log = logging.getLogger(__name__)
CONTENT_TYPE = "text/plain"
disable_created_metrics()  # type: ignore[no-untyped-call]  # a second series for each counter, which says when it was made
_BUCKETS = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0)


class Metrics:
    """Of one server. A job that was asked for twice, by the same id, counts once."""

    def __init__(self, running: Callable[[], int], inside: Callable[[], int], version: str, grading: str) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "rtl_agent_requests", "Requests that were answered.", ["path", "status"], registry=self.registry
        )
        self.answered = Counter(
            "rtl_agent_grades_answered", "Grades that were answered, by outcome.", ["outcome"], registry=self.registry
        )
        self.judged = Counter(
            "rtl_agent_grades_judged",
            "Grades that boxes made, by outcome.",
            ["outcome"],
            registry=self.registry,
        )
        self.cached = Counter("rtl_agent_grades_cached", "Grades from the cache.", registry=self.registry)
        self.repeated = Counter(
            "rtl_agent_jobs_repeated", "Jobs that were asked for again by the same id.", registry=self.registry
        )
        self.cancelled = Counter(
            "rtl_agent_jobs_cancelled", "Jobs whose client was gone before the grade.", registry=self.registry
        )
        self.overdue = Counter("rtl_agent_jobs_overdue", "Jobs that met their deadline.", registry=self.registry)
        self.seconds = Histogram(
            "rtl_agent_grade_seconds", "Seconds of a grade in boxes.", buckets=_BUCKETS, registry=self.registry
        )
        Gauge("rtl_agent_jobs_running", "Jobs in boxes now.", registry=self.registry).set_function(running)
        waiting = Gauge("rtl_agent_jobs_waiting", "Jobs that wait for a turn now.", registry=self.registry)
        waiting.set_function(lambda: max(0, inside() - running()))
        Info("rtl_agent", "The server.", registry=self.registry).info({"version": version, "grading_version": grading})
        ProcessCollector(registry=self.registry)
        for outcome in Outcome:  # a counter that is not there yet is not 0 to Prometheus
            self.answered.labels(outcome.value)
            self.judged.labels(outcome.value)

    def note_judged(self, grade: Grade) -> None:
        self.judged.labels(grade.outcome.value).inc()
        if grade.outcome is Outcome.ERROR:
            log.error("%s could not be judged: %s", grade.problem_id, "; ".join(grade.reasons)[:500])
        if (seconds := grade.timings.get("total")) is not None:
            self.seconds.observe(seconds)

    def note_answered(self, grade: Grade) -> None:
        self.answered.labels(grade.outcome.value).inc()
        self.cached.inc(grade.cached)

    def text(self) -> bytes:
        return generate_latest(self.registry)
