"""Sandboxes by name: ours is there, another can be chosen, and a suite says whether it is one."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager

import pytest

from rtl_agent.registry import UnknownName
from rtl_agent.sandbox import (
    SANDBOXES,
    Box,
    BoxSpec,
    BubblewrapSandbox,
    CommandResult,
    Ended,
    Limits,
    make_sandbox,
    run_check,
    sandbox_kind,
)


class LiarsBox:
    """Says yes to everything and does nothing."""

    async def run(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: str = "/",
        stdin: bytes = b"",
        limits: Limits | None = None,
        pass_fds: Sequence[int] = (),
    ) -> CommandResult:
        return CommandResult(Ended.EXITED, 0, b"", b"", False, 0.0, 0.0, 0)

    async def write(self, path: str, data: bytes, *, mode: int = 0o644) -> None: ...

    async def read(self, path: str, *, max_bytes: int = 0) -> bytes:
        return b""


class Liar:
    name = "liar"

    def __init__(self, slots: int) -> None: ...

    @staticmethod
    def obstacles() -> list[str]:
        return []

    @asynccontextmanager
    async def open(self, spec: BoxSpec, *, pass_fds: Sequence[int] = ()) -> AsyncIterator[Box]:
        yield LiarsBox()


def test_bubblewrap_is_the_default_and_works_here() -> None:
    assert isinstance(make_sandbox(slots=1), BubblewrapSandbox)
    assert sandbox_kind("bubblewrap").obstacles() == []


def test_another_one_can_be_registered_and_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    SANDBOXES.register("liar")(Liar)
    try:
        assert isinstance(make_sandbox(1, "liar"), Liar)
        monkeypatch.setenv("RTL_AGENT_SANDBOX", "liar")
        assert isinstance(make_sandbox(1), Liar)
    finally:
        SANDBOXES.unregister("liar")


def test_a_name_that_is_not_there_gets_the_nearest_one() -> None:
    with pytest.raises(UnknownName, match=r"no sandbox named 'bubblewarp' \(did you mean bubblewrap\?\)"):
        make_sandbox(1, "bubblewarp")


@pytest.mark.parametrize("name", ["exit_code", "arguments_verbatim", "stdin"])
async def test_the_suite_takes_any_sandbox_and_finds_a_liar_out(name: str) -> None:
    assert not (await run_check(name, Liar(2))).passed
