"""The ports that modules of a Verilog text declare, by its tokens alone: for given files, not for a model's."""

from rtl_agent.grading.verilog_tokens import Kind, tokens

_DIRECTIONS = {"input", "output", "inout"}
_ENDS_NAME = {",", ";", ")", "="}
_OPEN, _CLOSED = {"[", "(", "{"}, {"]", ")", "}"}
_ROUTINES = {"function": "endfunction", "task": "endtask"}


def declared_ports(text: str) -> dict[str, dict[str, str]]:
    """Module -> port -> direction, in headers of either style; unpacked arrays are left out."""
    words = [token.text for token in tokens(text) if token.kind is not Kind.COMMENT]
    found: dict[str, dict[str, str]] = {}
    ports: dict[str, str] = {}
    direction, routine, depth, assigned = "", "", 0, False
    for at, word in enumerate(words[:-1]):
        if routine:  # arguments of a function or task are no ports
            routine = "" if word == routine else routine
        elif word in _ROUTINES:
            routine = _ROUTINES[word]
        elif word in ("module", "macromodule"):
            name = words[at + 2] if words[at + 1] in ("automatic", "static") and at + 2 < len(words) else words[at + 1]
            ports = found.setdefault(name, {})
            direction = ""
        elif word in _DIRECTIONS:
            direction, depth, assigned = word, 0, False
        elif direction and word in _OPEN:
            depth += 1
        elif direction and (word == ";" or (word in _CLOSED and depth == 0)):
            direction = ""
        elif word in _CLOSED:
            depth -= 1
        elif word in ("=", ",") and depth == 0:
            assigned = word == "="  # what follows is a value of the port, up to the next one
        elif direction and depth == 0 and words[at + 1] in _ENDS_NAME and not assigned:
            ports[word] = direction
    return found
