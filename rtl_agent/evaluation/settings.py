"""All that an answer and its grade depend on: answers made with other settings are other answers."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from rtl_agent.problems import Problem


@dataclass(frozen=True)
class Settings:
    """Neither the number of samples nor of problems is here: more of them can be asked for later."""

    problems: str  # as the person named them
    model: str
    weights: str  # tells these weights from others of the same name, as far as can be known
    backend: str  # embedded, tinker, a server's URL, or "openai " and the endpoint's URL
    env: str
    level: str  # of information: spec, own-tests, feedback, open
    system: str
    renderer: str  # "" where the endpoint renders
    temperature: float
    max_tokens: int
    seed: int
    reward: str
    extraction: str  # how files are read off an answer
    timeout_seconds: float
    grading: str  # version of the rules and of the files in a grading box
    tools: Mapping[str, str]
    texts: str  # digest of what a model is told besides the problem
    options: Mapping[str, Any] = field(default_factory=dict)  # every rule of the environment, such as max_turns

    def to_json(self) -> dict[str, Any]:
        """As it will be read back."""
        known: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        return known

    @property
    def digest(self) -> str:
        return hashlib.sha256(json.dumps(self.to_json(), sort_keys=True).encode()).hexdigest()[:8]


def problem_digest(problem: Problem) -> str:
    """Of what is asked and of what decides. A problem that was mended is asked anew."""
    services = [[service.name, list(service.argv), dict(service.env)] for service in problem.harness.services]
    parts = [problem.prompt, dict(problem.context), list(problem.targets), dict(problem.harness.files), services]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]
