"""Waiting for many jobs at once."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.unit.jobs.bench import TOKEN, desk_in

from corral.api import poller
from corral.api.poller import Poller
from corral.errors import Lost
from corral.jobs.desk import Desk
from corral.jobs.outcome import End, Unit

DONE = End("COMPLETED", 0, "41")


class Cluster:
    """Answers `outcomes` from a list of rounds; what is in none of them goes on."""

    def __init__(self, *rounds: dict[int, End] | Exception) -> None:
        self.rounds = list(rounds)
        self.asked: list[int] = []

    async def outcomes(self, _: Desk, units: Sequence[Unit]) -> dict[Unit, End]:
        await asyncio.sleep(0)
        self.asked.append(len(units))
        answer = self.rounds.pop(0) if self.rounds else {}
        if isinstance(answer, Exception):
            raise answer
        return {unit: answer[unit.trial] for unit in units if unit.trial in answer}


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.setattr(poller, "_FAST_S", 0.001)
    return desk_in(tmp_path)


def unit(desk: Desk, trial: int) -> Unit:
    return Unit(desk.home.job(TOKEN), trial)


def test_however_many_are_awaited_the_cluster_is_asked_once_per_round(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = dict.fromkeys(range(60), DONE)
    cluster = Cluster({}, first, dict.fromkeys(range(60, 100), DONE))
    monkeypatch.setattr(poller, "outcomes", cluster.outcomes)

    async def wait() -> list[End]:
        waiting = Poller(desk)
        return list(await asyncio.gather(*(waiting.end_of(unit(desk, trial)) for trial in range(100))))

    assert asyncio.run(wait()) == [DONE] * 100
    assert cluster.asked == [100, 100, 40]


def test_two_who_wait_for_the_same_job_both_get_its_end(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster({0: DONE})
    monkeypatch.setattr(poller, "outcomes", cluster.outcomes)

    async def wait() -> list[End]:
        waiting = Poller(desk)
        return list(await asyncio.gather(waiting.end_of(unit(desk, 0)), waiting.end_of(unit(desk, 0))))

    assert asyncio.run(wait()) == [DONE, DONE]
    assert cluster.asked == [1]


@pytest.mark.parametrize("problem", [Lost("node0", "went silent"), KeyError("unforeseen")])
def test_a_problem_reaches_everybody_who_waits_and_later_waiting_starts_anew(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, problem: Exception
) -> None:
    monkeypatch.setattr(poller, "outcomes", Cluster(problem, {0: DONE}).outcomes)

    async def wait() -> tuple[list[End | BaseException], End]:
        waiting = Poller(desk)
        both = (waiting.end_of(unit(desk, 0)), waiting.end_of(unit(desk, 1)))
        failed = await asyncio.gather(*both, return_exceptions=True)
        return list(failed), await waiting.end_of(unit(desk, 0))

    failed, again = asyncio.run(asyncio.wait_for(wait(), 30))
    assert failed == [problem, problem]
    assert again == DONE


def test_one_who_gives_up_leaves_the_others_waiting(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(poller, "outcomes", Cluster({}, {}, {0: DONE}).outcomes)

    async def wait() -> End:
        waiting = Poller(desk)
        impatient = asyncio.ensure_future(waiting.end_of(unit(desk, 0)))
        patient = asyncio.ensure_future(waiting.end_of(unit(desk, 0)))
        await asyncio.sleep(0)
        impatient.cancel()
        return await patient

    assert asyncio.run(asyncio.wait_for(wait(), 30)) == DONE


def test_a_job_that_was_sent_again_ends_again(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    failed = End("FAILED", 1, "41")
    monkeypatch.setattr(poller, "outcomes", Cluster({0: failed}, {0: DONE}).outcomes)

    async def wait() -> tuple[End, End]:
        waiting = Poller(desk)
        return await waiting.end_of(unit(desk, 0)), await waiting.end_of(unit(desk, 0))

    assert asyncio.run(asyncio.wait_for(wait(), 30)) == (failed, DONE)


def test_closing_ends_the_waiting(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(poller, "outcomes", Cluster().outcomes)

    async def wait() -> None:
        waiting = Poller(desk)
        one = asyncio.ensure_future(waiting.end_of(unit(desk, 0)))
        await asyncio.sleep(0)
        await waiting.close()
        await one

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(asyncio.wait_for(wait(), 30))
