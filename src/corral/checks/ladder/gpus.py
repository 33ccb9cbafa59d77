"""Rungs 5 and 6: a GPU for each job that asks for one and for no other, and as many jobs at once as there are GPUs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Any

from corral.checks.finding import Finding, Severity
from corral.checks.ladder import kinds
from corral.checks.ladder.jobs import Answer, Job
from corral.checks.ladder.kinds import finding
from corral.checks.ladder.rung import Outcome, judged
from corral.checks.ladder.site import Site

_TIMEOUT_S = 90.0
_STAY_S = 2.0
_MOST_AT_ONCE = 64
_OPEN = ("open",)
_OPEN_WITHOUT_DRIVER = ("open", "No such device or address")
"""What a simulated GPU answers to those who may open it."""

Interval = tuple[float, float]


async def gpu_jobs(site: Site) -> Outcome:
    """On each node a job with a GPU, and one without, which must be kept away from all of them."""
    names = site.fit
    with_gpu = [Job("hello", (name,), gpus=min(1, site.gpus(name))) for name in names]
    without = [Job("hello", (name,)) for name in names if site.gpus(name)]
    answers = await site.jobs.run([*with_gpu, *without], timeout_s=_TIMEOUT_S)
    granted = dict(zip(names, answers, strict=False))
    denied = dict(zip((job.nodes[0] for job in without), answers[len(with_gpu) :], strict=True))
    confined = site.cluster.confinement != "none"
    found: list[Finding] = []
    for name in names:
        simulated = site.cluster.nodes[name].facts.gpus_are_simulated
        own = judge_node(name, site.gpus(name), granted[name], denied.get(name), confined=confined, simulated=simulated)
        if any(one.kind == kinds.JOB_FAILS.name for one in own):
            site.unfit[name] = "no job runs there"
        elif granted[name].busy:
            site.unfit[name] = "busy"
        found += own
    gpus = sum(bool(site.gpus(name)) for name in names)
    fine = f"jobs ran on {len(names)} node{'s' if len(names) > 1 else ''}"
    if gpus:
        fine += ", each with its GPU and no other" if confined else ", each with its GPU; nothing keeps them off others"
    outcome = judged(found, fine, {"nodes": [*names], "confined": confined})
    return replace(outcome, stop="" if site.fit else "no job runs")


def judge_node(
    name: str, gpus: int, granted: Answer, denied: Answer | None, *, confined: bool, simulated: bool
) -> list[Finding]:
    """What one node's two jobs say: the one with a GPU (where there is one), and the one without."""
    for answer in (granted, denied):
        if answer is not None and not answer.ok and not answer.busy:
            return [finding(kinds.JOB_FAILS, name, f"a job did not run there: {answer.words or 'without a word'}")]
    found: list[Finding] = []
    if gpus and granted.records:
        doors = _doors(granted.records[0])
        entered = [path for path, said in doors.items() if said != "denied"]
        fine = [path for path in entered if doors[path] in (_OPEN_WITHOUT_DRIVER if simulated else _OPEN)]
        if not fine:
            said = ", ".join(f"{path}: {word}" for path, word in doors.items()) or "no /dev/nvidia* is there"
            found.append(finding(kinds.GPU_DENIED, name, f"a job with one GPU could not open it ({said})"))
        elif len(entered) > 1:
            what = f"a job that asked for one GPU could open {len(entered)}: {', '.join(entered)}"
            found.append(finding(kinds.GPU_OPEN, name, what, _weight(confined)))
    if denied is not None and denied.records:
        entered = [path for path, said in _doors(denied.records[0]).items() if said != "denied"]
        if entered:
            what = f"a job that asked for no GPU could open {', '.join(entered)}"
            found.append(finding(kinds.GPU_OPEN, name, what, _weight(confined)))
    return found


async def overlap(site: Site) -> Outcome:
    """As many one-GPU jobs as there are GPUs, and one more, which must wait for one of them to end."""
    slots = {name: _slots(site, name) for name in site.fit if site.gpus(name)}
    count = min(sum(slots.values()), _MOST_AT_ONCE)
    if not count:
        return Outcome("skipped", f"no idle node has a GPU{site.without}")
    job = Job(f"hello --stay {_STAY_S}", gpus=1, left_out=site.others, waits=True)
    extra = [job] if count == sum(slots.values()) else []
    answers = await site.jobs.run([job] * count + extra, timeout_s=_TIMEOUT_S + 2 * _STAY_S)
    stays = [(float(one["began"]), float(one["ended"])) for answer in answers for one in answer.records]
    if any(answer.busy for answer in answers):
        return Outcome("skipped", "other jobs came in between")
    if len(stays) < len(answers):
        words = next((answer.words for answer in answers if not answer.records), "")
        what = f"of {len(answers)} one-GPU jobs {len(stays)} ran: {words}"
        return judged([finding(kinds.NO_OVERLAP, site.cluster.spec.name, what)], "")
    most = most_at_once(stays)
    numbers = {"jobs": len(answers), "at_once": most, "intervals": [list(stay) for stay in sorted(stays)]}
    found = judge_overlap(site.cluster.spec.name, count, most, len(extra))
    waited = "; one more waited" if extra else ""
    return judged(found, f"{most} one-GPU jobs ran at once{waited}{site.without}", numbers)


def judge_overlap(cluster: str, count: int, most: int, extra: int) -> list[Finding]:
    """`count` jobs fit at once, and none of the extra ones beside them."""
    if most < count:
        what = f"of {count} one-GPU jobs that fit side by side, only {most} ran at the same time"
    elif most > count and extra:
        what = f"{most} one-GPU jobs ran at the same time on {count} GPUs"
    else:
        return []
    return [finding(kinds.NO_OVERLAP, cluster, what)]


def most_at_once(intervals: Sequence[Interval]) -> int:
    """The largest number of intervals that have a moment in common; one that ends as another begins has none."""
    steps = sorted([(began, 1) for began, _ in intervals] + [(ended, -1) for _, ended in intervals])
    return max(accumulate(step for _, step in steps), default=0)


def _slots(site: Site, name: str) -> int:
    """How many one-GPU jobs fit on an idle node: each also takes a core."""
    facts = site.cluster.nodes[name].facts
    cores = min(site.cluster.nodes[name].cpus, facts.sockets * facts.cores_per_socket)
    return min(site.gpus(name), cores)


def _doors(record: Mapping[str, Any]) -> dict[str, str]:
    return {str(path): str(said) for path, said in record["devices"].items()}


def _weight(confined: bool) -> Severity:
    """Where the machines cannot confine anybody, `up` has said so already."""
    return "error" if confined else "warning"
