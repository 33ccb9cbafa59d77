from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from corral.errors import ProviderError
from corral.providers.local.control import Fault, GuestStatus, Reply, Request, Status, ask, serve

GUEST = GuestStatus(name="node0", powered=True, frozen=False, plugged=True, boots=1, error=None)


async def answer(request: Request) -> Reply:
    if isinstance(request, Fault):
        raise ProviderError(f"no machine is called {request.name}")
    return Reply(guests=(GUEST,))


def conversation(directory: Path, request: Request) -> Reply:
    async def talk() -> Reply:
        async with await serve(directory, answer):
            return await ask(directory, request, timeout_s=5)

    return asyncio.run(talk())


def test_a_request_gets_its_reply_even_from_a_directory_with_a_long_name(tmp_path: Path) -> None:
    directory = tmp_path / ("d" * 120)
    directory.mkdir()
    assert conversation(directory, Status()).guests == (GUEST,)
    assert (directory / "control.sock").stat().st_mode & 0o077 == 0


def test_what_the_supervisor_refuses_is_raised_in_its_words(tmp_path: Path) -> None:
    with pytest.raises(ProviderError, match="no machine is called node7"):
        conversation(tmp_path, Fault(do="freeze", name="node7"))


def test_nobody_there_is_an_error_that_says_so(tmp_path: Path) -> None:
    with pytest.raises(ProviderError, match="does not answer"):
        asyncio.run(ask(tmp_path, Status()))
