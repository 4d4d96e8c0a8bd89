"""A request for a sample while it is under way."""

from concurrent.futures import Future
from dataclasses import dataclass, field

from rtl_agent.backends.engine.contract import (
    EngineError,
    OnToken,
    SampledSequence,
    SampledToken,
    SampleRequest,
    StopReason,
)
from rtl_agent.backends.engine.token_sampling import Pairs, StopConditions


@dataclass(eq=False)
class RunningSequence:
    """One request under way and what it has yielded."""

    request: SampleRequest
    future: "Future[SampledSequence]"
    stops: StopConditions
    on_token: OnToken | None = None
    tokens: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    topk: list[Pairs] = field(default_factory=list)

    def append(self, token: int, logprob: float, topk: list[Pairs]) -> None:
        self.tokens.append(token)
        self.logprobs.append(logprob)
        self.topk += topk
        if self.on_token is not None:
            self.on_token(SampledToken(token, logprob, topk[0] if topk else ()))

    def finish(self, reason: StopReason) -> None:
        if self.future.set_running_or_notify_cancel():
            self.future.set_result(SampledSequence(self.tokens, self.logprobs, reason, self.topk))

    def fail(self, error: EngineError) -> None:
        if self.future.set_running_or_notify_cancel():
            self.future.set_exception(error)
