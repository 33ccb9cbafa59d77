"""A job's description: what sbatch is told, and what is kept of it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from corral.errors import InputError
from corral.slurm.description import JobDescription, directives

PLAIN: dict[str, Any] = {"name": "train", "script": "#!/bin/sh\n", "folder": "/shared/a", "output": "/shared/a/log"}
FULL = JobDescription(
    **PLAIN, nodes=2, tasks_per_node=4, cpus_per_task=3, memory_mib=2048, gpus_per_node=2, gpu_type="a100",
    time_limit_min=90, partition="main,long", qos="scavenger", account="lab", array="0-9%3", dependency="afterok:7",
    requeue=False, warn_s=120, hold=True, comment="a comment", environment={"A": "1\n2"},
)  # fmt: skip


def test_every_wish_is_a_directive() -> None:
    assert directives(FULL) == [
        "#SBATCH --job-name=train",
        "#SBATCH --chdir=/shared/a",
        "#SBATCH --output=/shared/a/log",
        "#SBATCH --open-mode=append",
        "#SBATCH --nodes=2",
        "#SBATCH --ntasks-per-node=4",
        "#SBATCH --cpus-per-task=3",
        "#SBATCH --mem=2048M",
        "#SBATCH --gres=gpu:a100:2",
        "#SBATCH --time=90",
        "#SBATCH --partition=main,long",
        "#SBATCH --qos=scavenger",
        "#SBATCH --account=lab",
        "#SBATCH --array=0-9%3",
        "#SBATCH --dependency=afterok:7",
        "#SBATCH --signal=USR1@120",
        '#SBATCH --comment="a comment"',
        "#SBATCH --no-requeue",
        "#SBATCH --hold",
    ]


def test_what_is_left_to_slurm_is_not_mentioned() -> None:
    told = " ".join(directives(JobDescription(**PLAIN)))
    for option in ("mem", "gres", "time", "partition", "qos", "account", "array", "dependency", "signal", "hold"):
        assert f"--{option}=" not in told
    assert "--requeue" in told


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("two words", '"two words"'),
        ('say "hi"', r'"say \"hi\""'),
        ("back\\slash", r'"back\\slash"'),
        ("a#b", '"a#b"'),
        ("$HOME `id`", '"$HOME `id`"'),
        ("größe", '"größe"'),
    ],
)
def test_unusual_names_are_quoted(name: str, written: str) -> None:
    assert directives(JobDescription(**{**PLAIN, "name": name}))[0] == f"#SBATCH --job-name={written}"


@pytest.mark.parametrize("field", ["name", "folder", "output", "partition", "comment"])
def test_a_line_break_cannot_become_another_directive(field: str) -> None:
    with pytest.raises(InputError, match=f"the job's {field} holds a control character"):
        JobDescription(**{**PLAIN, field: "a\n#SBATCH --hold"})


@pytest.mark.parametrize("description", [FULL, JobDescription(**PLAIN)])
def test_a_description_survives_its_file(description: JobDescription) -> None:
    kept = json.loads(json.dumps(description.to_json()))
    assert "script" not in kept
    assert JobDescription.from_json(kept, description.script) == description


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"nodes": "two"}, "a job's nodes is int, not 'two'"),
        ({"nodes": True}, "a job's nodes is int, not True"),
        ({"requeue": 1}, "a job's requeue is bool"),
        ({"memory_mib": 1.5}, "a job's memory_mib is int | None"),
        ({"environment": {"A": 1}}, "a job's environment"),
        ({"gpus": 1}, "has no 'gpus'; it has: name, folder"),
    ],
)
def test_a_file_that_is_no_description_is_refused(change: dict[str, object], words: str) -> None:
    with pytest.raises(InputError) as problem:
        JobDescription.from_json({**FULL.to_json(), **change}, "")
    assert words in str(problem.value)


def test_a_file_that_lacks_something_says_what() -> None:
    with pytest.raises(InputError, match="lacks: name, output"):
        JobDescription.from_json({"folder": "/shared"}, "")
    with pytest.raises(InputError, match="is an object"):
        JobDescription.from_json([], "")
