"""What a chat page or an editor puts into code: other blanks, invisible marks, HTML escapes, escaped line ends."""

import html
import re

from rtl_agent.grading.replies.rtl_text import HIDDEN

_PLAIN = {
    **dict.fromkeys("\u00a0\u1680\u202f\u205f\u3000\u2028\u2029\u0085", " "),
    **dict.fromkeys(map(chr, range(0x2000, 0x200B)), " "),
    **dict.fromkeys("\u200b\u200c\u200d\u2060\u2061\u2062\u2063\u2064\ufeff\u00ad", ""),
    **dict.fromkeys("\u2018\u2019", "'"),  # 8'd0 as a word processor writes it
}
_TO_PLAIN = str.maketrans(_PLAIN)
_STRANGE = re.compile(f"[{''.join(_PLAIN)}]++")
_STRANGE_OR_HIDDEN = re.compile(f"(?P<strange>{_STRANGE.pattern})|{HIDDEN.pattern}", re.ASCII)
_SHELL_OR_HIDDEN = re.compile(rf"(?P<apostrophe>'\\'')|{HIDDEN.pattern}", re.ASCII)
_END_TOKEN = re.compile(r"(?:<\|\w{1,30}\|>|<｜[^<>｜]{1,40}｜>|</s>|<eos>|<end_of_turn>)\s{0,8}\Z")
_MOST_END_TOKENS = 8
_ENTITY = re.compile(r"&(?:lt|gt|amp|quot|apos|nbsp|#\d{1,4}|#x[0-9A-Fa-f]{1,4});")
_NUMBER_OF_QUOTE = re.compile(r"&#(?:39|34|x27|x22|96|x60);")  # no operator is followed by a delay
# `a &lt; b` might be `a & lt;` and a new statement; none of these can be.
_SURELY_ESCAPED = re.compile(
    r"&(?:lt|gt|amp);(?:[=&]|[ \t]{0,4}(?:\d|[~!]|\((?!\*)|\w{1,64}[ \t]{0,4}[;)\]&|^?]))"
    r"|&#(?:x27|x22|39|34);|&quot;\S",
    re.ASCII,
)
# Of a listing: `12 | assign`, `12: assign`, `12<tab>assign`; `12. assign`; `[12] assign`; `L12: assign`; `12 assign`.
_NUMBERED = tuple(
    re.compile(r"[ \t]*+" + form)
    for form in (
        r"(\d{1,6})(?:[ \t]*+[|:│](?![:=])[ \t]?|\t|[ \t]*+$)",
        r"(\d{1,6})[.)](?:[ \t]|$)",
        r"\[(\d{1,6})\](?:[ \t]|$)",
        r"L(\d{1,6}):?(?:[ \t]|$)",
        r"(\d{1,6})(?:[ \t]|$)",
    )
)
_ESCAPED_OR_HIDDEN = re.compile(
    r'(?P<escaped>(?<=[A-Za-z0-9])\\_(?=\w))|//[^\n]*+|/\*(?s:.*?)(?:\*/|\Z)|"(?:[^"\\\n]++|\\(?s:.))*+"?|\\[!-~]++',
    re.ASCII,
)
_MARKDOWN_ESCAPE = re.compile(r"\\([_*\[\]<>#|~&`])")


def in_plain_characters(text: str) -> str:
    """The same code. Strings and comments keep theirs, whatever they are."""
    return _STRANGE_OR_HIDDEN.sub(_plain, text) if _STRANGE.search(text) else text


def unescaped(text: str) -> str:
    """Code of a web page, where all of it was escaped, once or twice; numbers of characters may stand alone."""
    for _ in range(2):
        if "&" not in text or not _is_escaped(text):
            break
        text = html.unescape(text)
    return _NUMBER_OF_QUOTE.sub(lambda found: html.unescape(found[0]), text) if "&#" in text else text


def cleaned(text: str) -> str:
    text = without_markdown_escapes(unescaped(without_line_numbers(text)))
    return in_plain_characters(without_shell_quotes(text))


def without_shell_quotes(text: str) -> str:
    """`'\\''`: an apostrophe in a text that a shell has between apostrophes."""
    if "'\\''" not in text:
        return text
    return _SHELL_OR_HIDDEN.sub(lambda found: "'" if found["apostrophe"] else found[0], text)


def without_end_tokens(text: str) -> str:
    """A server that returns special tokens has the turn's last one at the end, glued to `endmodule`."""
    for _ in range(_MOST_END_TOKENS):
        found = _END_TOKEN.search(text, max(0, len(text) - 64))
        if found is None:
            break
        text = text[: found.start()]
    return text


def without_line_numbers(text: str) -> str:
    """Code as a listing shows it: every line begins with its number, in one form."""
    lines = text.split("\n")
    for form in _NUMBERED:
        if _is_numbered(lines, form):
            return "\n".join(line[number.end() :] if (number := form.match(line)) else line for line in lines)
    return text


def _is_numbered(lines: list[str], form: re.Pattern[str]) -> bool:
    expected, count = None, 0
    for line in lines:
        if not line.strip():
            continue
        number = form.match(line)
        if number is None or (expected is not None and int(number[1]) != expected):
            return False
        expected, count = int(number[1]) + 1, count + 1
    return count >= 3


def without_markdown_escapes(text: str) -> str:
    """`priority\\_override`: no identifier of Verilog has a backslash inside."""
    if "\\_" not in text or not any(found["escaped"] for found in _ESCAPED_OR_HIDDEN.finditer(text)):
        return text
    return _MARKDOWN_ESCAPE.sub(r"\1", text)


def with_line_ends(text: str) -> str:
    """A string of JSON that was escaped twice has `\\n` for every line end."""
    if "\n" in text or text.count("\\n") < 2:
        return text
    return text.replace("\\r", "").replace("\\n", "\n").replace("\\t", "\t").replace('\\"', '"')


def _plain(found: re.Match[str]) -> str:
    return found[0] if found["strange"] is None else found[0].translate(_TO_PLAIN)


def _is_escaped(text: str) -> bool:
    """Whether the whole text was escaped: no sign that HTML escapes stands there as itself, but `>`, which may."""
    rest = _ENTITY.sub("", text)
    kept = "<&>" if "&gt;" in text else "<&"
    return not any(sign in rest for sign in kept) and _SURELY_ESCAPED.search(text) is not None
