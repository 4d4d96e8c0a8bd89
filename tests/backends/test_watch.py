"""Who waits for a server is told when it is gone."""

import asyncio

import pytest

from rtl_agent.backends.connect import while_alive


async def test_a_server_that_died_ends_the_work_and_the_wait() -> None:
    ended = asyncio.Event()

    async def work() -> None:
        try:
            await asyncio.sleep(3600)
        finally:
            ended.set()

    def check() -> None:
        raise ConnectionError("its process is gone")

    with pytest.raises(ConnectionError):
        await while_alive(check, work())
    assert ended.is_set()


async def test_work_that_comes_to_its_end_gives_what_it_gave() -> None:
    async def seven() -> int:
        return 7

    assert await while_alive(lambda: None, seven()) == 7
