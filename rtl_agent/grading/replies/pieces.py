"""Everything in a reply that may be an answer: blocks, files in JSON, bare code; each with what is said of its file."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import PurePosixPath

from rtl_agent.grading.replies.cleaned import (
    cleaned,
    in_plain_characters,
    unescaped,
    with_line_ends,
    without_line_numbers,
    without_markdown_escapes,
)
from rtl_agent.grading.replies.documents import Document, almost_documents_in, documents_in
from rtl_agent.grading.replies.edits import Edit, edits_in, has_marked_lines, starts_an_edit
from rtl_agent.grading.replies.fences import RTL_LANGUAGES, Segment, lines_of, segments_of
from rtl_agent.grading.replies.rtl_text import DIRECTIVE, RtlText, code_in, without_tags, without_words_around

_FILE = re.compile(r"[\w./\\-]{0,200}\.(?:svh|vh|sv|v|py|tcl|md|txt)\b", re.ASCII)
# `// File: rtl/a.sv`, `/* a.sv */`, `// ==== rtl/a.sv ====`: a comment that says nothing else.
_FILE_COMMENT = re.compile(
    r"[ \t]*+(?://+|/\*+|#)[ \t]*+[-=*#~ ]*+(?:(?:file|filename|file name|path|module file)[ \t]*+[:=]?[ \t]*+)?"
    r"[`\"'*]*+(?P<path>[\w./-]{1,200}\.(?:svh|vh|sv|v))[`\"'*]*+[ \t]*+[-=#~: ]*+(?:\*/)?[ \t\r]*+\n?",
    re.IGNORECASE | re.ASCII,
)
_CODE_ON_THE_FENCE = re.compile(
    rf"\s*+(?://|/\*|{DIRECTIVE}|(?:module|package|interface)\s++\w++\s*+(?:[(;#]|$))", re.ASCII
)
_JUNK_LINE = re.compile(
    r"[ \t]*+(?:(?:[`*#]*+|<!--|%%(?:write)?file)[ \t]*+(?:(?:file|filename|path)[ \t]*+[:=][ \t]*+)?[`*]*+"
    r"[\w./-]{0,200}?\.(?:svh|vh|sv|v)[`*:]*+(?:[ \t]*+-->)?|verilog|systemverilog)?[ \t\r]*+\n",
    re.ASCII | re.IGNORECASE,
)
_ANSWER = re.compile(r"<(/?)(?:answer|final|final_answer|final-answer|solution)>", re.IGNORECASE)
_UNIT_END = re.compile(r"\bend(?:module|package|interface|primitive|program)\b")
_MOST_PIECES = 1000  # the last ones: no answer has more blocks, and each costs time
_FAR = 1 << 40
_DIFFS = frozenset({"diff", "patch", "udiff"})
_LOST_FENCE = re.compile(r"\n`{1,2}\s*+\Z|\n~{1,2}\s*+\Z")
_QUOTED_CODE = re.compile(r"^[ \t]*+>[ \t>]*+(?:`\w|(?:macro)?module\b|package\b)", re.MULTILINE)
_BREAK = re.compile(r"<br[ \t]*+/?>[ \t\r]*+\n?", re.IGNORECASE)
_INLINE_TAG = re.compile(r"</?(?:span|b|i|em|strong)(?:\s[^<>\n]{0,200})?>", re.IGNORECASE)
_AFTER_WORDS = re.compile(r"`++(?=(?:macro)?module\s)|(?<=[:.!])[ \t]++(?=(?:macro)?module\s++\w++\s*+[#(;])", re.ASCII)
_QUOTED = re.compile(r"^[ \t]*+(?:>[ \t]?+)++", re.MULTILINE)


@dataclass(frozen=True)
class Piece:
    """A text that may be a file, where it stands in the reply, and which file it is said to be."""

    text: str
    at: int
    named: str = ""  # the file it says it is: in JSON, on its fence, in its first comment
    headed: tuple[str, ...] = ()  # lines of prose before it, the nearest first
    from_json: bool = False
    labelled: bool = False  # its fence says Verilog
    final: bool = False  # it stands between tags such as <answer>
    cut: bool = False  # the reply ended inside of it
    edit: Edit | None = None  # says what to change in a file, and has no text of its own

    @cached_property
    def rtl(self) -> RtlText:
        return RtlText(self.text)

    @property
    def whole(self) -> bool:
        """All its units have an end, and there is one: whether a fence was closed after it does not matter then."""
        return self.rtl.complete and (bool(self.rtl.units) or not self.cut)


def pieces_of(text: str) -> list[Piece]:
    """In the order of the reply."""
    if all(line.lstrip().startswith(">") for line in lines_of(text) if line.strip()):
        text = _QUOTED.sub("", text)
    documents = [document for document in documents_in(text) if _is_answer(document)][-_MOST_PIECES:]
    documents = documents or [*almost_documents_in(text)][-_MOST_PIECES:]
    if not documents:
        text = with_line_ends(text)
    found = [piece for document in documents for piece in _of_document(document)]
    segments = segments_of(_without(text, documents))
    blocks = [segment for segment in segments if segment.is_block]
    # Blank ones are kept as far as they are needed to say so.
    blocks = [block for block in blocks if block.text.strip()][-_MOST_PIECES:] or blocks[:1]
    final = _final_answer(segments)
    for block in blocks:
        found += _of_block(block)
    for segment in segments:
        if not segment.is_block:
            found += _of_prose(segment)
    found = [replace(piece, final=piece.at in final) for piece in found]
    found.sort(key=lambda piece: piece.at)
    return [part for piece in found[-_MOST_PIECES:] for part in _by_file_comments(piece)][-_MOST_PIECES:]


def _without(text: str, documents: Sequence[Document]) -> str:
    """Blanks in their places: other places stay as they are."""
    kept, at = [], 0
    for document in documents:
        kept += [text[at : document.start], " " * (document.end - document.start)]
        at = document.end
    return "".join([*kept, text[at:]])


def _final_answer(segments: Sequence[Segment]) -> range:
    """The last part of the reply that is tagged as its answer."""
    begin, end = 0, 0
    for segment in segments:
        for tag in _ANSWER.finditer(segment.text) if not segment.is_block else ():
            at = segment.at + tag.start()
            begin, end = (at, _FAR) if not tag[1] else (begin, at if end == _FAR else end)
    return range(begin, end)


def files_named(text: str) -> list[str]:
    return _FILE.findall(text)


def looks_like_a_path(key: str) -> bool:
    return "/" in key or "\\" in key or PurePosixPath(key).suffix != "" or not key.isprintable()


def _is_answer(document: Document) -> bool:
    """Not every object is: a table of widths or a wave in JSON stands beside an answer."""
    return any(looks_like_a_path(key) or _UNIT_END.search(text) for key, text in document.texts)


def _of_document(document: Document) -> Iterator[Piece]:
    for key, text in document.texts:
        key = key.strip("`") or key
        if looks_like_a_path(key):
            blocks = [segment for segment in segments_of(text) if segment.is_block and segment.text.strip()]
            inside = blocks[0].text if blocks else text
            yield Piece(cleaned(inside), document.start, named=key, from_json=True, cut=document.cut)
        else:
            for segment in segments_of(text):
                parts = _of_block(segment) if segment.is_block else _of_prose(segment)
                yield from (replace(part, at=document.start, cut=part.cut or document.cut) for part in parts)


def _of_block(block: Segment) -> Iterator[Piece]:
    named = next(iter(files_named(block.info)), "")
    text = cleaned(block.text if block.closed else _LOST_FENCE.sub("", block.text))
    text = _code_of_the_fence(block.info) + text
    labelled = block.language in RTL_LANGUAGES
    common = Piece("", block.at, named, block.heading, labelled=labelled, cut=not block.closed)
    is_diff = block.language in _DIFFS and has_marked_lines(text)
    if is_diff or starts_an_edit(text) is not None:
        yield from _edits(text, common, is_diff=is_diff)
    elif block.is_other_language:
        # A model may call Verilog text; what is around it (a shell's `cat`, a table) is not to be graded.
        for start, end in code_in(text):
            yield replace(common, text=text[start:end].strip("\n") + "\n")
    else:
        yield replace(common, text=without_words_around(_without_junk(text)))


def _edits(text: str, common: Piece, *, is_diff: bool) -> Iterator[Piece]:
    named = next(iter(files_named(text.partition("\n")[0])), common.named)
    for edit in edits_in(text, is_diff=is_diff):
        yield replace(common, named=edit.path or named, edit=edit)


def _of_prose(prose: Segment) -> Iterator[Piece]:
    raw = without_markdown_escapes(in_plain_characters(without_line_numbers(prose.text)))
    if _QUOTED_CODE.search(raw):
        raw = _QUOTED.sub("", raw)
    if (begins := starts_an_edit(raw)) is not None:
        yield from _edits(raw[begins:], Piece("", prose.at + begins, headed=_headings(raw, begins)), is_diff=False)
        raw = raw[:begins]
    raw = _BREAK.sub("\n", _INLINE_TAG.sub("", raw))
    text = without_tags(raw)
    if not (spans := code_in(text)):
        raw = text = _AFTER_WORDS.sub("\n", text)
        spans = code_in(text)
    for start, end in spans:
        code = unescaped(text[start:end]).strip() + "\n"
        yield Piece(code, prose.at + start, headed=_headings(raw, start), cut=end >= len(text))


def _headings(text: str, at: int) -> tuple[str, ...]:
    above = [line.strip() for line in reversed(text[max(0, at - 400) : at].split("\n")) if line.strip()]
    return tuple(above[:2])


def _code_of_the_fence(info: str) -> str:
    """```` ```verilog module m ( ````: the first line of code on the line of the fence."""
    language, _, rest = info.partition(" ")
    first = rest if language.lower() in RTL_LANGUAGES else info
    return f"{first}\n" if _CODE_ON_THE_FENCE.match(first) else ""


def _without_junk(text: str) -> str:
    """Lines before the code that are a file's name or a language: some put them below the fence."""
    at = 0
    while (junk := _JUNK_LINE.match(text, at)) and junk.end() > at:
        at = junk.end()
    return text[at:] if text[:at].strip() else text


def _by_file_comments(piece: Piece) -> Sequence[Piece]:
    """A block for several files says where each begins."""
    if piece.from_json and piece.named:
        return [piece]
    starts: list[tuple[int, str]] = []
    at = 0
    for line in lines_of(piece.text):
        if "." in line and len(line) < 400 and (found := _FILE_COMMENT.fullmatch(line)):
            starts.append((at, found["path"]))
        at += len(line)
    if not starts:
        return [piece]
    if len({path for _, path in starts}) == 1:
        is_first = not RtlText(piece.text[: starts[0][0]]).units
        return [replace(piece, named=starts[0][1])] if is_first and not piece.named else [piece]
    ends = [start for start, _ in starts[1:]] + [len(piece.text)]
    parts = [
        replace(piece, text=piece.text[start:end], at=piece.at + start, named=path, headed=())
        for (start, path), end in zip(starts, ends, strict=True)
    ]
    before = piece.text[: starts[0][0]]
    return [replace(piece, text=before), *parts] if RtlText(before).units else parts
