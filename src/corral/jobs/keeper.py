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
import shlex
import time
from collections.abc import Sequence
from pathlib import Path

from corral.errors import CorralError
from corral.hosts.shell import LocalShell
from corral.jobs.desk import Desk
from corral.jobs.layout import JobFolder, folder_of, is_token, open_folder
from corral.jobs.ledger import Decision, Entry, Known, decide, parse_submissions, unacknowledged
from corral.jobs.resend import resend
from corral.jobs.site import SITE_FILE, Site, parse_site
from corral.jobs.submit import note_submitted
from corral.jobs.sweep.indices import compress

_EVERY_S = 2.0
# However long the queue is, asking for it takes this share of the controller's time at most.
_SHARE = 20
_PART = "\x1e"
_FIELD = "\x1f"

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
        entries = await self._entries()
        queue = await self._known("squeue -h -r -t all -u {user} -o '%i{f}%T{f}%Z'")
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
        since = min(submission.sent_at for entry in unsure for submission in entry.submissions) - 60
        start = time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(since))
        history = await self._known(f"sacct -nXPD -u {{user}} -S {start} --delimiter='{{f}}' -o jobid,state,workdir")
        for entry in unsure:
            decision = decide(entry, queue.get(entry.token, []), history.get(entry.token, []), time.time())
            await self._act(entry, decision)

    async def _act(self, entry: Entry, decision: Decision) -> None:
        if decision.lost:
            attempt = entry.submissions[-1].attempt + 1
            job_id = await resend(self._desk, self._folder(entry), attempt, decision.lost)
            _log.warning("%s of %s was lost; sent again as job %s", entry.token, self._desk.user, job_id)
        elif decision.settled:
            await self._desk.run(f"rm -f {self._desk.home.open_mark(entry.token)}")

    def _folder(self, entry: Entry) -> JobFolder:
        return self._desk.home.job(entry.token)

    async def _entries(self) -> list[Entry]:
        script = f"""
cd {shlex.quote(self._desk.home.path)} || exit 1
for token in {" ".join(self._tokens)}; do
  [ -e $token/submitted ] || continue
  printf '{_PART}%s{_FIELD}' $token; cat $token/submitted; printf '{_FIELD}'
  printf '%s\\n' $token/ended $token/trials/*/ended | while read -r file; do [ ! -e "$file" ] || echo "$file"; done
done
"""
        said = await self._desk.must(script)
        found = []
        for part in said.split(_PART)[1:]:
            token, submitted, ended = part.split(_FIELD)
            units = frozenset(
                int(name.split("/")[2]) if "/trials/" in name else None for name in ended.split("\n") if name
            )
            found.append(Entry(token, parse_submissions(submitted), units))
        return found

    async def _known(self, listing: str) -> dict[str, list[Known]]:
        """Slurm's jobs by the token of their folder."""
        said = await self._desk.must(listing.format(user=self._desk.user, f=_FIELD))
        found: dict[str, list[Known]] = {}
        for line in said.splitlines():
            label, state, work_dir = line.split(_FIELD)
            folder = folder_of(work_dir, self._desk.site.jobs)
            job_id, _, task = label.partition("_")
            if folder is None or (task and not task.isdigit()):
                continue
            known = Known(int(job_id), int(task) if task else None, state.split(" ")[0])
            found.setdefault(folder.token, []).append(known)
        return found


def _array(entry: Entry, attempt: int) -> str:
    for submission in entry.submissions:
        if submission.attempt == attempt and submission.units != (None,):
            return compress([unit for unit in submission.units if unit is not None])
    return ""


async def keep(site: Site) -> None:
    """Balance everybody's books, for ever."""
    while True:
        began = time.monotonic()
        for user, tokens in open_submissions(site).items():
            desk = Desk(LocalShell(user), site)
            try:
                await Books(desk, tokens).balance()
            except CorralError as problem:
                _log.info("%s: %s", user, problem)
            finally:
                await desk.close()
        await asyncio.sleep(max(_EVERY_S, _SHARE * (time.monotonic() - began)))


def main() -> None:
    logging.basicConfig(level=os.environ.get("CORRAL_LOG", "INFO"), format="%(message)s")
    asyncio.run(keep(parse_site(Path(SITE_FILE).read_text())))


if __name__ == "__main__":
    main()
