"""Functions and scripts sent from Python, run for real on this machine."""

from __future__ import annotations

import asyncio
import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

import cloudpickle
import pytest
from tests.unit.api.site import Place
from tests.unit.api.site import place as make_place

from corral.api import JobFailed, RemoteTraceback
from corral.errors import InputError, SlurmRefused, SlurmUnavailable


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    # The job does not see this file, as it would see the modules of a folder that is sent along.
    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    yield from make_place(tmp_path, monkeypatch)
    cloudpickle.unregister_pickle_by_value(sys.modules[__name__])


def divide(a: int, b: int = 1) -> float:
    print("dividing", a, "by", b)  # noqa: T201 (it is the job's output)
    return a / b


def test_a_functions_value_comes_back(place: Place) -> None:
    job = place.cluster.submit(divide, 6, kwargs={"b": 4}, folder=None)
    assert (job.id, job.name) == ("41", "divide")
    place.work()
    assert job.result(60) == 1.5
    assert job.wait(60) == 0
    assert job.done()
    assert job.logs() == "dividing 6 by 4\n"


def test_a_functions_exception_is_raised_here_with_the_remote_traceback(place: Place) -> None:
    job = place.cluster.submit(divide, 1, 0, folder=None)
    place.work()
    with pytest.raises(ZeroDivisionError) as failed:
        job.result(60)
    assert isinstance(failed.value.__cause__, RemoteTraceback)
    assert "return a / b" in str(failed.value.__cause__)
    assert job.wait(60) == 1


def test_a_function_of_a_module_in_the_folder_that_is_sent_along_is_found_there(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("my_maths.py").write_text("def double(x):\n    return 2 * x\n")
    monkeypatch.syspath_prepend(Path.cwd())
    job = place.cluster.submit(importlib.import_module("my_maths").double, 21)
    place.work()
    assert job.result(60) == 42


def test_a_closure_travels_as_it_is(place: Place) -> None:
    offset = 41
    job = place.cluster.submit(lambda number: number + offset, 1, folder=None)
    place.work()
    assert job.result(60) == 42


def test_a_job_can_be_awaited(place: Place) -> None:
    jobs = [place.cluster.submit(divide, number, folder=None) for number in (2, 4)]
    place.work()

    async def both() -> list[float]:
        return list(await asyncio.gather(*(_wait(job) for job in jobs)))

    async def _wait(job: object) -> float:
        return await job  # type: ignore[misc,no-any-return]  # a job may return anything

    assert asyncio.run(both()) == [2, 4]


def test_a_map_is_one_array_with_a_result_per_item(place: Place) -> None:
    jobs = place.cluster.map(divide, [4, 9, 1], [2, 3, 0], at_most=2, folder=None)
    assert [job.id for job in jobs] == ["41_0", "41_1", "41_2"]
    assert [one.array for one in place.controller.taken] == ["0-2%2"]
    place.work()
    assert [job.result(60) for job in jobs[:2]] == [2, 3]
    with pytest.raises(ZeroDivisionError):
        jobs[2].result(60)
    assert place.cluster.wait(jobs, 60) == [0, 0, 1]


def test_a_map_over_nothing_sends_nothing(place: Place) -> None:
    assert place.cluster.map(divide, []) == []
    assert place.controller.taken == []


def test_a_script_has_no_value_and_its_failure_brings_its_last_words(place: Place) -> None:
    Path("train.py").write_text("import sys; print('epoch 1'); sys.exit(int(sys.argv[1]))\n")
    good, bad = (place.cluster.submit("train.py", code) for code in (0, 3))
    place.work()
    assert good.result(60) is None
    with pytest.raises(JobFailed, match=r"job 42 failed with exit code 3\nepoch 1"):
        bad.result(60)


def test_a_function_that_was_killed_failed_even_if_it_left_nothing(place: Place, tmp_path: Path) -> None:
    job = place.cluster.submit(divide, 1, folder=None)
    (tmp_path / "squeue.says").write_text("")
    (tmp_path / "sacct.says").write_text(f"41\x1fOUT_OF_MEMORY\x1f0:125\x1f{job.folder}\n")
    Path(job.folder, "log").write_text("allocating\n")
    with pytest.raises(JobFailed, match=r"job 41 ended: out of memory\nallocating") as failed:
        job.result(60)
    assert (failed.value.state, failed.value.code) == ("OUT_OF_MEMORY", 137)


def test_a_result_that_is_not_there_in_time_is_a_timeout(place: Place) -> None:
    job = place.cluster.submit(divide, 1, folder=None)
    with pytest.raises(TimeoutError):
        job.result(0.01)
    place.work()
    assert job.result(60) == 1


def test_a_sweep_runs_a_script_once_per_combination(place: Place) -> None:
    Path("train.py").write_text("import json, sys; print(json.dumps({'loss': float(sys.argv[2])}))\n")
    sweep = place.cluster.sweep("train.py", grid={"lr": [0.3, 0.1, 0.2]})
    assert sweep.trials == [{"lr": "0.3"}, {"lr": "0.1"}, {"lr": "0.2"}]
    place.work()
    assert sweep.wait(60)["done"] == 3
    assert [row["lr"] for row in sweep.results("min:loss")] == ["0.1", "0.2", "0.3"]
    assert len(place.cluster.find_sweep().trials) == 3


def test_what_was_sent_while_the_controller_was_away_has_no_number_to_cancel(place: Place) -> None:
    place.controller.problem = SlurmUnavailable("silent")
    job = place.cluster.submit(divide, 1, folder=None)
    assert job.id == ""
    with pytest.raises(InputError, match="no number yet"):
        job.cancel()


def test_a_job_is_cancelled_by_its_number(place: Place) -> None:
    place.cluster.submit(divide, 1, folder=None).cancel()
    assert place.controller.cancelled == ["41"]


def test_slurms_refusal_and_unknown_options_are_raised_here(place: Place) -> None:
    with pytest.raises(InputError, match="'gpu'"):
        place.cluster.submit(divide, 1, gpu=1)  # type: ignore[call-arg]  # the mistake under test
    place.controller.problem = SlurmRefused("no such account")
    with pytest.raises(SlurmRefused):
        place.cluster.submit(divide, 1, folder=None)


def test_a_job_may_wait_for_others(place: Place) -> None:
    first = place.cluster.submit(divide, 1, folder=None)
    place.cluster.submit(divide, 2, folder=None, after=[first, 7])
    assert place.controller.taken[1].dependency == "afterok:41:7"
