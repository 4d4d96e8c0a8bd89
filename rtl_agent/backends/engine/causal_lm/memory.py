"""How much memory a model takes, said before it is loaded: a process that is killed half-way says nothing."""

from dataclasses import dataclass
from pathlib import Path

from rtl_agent.backends.engine.contract import EngineError

GB = 1e9
# What the process takes beside the weights: a server of a tiny model peaks at 0.4 GB; a chunk of logits and the
# activations of a prompt are the rest.
WORKING = 1.0 * GB


def available_memory() -> float:
    """Bytes that can be had without swapping; infinity where the system does not say."""
    try:
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return float(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    return float("inf")


@dataclass(frozen=True)
class MemoryNeed:
    """Parts with their bytes, as a sentence names them."""

    what: str
    parts: dict[str, float]

    @property
    def total(self) -> float:
        return sum(self.parts.values())

    def check(self, advice: str) -> None:
        available = available_memory()
        if self.total > available:
            named = ", ".join(f"{size / GB:.1f} GB {name}" for name, size in self.parts.items())
            raise EngineError(
                f"{self.what} needs about {self.total / GB:.1f} GB of memory ({named}), but {available / GB:.1f} GB "
                f"are available; {advice}."
            )


def to_load(name: str, parameters: int, bytes_each: int, *, packed: bool) -> MemoryNeed:
    parts = {f"for {parameters / 1e6:,.0f}M weights of {bytes_each} bytes": float(parameters * bytes_each)}
    if packed:
        parts["for a copy laid out for sampling"] = float(parameters * bytes_each)
    return MemoryNeed(f"The model {name!r}", {**parts, "to work with": WORKING})


def to_train_adapter(name: str, rank: int, values: int, activations: float) -> MemoryNeed:
    """float32: the adapter, its gradients twice (new and added up), two moments."""
    return MemoryNeed(
        f"Training a LoRA adapter of rank {rank} for {name!r}",
        {
            "for the adapter and its optimizer": 20.0 * values,
            "for the activations of a micro-batch": activations,
        },
    )


def to_train_all(name: str, parameters: int) -> MemoryNeed:
    """float32: the weights, their gradients twice (new and added up), two moments."""
    return MemoryNeed(
        f"Training all weights of {name!r}",
        {
            "for the weights in float32": 4.0 * parameters,
            "for gradients": 8.0 * parameters,
            "for the optimizer": 8.0 * parameters,
        },
    )
