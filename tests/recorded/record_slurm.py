"""Record what real Slurm daemons say: `python -m tests.recorded.record_slurm [RELEASE…]`, as root.

Boots a local cluster of each Debian release and writes beside this file, for tests/unit/slurm:

    slurmrestd/SLURM/API/NAME.json   a question (method, path), the status of its answer and its body
    jobs/SLURM/NAME.txt              squeue's and sacct's lists of the same jobs

Tokens are in the questions' headers alone, which are not written.
"""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from tests.cluster.lab import Lab, eventually, make_lab
from tests.cluster.tunnel import token_of, tunnel

from corral.slurm.description import JobDescription
from corral.slurm.listing import history_script, queue_script
from corral.slurm.rest.adapter import Adapter, adapter_for
from corral.slurm.rest.token import Token
from corral.slurm.rest.transport import Endpoint, Timeouts, exchange
from corral.slurm.rest.wire import Record

FOLDER = Path(__file__).parent
CACHE = Path(os.environ.get("CORRAL_CACHE", "/var/cache/corral"))
PARTITIONS = {"main": {"default": True}, "long": {"machines": ["node1"]}}
NAMES = ("plain", 'a name | with "odd" signs, 100% ü', "two\nlines", "a\x1fseparator", " spaces  around ")
JOB = JobDescription(
    name="train", script="#!/bin/sh\nsleep 600\n", folder="/shared/alice", output="/shared/alice/%j.log",
    memory_mib=100, time_limit_min=30, environment={"PATH": "/usr/bin:/bin"},
)  # fmt: skip


@dataclass(frozen=True)
class Recorder:
    """Asks one slurmrestd and writes down the answers."""

    lab: Lab
    endpoint: Endpoint
    adapter: Adapter
    folder: Path
    tokens: dict[str, Token]

    def ask(
        self,
        name: str,
        method: str,
        path: str,
        body: Record | None = None,
        *,
        user: str = "alice",
        spoiled: bool = False,
    ) -> Record:
        """Ask, and keep the answer under a name, where there is one."""
        secret = self.tokens[user].secret
        headers = {"X-SLURM-USER-NAME": user, "X-SLURM-USER-TOKEN": f"{secret[:-4]}AAAA" if spoiled else secret}
        if body is not None:
            headers["Content-Type"] = "application/json"
        full = f"/slurm/{self.adapter.API}/{path}"
        content = None if body is None else json.dumps(body).encode()
        answer = asyncio.run(exchange(self.endpoint, method, full, headers, content, Timeouts()))
        said: Record = json.loads(answer.body)
        if name:
            kept = {"method": method, "path": full, "status": answer.status, "body": said}
            (self.folder / f"{name}.json").write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n")
        return said

    def submit(self, name: str, description: JobDescription, *, spoiled: bool = False) -> int:
        reply = self.ask(name, "POST", "job/submit", self.adapter.submission(description), spoiled=spoiled)
        return int(reply.get("job_id") or 0)

    def state(self, job: int, *wanted: str) -> None:
        """Wait until the job is in one of the states."""
        eventually(lambda: any(word in self.lab.ssh("node0", f"scontrol show job {job}") for word in wanted))


def record_jobs(recorder: Recorder) -> None:
    """One job after another, in every state."""
    running = recorder.submit("submitted", replace(JOB, gpus_per_node=2, gpu_type="rtx5090", warn_s=60, nodes=2))
    recorder.state(running, "JobState=RUNNING")
    recorder.ask("running", "GET", f"job/{running}")
    waiting = recorder.submit("", replace(JOB, gpus_per_node=2, dependency=f"afterany:{running}", comment="a comment"))
    recorder.ask("waiting-for-a-job", "GET", f"job/{waiting}")
    crowded = recorder.submit("", replace(JOB, name="ünïcode | 100 %", gpus_per_node=1))
    recorder.state(crowded, "Reason=Resources", "Reason=Priority")
    recorder.ask("waiting", "GET", f"job/{crowded}")
    held = recorder.submit("submitted-held", replace(JOB, hold=True, array="1-4%1"))
    recorder.ask("released-array", "POST", f"job/{held}", {"hold": False})
    recorder.state(held, "JobState=RUNNING")
    recorder.ask("array", "GET", f"job/{held}")
    recorder.ask("held-array", "POST", f"job/{held}", {"hold": True})
    recorder.ask("held", "POST", f"job/{crowded}", {"hold": True})
    recorder.ask("cancelled-by-a-stranger", "DELETE", f"job/{crowded}", user="bob")
    recorder.ask("held-by-a-stranger", "POST", f"job/{crowded}", {"hold": True}, user="bob")
    for job in (held, waiting, running):
        recorder.ask("cancelled", "DELETE", f"job/{job}")
    recorder.state(running, "JobState=CANCELLED")
    recorder.ask("cancelled-twice", "DELETE", f"job/{running}")
    for name, script, ends in (
        ("completed", "#!/bin/sh\ntrue\n", "COMPLETED"),
        ("failed", "#!/bin/sh\nexit 3\n", "FAILED"),
        ("killed", "#!/bin/sh\nkill -9 $$\n", "FAILED"),
    ):
        job = recorder.submit("", replace(JOB, script=script))
        recorder.state(job, f"JobState={ends}")
        recorder.ask(name, "GET", f"job/{job}")


def record_refusals(recorder: Recorder) -> None:
    """What goes wrong."""
    recorder.submit("refused-partition", replace(JOB, partition="nowhere"))
    recorder.submit("refused-qos", replace(JOB, qos="nothing"))
    recorder.submit("more-nodes-than-there-are", replace(JOB, nodes=9))
    recorder.ask("unknown-job", "GET", "job/999999")
    recorder.ask("unknown-job-cancelled", "DELETE", "job/999999")
    recorder.ask("unknown-job-held", "POST", "job/999999", {"hold": True})
    recorder.ask("bad-token", "GET", "job/1", spoiled=True)
    recorder.ask("bad-token-cancelled", "DELETE", "job/1", spoiled=True)
    recorder.submit("bad-token-submitted", JOB, spoiled=True)
    recorder.lab.ssh("node0", "systemctl stop slurmctld")
    recorder.ask("away", "GET", "job/1")
    recorder.ask("away-cancelled", "DELETE", "job/1")
    recorder.ask("away-held", "POST", "job/1", {"hold": True})
    recorder.submit("away-submitted", JOB)
    recorder.lab.ssh("node0", "systemctl start slurmctld")


def record_lists(lab: Lab, folder: Path) -> None:
    """Jobs with unusual names and every way to ask for GPUs."""
    batch = "sbatch --parsable --mem=100 -o /dev/null"
    named = [lab.as_user("alice", f"{batch} -H -J {shlex.quote(name)} --wrap true").strip() for name in NAMES]
    for name, options in {
        "typed on two nodes": "-H -N2 --gres=gpu:rtx5090:2",
        "per job": "-H -n2 --gpus=rtx5090:2",
        "per task": "-H -n3 --gpus-per-task=1",
        "anywhere": "-H -p long,main --time=1-02:03:04",
        "array": "--array=1-4%2 --gres=gpu:1 --time=10",
    }.items():
        lab.as_user("alice", f"{batch} -J {shlex.quote(name)} {options} --wrap 'sleep 600'")
    eventually(lambda: lab.ssh("node0", "squeue -h -t R").count("\n") == 2)
    (folder / "queue.txt").write_text(lab.ssh("node0", queue_script()))
    (folder / "queue-by-record.txt").write_text(lab.ssh("node0", queue_script(expand=False)))
    # Accounting lists only what might have run.
    lab.ssh("node0", f"scontrol release {' '.join(named)}")
    eventually(lambda: lab.ssh("node0", f"squeue -h -j {','.join(named)}", exit_code=None) == "")
    lab.ssh("node0", "scancel -u alice")
    eventually(lambda: lab.ssh("node0", "squeue -h") == "")
    (folder / "history.txt").write_text(lab.ssh("node0", history_script(since=0)))


def record(release: str) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        sections = {
            "local": {"release": release, "gpus": 2},
            "partitions": PARTITIONS,
            "users": {"alice": {}, "bob": {}},
        }
        lab = make_lab(folder, CACHE, machines=2, name=f"record-{release}", **sections)
        try:
            lab.corral("up", timeout_s=600)
            lab.ssh("node0", "install -d -o alice /shared/alice")
            with tunnel(lab, folder) as endpoint:
                tokens = {user: token_of(lab, user) for user in ("alice", "bob")}
                version = tokens["alice"].slurm_version
                adapter = adapter_for(version)
                recorder = Recorder(lab, endpoint, adapter, _fresh("slurmrestd", version, adapter.API), tokens)
                record_jobs(recorder)
                record_refusals(recorder)
            record_lists(lab, _fresh("jobs", version))
        finally:
            lab.corral("down")


def _fresh(*names: str) -> Path:
    folder = FOLDER.joinpath(*names)
    folder.mkdir(parents=True, exist_ok=True)
    for file in folder.iterdir():
        file.unlink()
    return folder


if __name__ == "__main__":
    for release in sys.argv[1:] or ("bookworm", "trixie", "forky"):
        record(release)
