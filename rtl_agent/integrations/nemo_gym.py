"""NeMo Gym: a resources server whose /verify is our grader, with a reward component for every stage.

    from rtl_agent.integrations.nemo_gym import RTLResourcesServer     # in resources_servers/rtl_agent/app.py

    if __name__ == "__main__":
        RTLResourcesServer.run_webserver()

`rtl-agent export nemo-gym PROBLEMS OUT.jsonl` writes the data. A grade that is `error` is masked (`mask_sample`), with
`failure_kind` and `failure_reason`: Gym asks for a number as reward, and nothing must learn from that one.
"""

from functools import cache
from typing import Any

from fastapi import HTTPException
from nemo_gym.base_resources_server import (
    BaseMultiRewardVerifyResponse,
    BaseResourcesServerConfig,
    BaseVerifyRequest,
    SimpleResourcesServer,
)
from nemo_gym.failure_kinds import VERIFIER_ERROR

from rtl_agent.envs.episode_config import EpisodeConfig
from rtl_agent.envs.hosted import grader_options
from rtl_agent.grading import CannotGrade, Grade, Outcome, StageName, shared_grader
from rtl_agent.problems import Problem, load_problems


class RTLServerConfig(BaseResourcesServerConfig):
    """In the server's YAML."""

    problems: str = "bundled"
    reward: str = "staged"
    extraction: str = EpisodeConfig().extraction
    timeout_seconds: float = EpisodeConfig().timeout_seconds
    jobs: int = 0
    executor: str = "local"


class RTLVerifyRequest(BaseVerifyRequest):
    problem_id: str


class RTLVerifyResponse(BaseMultiRewardVerifyResponse):
    """Numbers at the top are what Gym's metrics are means of; `reward_components` are the same in every task."""

    problem_id: str
    outcome: str
    passed: float = 0.0
    format: float = 0.0
    interface: float = 0.0
    syntax: float = 0.0
    tests: float = 0.0
    reasons: tuple[str, ...] = ()


class RTLResourcesServer(SimpleResourcesServer):
    """Judges single answers."""

    ray_enabled = False
    config: RTLServerConfig

    async def verify(self, body: RTLVerifyRequest) -> RTLVerifyResponse:
        problem = _problems(self.config.problems).get(body.problem_id)
        if problem is None:
            detail = (
                f"{body.problem_id[:200]!r} is not one of {self.config.problems}: export the data from the same source"
            )
            raise HTTPException(404, detail)
        rules = EpisodeConfig(extraction=self.config.extraction, timeout_seconds=self.config.timeout_seconds)
        options = grader_options(rules, reward=self.config.reward, jobs=self.config.jobs, executor=self.config.executor)
        try:
            grade = await shared_grader(options).grade_reply_async(problem, reply_of(body))
        except CannotGrade as error:
            raise HTTPException(422, str(error)) from error
        return RTLVerifyResponse(**body.model_dump(), **verdict(grade))


@cache
def _problems(source: str) -> dict[str, Problem]:
    return {problem.id: problem for problem in load_problems(source)}


def reply_of(body: BaseVerifyRequest) -> str:
    """What the model said in its last message, without its reasoning."""
    messages = [item for item in body.response.output if getattr(item, "type", "") == "message"]
    parts = messages[-1].content if messages else []
    return "".join(part.text for part in parts if getattr(part, "type", "") == "output_text")


def verdict(grade: Grade) -> dict[str, Any]:
    """A grade in Gym's words."""
    said: dict[str, Any] = {
        "reward": grade.reward.total,
        "reward_components": {**{name.value: 0.0 for name in StageName}, **grade.reward.parts},
        "outcome": grade.outcome.value,
        "passed": float(grade.outcome is Outcome.PASSED),
        "reasons": grade.reasons,
    }
    for name in StageName:
        stage = grade.stage(name)
        said[name.value] = stage.score if name is StageName.TESTS else float(bool(stage.passed))
    if grade.outcome is Outcome.ERROR:
        said |= {"mask_sample": True, "failure_kind": VERIFIER_ERROR, "failure_reason": "; ".join(grade.reasons)[:2000]}
    return said
