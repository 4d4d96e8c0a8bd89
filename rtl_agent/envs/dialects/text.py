"""Turns of models without tool calls (Llama 3, base models): text, and nothing else.

For reading and writing turns. Whoever plays a model with tools asks `dialect_for`, which has none for these.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import cast

import tinker
from tinker_cookbook.completers import StopCondition
from tinker_cookbook.renderers import Message as RendererMessage
from tinker_cookbook.renderers import Renderer
from tinker_cookbook.renderers.base import RenderContext, RenderedMessage

from rtl_agent.envs.conversation import Part, PartKind, WrittenTurn
from rtl_agent.envs.dialects.dialect import CUT_OFF, PlainText, sound
from rtl_agent.envs.dialects.segments import Quoted, TokenBytes, TurnWriter
from rtl_agent.envs.session import ToolResult, ToolSpec, Turn
from rtl_agent.prompts import Message

_WORD = "x"  # a text, to see what a renderer writes around one


class NoToolCalls(ValueError):
    """A conversation with tools was to be told to a model that has no words for them."""


class TextDialect:
    """For renderers that write a header, the text, and an end: one token (Llama 3), or a line that the other begins."""

    name = "text"

    def __init__(self, renderer: Renderer) -> None:
        self._renderer, self._plain = renderer, PlainText(renderer.tokenizer)
        stop = renderer.get_stop_sequences()
        self._end = next((token for token in stop if isinstance(token, int)), None)
        self._words = [word.encode() for word in stop if isinstance(word, str)]
        output = _tokens(self._rendered("assistant", _WORD).output)
        written = str(renderer.tokenizer.decode(output if self._end is None else output[:-1]))
        self._before, _, self._behind = written.partition(_WORD)

    def first(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> tinker.ModelInput:
        if tools:
            raise NoToolCalls(
                f"no tool calls are known for the renderer {type(self._renderer).__name__}, so nobody can tell "
                "its models of tools: take another model, another renderer_name, or an environment without tools"
            )
        asked = [token for message in messages for token in self._message(message.role, message.content)]
        return tinker.ModelInput.from_ints([*self._renderer._bos_tokens, *asked, *self._header("assistant")])

    def stop(self) -> StopCondition:
        return self._renderer.get_stop_sequences()

    def parse(self, tokens: Sequence[int]) -> Turn:
        text = b"".join(part.text for part in self.read(tokens).parts).decode(errors="replace")
        return Turn(text, fault="" if self._has_ended(tokens) else CUT_OFF)

    def follow(self, sampled: Sequence[int], results: Sequence[ToolResult]) -> list[int]:
        tokens: list[int] = [] if self._has_ended(sampled) else self._closing
        asked = self._asks(sampled)
        for at, result in enumerate(results):
            message = self._message("user", result.text)
            tokens += message[len(self._header("user")) :] if asked and at == 0 else message
        return [*tokens, *self._header("assistant")]

    def read(self, sampled: Sequence[int]) -> WrittenTurn:
        eos = self._renderer.tokenizer.eos_token_id
        ends = (self._end, eos)
        last = next((at for at, token in enumerate(sampled) if token in ends), len(sampled))
        segment = self._bytes_of.segment(sampled, 0, last)
        found = [at for word in self._words if (at := segment.data.find(word)) >= 0]
        begin = len(self._before) if segment.data.startswith(self._before.encode()) else 0
        end = max(begin, min(found, default=len(segment.data)))
        parts = (segment.part(PartKind.TEXT, begin, end),) if end > begin else ()
        return WrittenTurn(tuple(sampled), parts, last if last < len(sampled) and not found else None)

    def write(self, parts: Sequence[Part], *, ended: bool, thinking: bool) -> WrittenTurn:
        """Text alone: thinking and calls have no place in it."""
        pieces: list[bytes | Quoted] = [self._before.encode()]
        for part in parts:
            if part.kind is PartKind.TEXT:
                pieces += [b"\n\n" if len(pieces) > 1 else b"", Quoted(part.kind, part.text)]
        writer = TurnWriter(self._bytes_of)
        writer.write(*pieces, self._behind.encode() if ended else b"")
        return writer.turn(self._end if ended else None)

    def _message(self, role: str, text: str) -> list[int]:
        end = [] if self._end is None else [self._end]
        return [*self._header(role), *self._plain.encode(self._before + sound(text) + self._behind), *end]

    def _header(self, role: str) -> list[int]:
        header = self._rendered(role, _WORD).header
        return _tokens([header] if header else [])

    def _rendered(self, role: str, text: str) -> RenderedMessage:
        message = cast(RendererMessage, {"role": role, "content": text})
        return self._renderer.render_message(message, RenderContext(idx=1, is_last=False))

    @property
    def _closing(self) -> list[int]:
        return self._plain.encode(self._behind) if self._end is None else [self._end]

    def _has_ended(self, sampled: Sequence[int]) -> bool:
        last = sampled[-1] if sampled else None
        return last is not None and (last in (self._end, self._renderer.tokenizer.eos_token_id) or self._asks(sampled))

    def _asks(self, sampled: Sequence[int]) -> bool:
        """Whether the model has written the header of the next message too, which is what stopped it."""
        return any(self._bytes_of.segment(sampled, 0, len(sampled)).data.endswith(word) for word in self._words)

    @cached_property
    def _bytes_of(self) -> TokenBytes:
        return TokenBytes(self._renderer.tokenizer, self._plain)


def _tokens(chunks: Sequence[object]) -> list[int]:
    return [token for chunk in chunks if isinstance(chunk, tinker.EncodedTextChunk) for token in chunk.tokens]
