"""What slang says of a design: modules, mutations that compile, and designs made of it. Asked in a box, never here."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rtl_agent.grading.interface import HDL, SlangWorker
from rtl_agent.problems import CocotbVersion
from rtl_agent.sandbox import Sandbox
from rtl_agent.toolchain import Toolchain

INSIDE = Path(__file__).parent / "inside"
_PROGRAMS = tuple(
    INSIDE / name for name in ("tree.py", "expressions.py", "mutations.py", "rewrites.py", "audit_worker.py")
)
_BATCH = 8  # mutations checked in one request: the largest designs take 0.1 s of CPU each, and a request has 3 s
_PATIENCE_SECONDS = 90.0  # the worker's CPU is limited; how long that takes is up to the machine
_COCOTB = CocotbVersion.V2  # the environment that has pyslang

Files = Mapping[str, str]


@dataclass(frozen=True)
class Port:
    name: str
    direction: str
    width: int
    plain: bool  # no unpacked dimensions, not an interface


@dataclass(frozen=True)
class Module:
    """A module that a top module of the harness is, or has below it."""

    name: str
    file: str
    is_top: bool
    ports: tuple[Port, ...]
    parameters: Mapping[str, str]  # that can be set -> the default's value
    events: tuple[tuple[str, str], ...]  # ("posedge", "clk")
    internal: tuple[str, ...]

    @property
    def outputs(self) -> tuple[Port, ...]:
        return tuple(port for port in self.ports if port.direction == "output")


@dataclass(frozen=True)
class Design:
    """Files that are judged, those beside them, and the modules that a harness looks at; none: all that nobody has."""

    files: Files  # the targets
    around: Files
    tops: tuple[str, ...] = ()

    @property
    def all_files(self) -> dict[str, str]:
        return {**self.around, **self.files}

    def with_files(self, files: Files) -> "Design":
        return Design({**self.files, **files}, self.around, self.tops)


@dataclass(frozen=True)
class Mutation:
    """One small mistake: `edits` are byte ranges of `file` and what stands there instead."""

    group: str
    operator: str
    file: str
    line: int
    edits: tuple[tuple[int, int, str], ...]

    def apply(self, files: Files) -> dict[str, str]:
        return {**files, self.file: edited(files[self.file], self.edits)}

    def to_request(self) -> dict[str, Any]:
        return {"file": self.file, "edits": [list(edit) for edit in self.edits]}


def edited(text: str, edits: Sequence[Sequence[Any]]) -> str:
    data = text.encode("utf-8", "replace")
    for start, end, new in sorted(map(tuple, edits), reverse=True):
        data = data[:start] + str(new).encode() + data[end:]
    return data.decode("utf-8", "replace")


class Trees:
    """Asks slang. WorkerFailed says that it would not, or could not, read a design."""

    def __init__(self, sandbox: Sandbox, toolchain: Toolchain) -> None:
        python = toolchain.harness(_COCOTB).executable
        self._slang = SlangWorker(
            sandbox, toolchain.mounts(_COCOTB), python, programs=_PROGRAMS, deadline=_PATIENCE_SECONDS
        )

    async def aclose(self) -> None:
        await self._slang.aclose()

    async def modules(self, design: Design) -> tuple[Module, ...]:
        answer = await self._ask("outline", design)
        return tuple(
            Module(
                name=one["name"],
                file=one["file"],
                is_top=one["is_top"],
                ports=tuple(
                    Port(port["name"], port["direction"], port["width"], not port["dims"] and port["width"] > 0)
                    for port in one["ports"]
                ),
                parameters=one["parameters"],
                events=tuple((edge, name) for edge, name in one["events"]),
                internal=tuple(one["internal"]),
            )
            for one in answer["modules"]
        )

    async def mutations(self, design: Design, parameters: Sequence[str] = ()) -> list[Mutation]:
        """All candidates, in the order of the text; some of them do not compile."""
        answer = await self._ask("mutations", design, parameters=list(parameters))
        return [
            Mutation(
                one["group"], one["operator"], one["file"], one["line"], tuple((s, e, t) for s, e, t in one["edits"])
            )
            for one in answer["mutations"]
        ]

    async def that_compile(self, design: Design, mutations: Sequence[Mutation]) -> list[Mutation]:
        found: list[Mutation] = []
        for at in range(0, len(mutations), _BATCH):
            batch = mutations[at : at + _BATCH]
            answer = await self._ask("check", design, mutations=[one.to_request() for one in batch])
            found += [one for one, right in zip(batch, answer["right"], strict=True) if right]
        return found

    async def stuck_outputs(self, design: Design, value: str) -> dict[tuple[str, str], dict[str, str]]:
        """(module, output) -> the target files with this output of the module at a value, and all else as it was."""
        answer = await self._ask("stuck", design)
        found = {}
        for one in answer["outputs"]:
            edits = [(start, end, text.replace("@VALUE@", value)) for start, end, text in one["edits"]]
            text = edited(design.files[one["file"]], edits)
            found[one["module"], one["output"]] = {**design.files, one["file"]: text}
        return found

    async def gutted(
        self, design: Design, touched: Mapping[str, Mapping[str, int]] | None = None
    ) -> dict[str, dict[str, str]]:
        """Designs with the same ports that tell nothing: how -> the target files. `touched`: module -> name -> width of
        what tests look for; what is no port of it becomes a signal inside."""
        answer = await self._ask("gutted", design, touched=touched or {})
        return {how: {**design.files, **files} for how, files in answer["designs"].items() if files}

    async def renamed(self, design: Design, kept: Collection[str]) -> tuple[dict[str, str], tuple[str, ...]]:
        """The design with other names for everything inside of it but `kept`; and which names were changed."""
        answer = await self._ask("renamed", design, kept=sorted(kept))
        files = {path: edited(design.files[path], edits) for path, edits in answer["edits"].items()}
        return {**design.files, **files}, tuple(answer["names"])

    async def _ask(self, question: str, design: Design, **more: Any) -> Mapping[str, Any]:
        files = {path: text for path, text in design.all_files.items() if path.endswith(HDL)}
        request = {"question": question, "files": files, "tops": list(design.tops), "targets": list(design.files)}
        return await self._slang.ask({**request, **more})
