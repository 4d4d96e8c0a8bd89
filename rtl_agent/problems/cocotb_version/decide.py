"""The signs of all files of a harness -> the generation to run it with, and why."""

from collections.abc import Mapping
from dataclasses import dataclass

from rtl_agent.problems.cocotb_version.find import signs_in
from rtl_agent.problems.cocotb_version.table import BY_NAME, ONE, TWO, Sign, Weight
from rtl_agent.problems.problem import CocotbVersion


@dataclass(frozen=True)
class Decision:
    """The generation, the signs it was read off with their places (`file:line`), and a sentence."""

    cocotb_version: CocotbVersion
    signs: Mapping[str, tuple[str, ...]]
    reason: str

    def favouring(self, version: CocotbVersion) -> list[Sign]:
        """The signs that argue for a generation, the heaviest first."""
        found = [BY_NAME[name] for name in self.signs if BY_NAME[name].favours is version]
        return sorted(found, key=lambda sign: (-sign.weight, sign.name))

    @property
    def mixed(self) -> bool:
        """Whether both generations have a sign that is more than a hint: one of them may not run as it stands."""
        return all(any(s.weight > Weight.HINT for s in self.favouring(version)) for version in (ONE, TWO))


def cocotb_version_of(files: Mapping[str, str]) -> CocotbVersion:
    """The generation to run these harness files with."""
    return decide(files).cocotb_version


def decide(files: Mapping[str, str]) -> Decision:
    places: dict[str, list[str]] = {}
    for path, text in files.items():
        for name, line in signs_in(text) if path.endswith(".py") else ():
            places.setdefault(name, []).append(f"{path}:{line}")
    version, reason = _weigh(set(places))
    return Decision(version, {name: tuple(found) for name, found in places.items()}, reason)


def _weigh(names: set[str]) -> tuple[CocotbVersion, str]:
    for weight in (Weight.ALL, Weight.SOME, Weight.HINT):
        sides = {
            version: sorted(
                name for name in names if BY_NAME[name].favours is version and BY_NAME[name].weight == weight
            )
            for version in (ONE, TWO)
        }
        if sides[ONE] and sides[TWO]:
            if weight is Weight.SOME:
                continue  # what works for some signals may work for these: the runner tells more
            both = ", ".join(sides[ONE]), ", ".join(sides[TWO])
            return TWO, f"{both[1]} against {both[0]}: 2.0.1, which CVDP pins"
        for version, signs in sides.items():
            if signs:
                return version, ", ".join(signs)
    return TWO, "no sign of either: 2.0.1, which CVDP pins"
