"""Tools as TypeScript declarations, the way gpt-oss is told of them."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from rtl_agent.envs.dialects.dialect import ToolSpec

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
