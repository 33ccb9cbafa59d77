"""What `submit`, `map` and `sweep` may be told."""

from __future__ import annotations

from datetime import timedelta

import pytest

from corral.api.failures import JobFailed
from corral.api.options import Options, check, resources
from corral.errors import CorralError, InputError
from corral.jobs.request import Gpus, Resources


def test_an_unknown_option_is_refused_with_those_that_there_are() -> None:
    check({"gpus": 1, "time": "2h", "folder": None})
    with pytest.raises(InputError) as refused:
        check({"gpus": 1, "gpu": 2})
    assert "'gpu'" in str(refused.value)
    for name in ("nodes", "gpus", "cpus", "mem", "time", "env", "after", "folder"):
        assert name in str(refused.value)


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ({}, Resources()),
        ({"gpus": 2}, Resources(gpus=Gpus(2))),
        ({"gpus": 0}, Resources(gpus=Gpus(0))),
        ({"gpus": "a100:2", "nodes": 3}, Resources(nodes=3, gpus=Gpus(2, "a100"))),
        ({"mem": "16G", "cpus": 4}, Resources(cpus=4, memory_mib=16384)),
        ({"time": "2h"}, Resources(time_limit_min=120)),
        ({"time": 90}, Resources(time_limit_min=90)),
        ({"time": timedelta(minutes=1, seconds=1)}, Resources(time_limit_min=2)),
        ({"time": timedelta(days=2)}, Resources(time_limit_min=2880)),
        ({"partition": "long", "qos": "q", "account": "a"}, Resources(partition="long", qos="q", account="a")),
    ],
)
def test_options_mean_what_they_mean_on_the_command_line(options: Options, wanted: Resources) -> None:
    assert resources(options) == wanted


@pytest.mark.parametrize("options", [{"gpus": -1}, {"nodes": 0}, {"cpus": 0}, {"mem": "lots"}, {"time": timedelta()}])
def test_options_that_no_job_can_have_are_refused(options: Options) -> None:
    with pytest.raises(InputError):
        resources(options)


def test_a_failure_says_which_job_how_and_with_what_last_words() -> None:
    failed = JobFailed("12_3", "FAILED", 3, "Traceback\nboom")
    assert str(failed) == "job 12_3 failed with exit code 3\nTraceback\nboom"
    assert isinstance(failed, CorralError)
    assert str(JobFailed("12", "OUT_OF_MEMORY", 137, "")) == "job 12 ended: out of memory"
