"""Every kind of thing that the ladder itself finds; what the doctor finds on the way is in its own catalogue."""

from __future__ import annotations

from corral.checks.catalogue import Kind
from corral.checks.finding import Finding, Severity

SHARE_UNWRITABLE = Kind(
    "share-unwritable",
    "The shared folder cannot be written",
    "A job on this node could not write into the cluster's shared folder, as the person that the finding names: it is "
    "mounted read-only or not at all, it is full, or the file server refuses this node.",
    "Look with `findmnt` and `df` on the node, and at the file server's exports; then `corral up`.",
)
SHARE_DIFFERS = Kind(
    "share-differs",
    "The node sees another shared folder",
    "What the others wrote into the shared folder is not there on this node, or what it wrote is not there for them: "
    "something else is mounted at that place, or nothing.",
    "Compare `findmnt` of the shared folder on this node and on another one; then `corral up`.",
)
JOB_FAILS = Kind(
    "job-fails",
    "A job does not run on the node",
    "Slurm takes the node for healthy, and yet the smallest job that is sent there does not run.",
    "Read `/var/log/slurm/slurmd.log` on the node, and `corral doctor NAME`.",
)
GPU_DENIED = Kind(
    "gpu-denied",
    "A job does not get its GPU",
    "A job that asked for one GPU could not open one, or found the device without its driver.",
    "Run `nvidia-smi` on the node; read gres.conf and cgroup.conf in /etc/slurm on the head; then `corral up`.",
)
GPU_OPEN = Kind(
    "gpu-open",
    "Jobs are not kept off other jobs' GPUs",
    "A job could open a GPU that it had not asked for. Slurm confines jobs by cgroups, and where those do not work it "
    "says nothing and confines nobody: two jobs may then share a GPU without knowing.",
    "Look for `cgroup` in `/var/log/slurm/slurmd.log` on the node. cgroup.conf must have ConstrainDevices=yes, and "
    "slurmd must run where it may make cgroups, which needs CAP_BPF in a container.",
)
NO_OVERLAP = Kind(
    "no-overlap",
    "Jobs do not run side by side",
    "There were GPUs and cores for more jobs than ran at the same time, or more ran than there are GPUs.",
    "Look at `scontrol show partition` (OverSubscribe, MaxNodes), at `slurm.conf` in the cluster file, and at the "
    "limits of accounts.",
)
NO_HELLO = Kind(
    "no-hello",
    "A job over several nodes does not run",
    "Jobs run on each node, but one job over all of them does not: nodes must reach each other's slurmd, and the ports "
    "of srun on the head.",
    "Let the machines of the cluster talk to each other on all ports, and check that every name in /etc/hosts leads to "
    "the cluster's address.",
)
LINK_CUT = Kind(
    "link-cut",
    "Nodes do not reach each other",
    "One node could not open a TCP connection to another one, although both reach the head: a firewall between them, "
    "or a route that is missing.",
    "Let the machines of the cluster talk to each other on all ports; `ping` from one to the other shows the rest.",
)
SLOW_LINK = Kind(
    "slow-link",
    "A link is slow",
    "TCP carries much less between the nodes than their links should. A node is named when everything that it takes "
    "part in is slow, else the pair.",
    "Look at `ethtool` of its interface (speed, errors), change the cable or the switch's port; something else may "
    "also be using the network.",
)
NEGOTIATED = Kind(
    "link-negotiated",
    "A port negotiated less than the others",
    "The network interface agreed with the switch on a lower speed than those of the other nodes: mostly a bad cable, "
    "of which four wires still give 100 Mbit/s, or a slower port of the switch.",
    "Change the cable, then the port of the switch; `ethtool` shows what was agreed on.",
)
LATENCY = Kind(
    "latency",
    "Messages take long",
    "A byte takes much longer between these nodes than between the others.",
    "Look for a node that is busy with something else, for Wi-Fi, for a tunnel, or for power saving of the interface.",
)
ALLREDUCE_WRONG = Kind(
    "allreduce-wrong",
    "An all-reduce fails, or its sum is wrong",
    "Training over several nodes needs that all of them get the same, right sum.",
    "Check that all nodes have the same environment, and the memory of the machines.",
)
ALLREDUCE_SLOW = Kind(
    "allreduce-slow",
    "An all-reduce is slow",
    "An all-reduce reached much less than what TCP carries between the same nodes.",
    "Run `corral bench allreduce`, which compares ways to do it; another program may use the CPUs or the network.",
)
TRAINING = Kind(
    "training-fails",
    "A small training does not converge",
    "A training with one process per node failed, its loss did not fall, or the nodes ended with different parameters.",
    "Read what it said; run `corral check --only allreduce`, and check that all nodes have the same environment.",
)

KINDS = (
    SHARE_UNWRITABLE, SHARE_DIFFERS, JOB_FAILS, GPU_DENIED, GPU_OPEN, NO_OVERLAP, NO_HELLO, LINK_CUT, SLOW_LINK,
    NEGOTIATED, LATENCY, ALLREDUCE_WRONG, ALLREDUCE_SLOW, TRAINING,
)  # fmt: skip


def finding(kind: Kind, where: str, what: str, severity: Severity = "error") -> Finding:
    """A finding with the catalogue's advice."""
    return Finding(severity, where, what, kind.by_hand.replace("NAME", where), kind=kind.name)
