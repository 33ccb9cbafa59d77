"""A slurmrestd that says what real ones said (tests/recorded/slurmrestd)."""

from __future__ import annotations

import json
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

from corral.slurm.rest.client import SlurmRest
from corral.slurm.rest.token import Token
from corral.slurm.rest.transport import Timeouts, Unix

RECORDED = Path(__file__).parents[3] / "recorded" / "slurmrestd"
RELEASES = sorted(folder.parent.name for folder in RECORDED.glob("*/*"))


def recorded(release: str, name: str) -> dict[str, Any]:
    (file,) = RECORDED.glob(f"{release}/*/{name}.json")
    found: dict[str, Any] = json.loads(file.read_text())
    return found


@dataclass
class Daemon:
    """Answers in the order of `answers`; what it was asked is kept."""

    path: str
    release: str
    answers: list[tuple[int, bytes]]
    asked: list[str] = field(default_factory=list)
    tokens_given: int = 0
    tokens_seen: list[str] = field(default_factory=list)

    def client(self) -> SlurmRest:
        """Whose tokens are called token-1, token-2 …."""

        async def get_token() -> Token:
            self.tokens_given += 1
            return Token(f"token-{self.tokens_given}", self.release)

        return SlurmRest(Unix(self.path), "alice", get_token, Timeouts(connect_s=2, read_s=2))


@contextmanager
def daemon(folder: Path, release: str, *names: str | tuple[int, bytes]) -> Iterator[Daemon]:
    """Replies by the names they were recorded under, or as status and body."""
    answers = []
    for name in names:
        if isinstance(name, str):
            reply = recorded(release, name)
            answers.append((reply["status"], json.dumps(reply["body"]).encode()))
        else:
            answers.append(name)
    made = Daemon(str(folder / "slurmrestd.socket"), release, answers)

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            made.asked.append(f"{self.command} {self.path}")
            made.tokens_seen.append(self.headers["X-SLURM-USER-TOKEN"])
            status, body = made.answers.pop(0)
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = do_DELETE = answer  # noqa: N815 (http.server's names)

        def address_string(self) -> str:
            return "a unix socket"

        def log_message(self, *_args: object) -> None:
            pass

    with socketserver.ThreadingUnixStreamServer(made.path, Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield made
        finally:
            server.shutdown()
            thread.join()
