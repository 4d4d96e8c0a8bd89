"""Qwen3-Coder's and Qwen3.5's calls: ChatML, and in <tool_call> a function whose parameters stand in tags, as text."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import tinker
from tinker_cookbook.renderers import Renderer

from rtl_agent.envs.conversation import Part, PartKind
from rtl_agent.envs.dialects.calls import PartsOfCall, as_values, is_finished
from rtl_agent.envs.dialects.dialect import CALLS_PER_TURN, CUT_OFF
from rtl_agent.envs.dialects.json_object import Unreadable, read_object, shown
from rtl_agent.envs.dialects.qwen import QwenDialect
from rtl_agent.envs.dialects.segments import Quoted, Segment
from rtl_agent.envs.session import ToolCall, ToolResult, ToolSpec, Turn
from rtl_agent.prompts import Message

_FORM = "<tool_call>\n<function=tool>\n<parameter=argument>\nvalue\n</parameter>\n</function>\n</tool_call>"
_FUNCTION = re.compile(rb"\s*<function=([^>\n]*)>")
_PARAMETER = re.compile(rb"\s*<parameter=([^>\n]*)>\n?")
_VALUE_END = re.compile(rb"\n?</parameter>")
_TAG = re.compile(rb"<parameter=[^>\n]*>|</parameter>|</function>")
_LONGEST_TAG = 200  # bytes of it that may still lie before a piece
_SPACE_AND_END = re.compile(rb"\s*(?:</function>\s*)?")
_NOT_A_STRING = re.compile(r"\s*(?:[\[{]|-?\d|true\b|false\b|null\b)")
_TOOLS_BEGIN = "# Tools\n\nYou have access to the following functions:\n\n<tools>"
_HOW_TO_CALL = """If you choose to call a function ONLY reply in the following format with NO suffix:

<tool_call>
<function=example_function_name>
<parameter=example_parameter_1>
value_1
</parameter>
<parameter=example_parameter_2>
This is the value for the second parameter
that can span
multiple lines
</parameter>
</function>
</tool_call>

<IMPORTANT>
Reminder:
- Function calls MUST follow the specified format: an inner <function=...></function> block must be nested within \
<tool_call></tool_call> XML tags
- Required parameters MUST be specified
- You may provide optional reasoning for your function call in natural language BEFORE the function call, but NOT after
- If there is no function call available, answer the question like normal with your current knowledge and do not tell \
the user about function calls
</IMPORTANT>"""
_NO_SYSTEM = "You are Qwen, a helpful AI assistant that can interact with a computer to solve tasks."


class _Tags:
    """Whether a call that comes piece by piece is inside of a parameter, or done.

    </tool_call> behind </function> is the end, even within a parameter: its own end was forgotten, and what follows
    must not become part of a command.
    """

    def __init__(self) -> None:
        self.done = False
        self._inside, self._rest, self._last = False, b"", b""

    @property
    def in_string(self) -> bool:
        return self._inside and not self._last.rstrip().endswith(b"</function>")

    def feed(self, piece: bytes) -> None:
        self._rest += piece
        self._last = (self._last + piece)[-_LONGEST_TAG:]
        behind = 0
        for tag in _TAG.finditer(self._rest):
            if not self._inside or tag[0] == b"</parameter>":
                self._inside = tag[0].startswith(b"<p")
                self.done = tag[0] == b"</function>"
            behind = tag.end()
        self._rest = self._rest[max(behind, len(self._rest) - _LONGEST_TAG) :]


class XmlCalls:
    """`<function=NAME>`, a `<parameter=KEY>` for each argument, each tag on a line of its own."""

    between = b"\n\n"

    def nested(self) -> _Tags:
        return _Tags()

    def read(self, inside: Segment, number: int) -> Iterator[Part]:
        found = _FUNCTION.match(inside.data)
        if found is None:
            return
        name, at, parameters = _text(found[1]), found.end(), 0
        for key, begin, end, behind in _parameters(inside.data, at):
            at, parameters = behind, parameters + 1
            yield inside.part(PartKind.ARGUMENT, begin, end, call=number, name=name, argument=_text(key))
        if not parameters:
            yield inside.part(PartKind.ARGUMENTS, at, at, call=number, name=name)

    def pieces(self, call: PartsOfCall, *, cut_off: bool) -> list[bytes | Quoted]:
        pieces: list[bytes | Quoted] = [b"\n<function=" + _bytes(call.name) + b">\n"]
        values = as_values(call)
        for at, (key, value, is_string) in enumerate(values):
            pieces.append(b"<parameter=" + _bytes(key) + b">\n")
            pieces.append(Quoted(PartKind.ARGUMENT, value, None, key) if is_string else value)
            pieces.append(b"" if cut_off and at == len(values) - 1 else b"\n</parameter>\n")
        return [*pieces, b"" if cut_off else b"</function>\n"]

    def is_finished(self, call: PartsOfCall) -> bool:
        return is_finished(call)


class QwenCoderDialect(QwenDialect):
    """For the renderer `qwen3_coder`. A value that is JSON, but no string, is read as what it says."""

    name = "qwen_coder"
    _calls = XmlCalls()

    def __init__(self, renderer: Renderer) -> None:
        super().__init__(renderer)
        self._tools_text = coder_tools_text

    def first(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> tinker.ModelInput:
        if tools and not (messages and messages[0].role == "system"):
            messages = [Message("system", _NO_SYSTEM), *messages]
        return super().first(messages, tools)

    def parse(self, tokens: Sequence[int]) -> Turn:
        stretches, length = self._turns.stretches(tokens)
        said: dict[PartKind, list[str]] = {PartKind.TEXT: [], PartKind.THINKING: []}
        calls: list[ToolCall] = []
        fault = ""
        for kind, first, last in stretches:
            text = self._plain.decode(tokens[first:last])
            if kind is not PartKind.ARGUMENTS:
                said[kind].append(text.strip())
            elif fault or len(calls) == CALLS_PER_TURN:
                fault = fault or f"more than {CALLS_PER_TURN} calls in one turn; those after them were not read"
            else:
                try:
                    calls.append(_read_call(text))
                except Unreadable as wrong:
                    fault = f"call {len(calls) + 1} could not be read: {wrong}. Write it as\n{_FORM}"
        if stretches[-1].kind is PartKind.THINKING:
            fault = fault or "your turn ended inside of <think>: write </think>, then call a tool or answer"
        if length == len(tokens) and not calls:
            fault = fault or CUT_OFF
        prose, thoughts = ("\n".join(filter(None, said[kind])) for kind in (PartKind.TEXT, PartKind.THINKING))
        return Turn(prose, thoughts, tuple(calls), fault)

    def _shown(self, results: Sequence[ToolResult]) -> list[int]:
        """A line break behind each, as its template has it."""
        tokens: list[int] = []
        for result in results:
            tokens += self._wrapped(result) + self._control("\n")
        return tokens


class Qwen35Dialect(QwenCoderDialect):
    """For Qwen3.5's renderers, which tell of the tools before the system message."""

    name = "qwen3_5"

    def first(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> tinker.ModelInput:
        asked = list(messages)
        if tools:
            system = asked.pop(0).content.strip() if asked and asked[0].role == "system" else ""
            asked.insert(0, Message("system", f"{qwen35_tools_text(tools)}\n\n{system}".rstrip("\n")))
        return super().first(asked, ())

    def _shown(self, results: Sequence[ToolResult]) -> list[int]:
        return QwenDialect._shown(self, results)


def coder_tools_text(tools: Sequence[ToolSpec]) -> str:
    """The tools as Qwen3-Coder's own chat template tells them, to the letter."""
    lines = [_TOOLS_BEGIN]
    for tool in tools:
        lines += ["<function>", f"<name>{tool.name}</name>", f"<description>{tool.description.strip()}</description>"]
        lines.append("<parameters>")
        for name, one in tool.parameters.get("properties", {}).items():
            lines += ["<parameter>", f"<name>{name}</name>"]
            lines += [f"<type>{one['type']}</type>"] if "type" in one else []
            lines += [f"<description>{one['description'].strip()}</description>"] if "description" in one else []
            lines += [*_others(one, ("name", "type", "description")), "</parameter>"]
        lines += [*_others(tool.parameters, ("type", "properties")), "</parameters>", "</function>"]
    return "\n".join([*lines, "</tools>", "", _HOW_TO_CALL])


def qwen35_tools_text(tools: Sequence[ToolSpec]) -> str:
    """As Qwen3.5's tells them."""
    declared = [
        json.dumps({"name": tool.name, "description": tool.description, "parameters": tool.parameters})
        for tool in tools
    ]
    return "\n".join([_TOOLS_BEGIN, *declared, "</tools>", "", _HOW_TO_CALL])


def _others(schema: Mapping[str, Any], told: Sequence[str]) -> list[str]:
    found = []
    for key, value in schema.items():
        if key not in told:
            text = json.dumps(value, ensure_ascii=False) if isinstance(value, (dict, list, tuple)) else str(value)
            found.append(f"<{key}>{text}</{key}>")
    return found


def _parameters(data: bytes, at: int) -> Iterator[tuple[bytes, int, int, int]]:
    """Of each its key, where its value begins and ends, and where it ends itself. The last may lack its end."""
    while found := _PARAMETER.match(data, at):
        end = _VALUE_END.search(data, found.end())
        at = end.end() if end else len(data)
        yield found[1], found.end(), end.start() if end else len(data), at


def _read_call(text: str) -> ToolCall:
    data = text.encode()
    found = _FUNCTION.match(data)
    if found is None or not found[1].strip():
        raise Unreadable(f"<function=NAME> was expected, but there is {shown(text.strip()[:80])}")
    arguments: dict[str, Any] = {}
    at = found.end()
    for key, begin, end, behind in _parameters(data, at):
        if behind == end:
            raise Unreadable(f"the parameter {shown(_text(key))} does not end with </parameter>")
        if _text(key) in arguments:
            raise Unreadable(f"the parameter {shown(_text(key))} is there twice")
        arguments[_text(key)] = _value(data[begin:end].decode())
        at = behind
    rest = _SPACE_AND_END.match(data, at)
    if rest is None or rest.end() < len(data) or b"</function>" not in rest[0]:
        raise Unreadable(f"</function> was expected, but there is {shown(_text(data[at:]).strip()[:80])}")
    return ToolCall(_text(found[1]).strip(), arguments)


def _value(text: str) -> Any:
    """Numbers, lists and so on as what they are: nothing but their look tells them from strings."""
    if _NOT_A_STRING.match(text):
        try:
            value, end = read_object(f'{{"value": {text}}}')
        except Unreadable:
            return text
        if end == len(text) + len('{"value": }') and set(value) == {"value"}:
            return value["value"]
    return text


def _text(data: bytes) -> str:
    return data.decode(errors="replace")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "replace")
