"""Rung 4: what every node writes into the shared folder, every other node reads."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from corral.checks import catalogue
from corral.checks.finding import Finding
from corral.checks.ladder import kinds
from corral.checks.ladder.jobs import Answer, Job
from corral.checks.ladder.kinds import finding
from corral.checks.ladder.rung import Outcome, judged
from corral.checks.ladder.site import Site
from corral.errors import HostError
from corral.hosts.base import as_user

_TIMEOUT_S = 60.0


@dataclass(frozen=True, slots=True)
class Seen:
    """What came of writing and reading: by node."""

    unwritten: Mapping[str, str] = field(default_factory=dict)
    """Why a node could not write."""
    unread: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """What a reader could not read, by writer."""
    failed: Mapping[str, str] = field(default_factory=dict)
    """Nodes on which the job itself did not run."""
    readers: tuple[str, ...] = ()


async def storage(site: Site) -> Outcome:
    """As an ordinary person of the cluster where there is one: a file server may refuse root."""
    shared = site.cluster.spec.storage
    if shared is None:
        return Outcome("skipped", "the cluster file has no shared storage")
    missing = [found for found in site.examined if found.kind == catalogue.MOUNT.name and found.where in site.nodes]
    mount, user = shared.shared.mount, next(iter(site.cluster.spec.users), "")
    able = [name for name in site.fit if name not in {found.where for found in missing}]
    if not able:
        return judged(missing, "") if missing else Outcome("skipped", "no node can take a job")
    folder = f"{mount}/jobs/.{site.jobs.name}"
    try:
        wrote = await _on_each(site, able, f"share write {shlex.quote(folder)}", user)
        writers = [name for name, answer in wrote.items() if _told(answer, "problem") == ""]
        read = await _on_each(site, able, f"share read {shlex.quote(folder)} {' '.join(writers)}", user)
    finally:
        await _clean(site, able, folder, user)
    seen = see(wrote, read)
    site.unfit.update(dict.fromkeys(seen.failed, "no job runs there"))
    who = user or "root"
    found = [*missing, *blame(seen, mount, who)]
    fine = f"{len(able)} nodes write {mount} as {who} and read each other's files{site.without}"
    return judged(
        found, fine, {"mount": mount, "as": who, "unwritten": dict(seen.unwritten), "unread": dict(seen.unread)}
    )


async def _on_each(site: Site, nodes: Sequence[str], gauge: str, user: str) -> dict[str, Answer]:
    answers = await site.jobs.run([Job(gauge, (name,), user=user) for name in nodes], timeout_s=_TIMEOUT_S)
    return {name: answer for name, answer in zip(nodes, answers, strict=True) if not answer.busy}


async def _clean(site: Site, nodes: Sequence[str], folder: str, user: str) -> None:
    """On every node, because one of them may have written into a folder of its own."""
    script = f"{as_user(user) if user else ''}rm -rf {shlex.quote(folder)} 2>/dev/null"

    async def remove(name: str) -> None:
        try:
            await site.hosts[name].run(script, timeout_s=15)
        except HostError:
            return  # a node that is gone by now has other troubles

    await asyncio.gather(*(remove(name) for name in nodes if name in site.hosts))


def see(wrote: Mapping[str, Answer], read: Mapping[str, Answer]) -> Seen:
    """From the jobs' answers to who could do what."""
    failed = {name: answer.words for name, answer in wrote.items() if not answer.records}
    unwritten = {name: str(problem) for name, answer in wrote.items() if (problem := _told(answer, "problem"))}
    unread = {
        name: problems for name, answer in read.items() if isinstance(problems := _told(answer, "problems"), dict)
    }
    return Seen(unwritten, {name: problems for name, problems in unread.items() if problems}, failed, tuple(read))


def blame(seen: Seen, mount: str, who: str) -> list[Finding]:
    """A node that cannot write, and one that sees another folder than the rest; consequences are not named."""
    found = [finding(kinds.JOB_FAILS, name, f"no job runs there: {words}") for name, words in seen.failed.items()]
    found += [
        finding(kinds.SHARE_UNWRITABLE, name, f"a job of {who} there cannot write {mount}: {why}")
        for name, why in seen.unwritten.items()
    ]
    known = {*seen.unwritten, *seen.failed}
    unread = {reader: {w: why for w, why in all_of.items() if w != reader} for reader, all_of in seen.unread.items()}
    # Who reads the fewest files is to blame, and not those whose files it does not find, nor those who miss its own.
    most = max((len(missed) for missed in unread.values()), default=0)
    alone = [reader for reader, missed in unread.items() if most and len(missed) == most and reader not in known]
    if len(alone) > 1 and len(alone) == len(seen.readers):
        return [*found, finding(kinds.SHARE_DIFFERS, " – ".join(alone), f"{mount} is not the same folder on them")]
    for reader in alone:
        why = next(iter(unread[reader].values()))
        what = f"{mount} there lacks what {', '.join(unread[reader])} wrote: {why}"
        found.append(finding(kinds.SHARE_DIFFERS, reader, what))
    return found


def _told(answer: Answer, key: str) -> object:
    return answer.records[0].get(key) if answer.records else None
