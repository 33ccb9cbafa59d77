"""The keeper: a small service on the head that makes sure that what was submitted runs, once.

    python3 -m corral.jobs.keeper

Every few seconds it compares the open submissions with what Slurm knows, sends again what the controller lost,
and closes what is over. It acts as the person whose job it is, with that person's token, and holds no state
of its own: killed at any moment, it goes on when it is back.
"""

from __future__ import annotations

import asyncio
import logging
import os
import pwd
import time
from collections.abc import Sequence
from pathlib import Path

from corral.errors import CorralError
from corral.hosts.local import LocalHost
from corral.hosts.shell import LocalShell
from corral.jobs.aftermath import mend
from corral.jobs.desk import Desk
from corral.jobs.knowledge import in_history, in_queue, read_entries
from corral.jobs.layout import JobFolder, is_token, open_folder
from corral.jobs.ledger import Decision, Entry, decide, unacknowledged
from corral.jobs.resend import resend
from corral.jobs.site import SITE_FILE, Site, parse_site
from corral.jobs.submit import note_submitted
from corral.jobs.sweep.indices import compress

HEARTBEAT = Path("/run/corral/keeper")
_EVERY_S, _MOST_S = 2.0, 15.0
# However long the queue is, asking for it takes this share of the controller's time at most.
_SHARE = 20

_log = logging.getLogger("corral.keeper")


def open_submissions(site: Site) -> dict[str, list[str]]:
    """Tokens of open submissions by person; a mark that was not made by whom it names does not count."""
    found: dict[str, list[str]] = {}
    folder = Path(open_folder(site.jobs))
    for mark in sorted(folder.iterdir()) if folder.is_dir() else []:
        user, _, token = mark.name.rpartition(".")
        try:
            owner = pwd.getpwuid(mark.lstat().st_uid).pw_name
        except (KeyError, FileNotFoundError):
            continue
        if owner == user and is_token(token):
            found.setdefault(user, []).append(token)
    return found


class Books:
    """One person's open submissions, and what there is to be done about them."""

    def __init__(self, desk: Desk, tokens: Sequence[str]) -> None:
        self._desk, self._tokens = desk, tokens

    async def balance(self) -> None:
        """Compare once, and act."""
        entries = await read_entries(self._desk, self._tokens)
        for token in set(self._tokens) - {entry.token for entry in entries}:
            # Its mark was made after its folder: the person has removed that since.
            await self._close(token)
        queue = await in_queue(self._desk)
        unsure = []
        for entry in entries:
            jobs = queue.get(entry.token, [])
            for attempt, job_id in unacknowledged(entry, jobs).items():
                await self._desk.run(note_submitted(self._folder(entry), attempt, job_id, _array(entry, attempt)))
            decision = decide(entry, jobs, None, time.time())
            if decision.unsure:
                unsure.append(entry)
            else:
                await self._act(entry, decision)
        if not unsure:
            return
        history = await in_history(self._desk, unsure)
        for entry in unsure:
            decision = decide(entry, queue.get(entry.token, []), history.get(entry.token, []), time.time())
            await self._act(entry, decision)

    async def _act(self, entry: Entry, decision: Decision) -> None:
        if decision.lost:
            attempt = entry.submissions[-1].attempt + 1
            job_id = await resend(self._desk, self._folder(entry), attempt, decision.lost)
            _log.warning("%s of %s was lost; sent again as job %s", entry.token, self._desk.user, job_id)
        elif decision.settled:
            await self._close(entry.token)

    async def _close(self, token: str) -> None:
        await self._desk.run(f"rm -f {self._desk.home.open_mark(token)}")

    def _folder(self, entry: Entry) -> JobFolder:
        return self._desk.home.job(entry.token)


def _array(entry: Entry, attempt: int) -> str:
    for submission in entry.submissions:
        if submission.attempt == attempt and submission.units != (None,):
            return compress([unit for unit in submission.units if unit is not None])
    return ""


def heartbeat() -> None:
    """Tell the deployment that the keeper goes round."""
    HEARTBEAT.parent.mkdir(mode=0o700, exist_ok=True)
    HEARTBEAT.touch()


async def keep(site: Site) -> None:
    """Balance everybody's books, for ever."""
    while True:
        began = time.monotonic()
        heartbeat()
        for done in await mend(LocalHost(), site.jobs):
            _log.warning("%s", done)
        for user, tokens in open_submissions(site).items():
            desk = Desk(LocalShell(user), site)
            try:
                await Books(desk, tokens).balance()
            except CorralError as problem:
                _log.info("%s: %s", user, problem)
            except Exception:
                # One person's folder in disorder is no reason to stop keeping everybody else's.
                _log.exception("%s", user)
            finally:
                await desk.close()
            heartbeat()
        await asyncio.sleep(min(_MOST_S, max(_EVERY_S, _SHARE * (time.monotonic() - began))))


def main() -> None:
    logging.basicConfig(level=os.environ.get("CORRAL_LOG", "INFO"), format="%(message)s")
    asyncio.run(keep(parse_site(Path(SITE_FILE).read_text())))


if __name__ == "__main__":
    main()
