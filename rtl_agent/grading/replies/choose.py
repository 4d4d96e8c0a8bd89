"""Which piece of a reply is which target: by the file it says it is, by the module it declares; the last of several."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from rtl_agent.grading.replies.edits import Edit, applied, rewritten
from rtl_agent.grading.replies.pieces import Piece, files_named, looks_like_a_path
from rtl_agent.grading.replies.rtl_text import RtlText, Unit, tokens_of
from rtl_agent.problems import Problem

_INCLUDE = re.compile(r'^[ \t]*+`include[ \t]++"(?:[^"\n]{0,200}/)?([^"/\n]{1,100})"', re.MULTILINE)
_MOST_BASES = 5  # texts that a change is tried on
_MOST_EDITED = 1 << 22  # characters of them, in one reply
_MOST_PARTS = 12  # blocks that a module is put together from
CUT_OFF = "the code block is not closed: the reply was cut off"
NO_RTL = "the reply has no RTL: no code block, no module, no JSON with files"


@dataclass(frozen=True)
class Wanted:
    """A target, the names that tell its text from others, and the harness's top module if it has to be in it."""

    path: str
    names: frozenset[str]
    top: str | None = None

    @property
    def is_rtl(self) -> bool:
        return self.path.endswith((".sv", ".v", ".svh", ".vh"))


def wanted(problem: Problem) -> tuple[Wanted, ...]:
    """The file's stem, what a given target declares, the harness's top, and what other given files use but none has."""
    own = {path: _given_names(problem, path) | {PurePosixPath(path).stem} for path in problem.targets}
    others = [RtlText(text) for path, text in problem.context.items() if path not in own and _is_rtl(path)]
    elsewhere = frozenset(name for text in others for name in text.names)
    tops = {service.env.get("TOPLEVEL", "") for service in problem.harness.services} - {""} - elsewhere
    if len(problem.targets) == 1:
        # Where there is one target, whatever is missing has to be in it.
        missing = frozenset(name for text in others for name in text.used) - elsewhere
        (target,) = own
        return (Wanted(target, own[target] | tops | missing, min(tops, default=None)),)
    return tuple(
        Wanted(path, names - elsewhere or names, min(tops & names, default=None)) for path, names in own.items()
    )


@dataclass(frozen=True)
class Workspace:
    """What stands beside the targets: files by path, design units by name, and those that are compiled with them."""

    files: Mapping[str, str]
    units: Mapping[str, str]
    compiled: frozenset[str]


def workspace_of(problem: Problem) -> Workspace:
    files = {path: text for path, text in problem.context.items() if path not in problem.targets and _is_rtl(path)}
    sources = " ".join(service.env.get("VERILOG_SOURCES", "") for service in problem.harness.services)
    units: dict[str, str] = {}
    compiled: set[str] = set()
    for path, text in files.items():
        rtl = RtlText(text)
        units |= {unit.name: text[unit.start : unit.end] for unit in rtl.units}
        if path in sources:
            compiled |= rtl.names
    return Workspace(files, units, frozenset(compiled))


def _given_names(problem: Problem, path: str) -> frozenset[str]:
    return RtlText(problem.context.get(path, "")).names if _is_rtl(path) else frozenset()


def _is_rtl(path: str) -> bool:
    return path.endswith((".sv", ".v", ".svh", ".vh"))


@dataclass(frozen=True)
class Chosen:
    """Path -> text, paths that are no targets among them (to be refused by name); or why there is nothing."""

    files: Mapping[str, str]
    unusable: str | None = None


def choose(targets: Sequence[Wanted], given: Mapping[str, str], around: Workspace, pieces: Sequence[Piece]) -> Chosen:
    """A file for each target that the reply has one for."""
    pieces = _edited(targets, given, _seen_from_here(targets, pieces))
    pieces = [part for piece in [*pieces, *_continued(pieces)] for part in _by_units(targets, piece)]
    taken: dict[str, Piece] = {}
    was_cut = False
    for target in targets:
        candidates = [piece for piece in pieces if _tier(targets, target, piece)]
        best = max(candidates, key=lambda piece: _rank(targets, target, given, piece), default=None)
        if best is not None and best.cut and not best.whole:
            was_cut = True  # a text without its end is never right, and nothing else names this target
        elif best is not None:
            taken[target.path] = best
    missing = [
        target for target in targets if target.path not in taken and (len(targets) == 1 or target.path not in given)
    ]
    if len(missing) == 1 and not was_cut:
        last, was_cut = _last_rtl(missing[0], [piece for piece in pieces if not _is_in(piece, taken)])
        if last is not None:
            taken[missing[0].path] = last
    refused = {piece.named: piece.text for piece in pieces if piece.from_json and _is_foreign(targets, piece)}
    if not taken:
        blank = next((piece.text for piece in pieces if not piece.text.strip()), None)
        if blank is not None and not refused and not was_cut and len(targets) == 1:
            return Chosen({targets[0].path: blank})
        return Chosen(refused, CUT_OFF if was_cut else None if refused else NO_RTL)
    return Chosen({**_completed(targets, given, around, taken, pieces), **refused})


def _is_foreign(targets: Sequence[Wanted], piece: Piece) -> bool:
    return looks_like_a_path(piece.named) and _file_of(targets, piece.named) is None


def _is_in(piece: Piece, taken: Mapping[str, Piece]) -> bool:
    return any(piece is other for other in taken.values())


def _file_of(targets: Sequence[Wanted], name: str) -> Wanted | None:
    """The target of that path, or the only one of that file name where no folder is said."""
    exact = [target for target in targets if target.path == name]
    if exact or "/" in name or "\\" in name:
        return exact[0] if exact else None
    named = [target for target in targets if PurePosixPath(target.path).name == name]
    return named[0] if len(named) == 1 else None


def _seen_from_here(targets: Sequence[Wanted], pieces: Sequence[Piece]) -> list[Piece]:
    """`./rtl/a.sv` and `/code/rtl/a.sv` of JSON are targets, seen from another folder, if every path there is one."""
    foreign = [piece for piece in pieces if piece.from_json and _is_foreign(targets, piece)]
    meant = {piece.named: _seen_from_elsewhere(targets, piece) for piece in foreign}
    exact = {piece.named for piece in pieces if piece.from_json}
    if any(path is None or path in exact for path in meant.values()):
        return list(pieces)
    return [
        replace(piece, named=meant[piece.named] or "") if piece.from_json and piece.named in meant else piece
        for piece in pieces
    ]


def _seen_from_elsewhere(targets: Sequence[Wanted], piece: Piece) -> str | None:
    parts = PurePosixPath(piece.named).parts
    if ".." in parts or not piece.named.isprintable():
        return None
    found = [
        target.path for target in targets if parts[-target.path.count("/") - 1 :] == PurePosixPath(target.path).parts
    ]
    return found[0] if len(found) == 1 and piece.rtl.names else None


def _said_to_be(targets: Sequence[Wanted], piece: Piece) -> Wanted | None:
    """By its own first comment or fence, where any folder before the path is nobody's mistake."""
    if piece.from_json:
        return _file_of(targets, piece.named)
    found = [target for target in targets if _ends_with(piece.named, target.path)] if piece.named else []
    return (found[0] if len(found) == 1 else None) or _file_of(targets, PurePosixPath(piece.named).name)


def _ends_with(path: str, target: str) -> bool:
    return path == target or path.endswith(f"/{target}")


def _headed_as(targets: Sequence[Wanted], piece: Piece) -> Wanted | None:
    """By the nearest line before it that names one of the targets, and only one."""
    for line in piece.headed:
        names = {PurePosixPath(name).name for name in files_named(line)}
        found = [target for target in targets if PurePosixPath(target.path).name in names]
        if found:
            return found[0] if len(found) == 1 else None
    return None


def _tier(targets: Sequence[Wanted], target: Wanted, piece: Piece) -> int:
    """How surely a piece is meant for a target; 0: not."""
    said = _said_to_be(targets, piece)
    if piece.from_json and piece.named:
        return 5 if said is target else 0
    holds = piece.rtl.names & target.names
    if said is not None and said is not target:
        return 0
    if said is target and (holds or not target.is_rtl or (piece.rtl.has_rtl and not _is_bench(piece, target))):
        return 4 if target.top is None or target.top in piece.rtl.names or not holds else 3
    if holds:
        return 4 if target.top in piece.rtl.names else 3
    headed = _headed_as(targets, piece) if not any(piece.rtl.names & other.names for other in targets) else None
    if headed is target and (not target.is_rtl or (_may_be_rtl(piece) and not _is_bench(piece, target))):
        return 2
    return 0


def _rank(
    targets: Sequence[Wanted], target: Wanted, given: Mapping[str, str], piece: Piece
) -> tuple[bool, int, bool, bool, bool, int]:
    """A whole text before a broken one: a final answer that was cut off after a whole draft cannot be right, and the
    draft can; CVDP's runner would take the draft, too. Neither is an
    outline or the given file, quoted, an answer while there is another text."""
    tier = _tier(targets, target, piece)
    differs = piece.text.strip() != given.get(target.path, "").strip()
    return (tier == 5 or piece.whole, tier, not piece.rtl.is_outline, piece.final, differs, piece.at)


def _last_rtl(target: Wanted, pieces: Sequence[Piece]) -> tuple[Piece | None, bool]:
    """Where nothing names the target: the last RTL that is not a test bench. Whether the only ones were cut."""
    if not target.is_rtl:
        return None, False
    rtl = [piece for piece in pieces if not piece.named or not piece.from_json]
    rtl = [piece for piece in rtl if piece.text.strip() and not _is_bench(piece, target)]
    rtl = [piece for piece in rtl if piece.rtl.units or piece.labelled or piece.rtl.has_rtl]
    uncut = [piece for piece in rtl if piece.whole or not piece.cut]
    best = max(uncut, key=lambda piece: (bool(piece.rtl.units), piece.whole, piece.at), default=None)
    return best, best is None and bool(rtl)


def _may_be_rtl(piece: Piece) -> bool:
    return bool(piece.rtl.units) or (piece.labelled and piece.rtl.has_rtl)


def _is_bench(piece: Piece, target: Wanted) -> bool:
    units = piece.rtl.units
    return bool(units) and all(_unit_is_bench(piece.rtl, unit, target.names) for unit in units)


def _unit_is_bench(text: RtlText, unit: Unit, wanted: frozenset[str]) -> bool:
    """A root without ports that nobody asked for, called a bench or driving what was asked for."""
    if unit.has_ports or unit.name in wanted:
        return False
    return unit.looks_like_a_bench or bool(RtlText(text.text[unit.start : unit.end]).used & wanted)


def _edited(targets: Sequence[Wanted], given: Mapping[str, str], pieces: Sequence[Piece]) -> list[Piece]:
    """Changes become the files that they make: of the given text, or of one that stands before them in the reply."""
    found: list[Piece] = []
    made: dict[str, str] = {}  # by changes before: one file may be changed in several blocks
    budget = _MOST_EDITED
    for piece in pieces:
        if piece.edit is None:
            found.append(piece)
            continue
        said = _said_to_be(targets, piece) or _headed_as(targets, piece)
        for target in [said] if said else targets if not piece.named or len(targets) == 1 else []:
            known = [text for text in (made.get(target.path), given.get(target.path)) if text is not None]
            earlier = [other.text for other in reversed(found) if other.rtl.names & target.names][:_MOST_BASES]
            bases = [*known, *earlier, *(() if target.path in given else ("",))]
            budget -= sum(map(len, bases)) + 1000
            text = _made(piece.edit, bases, target) if budget > 0 else None
            if text is not None:
                found.append(replace(piece, text=text, named=target.path, edit=None))
                made[target.path] = text
                break
    return found


def _made(edit: Edit, bases: Sequence[str], target: Wanted) -> str | None:
    for base in bases:
        text = applied(edit, base)
        if text and target.names & _complete_names(text):
            return text
    text = rewritten(edit)
    return text if target.names & _complete_names(text) else None


def _complete_names(text: str) -> frozenset[str]:
    rtl = RtlText(text)
    return rtl.names if rtl.complete else frozenset()


def _continued(pieces: Sequence[Piece]) -> Iterator[Piece]:
    """A module whose end stands in a later block: the blocks from its first to its last line, as one."""
    for index, piece in enumerate(pieces):
        if piece.from_json or piece.cut or piece.rtl.complete:
            continue
        text = piece.text
        for following in pieces[index + 1 : index + _MOST_PARTS]:
            if following.from_json or following.rtl.units or not (following.labelled or following.rtl.has_rtl):
                break
            text = f"{text.rstrip()}\n{following.text}"
            if "end" in following.text and RtlText(text).complete:
                yield replace(piece, text=text, cut=following.cut)
                break


def _by_units(targets: Sequence[Wanted], piece: Piece) -> Sequence[Piece]:
    """One block for several targets, and no word of where one ends: cut behind modules that another target follows."""
    owners = [(unit, _owner(targets, unit)) for unit in piece.rtl.units]
    if piece.named or len({owner.path for _, owner in owners if owner}) < 2:
        return [piece]
    parts: list[Piece] = []
    start, current = 0, ""
    end = 0
    for unit, owner in owners:
        if owner is not None and current and owner.path != current:
            parts.append(replace(piece, text=piece.text[start:end].strip("\n") + "\n", named=current))
            start = end
        if owner is not None:
            current = owner.path
        end = unit.end
    parts.append(replace(piece, text=piece.text[start:].strip("\n") + "\n", named=current))
    merged: dict[str, Piece] = {}
    for part in parts:
        known = merged.get(part.named)
        merged[part.named] = part if known is None else replace(known, text=known.text + part.text)
    return list(merged.values())


def _owner(targets: Sequence[Wanted], unit: Unit) -> Wanted | None:
    return next((target for target in targets if unit.name in target.names), None)


def _completed(
    targets: Sequence[Wanted],
    given: Mapping[str, str],
    around: Workspace,
    taken: Mapping[str, Piece],
    pieces: Sequence[Piece],
) -> dict[str, str]:
    """The texts, without test benches, and with modules and headers that they use and that stand in other blocks."""
    declared = set(around.units)
    for path, text in given.items():
        if path not in taken:
            declared |= RtlText(text).names
    for piece in taken.values():
        declared |= piece.rtl.names
    pool: dict[str, str] = {}
    for piece in pieces:
        if not piece.from_json and not _is_in(piece, taken):
            pool |= {unit.name: piece.text[unit.start : unit.end] for unit in piece.rtl.units if unit.complete}
    files: dict[str, str] = {}
    for target in targets:
        if target.path in taken:
            piece = taken[target.path]
            text = piece.text if piece.from_json else _without_benches(piece.rtl, target, around)
            text = _with_headers(text, given, around, pieces)
            waiting, helpers = sorted(RtlText(text).used & pool.keys() - declared) if not piece.from_json else [], []
            while waiting:
                name = waiting.pop()
                if name not in declared:
                    declared.add(name)
                    helpers.append(pool[name])
                    waiting += sorted(RtlText(pool[name]).used & pool.keys() - declared)
            files[target.path] = "\n\n".join([*reversed(helpers), text])
    return files


def _without_benches(text: RtlText, target: Wanted, around: Workspace) -> str:
    """Without what would be compiled beside its design: a bench of the same block, a given module that it repeats."""
    dropped = [
        unit
        for unit in text.units
        if unit.complete and (_unit_is_bench(text, unit, target.names) or _is_repeated(text, unit, around))
    ]
    if not dropped or len(dropped) == len(text.units):
        return text.text
    kept, at = [], 0
    for unit in dropped:
        kept.append(text.text[at : unit.start])
        at = unit.end
    return "".join([*kept, text.text[at:]])


def _is_repeated(text: RtlText, unit: Unit, around: Workspace) -> bool:
    if unit.name not in around.compiled:
        return False
    label = [":", unit.name]
    said, given = (tokens_of(code) for code in (text.text[unit.start : unit.end], around.units[unit.name]))
    return (said[:-2] if said[-2:] == label else said) == (given[:-2] if given[-2:] == label else given)


def _with_headers(text: str, given: Mapping[str, str], around: Workspace, pieces: Sequence[Piece]) -> str:
    """A header that is included and that only the reply has stands where it is included."""
    there = {PurePosixPath(path).name for path in (*given, *around.files)}
    headers: dict[str, str] = {}
    for piece in pieces if "`include" in text else ():
        names = [piece.named] if piece.named else [name for line in piece.headed[:1] for name in files_named(line)]
        if len(names) == 1 and not piece.rtl.names and piece.rtl.has_rtl:
            headers[PurePosixPath(names[0]).name] = piece.text.rstrip("\n")
    return _INCLUDE.sub(
        lambda found: found[0] if found[1] in there else headers.get(found[1], found[0]),
        text,
    )
