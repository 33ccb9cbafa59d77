"""Every kind of thing that can be wrong with a node: the doctor's words, and the page's."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of finding."""

    name: str
    title: str
    meaning: str
    by_hand: str
    """What a person does about it."""
    mended: str = ""
    """What `corral doctor --fix` does about it; empty where that would not be safe."""


LOW_MEMORY = Kind(
    "low-memory",
    "Less memory than declared",
    "Slurm was told that the node has more memory than it finds there, so it gives the node no jobs. Either a memory "
    "module failed, or `memory:` in the cluster file is too high.",
    "Lower or remove `memory:` of the machine in the cluster file and run `corral up`; if the file is right, have the "
    "memory modules checked.",
)
GPU_MISSING = Kind(
    "gpu-missing",
    "A GPU is missing",
    "A GPU that Slurm counts on has no device file any more: it fell off the bus, its driver is not loaded, or it was "
    "taken out. slurmd does not start without it, or reports too few and the node is drained.",
    "Look with `nvidia-smi` and `dmesg | grep -i -e nvrm -e xid`; a reboot brings back a GPU that fell off the bus. If "
    "it is gone for good, run `corral up`, which declares what is there.",
)
MACHINE_OFF = Kind(
    "machine-off",
    "The machine is off or cut off",
    "Neither you nor the head can reach the machine.",
    "Switch it on, or check its cable and address. It joins again by itself.",
)
MACHINE_HANGS = Kind(
    "machine-hangs",
    "The machine hangs, or lets nobody in",
    "The machine answers on the network, but one cannot log in: it hangs, or its SSH service is down.",
    "Look at its console; if it hangs, restart it.",
)
SLURMD_STOPPED = Kind(
    "slurmd-stopped",
    "slurmd does not run",
    "Without slurmd the node takes no jobs. Jobs that already run there go on.",
    "Run `corral up`, or `corral doctor --fix`.",
    "starts slurmd; running jobs are not disturbed.",
)
DAEMON_STOPPED = Kind(
    "daemon-stopped",
    "A daemon does not run",
    "One of the cluster's own services on this machine is stopped.",
    "Run `corral up`, or `corral doctor --fix`.",
    "starts it.",
)
NETWORK = Kind(
    "network",
    "Head and node do not reach each other",
    "The machine is up and slurmd runs, but the head cannot connect to port 6818 of the node, or the node cannot "
    "connect to port 6817 of the head: a firewall, a route or the wrong address.",
    "Open both ports between the machines of the cluster, and check the address in the cluster file.",
)
SILENT = Kind(
    "silent",
    "The node does not respond",
    "slurmd runs and its port is open, but the controller gets no answer from it.",
    "Restart slurmd; if that does not help, read `/var/log/slurm/slurmd.log` on the node.",
    "restarts slurmd; running jobs are not disturbed.",
)
REBOOTED = Kind(
    "rebooted",
    "The node rebooted unexpectedly",
    "The machine restarted without Slurm being told: a power cut, a crash, or somebody's reboot. Slurm keeps it out of "
    "service until somebody says that it is fine.",
    "Find out why (`last -x`, `journalctl -b -1`), then `corral node resume NAME`.",
    "resumes the node once nothing else is wrong with it.",
)
MOUNT = Kind(
    "mount-missing",
    "The shared folder is not there",
    "The cluster's shared folder is not mounted on this machine, or does not answer. Jobs there would not find their "
    "files, or would hang.",
    "Check the file server and the network, then mount the folder.",
    "mounts it, where /etc/fstab or a mount unit says how.",
)
CLOCK = Kind(
    "clock",
    "The clock is off",
    "The machine's clock differs from the head's. Beyond five minutes the others accept nothing from it any more, "
    "and file times mislead before that.",
    "Switch time synchronisation on: `timedatectl set-ntp true`, or install chrony.",
)
MUNGE_STOPPED = Kind(
    "munge-stopped",
    "Munge does not run",
    "Munge signs every message of Slurm. Without it the node can talk to nobody.",
    "Run `corral up`, or `corral doctor --fix`.",
    "starts munge, and slurmd after it.",
)
MUNGE_KEY = Kind(
    "munge-key",
    "The munge key differs",
    "The node signs its messages with another key than the head, so each refuses what the other says.",
    "Run `corral up`, or `corral doctor --fix`.",
    "puts the cluster's key back and restarts munge and slurmd.",
)
UNKILLABLE = Kind(
    "kill-task-failed",
    "A job could not be ended",
    "Processes of a job did not end when they were killed, mostly because they wait for a file server or a GPU driver "
    "that does not answer. Slurm drained the node so that nothing starts beside them.",
    "If processes still hang in state D, bring back what they wait for, or reboot the machine; then "
    "`corral node resume NAME`.",
    "resumes the node once no process hangs any more.",
)
JOB_START = Kind(
    "job-start-failed",
    "A job could not be started",
    "The node failed to prepare a job and was drained: a prolog script failed, or the job's folder could not be made.",
    "Read `/var/log/slurm/slurmd.log` on the node, mend the cause, then `corral node resume NAME`.",
)
PERSON = Kind(
    "drained-by-a-person",
    "Somebody took the node out of service",
    "A person drained the node or set it down, for the reason shown. Corral leaves that alone.",
    "When the work is done: `corral node resume NAME`.",
)
VERSION = Kind(
    "version",
    "Another Slurm version than the head",
    "The node runs another release of Slurm than the controller. Nodes may be older by two releases, never newer.",
    "Upgrade the packages of the older machine, then run `corral up`.",
)
STALE_CONFIG = Kind(
    "config-stale",
    "slurmd runs on an old configuration",
    "The configuration that the node received is not the one on the head.",
    "Run `corral up`.",
    "restarts slurmd on the node, which fetches the current one; running jobs are not disturbed.",
)
EDITED_CONFIG = Kind(
    "config-unread",
    "slurm.conf was changed behind the controller's back",
    "A file in /etc/slurm on the head is not the one that slurmctld loaded: somebody edited it.",
    "Run `corral plan --diff` to see what differs and `corral up` to put it right.",
)
DISK_FULL = Kind(
    "disk-full",
    "A disk is full",
    "There is hardly any room where slurmd keeps its jobs' scripts and state, or its log. Jobs cannot start there.",
    "Make room: old logs in /var/log, packages (`apt-get clean`), forgotten data in /tmp.",
)
UNKNOWN_NODE = Kind(
    "not-in-slurm",
    "The machine is not part of Slurm yet",
    "The cluster file names the machine, but slurmctld does not know it.",
    "Run `corral up`.",
)
CONTROLLER = Kind(
    "controller-silent",
    "The controller does not answer",
    "slurmctld on the head does not answer. Running jobs go on; nothing new starts.",
    "Run `corral up`, or `corral doctor --fix`.",
    "restarts slurmctld; running jobs are not disturbed.",
)
HARDWARE = Kind(
    "hardware-less",
    "Fewer CPUs or less disk than declared",
    "The node reported less than Slurm was told it has.",
    "Run `corral up`, which declares what is there; if the cluster file has `cpus:` for the machine, correct it.",
    "resumes the node once nothing else is wrong with it.",
)
CAUSE_GONE = Kind(
    "cause-gone",
    "Out of service, and the cause is gone",
    "Slurm itself took the node out of service; what it complained about is in order again, but Slurm waits for "
    "somebody to say so.",
    "`corral node resume NAME`, or `corral doctor --fix`.",
    "resumes the node.",
)

KINDS = (
    MACHINE_OFF, MACHINE_HANGS, NETWORK, CONTROLLER, SLURMD_STOPPED, DAEMON_STOPPED, SILENT, REBOOTED, MUNGE_STOPPED,
    MUNGE_KEY, CLOCK, LOW_MEMORY, GPU_MISSING, HARDWARE, DISK_FULL, MOUNT, UNKILLABLE, JOB_START, STALE_CONFIG,
    EDITED_CONFIG, VERSION, UNKNOWN_NODE, CAUSE_GONE, PERSON,
)  # fmt: skip
