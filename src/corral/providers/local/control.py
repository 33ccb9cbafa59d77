"""The conversation between the operator and a cluster's supervisor: one JSON request, one JSON reply."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from corral.errors import CorralError, ProviderError
from corral.providers.local.python_view import PythonView
from corral.providers.local.recipe import Init

_LINE_LIMIT = 1 << 20
_SOCKET = "control.sock"


class _Message(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class GuestPlan(_Message):
    """One machine: its index decides its address and never changes while the machine exists."""

    name: str
    index: int

    @property
    def short_name(self) -> str:
        """For what the kernel gives few characters to, such as interfaces."""
        return f"m{self.index}"

    def home(self, directory: Path) -> Path:
        """The machine's disk, keys and console; another machine of the same name has another one."""
        return directory / "machines" / f"{self.name}.{self.index}"


class Plan(_Message):
    """All that the machines of a cluster should be."""

    image: Path
    init: Init
    gpus: int
    gpu_type: str
    link: str | None
    authorized_key: str
    python: PythonView
    guests: tuple[GuestPlan, ...]


class Converge(_Message):
    """Make the machines what the plan says: add, remove, power on, thaw, plug in."""

    do: Literal["converge"] = "converge"
    plan: Plan


class Status(_Message):
    """Only tell."""

    do: Literal["status"] = "status"


class Fault(_Message):
    """Do to one machine what a person in the machine room could do to it."""

    do: Literal["power_off", "power_on", "freeze", "thaw", "unplug", "plug"]
    name: str


class Limit(_Message):
    """Shape one machine's link, or with no rate put it back to what the plan says."""

    do: Literal["limit"] = "limit"
    name: str
    rate: str | None


class GuestStatus(_Message):
    """How one machine is. `error` says why it is off, where it should not be."""

    name: str
    powered: bool
    frozen: bool
    plugged: bool
    boots: int
    error: str | None


class Reply(_Message):
    """The answer to every request: how all machines are, and what went wrong."""

    guests: tuple[GuestStatus, ...] = ()
    error: str | None = None


Request = Converge | Status | Fault | Limit
Handler = Callable[[Request], Awaitable[Reply]]
_REQUEST: TypeAdapter[Request] = TypeAdapter(Annotated[Request, Field(discriminator="do")])


async def ask(directory: Path, request: Request, *, timeout_s: float = 60) -> Reply:
    """Send one request; raises `ProviderError` with the supervisor's words, or when nobody answers."""
    try:
        line = await asyncio.wait_for(_exchange(directory, request), timeout_s)
    except (OSError, asyncio.TimeoutError, asyncio.IncompleteReadError) as problem:
        raise ProviderError(
            f"the supervisor of the machines in {directory} does not answer: {problem or 'too slow'}"
        ) from problem
    reply = Reply.model_validate_json(line)
    if reply.error is not None:
        raise ProviderError(reply.error)
    return reply


async def serve(directory: Path, handle: Handler) -> asyncio.AbstractServer:
    """Answer requests, for root alone, from now on."""

    async def converse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError):
            reply = await _answer(await reader.readuntil(b"\n"), handle)
            writer.write(reply.model_dump_json().encode() + b"\n")
            await writer.drain()
        writer.close()

    (directory / _SOCKET).unlink(missing_ok=True)
    umask = os.umask(0o177)
    try:
        with _short(directory) as path:
            return await asyncio.start_unix_server(converse, path, limit=_LINE_LIMIT)
    finally:
        os.umask(umask)


async def _answer(line: bytes, handle: Handler) -> Reply:
    try:
        return await handle(_REQUEST.validate_json(line))
    except ValidationError as problem:
        return Reply(error=f"the running supervisor is of another version of Corral: {problem}")
    except (CorralError, OSError) as problem:
        return Reply(error=str(problem))


async def _exchange(directory: Path, request: Request) -> bytes:
    with _short(directory) as path:
        reader, writer = await asyncio.open_unix_connection(path, limit=_LINE_LIMIT)
    try:
        writer.write(request.model_dump_json().encode() + b"\n")
        await writer.drain()
        return await reader.readuntil(b"\n")
    finally:
        writer.close()


@contextmanager
def _short(directory: Path) -> Iterator[str]:
    """A name for the socket that fits: the kernel allows 107 characters, a directory may have more."""
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{fd}/{_SOCKET}"
    finally:
        os.close(fd)
