"""A place to go on from: the weights saved after so many steps, and where they are."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

_OWN = ("name", "step", "state_path", "sampler_path", "best", "value")


@dataclass(frozen=True)
class Checkpoint:
    """`step` counts the steps done, so a run resumes with step number `step`.

    `state_path` holds weights and optimiser, `sampler_path` weights to sample from. `best` says that no earlier
    checkpoint had a better `value` (the held-out score). `extra` is the loop's own: data position, random state.
    """

    name: str
    step: int
    state_path: str | None
    sampler_path: str | None = None
    best: bool = False
    value: float | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in _OWN} | {"extra": dict(self.extra)}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> "Checkpoint":
        """Also from tinker-cookbook's lines, which say `batch` for the step and keep the loop's own keys beside it."""
        extra = dict(record.get("extra") or {})
        extra |= {key: value for key, value in record.items() if key not in (*_OWN, "extra", "batch")}
        return cls(
            name=str(record.get("name", "")),
            step=int(record.get("step", record.get("batch", 0)) or 0),
            state_path=record.get("state_path"),
            sampler_path=record.get("sampler_path"),
            best=bool(record.get("best", False)),
            value=record.get("value"),
            extra=extra,
        )
