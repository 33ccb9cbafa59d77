"""This very machine, and the processes that Corral starts on it."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from corral.hosts.base import Completed, OnLine
from corral.hosts.patience import within

_GRACE_S = 5.0
_CHUNK = 64 * 1024


class LocalHost:
    """Runs scripts on the machine Corral itself runs on; the caller must be root where that matters."""

    def __init__(self, name: str = "this machine") -> None:
        self.name = name

    async def run(
        self, script: str, *, stdin: bytes = b"", timeout_s: float = 60, on_line: OnLine | None = None
    ) -> Completed:
        payload = script.encode()
        return await run(
            ["sh", "-c", f'corral_script=$(head -c {len(payload)}); eval "$corral_script"'],
            stdin=payload + stdin,
            timeout_s=timeout_s,
            on_line=on_line,
        )

    @asynccontextmanager
    async def hold(self, script: str) -> AsyncIterator[str]:
        process = await asyncio.create_subprocess_exec(
            "sh",
            "-c",
            script,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True,
        )
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield (await process.stdout.readline()).decode().strip()
        finally:
            process.stdin.close()
            await _kill_unless_ended(process)

    async def close(self) -> None:
        return None


async def run(
    argv: Sequence[str], *, stdin: bytes = b"", timeout_s: float = 60, on_line: OnLine | None = None
) -> Completed:
    """Run a program on this machine; past `timeout_s` its whole process group is killed and it exits 124."""
    process = await asyncio.create_subprocess_exec(
        *argv,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    out: list[str] = []
    err: list[str] = []
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    tasks = [
        asyncio.ensure_future(_collect(process.stdout, out, on_line)),
        asyncio.ensure_future(_collect(process.stderr, err, on_line)),
        asyncio.ensure_future(_feed(process.stdin, stdin)),
    ]
    timed_out = False
    try:
        await within(asyncio.gather(process.wait(), *tasks), timeout_s)
    except asyncio.TimeoutError:
        timed_out = True
    finally:
        if process.returncode is None or timed_out:
            await _kill_group(process)
        for task in tasks:
            task.cancel()
    code = 124 if timed_out else process.returncode
    return Completed(124 if code is None else code, "".join(out), "".join(err))


async def spawn(argv: Sequence[str], log: Path) -> asyncio.subprocess.Process:
    """Start a program in its own session, its output appended to `log`; the caller owns and awaits it."""
    with log.open("ab") as sink:
        return await asyncio.create_subprocess_exec(
            *argv,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=sink,
            stderr=sink,
            start_new_session=True,
        )


def become(argv: Sequence[str]) -> None:
    """Replace this process by another program: for interactive ones, which then own the terminal."""
    os.execvp(argv[0], list(argv))  # noqa: S606 (that no shell is involved is the point)


async def _collect(stream: asyncio.StreamReader, into: list[str], on_line: OnLine | None) -> None:
    def take(line: bytes) -> None:
        text = line.decode(errors="replace")
        into.append(text)
        if on_line is not None:
            on_line(text.rstrip("\n"))

    # By hand, because a StreamReader gives up on lines that are longer than its buffer.
    rest = b""
    while chunk := await stream.read(_CHUNK):
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            take(line + b"\n")
    if rest:
        take(rest)


async def _feed(stream: asyncio.StreamWriter, data: bytes) -> None:
    with suppress(BrokenPipeError, ConnectionResetError):
        stream.write(data)
        await stream.drain()
    stream.close()


async def _kill_unless_ended(process: asyncio.subprocess.Process) -> None:
    try:
        await asyncio.wait_for(process.wait(), _GRACE_S)
    except asyncio.TimeoutError:
        await _kill_group(process)


async def _kill_group(process: asyncio.subprocess.Process) -> None:
    for sig in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, sig)
        with suppress(asyncio.TimeoutError):
            await asyncio.wait_for(process.wait(), _GRACE_S)
            return
