"""An answer as server-sent events, one for each piece of text."""

import asyncio
import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from aiohttp import web

from rtl_agent.backends.engine.contract import (
    EngineError,
    SampledSequence,
    SampledToken,
    SampleRequest,
    Snapshot,
)
from rtl_agent.backends.server.http import openai_error
from rtl_agent.backends.server.openai_api.generation import Generation
from rtl_agent.backends.server.openai_api.requests import (
    CompletionRequest,
)
from rtl_agent.backends.server.openai_api.responses import (
    Fields,
    Prompt,
    TextToken,
    envelope,
    text_token,
    usage,
)
from rtl_agent.backends.server.openai_api.text import TextStream
from rtl_agent.web.errors import RequestError

log = logging.getLogger(__name__)

STALLED_SECONDS = 60.0  # a reader that takes nothing for so long has lost interest
GONE_SECONDS = 0.5  # how often to look whether a client is still there


def is_gone(request: web.Request) -> bool:
    return request.transport is None or request.transport.is_closing()


@dataclass(eq=False)
class _StreamedChoice:
    index: int
    prompt: Prompt
    request: SampleRequest | None
    text: TextStream
    offset: int = 0  # of the answer in the text: an echoed prompt comes before it
    unsent: list[TextToken] = field(default_factory=list)

    def add(self, sampled: SampledToken, *, ends: bool) -> str:
        """An end token has a logprob and no text."""
        self.unsent.append(text_token(sampled, self.offset + self.text.length))
        return "" if ends else self.text.add(sampled.token)

    def sent(self) -> list[TextToken]:
        tokens, self.unsent = self.unsent, []
        return tokens


Event = tuple[_StreamedChoice, SampledToken | SampledSequence | EngineError | None]


class EventStream:
    """One answer as server-sent events. Its samples end with it, however it ends."""

    def __init__(self, request: web.Request, plan: Generation, snapshot: Snapshot) -> None:
        self._request, self._plan, self._snapshot = request, plan, snapshot
        self._envelope = envelope(plan.body, plan.format)
        self._response = web.StreamResponse(
            headers={"Content-Type": "text/event-stream; charset=utf-8", "Cache-Control": "no-cache"}
        )
        self._events: asyncio.Queue[Event] = asyncio.Queue()
        self._spent = 0

    async def run(self) -> web.StreamResponse:
        choices = await self._choices()
        sampling = [self._start(choice) for choice in choices]
        try:
            await self._response.prepare(self._request)
            await self._send_all(choices)
            await self._write("data: [DONE]\n\n")
        except EngineError as error:
            await self._fail(RequestError(400, str(error)))
        except (ConnectionError, TimeoutError):
            if self._request.transport is not None:
                self._request.transport.abort()
        except Exception as error:
            log.exception("a stream failed")
            await self._fail(RequestError(500, f"the server failed: {type(error).__name__}; its log has the details"))
        finally:
            for future in sampling:
                future.cancel()
        return self._response

    async def _choices(self) -> list[_StreamedChoice]:
        """Scores echoed prompts first: their logprobs are in the first piece."""
        plan, choices = self._plan, list[_StreamedChoice]()
        for prompt, asked in zip(plan.prompts, plan.asked, strict=True):
            score = plan.score_request(prompt)
            scored = prompt
            if score is not None:
                found = await asyncio.wrap_future(self._snapshot.score(score))
                scored = replace(prompt, score=found)
            requests: Sequence[SampleRequest | None] = asked or [None] * plan.body.choices
            for request in requests:
                text = TextStream(plan.tokenizer.decode, plan.body.stops)
                echoed = len(prompt.text) if isinstance(plan.body, CompletionRequest) and plan.body.echo else 0
                choices.append(_StreamedChoice(len(choices), scored, request, text, echoed))
        return choices

    def _start(self, choice: _StreamedChoice) -> "asyncio.Future[SampledSequence | None]":
        loop, put = asyncio.get_running_loop(), self._events.put_nowait
        if choice.request is None:
            put((choice, None))
            nothing: asyncio.Future[SampledSequence | None] = loop.create_future()
            return nothing

        def on_token(sampled: SampledToken) -> None:
            loop.call_soon_threadsafe(put, (choice, sampled))

        def on_done(done: "asyncio.Future[SampledSequence]") -> None:
            if done.cancelled():
                put((choice, EngineError("the sample was cancelled")))
            elif error := done.exception():
                put((choice, error if isinstance(error, EngineError) else EngineError(str(error))))
            else:
                put((choice, done.result()))

        future = asyncio.wrap_future(self._snapshot.sample(choice.request, on_token))
        future.add_done_callback(on_done)
        return future  # type: ignore[return-value]  # only cancelled, never awaited

    async def _send_all(self, choices: Sequence[_StreamedChoice]) -> None:
        plan = self._plan
        for choice in choices:
            if opening := plan.format.opening(choice.index, choice.prompt):
                await self._send([opening])
        left = len(choices)
        while left:
            choice, event = await self._next_event()
            if isinstance(event, EngineError):
                raise event
            if isinstance(event, SampledToken):
                await self._send_token(choice, event)
            else:
                left -= 1
                text = choice.text.finish(plan.text(event)) if event else ""
                reason = event.stop_reason if event else "length"
                await self._send([plan.format.piece(choice.index, text, choice.sent(), reason)])
        if plan.body.include_usage:
            await self._send([], usage(plan.prompt_tokens, self._spent))

    async def _send_token(self, choice: _StreamedChoice, sampled: SampledToken) -> None:
        self._spent += 1
        assert choice.request is not None
        ends = sampled.token in self._plan.model.end_tokens & choice.request.stop_tokens
        if text := choice.add(sampled, ends=ends):
            await self._send([self._plan.format.piece(choice.index, text, choice.sent(), None)])

    async def _next_event(self) -> Event:
        while True:
            try:
                return await asyncio.wait_for(self._events.get(), GONE_SECONDS)
            except TimeoutError:
                if is_gone(self._request):
                    raise ConnectionResetError("the client closed the connection") from None

    async def _send(self, choices: Sequence[Fields], spent: Mapping[str, int] | None = None) -> None:
        fields: Fields = {**self._envelope, "object": self._plan.format.chunk, "choices": list(choices)}
        if self._plan.body.include_usage:
            fields["usage"] = spent
        await self._write(f"data: {json.dumps(fields)}\n\n")

    async def _write(self, event: str) -> None:
        await asyncio.wait_for(self._response.write(event.encode()), STALLED_SECONDS)

    async def _fail(self, error: RequestError) -> None:
        """The status is sent already: an error is an event, which OpenAI's clients raise."""
        if not self._response.prepared:
            raise error
        try:
            await self._write(f"data: {json.dumps({'error': openai_error(error)})}\n\ndata: [DONE]\n\n")
        except (ConnectionError, TimeoutError):
            log.info("a client left before its stream's error could be sent")
