"""Which of the job's processes this one is, by what its launcher says."""

from __future__ import annotations

import pytest

pytest.importorskip("torch", reason="PyTorch is not installed here: `make test` brings it")

from corral.train.start import Place, network, placed

_STEP = {
    "SLURM_JOB_ID": "4012",
    "SLURM_STEP_ID": "1",
    "SLURM_STEP_NUM_TASKS": "4",
    "SLURM_STEP_NODELIST": "node7,node8",
    "SLURM_PROCID": "3",
    "SLURM_LOCALID": "1",
}


def test_torchrun_says_who_this_is() -> None:
    said = {"RANK": "2", "WORLD_SIZE": "3", "LOCAL_RANK": "0", "MASTER_ADDR": "10.0.0.1", "MASTER_PORT": "20110"}
    assert placed(_STEP | said) == Place(2, 3, 0, "10.0.0.1", 20110)


def test_under_srun_tasks_meet_on_the_first_node_at_a_port_of_the_jobs_own() -> None:
    assert placed(_STEP) == Place(3, 4, 1, "node7", 20126)


def test_a_batch_script_is_alone_though_its_job_has_several_tasks() -> None:
    assert placed({"SLURM_JOB_ID": "4012", "SLURM_PROCID": "0", "SLURM_NTASKS": "4"}).size == 1


def test_a_process_without_a_launcher_is_alone() -> None:
    assert placed({}) == Place(0, 1, 0, "", 0)


def test_settings_that_the_user_made_stay() -> None:
    chosen = {"NCCL_SOCKET_NTHREADS": "1", "NCCL_SOCKET_IFNAME": "eth7", "GLOO_SOCKET_IFNAME": "eth7"}
    assert not network(chosen, "127.0.0.1").keys() & chosen.keys()
