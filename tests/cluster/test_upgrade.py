"""A cluster whose distribution offers a newer Slurm: done in Slurm's own order, or refused."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cluster.lab import Lab, eventually, make_lab

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

OFFER_FORKY = """
new=/etc/apt/sources.list.d/forky.list
sed -n 's/^\\(deb .*\\) [a-z]* main$/\\1 forky main/p' /etc/apt/sources.list | head -n 1 > $new
echo 'Acquire::Check-Valid-Until "false";' > /etc/apt/apt.conf.d/98forky
"""


@pytest.fixture
def lab(request: pytest.FixtureRequest, tmp_path: Path, image_cache: Path) -> Iterator[Lab]:
    """Two machines of a release, to which the next one but some is offered."""
    release = request.param
    lab = make_lab(
        tmp_path,
        image_cache,
        machines=2,
        name=f"upgrade-{release}-{os.getpid()}",
        local={"release": release},
        users={"alice": {}},
    )
    with lab.while_up():
        for node in ("node0", "node1"):
            lab.ssh(node, OFFER_FORKY)
        yield lab


@pytest.mark.parametrize("lab", ["trixie"], indirect=True)
def test_a_supported_upgrade_keeps_the_running_job_and_the_history(lab: Lab) -> None:
    lab.as_user("alice", "srun -n1 --mem=100 true")
    wait = "until [ -e /shared/go ]; do sleep 1; done; hostname"
    lab.as_user("alice", f"printf '#!/bin/sh\\nsrun sh -c \"{wait}\"\\n' > job.sh")
    job = lab.as_user("alice", "sbatch --parsable -N2 --mem=100 -o out.txt job.sh").strip()
    eventually(lambda: "RUNNING" in lab.ssh("node0", f"squeue -h -j {job} -o %T"))
    lab.ssh("node0", "apt-get -qq update")
    shown = lab.corral("plan")
    assert "offers Slurm 26.05" in shown
    assert "nothing to do" in shown
    assert "upgrade Slurm 24.11.5 to 26.05" in lab.corral("plan", "--upgrade")
    assert lab.json("up")["changed"] == 0, "an upgrade never comes by surprise"

    report = lab.json("up", "--upgrade")
    assert report["ok"]
    assert lab.ssh("node0", "scontrol -V").split()[1].startswith("26.05")
    starts = {
        daemon: int(lab.ssh(node, f"systemctl show -p ExecMainStartTimestampMonotonic --value {daemon}"))
        for node, daemon in (("node0", "slurmdbd"), ("node0", "slurmctld"), ("node0", "slurmd"))
    }
    assert starts["slurmdbd"] < starts["slurmctld"] < starts["slurmd"]
    listed = lab.ssh("node0", "scontrol show nodes | grep -o 'Version=[^ ]*'").split()
    assert [version[:13] for version in listed] == ["Version=26.05"] * 2
    assert "RUNNING" in lab.ssh("node0", f"squeue -h -j {job} -o %T"), "it ran through all of it"
    lab.ssh("node0", "touch /shared/go")
    eventually(lambda: "COMPLETED" in lab.ssh("node0", f"sacct -nPX -j {job} -o state"))
    assert sorted(lab.ssh("node0", "cat /shared/out.txt").split()) == ["node0", "node1"]
    assert "1|COMPLETED" in lab.ssh("node0", "sacct -nPX -S now-1hour -o jobid,state")
    kept = lab.ssh("node0", "stat -c '%a %n' /var/backups/corral/*").split()
    assert kept[0] == "600"
    assert kept[1].startswith("/var/backups/corral/slurm_acct_db-24.11.5-")
    assert "sql.gz" in kept[1]
    assert lab.as_user("alice", "srun -N2 --mem=100 hostname").split()
    assert lab.json("up", "--upgrade")["changed"] == 0


@pytest.mark.parametrize("lab", ["bookworm"], indirect=True)
def test_a_jump_that_slurm_does_not_support_is_refused_before_anything_changes(lab: Lab) -> None:
    said = lab.corral("up", "--upgrade", exit_code=1)
    assert "Slurm 22.05 cannot become 26.05 in one step" in said
    assert "25.11, 25.05, 24.11" in said
    assert "does not support this jump" in lab.corral("plan")
    assert lab.ssh("node0", "dpkg-query -W -f '${Version}' slurmctld").startswith("22.05")
    assert lab.ssh("node0", "ls /var/backups/corral", exit_code=None).startswith("ls: cannot access")
    assert lab.as_user("alice", "srun -N2 --mem=100 hostname").split()
    assert lab.json("up")["changed"] == 0
