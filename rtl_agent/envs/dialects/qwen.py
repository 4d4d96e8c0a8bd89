"""Qwen's text format: `<tool_call>{"name": "execute_bash", "args": {"command": "ls"}}</tool_call>`, in ChatML."""

import json
import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, cast

import tinker
from tinker_cookbook.completers import StopCondition
from tinker_cookbook.renderers import Message as RendererMessage
from tinker_cookbook.renderers import Renderer

from rtl_agent.envs.conversation import Part, PartKind, WrittenTurn
from rtl_agent.envs.dialects.calls import PartsOfCall, as_json, is_finished, read_arguments
from rtl_agent.envs.dialects.chatml import CallFormat, ChatMLTurns, Mark
from rtl_agent.envs.dialects.dialect import CALLS_PER_TURN, CUT_OFF, PlainText, sound
from rtl_agent.envs.dialects.json_object import Unreadable, read_object, read_whole_object, shown, shown_value
from rtl_agent.envs.dialects.json_spans import Nesting, object_span, unescaped
from rtl_agent.envs.dialects.segments import Quoted, Segment, TokenBytes
from rtl_agent.envs.session import ToolCall, ToolResult, ToolSpec, Turn
from rtl_agent.prompts import Message, as_dicts

SHELL = "execute_bash"  # what a ```bash block is a call of
_FORM = '<tool_call>\n{"name": "tool", "args": {"argument": "value"}}\n</tool_call>'
_TAG = re.compile(r"<think>|</think>|<tool_call>")
_FENCE = re.compile(r"[ \t]*```[ \t]*(?:bash|sh|shell)[ \t\r]*")
_SPACE = re.compile(r"\s*")


class JsonCalls:
    """`{"name": ..., "args": {...}}`."""

    between = b"\n"

    def nested(self) -> Nesting:
        return Nesting()

    def read(self, inside: Segment, number: int) -> Iterator[Part]:
        found = object_span(inside.data)
        called = found.member("name") if found else None
        if found is None or called is None or not called.is_string:
            return
        said = unescaped(inside.data[called.begin : called.end], closed=called.closed)
        name = said.text.decode(errors="replace").strip() if said else ""
        arguments = found.member("args", "arguments")
        if arguments is None:
            yield inside.part(PartKind.ARGUMENTS, found.end, found.end, call=number, name=name)
        elif arguments.is_string:  # the object written once more as a string, as OpenAI's API has it
            once = unescaped(inside.data[arguments.begin : arguments.end], closed=arguments.closed)
            yield inside.part(PartKind.ARGUMENTS, arguments.begin, arguments.end, said=once, call=number, name=name)
        else:
            end = arguments.end if arguments.closed else _end_of_broken(inside.data, arguments.begin)
            yield from read_arguments(inside, arguments.begin, end, call=number, name=name)

    def pieces(self, call: PartsOfCall, *, cut_off: bool) -> list[bytes | Quoted]:
        named = f'\n{{"name": {json.dumps(call.name, ensure_ascii=False)}, "args": '.encode("utf-8", "replace")
        return [named, *as_json(call, cut_off=cut_off), b"" if cut_off else b"}\n"]

    def is_finished(self, call: PartsOfCall) -> bool:
        return is_finished(call)


class QwenDialect:
    """For every renderer that writes ChatML: Qwen3's three, Qwen2.5's, and the embedded models' own.

    Qwen2.5 has tokens for <tool_call>, but none for <think> and <tool_response>: those are text there.
    """

    name = "qwen"
    _calls: CallFormat = JsonCalls()

    def __init__(self, renderer: Renderer, *, brief: bool = False) -> None:
        """`brief` tells the tools in two lines: for models whose tokenizer and context are small."""
        self._renderer, self._tools_text = renderer, brief_tools_text if brief else tools_text
        self._plain = PlainText(renderer.tokenizer)
        self._end, self._start = self._control("<|im_end|>")[0], self._control("<|im_start|>")[0]
        self._ends = {self._end, self._start, *self._control("<|endoftext|>")}
        self._user = self._control("\n<|im_start|>user\n")
        nothing = renderer.build_generation_prompt([{"role": "user", "content": ""}]).to_ints()
        self._header = nothing[len(nothing) - nothing[::-1].index(self._end) :]
        self._frames = bool(getattr(renderer, "frames_thinking", False))

    def first(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> tinker.ModelInput:
        asked = list(messages)
        default = str(getattr(self._renderer, "default_system", ""))
        system = asked.pop(0).content if asked and asked[0].role == "system" else default
        if tools:
            system = f"{system}\n\n{self._tools_text(tools)}".lstrip("\n")
        if system:
            asked.insert(0, Message("system", system))
        told = as_dicts(Message(message.role, sound(message.content)) for message in asked)
        return self._renderer.build_generation_prompt(cast(list[RendererMessage], told))

    def stop(self) -> StopCondition:
        return [self._end]

    def parse(self, tokens: Sequence[int]) -> Turn:
        end = next((at for at, token in enumerate(tokens) if token in self._ends), None)
        turn = parse_text(self._plain.decode(tokens[:end]))
        if end is None and not turn.calls and not turn.fault:
            return Turn(turn.text, turn.thinking, (), CUT_OFF)
        return turn

    def follow(self, sampled: Sequence[int], results: Sequence[ToolResult]) -> list[int]:
        tokens = [] if sampled and sampled[-1] == self._end else [self._end]
        if results:
            tokens += [*self._user, *self._shown(results), self._end]
        return tokens + self._header

    def read(self, sampled: Sequence[int]) -> WrittenTurn:
        return self._turns.read(sampled)

    def write(self, parts: Sequence[Part], *, ended: bool, thinking: bool) -> WrittenTurn:
        return self._turns.write(parts, ended=ended, thinking=thinking)

    @cached_property
    def _turns(self) -> ChatMLTurns:
        marks = {tokens[0]: mark for mark in Mark if len(tokens := self._control(mark)) == 1}
        headed = [marks[token] for token in self._header if token in marks]
        opened = headed[-1:] == [Mark.THINK]
        return ChatMLTurns(
            TokenBytes(self._renderer.tokenizer, self._plain),
            marks,
            self._end,
            frozenset(self._ends),
            self._calls,
            opened,
            self._frames and not headed,
        )

    def _shown(self, results: Sequence[ToolResult]) -> list[int]:
        if len(self._control("<tool_response>")) > 1:  # text: at its ends it merges with what is beside it
            return self._plain.encode(results_text(results))
        tokens: list[int] = []
        for at, result in enumerate(results):
            tokens += [*(self._control("\n") if at else []), *self._wrapped(result)]
        return tokens

    def _wrapped(self, result: ToolResult) -> list[int]:
        if not result.name:
            return self._plain.encode(result.text)
        inside = self._plain.encode(f"\n{result.text}\n")
        return [*self._control("<tool_response>"), *inside, *self._control("</tool_response>")]

    def _control(self, markup: str) -> list[int]:
        tokens: list[int] = self._renderer.tokenizer.encode(markup, add_special_tokens=False)
        return tokens


def tools_text(tools: Sequence[ToolSpec]) -> str:
    """The tools as Qwen's own chat template tells them; `arguments` are called `args` and read under both names."""
    lines = [
        json.dumps(
            {
                "type": "function",
                "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters},
            }
        )
        for tool in tools
    ]
    return "\n".join(
        [
            "# Tools\n\nYou may call one or more functions to assist with the user query.\n",
            "You are provided with function signatures within <tools></tools> XML tags:\n<tools>",
            *lines,
            "</tools>\n\nFor each function call, return a json object with function name and arguments within "
            "<tool_call></tool_call> XML tags:",
            '<tool_call>\n{"name": <function-name>, "args": <args-json-object>}\n</tool_call>',
        ]
    )


def brief_tools_text(tools: Sequence[ToolSpec]) -> str:
    """Names and arguments only, and one example."""

    def arguments(tool: ToolSpec) -> list[str]:
        return list(tool.parameters.get("properties", {}))

    example = json.dumps({"name": tools[0].name, "args": dict.fromkeys(arguments(tools[0]), "...")})
    known = ", ".join(f"{tool.name}({', '.join(arguments(tool))})" for tool in tools)
    return f"Tools: {known}\n<tool_call>{example}</tool_call>"


def results_text(results: Sequence[ToolResult]) -> str:
    """The next user message, for endpoints that take text."""
    return "\n".join(
        f"<tool_response>\n{result.text}\n</tool_response>" if result.name else result.text for result in results
    )


def parse_text(text: str) -> Turn:
    """Calls up to the first that cannot be read; without any `<tool_call>`, the ```bash blocks."""
    text = sound(text)
    said: list[str] = []
    thoughts: list[str] = []
    calls: list[ToolCall] = []
    fault, at, tagged, opened = "", 0, False, False
    while tag := _TAG.search(text, at):
        said.append(text[at : tag.start()])
        at = tag.end()
        if tag[0] == "<think>":
            opened = True
            end = text.find("</think>", at)
            thoughts.append(text[at:end] if end >= 0 else text[at:])
            at = end + len("</think>") if end >= 0 else len(text)
            if end < 0:
                fault = fault or "your turn ended inside of <think>: write </think>, then call a tool or answer"
        elif tag[0] == "</think>":
            if not opened:  # by the prompt: some models are asked with <think> already written
                thoughts, said, calls, fault, tagged = [text[: tag.start()]], [], [], "", False
            opened = True
        elif fault or len(calls) == CALLS_PER_TURN:
            fault = fault or f"more than {CALLS_PER_TURN} calls in one turn; those after them were not read"
            at = _behind(text, at, may_be_thought=not opened)
        else:
            tagged = True
            try:
                call, at = _read_call(text, at)
                calls.append(call)
            except Unreadable as wrong:
                fault = f"call {len(calls) + 1} could not be read: {wrong}. Write it as\n{_FORM}"
                at = _behind(text, at, may_be_thought=not opened)
    said.append(text[at:])
    prose = "".join(said).strip()
    if not tagged and not fault:
        commands, fault = _shell_blocks(prose)
        calls = [ToolCall(SHELL, {"command": command}) for command in commands]
    return Turn(prose, "\n".join(thought.strip() for thought in thoughts).strip(), tuple(calls), fault)


def _read_call(text: str, start: int) -> tuple[ToolCall, int]:
    given, end = read_object(text, _skip_space(text, start))
    end = _skip_space(text, end)
    if text.startswith("</tool_call>", end):
        end += len("</tool_call>")
    elif end < len(text) and not text.startswith("<tool_call>", end):
        raise Unreadable(f"</tool_call> was expected after the JSON object, but there is {shown(text[end : end + 80])}")
    name = given.get("name")
    if not isinstance(name, str) or not name.strip():
        raise Unreadable(f'"name" must be the name of a tool, but it is {shown_value(name)}')
    return ToolCall(name.strip(), _arguments(given)), end


def _arguments(given: Any) -> dict[str, Any]:
    keys = [key for key in ("args", "arguments") if key in given]
    if not keys:
        if others := set(given) - {"name", "id", "type"}:
            raise Unreadable(f'the arguments belong into "args", but there is {shown(", ".join(sorted(others)))}')
        return {}  # a tool that takes none
    if len(keys) == 2 and given["args"] != given["arguments"]:
        raise Unreadable('"args" and "arguments" are both there and differ')
    arguments = given[keys[0]]
    if isinstance(arguments, str):  # the object written once more as a string, as OpenAI's API has it
        arguments = read_whole_object(arguments)
    if not isinstance(arguments, dict):
        raise Unreadable(f'"{keys[0]}" must be an object, but it is {shown_value(arguments)}')
    return arguments


def _end_of_broken(data: bytes, begin: int) -> int:
    """Where arguments end that cannot be read to their end: before the brace that ends the call, if there is one."""
    known, without = object_span(data, begin), data.rstrip()
    in_string = known is not None and known.members and known.members[-1].is_string and not known.members[-1].closed
    return len(data) if in_string or not without.endswith(b"}") else max(begin, len(without) - 1)


def _behind(text: str, at: int, *, may_be_thought: bool) -> int:
    """Where reading goes on after a call that was not read."""
    end = text.find("</tool_call>", at)
    thought = text.find("</think>", at) if may_be_thought else -1
    if thought >= 0 and (end < 0 or thought < end):
        return thought
    return len(text) if end < 0 else end + len("</tool_call>")


def _skip_space(text: str, at: int) -> int:
    space = _SPACE.match(text, at)
    return space.end() if space else at


def _shell_blocks(text: str) -> tuple[list[str], str]:
    commands: list[str] = []
    block: list[str] | None = None
    for line in text.split("\n"):
        if block is None:
            block = [] if _FENCE.fullmatch(line) else None
        elif line.strip() == "```":
            commands.append("\n".join(block))
            block = None
        else:
            block.append(line)
    if block is not None:
        return commands, "the ```bash block was not closed with ``` on a line of its own"
    if len(commands) > CALLS_PER_TURN:
        return commands[:CALLS_PER_TURN], f"more than {CALLS_PER_TURN} ```bash blocks in one turn"
    return [command for command in commands if command.strip()], ""
