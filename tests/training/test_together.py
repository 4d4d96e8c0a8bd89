"""Episodes that are played together end together."""

import asyncio

import pytest

from rtl_agent.envs.rollout import gather_or_cancel


async def test_results_are_in_their_order() -> None:
    async def late(number: int) -> int:
        await asyncio.sleep(0.01 * (3 - number))
        return number

    assert await gather_or_cancel(late(number) for number in range(3)) == [0, 1, 2]
    assert await gather_or_cancel([]) == []


async def test_when_one_fails_or_all_are_cancelled_none_goes_on() -> None:
    ended: list[str] = []

    async def long() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0)  # what closes a sandbox takes a moment
            ended.append("long")

    async def fails() -> None:
        await asyncio.sleep(0.01)
        raise ValueError("the server is gone")

    with pytest.raises(ValueError, match="gone"):
        await gather_or_cancel([long(), fails(), long()])
    assert ended == ["long", "long"]

    whole = asyncio.ensure_future(gather_or_cancel([long()]))
    await asyncio.sleep(0.01)
    whole.cancel()
    with pytest.raises(asyncio.CancelledError):
        await whole
    assert ended == ["long"] * 3
