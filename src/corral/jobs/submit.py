"""Sending a job: first it is written down on shared storage, whole, then Slurm is told.

Whatever dies in between, what was written down is sent by the keeper, once: a submission is lost in no
moment after its folder is there, and there is none before.
"""

from __future__ import annotations

import io
import json
import shlex
import tarfile
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace

from corral import __version__
from corral.errors import SlurmRefused, SlurmUnavailable
from corral.jobs import environments
from corral.jobs.batch import Batch
from corral.jobs.desk import Desk
from corral.jobs.layout import JobFolder, new_token
from corral.jobs.request import Environment, JobRequest, Resources
from corral.jobs.shares import with_defaults
from corral.jobs.snapshot import Snapshot
from corral.slurm.description import JobDescription, directives
from corral.slurm.text import NODES_SCRIPT, PARTITIONS_SCRIPT, parse_nodes, parse_partitions

_PART = "\x1e"
# Slurm's warning comes up to a minute early as it is.
_WARN_S = (15, 120)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the cluster said when it was asked before a submission."""

    resources: Resources
    environment: Environment
    has_code: bool


@dataclass(frozen=True, slots=True)
class Prepared:
    """A submission that was not sent yet: all that would be written down and told to Slurm."""

    request: JobRequest
    folder: JobFolder
    description: JobDescription
    upload: Snapshot | None
    """The snapshot, where the cluster does not have it yet."""
    sweep: Mapping[str, object] | None = None
    files: Mapping[str, bytes] = field(default_factory=dict)
    """More files for the folder, such as a sweep's trials."""

    @property
    def units(self) -> int:
        return 1 if self.sweep is None else int(str(self.sweep["units"]))


@dataclass(frozen=True, slots=True)
class Sent:
    """A submission that will run; without an id it waits for a controller that is away."""

    folder: JobFolder
    job_id: int | None


async def ask(desk: Desk, wanted: Resources, environment: str, snapshot: Snapshot | None) -> Surroundings:
    """Everything that a submission must know of the cluster, in one round trip."""
    code = shlex.quote(desk.home.code(snapshot.digest)) if snapshot else "''"
    script = [
        f"{NODES_SCRIPT} || exit 1",
        f"{PARTITIONS_SCRIPT} || exit 1",
        environments.look_script(environment),
        f"[ ! -d {code} ] || echo yes",
    ]
    said = await desk.must(f"\nprintf '{_PART}'\n".join(script))
    nodes, partitions, looked, has_code = said.split(_PART)
    return Surroundings(
        resources=with_defaults(wanted, parse_nodes(nodes, ""), parse_partitions(partitions)),
        environment=environments.found(environment, looked),
        has_code=has_code.strip() == "yes",
    )


def prepare(
    desk: Desk,
    request: JobRequest,
    snapshot: Snapshot | None,
    *,
    has_code: bool,
    array: str = "",
    sweep: Mapping[str, object] | None = None,
    files: Mapping[str, bytes] | None = None,
) -> Prepared:
    """The batch script and its description; nothing is changed anywhere."""
    folder = desk.home.job(new_token())
    resources = request.resources
    gpus = resources.gpus
    assert gpus is not None
    description = JobDescription(
        name=request.name,
        script="",
        folder=folder.path,
        output=folder.log("%a" if sweep else None),
        nodes=resources.nodes,
        cpus_per_task=resources.cpus or 1,
        memory_mib=resources.memory_mib,
        gpus_per_node=gpus.count,
        gpu_type=gpus.type,
        time_limit_min=resources.time_limit_min,
        partition=resources.partition,
        qos=resources.qos,
        account=resources.account,
        array=array,
        dependency=f"afterok:{':'.join(request.after)}" if request.after else "",
        warn_s=_warn_s(resources.time_limit_min),
        environment=_surroundings(desk.user),
    )
    digest = snapshot.digest if snapshot else None
    batch = Batch(request, desk.home, folder, directives(description), digest, sweep=sweep is not None)
    return Prepared(
        request=request,
        folder=folder,
        description=replace(description, script=batch.render()),
        upload=None if has_code else snapshot,
        sweep=sweep,
        files=files or {},
    )


async def send(desk: Desk, prepared: Prepared) -> Sent:
    """Write it down, then tell Slurm. When Slurm refuses, nothing is left."""
    code = prepared.upload.packed() if prepared.upload else b""
    entry = _packed(_entry(prepared))
    await desk.must(_write_down(desk, prepared, len(code)), stdin=code + entry, timeout_s=600)
    folder = prepared.folder
    try:
        job_id = await (await desk.rest()).submit(prepared.description)
    except SlurmRefused:
        await desk.run(f"rm -rf {desk.home.open_mark(folder.token)} {shlex.quote(folder.path)}")
        raise
    except SlurmUnavailable:
        return Sent(folder, None)
    await desk.run(note_submitted(folder, 1, job_id, prepared.description.array))
    return Sent(folder, job_id)


def note_submitted(folder: JobFolder, attempt: int, job_id: int, array: str) -> str:
    """A script that adds a line to the list of submissions, which everybody only ever appends to."""
    return f"echo {submitted_line(attempt, job_id, array)} >> {shlex.quote(folder.submitted)}"


def submitted_line(attempt: int, job_id: int, array: str) -> str:
    return f"{attempt} {job_id} {int(time.time())} {array.partition('%')[0] or '-'}"


def _warn_s(time_limit_min: int | None) -> int:
    """A tenth of the time to save one's state, within reason."""
    least, most = _WARN_S
    return most if time_limit_min is None else max(least, min(most, time_limit_min * 6))


def _surroundings(user: str) -> dict[str, str]:
    """A job's own environment: nothing of the terminal that it was sent from."""
    return {
        "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin",
        "USER": user,
        "LOGNAME": user,
        "LANG": "C.UTF-8",
        "SHELL": "/bin/bash",
        "CORRAL_ATTEMPT": "1",
    }


def _entry(prepared: Prepared) -> dict[str, bytes]:
    """The files of a submission's folder."""
    request = asdict(prepared.request)
    kind = "job" if prepared.sweep is None else "sweep"
    about = {"corral": __version__, "kind": kind, "units": prepared.units, "request": request}
    if prepared.sweep is not None:
        about["sweep"] = dict(prepared.sweep)
    texts = {
        "job.json": json.dumps(about, indent=1),
        "description.json": json.dumps(prepared.description.to_json(), indent=1),
        "batch.sh": prepared.description.script,
        "submitted": submitted_line(1, 0, prepared.description.array) + "\n",
    }
    return {**{name: text.encode() for name, text in texts.items()}, **prepared.files}


def _packed(files: Mapping[str, bytes]) -> bytes:
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            entry.mode = 0o644
            archive.addfile(entry, io.BytesIO(content))
    return raw.getvalue()


def _write_down(desk: Desk, prepared: Prepared, code_bytes: int) -> str:
    """Unpack everything beside its place and rename, so that it is there whole or not at all."""
    home, folder = desk.home, prepared.folder
    lines = [
        "set -e; umask 077",
        f"mkdir -p {home.path}/code",
        f'[ -O {home.path} ] || {{ echo "{home.path} is not {desk.user}\'s own"; exit 1; }}',
    ]
    if prepared.upload is not None:
        code = home.code(prepared.upload.digest)
        lines += [
            f"new=$(mktemp -d {home.path}/code/.new-XXXXXX); head -c {code_bytes} | tar -xz -C $new",
            f"mv -T $new {code} 2>/dev/null || {{ rm -rf $new; [ -d {code} ]; }}",
        ]
    lines += [
        f"new=$(mktemp -d {home.path}/.new-XXXXXX); tar -x -C $new",
        *(["mkdir -p $new/logs $new/trials"] if prepared.sweep is not None else []),
        f"mv -T $new {folder.path}",
        f": > {home.open_mark(folder.token)}",
    ]
    return "\n".join(lines)
