"""One HTTP exchange with slurmrestd, in a thread, never without an end."""

from __future__ import annotations

import asyncio
import http.client
import socket
from dataclasses import dataclass

from corral.errors import InputError, SlurmUnavailable


@dataclass(frozen=True, slots=True)
class Tcp:
    """slurmrestd on the cluster's network."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> Tcp:
        """From `10.77.0.10:6820`, as /etc/corral/site.json has it."""
        host, _, port = text.rpartition(":")
        if not host or not port.isdecimal():
            raise InputError(f"'{text}' is no address of slurmrestd: it looks like 10.77.0.10:6820")
        return cls(host, int(port))

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class Unix:
    """A socket on this computer: slurmrestd's own, or the near end of a tunnel to it."""

    path: str

    def __str__(self) -> str:
        return self.path


Endpoint = Tcp | Unix


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Between a machine that is off and one that thinks."""

    connect_s: float = 5
    read_s: float = 40
    """slurmrestd itself asks the controller for up to 10 s, several times."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back, whatever it was."""

    status: int
    body: bytes


async def exchange(
    endpoint: Endpoint, method: str, path: str, headers: dict[str, str], body: bytes | None, timeouts: Timeouts
) -> Answer:
    """Ask once; `SlurmUnavailable` where nobody answers in time."""
    return await asyncio.to_thread(_exchange, endpoint, method, path, headers, body, timeouts)


def _exchange(
    endpoint: Endpoint, method: str, path: str, headers: dict[str, str], body: bytes | None, timeouts: Timeouts
) -> Answer:
    connection = _Connection(endpoint, timeouts)
    try:
        connection.request(method, path, body, headers)
        reply = connection.getresponse()
        return Answer(reply.status, reply.read())
    except (OSError, http.client.HTTPException) as problem:
        said = str(problem) or type(problem).__name__
        raise SlurmUnavailable(f"slurmrestd at {endpoint} does not answer: {said}. Try: corral status") from problem
    finally:
        connection.close()


class _Connection(http.client.HTTPConnection):
    """`http.client` over either kind of endpoint."""

    def __init__(self, endpoint: Endpoint, timeouts: Timeouts) -> None:
        super().__init__(endpoint.host if isinstance(endpoint, Tcp) else "localhost")
        self._endpoint, self._timeouts = endpoint, timeouts

    def connect(self) -> None:
        if isinstance(self._endpoint, Tcp):
            self.sock = socket.create_connection((self._endpoint.host, self._endpoint.port), self._timeouts.connect_s)
        else:
            self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            self.sock.settimeout(self._timeouts.connect_s)
            self.sock.connect(self._endpoint.path)
        self.sock.settimeout(self._timeouts.read_s)
