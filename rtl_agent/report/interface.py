"""How the interface that an answer has differs from the reference's, each difference in words."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from rtl_agent.report.reset import is_like_a_reset

_MOST_PAIRED = 64  # of the ports too many: a hostile answer may have thousands


@dataclass(frozen=True)
class Design:
    """What is to be read: the module `top`, or without one the module that no other stands beside."""

    files: Mapping[str, str]
    top: str | None = None


@dataclass(frozen=True)
class Port:
    name: str
    direction: str
    width: int  # bits of one element; 0 where it is not known
    dimensions: tuple[str, ...] = ()  # unpacked


@dataclass(frozen=True)
class Interface:
    module: str
    ports: tuple[Port, ...]
    parameters: tuple[str, ...] = ()  # that can be set from outside


# Reading Verilog takes a parser in a sandbox, of which the report knows nothing: whoever has one hands it in. One for
# each design, in order; None where it could not be read.
ReadInterfaces = Callable[[Sequence[Design]], Sequence[Interface | None]]


def interface_differences(asked: Interface, written: Interface) -> tuple[str, ...]:
    """All of them. The order of ports is none, nor is a parameter too many."""
    return (
        *([f"module is named `{written.module}`; asked: `{asked.module}`"] if written.module != asked.module else []),
        *_names(asked.ports, written.ports),
        *_shapes(asked.ports, written.ports),
        *(f"parameter `{name}` is missing" for name in asked.parameters if name not in written.parameters),
    )


def is_known(interface: Interface) -> bool:
    """Whether every port was read whole: with a width that is not known, no difference proves nothing."""
    return all(port.width for port in interface.ports)


def _names(asked: Sequence[Port], written: Sequence[Port]) -> Iterator[str]:
    """Ports too few and too many, the most similar ones in one breath."""
    wanted, found = {port.name for port in asked}, {port.name for port in written}
    missing = [(at, port) for at, port in enumerate(asked) if port.name not in found]
    spare = [(at, port) for at, port in enumerate(written) if port.name not in wanted]
    instead = _pairs(missing, spare)
    for _, port in missing:
        other = instead.get(port.name)
        sizes = (_size(port), _size(other)) if other and other.width != port.width else ("", "")
        yield f"`{port.name}`{sizes[0]} is missing" + (f"; `{other.name}`{sizes[1]} is not asked for" if other else "")
    yield from (f"`{port.name}` is not asked for" for _, port in spare if port not in instead.values())


def _size(port: Port) -> str:
    return f" ({port.width} {'bit' if port.width == 1 else 'bits'})" if port.width else ""


def _pairs(missing: Sequence[tuple[int, Port]], spare: Sequence[tuple[int, Port]]) -> dict[str, Port]:
    """What stands beside what is missing: of one direction, like names first, then near places in the list."""
    ranked = sorted(
        (-_alike(want.name, port.name), abs(at - place), at, place)
        for at, want in missing
        for place, port in spare[:_MOST_PAIRED]
        if want.direction == port.direction
    )
    wanted, found = dict(missing), dict(spare)
    pairs: dict[str, Port] = {}
    for *_, at, place in ranked:
        if wanted[at].name not in pairs and found[place] not in pairs.values():
            pairs[wanted[at].name] = found[place]
    return pairs


def _alike(a: str, b: str) -> float:
    """From 0 to 1. Less than half of the letters in common, or a single one, is chance; a reset is a reset."""
    if is_like_a_reset(a) and is_like_a_reset(b):
        return 1.0
    ratio = SequenceMatcher(None, a.lower(), b.lower()).ratio()
    return ratio if ratio >= 0.5 and min(len(a), len(b)) > 1 else 0.0


def _shapes(asked: Sequence[Port], written: Sequence[Port]) -> Iterator[str]:
    """Ports of the right name with something else wrong."""
    found = {port.name: port for port in written}
    for want in asked:
        port = found.get(want.name, want)
        if port.direction != want.direction:
            yield f"`{port.name}` is {_article(port.direction)}, {_article(want.direction)} is asked for"
        if port.width and want.width and port.width != want.width:
            bits, are = "bit" if port.width == 1 else "bits", "is" if want.width == 1 else "are"
            yield f"`{port.name}` is {port.width} {bits} wide, {want.width} {are} asked for"
        if port.dimensions != want.dimensions:
            yield f"`{port.name}` is {_array(port)}; asked: {_array(want)}"


def _article(direction: str) -> str:
    return f"{'an' if direction[:1] in 'aeiou' else 'a'} {direction}"


def _array(port: Port) -> str:
    return f"an array {''.join(port.dimensions)}" if port.dimensions else "no array"
