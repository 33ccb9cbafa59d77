"""The engine on this very machine: real shells, real files, no root."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

import corral.deploy.apply
from corral.deploy.apply import Deployment, Outcome
from corral.deploy.events import Event
from corral.deploy.plan import Graph, Key
from corral.deploy.probing import probe
from corral.deploy.resources.script import Script
from corral.deploy.step import Step
from corral.errors import Lost
from corral.hosts.base import Completed, Host, OnLine
from corral.hosts.local import LocalHost


class Named:
    """This machine under another name; it can be told to break its connection at a given command."""

    def __init__(self, name: str, breaks_at: str = "") -> None:
        self.name = name
        self._here = LocalHost()
        self._breaks_at = breaks_at

    async def run(
        self, script: str, *, stdin: bytes = b"", timeout_s: float = 60, on_line: OnLine | None = None
    ) -> Completed:
        if self._breaks_at and f"\n{self._breaks_at}\n" in script:
            raise Lost(self.name, "the connection broke")
        return await self._here.run(script, stdin=stdin, timeout_s=timeout_s, on_line=on_line)

    @asynccontextmanager
    async def hold(self, script: str) -> AsyncIterator[str]:
        async with self._here.hold(script) as line:
            yield line

    async def close(self) -> None:
        return None


def touch(path: Path, *after: str, name: str = "") -> Script:
    """A step that wants a file to exist."""
    return Script(
        name or path.name, look=f"[ -e {path} ] || echo no", act=f"touch {path}", doing=f"make {path.name}", after=after
    )


def deploy(
    steps: Mapping[str, Sequence[Step]], hosts: Mapping[str, Host] | None = None
) -> tuple[dict[Key, Outcome], list[Event]]:
    events: list[Event] = []

    async def go() -> list[Outcome]:
        machines: Mapping[str, Host] = hosts or {name: Named(name) for name in steps}
        graph = Graph(next(iter(steps)), steps)
        observed: dict[Key, str] = {}
        for name, host in machines.items():
            for step, text in (await probe(host, steps[name])).items():
                observed[(name, step)] = text
        return await Deployment(graph, machines, observed, events.append).run()

    return {(o.host, o.step): o for o in asyncio.run(go())}, events


def results(outcomes: Mapping[Key, Outcome]) -> dict[Key, str]:
    return {key: outcome.result for key, outcome in outcomes.items()}


def test_what_is_missing_is_made_and_what_is_there_is_skipped(tmp_path: Path) -> None:
    (tmp_path / "b").touch()
    steps = {"n0": [touch(tmp_path / "a"), touch(tmp_path / "b")]}
    outcomes, _ = deploy(steps)
    assert results(outcomes) == {("n0", "a"): "changed", ("n0", "b"): "ok"}
    assert (tmp_path / "a").exists()
    again, _ = deploy(steps)
    assert set(results(again).values()) == {"ok"}


def test_a_step_whose_observation_went_stale_looks_again_before_acting(tmp_path: Path) -> None:
    both = Script(
        "both", look=f"[ -e {tmp_path}/a ] || echo no", act=f"touch {tmp_path}/a {tmp_path}/b", doing="make both"
    )
    trap = Script(
        "b", look=f"[ -e {tmp_path}/b ] || echo no", act="echo must not run; exit 1", doing="b", after=("both",)
    )
    outcomes, _ = deploy({"n0": [both, trap]})
    assert results(outcomes) == {("n0", "both"): "changed", ("n0", "b"): "ok"}


def test_an_act_that_claims_success_without_effect_is_a_failure(tmp_path: Path) -> None:
    liar = Script("liar", look=f"[ -e {tmp_path}/x ] || echo it is not there", act="true", doing="make x")
    outcomes, _ = deploy({"n0": [liar]})
    outcome = outcomes["n0", "liar"]
    assert outcome.result == "failed"
    assert "did not help, still to do: make x (it is not there)" in outcome.text


def test_a_failure_carries_the_scripts_last_words_and_blocks_only_what_depends_on_it(tmp_path: Path) -> None:
    bad = Script("bad", look="echo no", act="echo disk is full >&2; exit 3", doing="fill the disk")
    steps: dict[str, list[Step]] = {
        "n0": [bad, touch(tmp_path / "after-bad", "bad"), touch(tmp_path / "free")],
        "n1": [touch(tmp_path / "n1", "head/bad"), touch(tmp_path / "n1-free")],
    }
    outcomes, _ = deploy(steps)
    assert "fill the disk failed: disk is full" in outcomes["n0", "bad"].text
    assert results(outcomes) == {
        ("n0", "bad"): "failed",
        ("n0", "after-bad"): "blocked",
        ("n0", "free"): "changed",
        ("n1", "n1"): "blocked",
        ("n1", "n1-free"): "changed",
    }
    assert outcomes["n1", "n1"].text == "bad on n0 was not done"


def test_a_lost_machine_is_named_once_and_the_others_finish(tmp_path: Path) -> None:
    steps = {
        "n0": [touch(tmp_path / "n0-a"), touch(tmp_path / "n0-b", "n0-a")],
        "n1": [touch(tmp_path / "n1-a"), touch(tmp_path / "n1-b", "n1-a")],
    }
    hosts = {"n0": Named("n0"), "n1": Named("n1", breaks_at=f"touch {tmp_path}/n1-a")}
    outcomes, events = deploy(steps, hosts)
    assert results(outcomes) == {
        ("n0", "n0-a"): "changed",
        ("n0", "n0-b"): "changed",
        ("n1", "n1-a"): "lost",
        ("n1", "n1-b"): "blocked",
    }
    assert [event.host for event in events if event.kind == "lost"] == ["n1"]


def test_steps_without_dependencies_run_side_by_side(tmp_path: Path) -> None:
    # Each waits for the other's file: one after the other, neither could ever end.
    def meet(mine: str, other: str) -> Script:
        wait = f"touch {tmp_path}/{mine}; until [ -e {tmp_path}/{other} ]; do sleep 0.02; done"
        return Script(mine, look=f"[ -e {tmp_path}/{mine} ] || echo no", act=wait, doing="meet", timeout_s=20)

    outcomes, _ = deploy({"n0": [meet("a", "b")], "n1": [meet("b", "a")]})
    assert set(results(outcomes).values()) == {"changed"}


def test_an_act_that_takes_too_long_is_ended_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corral.deploy.apply, "_LOOK_AGAIN_S", 0)
    slow = Script("slow", look=f"[ -e {tmp_path}/x ] || echo no", act="sleep 60", doing="wait", timeout_s=1)
    outcomes, _ = deploy({"n0": [slow]})
    assert outcomes["n0", "slow"].result == "failed"
    assert "it took longer than 1 s" in outcomes["n0", "slow"].text


def test_output_reaches_the_watcher_while_the_step_runs(tmp_path: Path) -> None:
    loud = Script("loud", look=f"[ -e {tmp_path}/x ] || echo no", act=f"echo working; touch {tmp_path}/x", doing="x")
    _, events = deploy({"n0": [loud]})
    kinds = [(event.kind, event.text) for event in events]
    assert kinds.index(("started", "x")) < kinds.index(("output", "working")) < kinds.index(("changed", ""))


def test_only_the_action_speaks_to_the_watcher_not_the_probe_after_it() -> None:
    futile = Script("futile", look="printf 'still\\nnot\\nthere\\n'", act="echo working", doing="x")
    _, events = deploy({"n0": [futile]})
    assert [event.text for event in events if event.kind == "output"] == ["working"]


def test_a_probe_that_exits_early_does_not_spoil_the_others(tmp_path: Path) -> None:
    early = Script("early", look="exit 0; echo x", act="true", doing="x")
    outcomes, _ = deploy({"n0": [early, touch(tmp_path / "a")]})
    assert results(outcomes) == {("n0", "early"): "ok", ("n0", "a"): "changed"}
