"""Rungs 7 and 8: one job over all nodes, and how well each of them talks to each other one."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import median

from corral.checks.finding import Finding, Severity
from corral.checks.ladder import kinds
from corral.checks.ladder.jobs import Answer, Job
from corral.checks.ladder.kinds import finding
from corral.checks.ladder.pair_results import Pair, culprits
from corral.checks.ladder.rung import Outcome, judged
from corral.checks.ladder.site import Site
from corral.checks.ladder.thresholds import Thresholds
from corral.checks.ladder.words import rate, span

_TIMEOUT_S = 60.0
_WINDOW_S = 0.6
_PORTS = (21000, 8000)
_SLOWER_PORT = 0.6
"""Of what the other ports negotiated: 1 Gbit/s among 2.5 is less."""

Speeds = Mapping[str, float | None]


async def hello(site: Site) -> Outcome:
    """One job over all nodes says hello from each."""
    names = site.together
    if len(names) < 2:
        return _alone(site)
    (answer,) = await site.jobs.run([Job("hello", names)], timeout_s=_TIMEOUT_S)
    if answer.busy:
        return Outcome("skipped", "other jobs came in between", stop="the nodes became busy")
    heard = sorted(str(record["node"]) for record in answer.records)
    silent = [name for name in names if name not in heard]
    if silent or not answer.ok:
        where = silent[0] if len(silent) == 1 else site.cluster.spec.name
        what = f"one job over {len(names)} nodes heard from {', '.join(heard) or 'none'}: {answer.words}"
        outcome = judged([finding(kinds.NO_HELLO, where, what)], "", {"heard": heard})
        return replace(outcome, stop="jobs over several nodes do not run")
    return Outcome("passed", f"one job on {len(names)} nodes: {', '.join(heard)}{site.without}", (), {"heard": heard})


def _alone(site: Site) -> Outcome:
    why = "only one node can take a job" if len(site.nodes) > 1 else "there is only one node"
    return Outcome("skipped", f"{why}{site.without}", stop=why)


async def pairs(site: Site) -> Outcome:
    """Every pair by raw TCP; what looks bad is measured a second time before anybody is blamed."""
    names = site.together
    if len(names) < 2:
        return _alone(site)
    measured, speeds, words = await _tournament(site, names)
    if not measured:
        what = f"nodes could not be measured against each other: {words}"
        return judged([finding(kinds.NO_HELLO, site.cluster.spec.name, what)], "")
    found = judge_pairs(site.cluster.spec.name, measured, speeds, site.thresholds)
    if found:
        again, _, _ = await _tournament(site, names)
        measured = better_of(measured, again)
        found = judge_pairs(site.cluster.spec.name, measured, speeds, site.thresholds)
    site.pairs = measured
    met = [pair for pair in measured if not pair.problem]
    numbers = {"pairs": [pair.to_json() for pair in measured], "negotiated_bit_s": dict(speeds)}
    rates = span([pair.slower_bit_s for pair in met], rate)
    latencies = span([pair.latency_s * 1e6 for pair in met], lambda us: f"{us:.0f} µs")
    fine = f"{len(met)} pair{'s' if len(met) > 1 else ''}: {rates}, {latencies}{site.without}"
    outcome = judged(found, fine, numbers)
    stop = "nodes do not reach each other" if len(met) < len(measured) else ""
    return replace(outcome, stop=stop)


async def _tournament(site: Site, names: Sequence[str]) -> tuple[list[Pair], Speeds, str]:
    port = _PORTS[0] + secrets.randbelow(_PORTS[1]) // 2 * 2
    players = " ".join(f"{name}={site.cluster.address(name)}" for name in names)
    job = Job(f"pairs {port} {_WINDOW_S} {players}", tuple(names), whole_nodes=True)
    (answer,) = await site.jobs.run([job], timeout_s=_TIMEOUT_S + 12 * len(names))
    return *read_pairs(answer), answer.words


def read_pairs(answer: Answer) -> tuple[list[Pair], Speeds]:
    found = [
        Pair(**{key: value for key, value in record.items() if key != "kind"})
        for record in answer.records
        if record["kind"] == "pair"
    ]
    speeds = {str(record["node"]): record["speed_bit_s"] for record in answer.records if record["kind"] == "link"}
    return sorted(found, key=lambda pair: (pair.a, pair.b)), speeds


def better_of(first: Sequence[Pair], second: Sequence[Pair]) -> list[Pair]:
    """Of two measurements of each pair the better: what is broken is bad both times."""
    again = {(pair.a, pair.b): pair for pair in second}
    return [
        max((pair, again.get((pair.a, pair.b), pair)), key=lambda one: (not one.problem, one.slower_bit_s))
        for pair in first
    ]


def judge_pairs(cluster: str, pairs: Sequence[Pair], speeds: Speeds, limits: Thresholds) -> list[Finding]:
    """Cut, slow and late links, each with whoever is to blame for them."""
    cut = [pair for pair in pairs if pair.problem]
    met = [pair for pair in pairs if not pair.problem]
    slow = [pair for pair in met if pair.slower_bit_s < limits.least_bit_s(pair, speeds, met)]
    late = [pair for pair in met if pair not in slow and pair.latency_s > limits.longest_s(met)]
    found = _negotiated(speeds)
    for name, bad, words in ((kinds.LINK_CUT, cut, _cut), (kinds.SLOW_LINK, slow, _slow), (kinds.LATENCY, late, _late)):
        # Without a limit of the owner's, how far nodes may be apart is nobody's business but theirs.
        severity: Severity = "warning" if name is kinds.LATENCY and limits.latency_s is None else "error"
        blame = culprits(pairs, bad)
        if blame.everybody:
            found.append(
                finding(name, cluster, f"between all nodes: {words(None, bad, met, limits, speeds)}", severity)
            )
        for node in blame.nodes:
            own = [pair for pair in bad if pair.has(node)]
            found.append(finding(name, node, words(node, own, met, limits, speeds), severity))
        for pair in blame.pairs:
            found.append(finding(name, pair.name, words(None, [pair], met, limits, speeds), severity))
    return found


def _negotiated(speeds: Speeds) -> list[Finding]:
    known = {name: speed for name, speed in speeds.items() if speed}
    usual = median(known.values()) if known else 0.0
    return [
        finding(kinds.NEGOTIATED, name, f"its port negotiated {rate(speed)}, those of the others {rate(usual)}")
        for name, speed in known.items()
        if speed < _SLOWER_PORT * usual
    ]


def _cut(node: str | None, bad: Sequence[Pair], _met: Sequence[Pair], _limits: Thresholds, _speeds: Speeds) -> str:
    who = f"it and {_opponents(node, bad)} do" if node else "they do"
    return f"{who} not reach each other: {bad[0].problem}"


def _slow(node: str | None, bad: Sequence[Pair], met: Sequence[Pair], limits: Thresholds, speeds: Speeds) -> str:
    least = min(limits.least_bit_s(pair, speeds, met) for pair in bad)
    well = [pair.slower_bit_s for pair in met if pair not in bad]
    others = (
        f"; pairs without it reach {span(well, rate)}"
        if node and well
        else f"; others reach {span(well, rate)}"
        if well
        else ""
    )
    if node is None:
        return f"TCP carries {span([pair.slower_bit_s for pair in bad], rate)}, at least {rate(least)} expected{others}"
    sends, gets = [pair.sent_by(node) for pair in bad], [pair.sent_to(node) for pair in bad]
    moves = f"it sends {span(sends, rate)} and receives {span(gets, rate)}"
    return f"its link is slow: {moves}, at least {rate(least)} expected{others}"


def _late(node: str | None, bad: Sequence[Pair], met: Sequence[Pair], limits: Thresholds, _speeds: Speeds) -> str:
    took = span([pair.latency_s * 1e6 for pair in bad], lambda us: f"{us:.0f} µs")
    way = f"to {_opponents(node, bad)}" if node else "between them"
    return f"a byte takes {took} {way}, at most {limits.longest_s(met) * 1e6:.0f} µs expected"


def _opponents(node: str | None, bad: Sequence[Pair]) -> str:
    return ", ".join(pair.b if pair.a == node else pair.a for pair in bad)
