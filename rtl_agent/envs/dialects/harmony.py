"""gpt-oss's Harmony: thinking, calls and answers are messages on channels, told apart by control tokens."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import tinker
from tinker_cookbook.completers import StopCondition
from tinker_cookbook.renderers import Message as RendererMessage
from tinker_cookbook.renderers.base import RenderContext

from rtl_agent.envs.conversation import Part, PartKind, WrittenTurn
from rtl_agent.envs.dialects.calls import PartsOfCall, as_json, read_arguments, said_in_order
from rtl_agent.envs.dialects.dialect import CALLS_PER_TURN, CUT_OFF, PlainText, sound
from rtl_agent.envs.dialects.json_object import Unreadable, read_whole_object, shown
from rtl_agent.envs.dialects.segments import Quoted, TokenBytes, TurnWriter
from rtl_agent.envs.renderers import HarmonyRenderer
from rtl_agent.envs.session import ToolCall, ToolResult, ToolSpec, Turn
from rtl_agent.prompts import Message, as_dicts

_RECIPIENT = re.compile(r"(?:^|\s)to=(\S+)")
_ROLE = re.compile(r"\s*(\S*)")
_TOOL_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")  # what may stand in the header of a result
_FORM = '<|channel|>commentary to=functions.tool <|constrain|>json<|message|>{"argument": "value"}<|call|>'


@dataclass(frozen=True)
class _Said:
    """One message of a turn."""

    header: str
    body: str | None  # None: the header was not finished
    end: int | None  # the token that ended it; None: it was cut off
    tokens: tuple[int, int] = (0, 0)  # of the body, in the turn

    @property
    def role(self) -> str:
        found = _ROLE.match(self.header.partition("<|channel|>")[0])
        return found[1] if found else ""

    @property
    def channel(self) -> str:
        return self.header.partition("<|channel|>")[2].split("<|constrain|>")[0].strip().split(" ")[0]

    @property
    def recipient(self) -> str:
        found = _RECIPIENT.search(self.header.replace("<|channel|>", " ").replace("<|constrain|>", " "))
        return found[1].removeprefix("functions.") if found else ""


class HarmonyDialect:
    """For the `gpt_oss_*` renderers. A call ends the turn; calls that come without a stop between them are all read."""

    name = "harmony"

    def __init__(self, renderer: HarmonyRenderer) -> None:
        self._renderer = renderer
        self._plain = PlainText(renderer.tokenizer)
        marks = ("<|start|>", "<|end|>", "<|message|>", "<|channel|>", "<|constrain|>", "<|call|>", "<|return|>")
        self._token = {mark: self._control(mark)[0] for mark in marks}
        self._ends = {self._token[mark] for mark in ("<|end|>", "<|call|>", "<|return|>")}

    def first(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> tinker.ModelInput:
        told = as_dicts(Message(message.role, sound(message.content)) for message in messages)
        if not tools:
            return self._renderer.build_generation_prompt(cast(list[RendererMessage], told))
        sections = [namespace(tools)]
        if told and told[0]["role"] == "system":
            sections.insert(0, f"# Instructions\n\n{told.pop(0)['content']}")
        told.insert(0, {"role": "developer", "content": "\n\n".join(sections)})
        return self._renderer.with_tools().build_generation_prompt(cast(list[RendererMessage], told))

    def stop(self) -> StopCondition:
        return [self._token["<|return|>"], self._token["<|call|>"]]

    def parse(self, tokens: Sequence[int]) -> Turn:
        text: list[str] = []
        thinking: list[str] = []
        calls: list[ToolCall] = []
        fault, end = "", None
        for said in self._messages(tokens):
            end = said.end
            if said.role != "assistant" and said.header:
                fault = f"you wrote a message of {shown(said.role)}, but yours begin with <|start|>assistant"
            elif said.body is None:
                fault = "" if end is None else f"a message without <|message|>: {shown(said.header)}"
            elif said.recipient:
                try:
                    no_arguments = end is not None and not said.body.strip()
                    calls.append(ToolCall(said.recipient, {} if no_arguments else read_whole_object(said.body)))
                except Unreadable as wrong:
                    called = f"call {len(calls) + 1} (of {shown(said.recipient)})"
                    fault = f"{called} could not be read: {wrong}. Write it as\n{_FORM}"
                if len(calls) > CALLS_PER_TURN:
                    calls.pop()
                    fault = f"more than {CALLS_PER_TURN} calls in one turn; those after them were not read"
            else:
                (thinking if said.channel == "analysis" else text).append(said.body.strip())
            if fault:
                break
        if not calls and not fault and end != self._token["<|return|>"]:
            fault = CUT_OFF if end != self._token["<|call|>"] else f"<|call|> without a tool. Write it as\n{_FORM}"
        return Turn("\n".join(filter(None, text)), "\n".join(filter(None, thinking)), tuple(calls), fault)

    def follow(self, sampled: Sequence[int], results: Sequence[ToolResult]) -> list[int]:
        tokens = self._closing(sampled)
        for result in results:
            tokens += self._shown(result)
        return [*tokens, *self._control("<|start|>assistant")]

    def read(self, sampled: Sequence[int]) -> WrittenTurn:
        return WrittenTurn(tuple(sampled), tuple(self._parts(sampled)), self._end_of(sampled))

    def write(self, parts: Sequence[Part], *, ended: bool, thinking: bool) -> WrittenTurn:
        writer = TurnWriter(self._bytes_of)
        said = said_in_order(parts, thinking=thinking)
        last_call = max((at for at, one in enumerate(said) if isinstance(one, PartsOfCall)), default=-1)
        for at, one in enumerate(said):
            is_last = at == len(said) - 1
            if at:
                writer.mark(self._control("<|start|>assistant"))
            if isinstance(one, PartsOfCall):
                self._write_call(writer, one, cut_off=is_last and not ended)
                continue
            channel = "analysis" if one.kind is PartKind.THINKING else "commentary" if at < last_call else "final"
            writer.mark(self._control(f"<|channel|>{channel}<|message|>"))
            writer.write(Quoted(one.kind, one.text))
            if is_last and one.kind is PartKind.TEXT:
                return writer.turn(self._token["<|return|>"] if ended else None)
            if not is_last or ended:
                writer.mark([self._token["<|end|>"]])
        if not ended or (said and isinstance(said[-1], PartsOfCall)):
            return writer.turn()
        writer.mark(self._control(f"{'<|start|>assistant' if said else ''}<|channel|>final<|message|>"))
        return writer.turn(self._token["<|return|>"])

    def _write_call(self, writer: TurnWriter, call: PartsOfCall, *, cut_off: bool) -> None:
        name = "_".join(call.name.split()).encode("utf-8", "replace")
        writer.mark(self._control("<|channel|>"))
        writer.write(b"commentary to=functions." + name + b" ")
        writer.mark(self._control("<|constrain|>json<|message|>"))
        writer.write(*as_json(call, cut_off=cut_off), call=call.number, name=call.name)
        writer.mark([] if cut_off else [self._token["<|call|>"]])

    def _parts(self, sampled: Sequence[int]) -> Iterator[Part]:
        calls = 0
        for said in self._messages(sampled):
            if said.header and said.role != "assistant":  # what comes after it is not read either
                return
            if said.body is None:
                continue
            segment = self._bytes_of.segment(sampled, *said.tokens)
            if said.recipient:
                yield from read_arguments(segment, 0, len(segment.data), call=calls, name=said.recipient)
                calls += 1
            elif segment.data:
                yield segment.part(PartKind.THINKING if said.channel == "analysis" else PartKind.TEXT)

    def _end_of(self, sampled: Sequence[int]) -> int | None:
        return next((at for at, token in enumerate(sampled) if token == self._token["<|return|>"]), None)

    @cached_property
    def _bytes_of(self) -> TokenBytes:
        return TokenBytes(self._renderer.tokenizer, self._plain)

    def _messages(self, tokens: Sequence[int]) -> Iterator[_Said]:
        """The prompt ends with `<|start|>assistant`: the first header goes on from there. `<|return|>` ends it all."""
        start, message = self._token["<|start|>"], self._token["<|message|>"]
        header: list[int] = self._control("assistant")
        body: list[int] | None = None
        between = False
        for at, token in enumerate(tokens):
            if token in self._ends or (token == start and not between):
                yield self._said(header, body, token, at)
                header, body, between = [], None, token != start
                if token == self._token["<|return|>"]:
                    return
            elif token == start:
                between = False
            elif token == message and body is None:
                body, between = [], False
            else:
                between = False
                (header if body is None else body).append(token)
        if not between:
            yield self._said(header, body, None, len(tokens))

    def _said(self, header: list[int], body: list[int] | None, end: int | None, at: int) -> _Said:
        text = None if body is None else self._plain.decode(body)
        return _Said(self._plain.decode(header), text, end, (at - len(body or ()), at))

    def _closing(self, sampled: Sequence[int]) -> list[int]:
        """The end of a turn that was cut off."""
        if sampled and sampled[-1] in self._ends:
            return []
        *_, last = self._messages(sampled)
        if last.body is None:
            return [self._token["<|message|>"], self._token["<|end|>"]]
        return [self._token["<|call|>" if last.recipient else "<|end|>"]]

    def _shown(self, result: ToolResult) -> list[int]:
        role = "tool" if _TOOL_NAME.fullmatch(result.name) else "user"
        message = cast(RendererMessage, {"role": role, "name": result.name, "content": sound(result.text)})
        rendered = self._renderer.render_message(message, RenderContext(idx=1, is_last=False))
        chunks = [rendered.header, *rendered.output]
        return [token for chunk in chunks if isinstance(chunk, tinker.EncodedTextChunk) for token in chunk.tokens]

    def _control(self, markup: str) -> list[int]:
        tokens: list[int] = self._renderer.tokenizer.encode(markup, add_special_tokens=False)
        return tokens


# Tools as TypeScript declarations, the way gpt-oss is told of them.
_NAMES = {"string": "string", "number": "number", "integer": "number", "boolean": "boolean", "null": "null"}


def namespace(tools: Sequence[ToolSpec]) -> str:
    """What stands under `# Tools` in the developer message, to the letter of OpenAI's own renderer."""
    declared = "\n\n".join(map(_declaration, tools))
    return f"# Tools\n\n## functions\n\nnamespace functions {{\n\n{declared}\n\n}} // namespace functions"


def _declaration(tool: ToolSpec) -> str:
    lines = [f"// {line}" for line in tool.description.splitlines()]
    if not tool.parameters.get("properties"):
        return "\n".join([*lines, f"type {tool.name} = () => any;"])
    return "\n".join([*lines, f"type {tool.name} = (_: {_object(tool.parameters)}) => any;"])


def _object(schema: Mapping[str, Any]) -> str:
    lines = ["{"]
    for name, one in schema.get("properties", {}).items():
        lines += [f"// {line}" for line in one.get("description", "").splitlines()]
        optional = "" if name in schema.get("required", ()) else "?"
        default = f" // default: {_default(one['default'])}" if "default" in one else ""
        lines.append(f"{name}{optional}: {_type(one)},{default}")
    return "\n".join([*lines, "}"])


def _default(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _type(schema: Mapping[str, Any]) -> str:
    if "enum" in schema:
        return " | ".join(map(json.dumps, schema["enum"]))
    kind = schema.get("type")
    if isinstance(kind, list):
        return " | ".join(_NAMES.get(one, "any") for one in kind)
    if kind == "array":
        return f"{_type(schema.get('items', {}))}[]"
    if kind == "object":
        return _object(schema)
    return _NAMES.get(str(kind), "any")
