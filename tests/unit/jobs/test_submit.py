"""Sending: what is written down, and what is left when something dies in between."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path

import pytest
from tests.unit.jobs.bench import ME, Controller, desk_in, program, says

from corral.errors import InputError, SlurmError, SlurmRefused, SlurmUnavailable
from corral.jobs.desk import Desk
from corral.jobs.ledger import parse_submissions
from corral.jobs.request import Gpus, JobRequest, Resources
from corral.jobs.snapshot import take
from corral.jobs.submit import Prepared, ask, prepare, send
from corral.slurm.description import JobDescription

REQUEST = JobRequest(("python3", "train.py"), "train", Resources(gpus=Gpus(1), cpus=2, memory_mib=100))
NODES = "node0\x1fidle\x1f8\x1f0/8/0/8\x1f16000\x1fgpu:a100:2\x1fnone\x1froot\x1fmain\n"
PARTITIONS = "main\x1fup\x1finfinite\x1f1\x1fmain*\n"
SINFO = f"case $* in *-N*) printf '{NODES}';; *) printf '{PARTITIONS}';; esac".replace("\n", "\\n")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "train.py").write_text("print('hi')\n")
    return folder


def prepared_in(desk: Desk, project: Path, **more: bytes) -> Prepared:
    snapshot = asyncio.run(take(project))
    return prepare(desk, REQUEST, snapshot, has_code=False, files=dict(more))


def left(desk: Desk) -> list[str]:
    """Everything below the jobs' folder that would be there for good."""
    jobs = Path(desk.site.jobs)
    return sorted(str(path.relative_to(jobs)) for path in jobs.rglob("*") if path.is_file())


def test_what_is_sent_is_written_down_whole_and_marked_open(tmp_path: Path, project: Path) -> None:
    controller = Controller()
    desk = desk_in(tmp_path, controller)
    prepared = prepared_in(desk, project, extra=b"\x00\xff")
    sent = asyncio.run(send(desk, prepared))
    token, digest = sent.folder.token, asyncio.run(take(project)).digest
    files = ("batch.sh", "description.json", "extra", "job.json", "submitted")
    assert left(desk) == sorted(
        [f".open/{ME}.{token}", f"{ME}/code/{digest}/train.py", *(f"{ME}/{token}/{name}" for name in files)]
    )
    folder = Path(sent.folder.path)
    assert (folder / "extra").read_bytes() == b"\x00\xff"
    assert json.loads((folder / "job.json").read_text())["request"]["command"] == ["python3", "train.py"]
    again = JobDescription.from_json(
        json.loads((folder / "description.json").read_text()), (folder / "batch.sh").read_text()
    )
    assert controller.taken == [again]
    (submission,) = parse_submissions((folder / "submitted").read_text())
    assert (submission.attempt, submission.job_id, submission.units) == (1, 41, (None,))
    assert abs(submission.sent_at - time.time()) < 60


def test_files_are_the_persons_own(tmp_path: Path, project: Path) -> None:
    desk = desk_in(tmp_path)
    asyncio.run(send(desk, prepared_in(desk, project)))
    assert Path(desk.home.path).stat().st_mode & 0o077 == 0


def test_a_snapshot_that_is_there_already_is_left_as_it_is(tmp_path: Path, project: Path) -> None:
    desk = desk_in(tmp_path)
    asyncio.run(send(desk, prepared_in(desk, project)))
    code = Path(desk.home.code(asyncio.run(take(project)).digest))
    (code / "train.py").write_text("seen before\n")
    asyncio.run(send(desk, prepared_in(desk, project)))
    assert (code / "train.py").read_text() == "seen before\n"
    assert [path.name for path in code.parent.iterdir()] == [code.name]


def test_a_sender_that_dies_before_slurm_answers_leaves_everything_for_the_keeper(
    tmp_path: Path, project: Path
) -> None:
    desk = desk_in(tmp_path, Controller(problem=KeyboardInterrupt()))
    prepared = prepared_in(desk, project)
    with pytest.raises(KeyboardInterrupt):
        asyncio.run(send(desk, prepared))
    folder = Path(prepared.folder.path)
    assert (folder / "batch.sh").read_text() == prepared.description.script
    assert Path(desk.home.open_mark(prepared.folder.token)).exists()
    (submission,) = parse_submissions((folder / "submitted").read_text())
    assert submission.job_id == 0


def test_a_controller_that_is_away_leaves_the_job_for_the_keeper(tmp_path: Path, project: Path) -> None:
    desk = desk_in(tmp_path, Controller(problem=SlurmUnavailable("silent")))
    sent = asyncio.run(send(desk, prepared_in(desk, project)))
    assert sent.job_id is None
    assert Path(desk.home.open_mark(sent.folder.token)).exists()
    assert Path(sent.folder.submitted).read_text().startswith("1 0 ")


def test_a_job_that_slurm_refuses_leaves_nothing_but_the_snapshot(tmp_path: Path, project: Path) -> None:
    desk = desk_in(tmp_path, Controller(problem=SlurmRefused("no such account")))
    with pytest.raises(SlurmRefused, match="no such account"):
        asyncio.run(send(desk, prepared_in(desk, project)))
    assert [name for name in left(desk) if "/code/" not in name] == []


def test_an_upload_that_breaks_off_leaves_no_job(tmp_path: Path, project: Path) -> None:
    desk = desk_in(tmp_path)
    prepared = prepared_in(desk, project)
    (project / "train.py").write_text("x" * 10_000)
    (tmp_path / "jobs" / ME).mkdir()
    (tmp_path / "jobs" / ME / "code").write_text("in the way")
    with pytest.raises(SlurmError, match="lab: "):
        asyncio.run(send(desk, prepared))
    assert left(desk) == [f"{ME}/code"]


def test_one_question_tells_the_resources_and_whether_the_snapshot_is_there(
    tmp_path: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    says(monkeypatch, tmp_path, sinfo="")
    program(tmp_path / "bin", "sinfo", SINFO)
    desk, snapshot = desk_in(tmp_path), asyncio.run(take(project))
    found = asyncio.run(ask(desk, Resources(), "", snapshot))
    assert (found.resources.gpus, found.resources.cpus, found.resources.memory_mib) == (Gpus(1), 4, 8000)
    assert not found.has_code
    asyncio.run(send(desk, prepared_in(desk, project)))
    assert asyncio.run(ask(desk, Resources(), "", snapshot)).has_code
    with pytest.raises(InputError, match="--env nowhere"):
        asyncio.run(ask(desk, Resources(), "nowhere", snapshot))


def test_a_controller_that_is_away_when_asked_is_an_error_with_its_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    says(monkeypatch, tmp_path, sinfo="")
    program(tmp_path / "bin", "sinfo", "echo 'sinfo: Unable to contact slurm controller' >&2; exit 1")
    with pytest.raises(SlurmError, match="Unable to contact slurm controller"):
        asyncio.run(ask(desk_in(tmp_path), Resources(), "", None))
