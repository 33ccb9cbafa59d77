"""Slurm's configuration, rendered from the cluster: the one place where its settings are decided."""

from __future__ import annotations

from dataclasses import dataclass

from corral.deploy.cluster import Cluster, Node
from corral.deploy.templates import render

# Tuned for many short experiments: start a job as soon as there is room, look far down the queue.
_SCHEDULER = (
    "batch_sched_delay=0,sched_interval=5,sched_min_interval=100000,"
    "bf_interval=5,bf_continue,bf_max_job_test=1000,default_queue_depth=1000"
)


def slurm_conf(cluster: Cluster) -> bytes:
    """The whole slurm.conf; the cluster file's own lines win over ours."""
    settings = (
        _settings(cluster) | _listening(cluster) | {key: str(value) for key, value in cluster.spec.slurm.conf.items()}
    )
    return render(
        "etc/slurm/slurm.conf",
        settings=settings,
        nodes=[_NodeLine.of(node, in_file=cluster.spec.machines[node.name].cpus) for node in cluster.compute_nodes],
        partitions=_partitions(cluster),
    )


def gres_conf(cluster: Cluster) -> bytes:
    return render("etc/slurm/gres.conf", nodes=cluster.compute_nodes)


def cgroup_conf(cluster: Cluster) -> bytes:
    nodes = cluster.compute_nodes
    return render(
        "etc/slurm/cgroup.conf",
        kind=cluster.confinement,
        mount=nodes[0].facts.cgroup_mount if nodes else "",
        ignore_systemd=any(node.facts.service_manager != "systemd" for node in nodes),
    )


def _settings(cluster: Cluster) -> dict[str, str]:
    confined = cluster.confinement != "none"
    return {
        "ClusterName": cluster.spec.name,
        "SlurmctldHost": f"{cluster.head.name}({cluster.head.address})",
        "SlurmctldPort": "6817",
        "SlurmdPort": "6818",
        "SlurmUser": "slurm",
        # A preempted job gets the signal that it asked for (`--signal`), and its QOS' grace time to save its work.
        # Newer releases know this as PreemptParameters=send_user_signal too, which 22.05 rejects.
        "SlurmctldParameters": "enable_configless,preempt_send_user_signal",
        "AuthType": "auth/munge",
        "AuthAltTypes": "auth/jwt",
        "AuthAltParameters": "jwt_key=/etc/slurm/jwt_hs256.key",
        # How long a lost node's job credential blocks its requeued self: 10 s instead of two minutes.
        "AuthInfo": "cred_expire=10",
        "StateSaveLocation": "/var/lib/slurm/slurmctld",
        "SlurmdSpoolDir": "/var/lib/slurm/slurmd",
        "SlurmctldPidFile": "/run/slurmctld/slurmctld.pid",
        "SlurmdPidFile": "/run/slurm/slurmd.pid",
        "SlurmctldLogFile": "/var/log/slurm/slurmctld.log",
        "SlurmdLogFile": "/var/log/slurm/slurmd.log",
        "ProctrackType": "proctrack/cgroup" if confined else "proctrack/linuxproc",
        "TaskPlugin": "task/cgroup,task/affinity" if confined else "task/none",
        "JobAcctGatherType": "jobacct_gather/cgroup" if confined else "jobacct_gather/linux",
        "JobAcctGatherFrequency": "10",
        "MpiDefault": "none",
        "ReturnToService": "2",
        "SlurmctldTimeout": "30",
        "SlurmdTimeout": "30",
        "KillWait": "10",
        "MinJobAge": "300",
        "MaxJobCount": "50000",
        "MaxArraySize": "20001",
        "SchedulerType": "sched/backfill",
        "SchedulerParameters": _SCHEDULER,
        "SelectType": "select/cons_tres",
        "SelectTypeParameters": "CR_Core_Memory",
        "DefMemPerCPU": str(_memory_per_cpu_mib(cluster)),
        "GresTypes": "gpu",
        "PriorityType": "priority/multifactor",
        "PriorityDecayHalfLife": "7-0",
        "PriorityWeightFairshare": "100000",
        "PriorityWeightQOS": "10000",
        "PriorityWeightAge": "1000",
        "PriorityWeightJobSize": "100",
        "PreemptType": "preempt/qos",
        "PreemptMode": "REQUEUE",
        "JobRequeue": "1",
        # What a job exits with when it saved its work and wants to go on later.
        "RequeueExit": "85",
        "AccountingStorageType": "accounting_storage/slurmdbd",
        "AccountingStorageHost": cluster.head.name,
        "AccountingStorageTRES": "gres/gpu",
        "AccountingStorageEnforce": "associations,limits,qos",
    }


def _listening(cluster: Cluster) -> dict[str, str]:
    """Every daemon listens on what its machine's name resolves to: by our /etc/hosts, the cluster's address."""
    return {"CommunicationParameters": "NoCtldInAddrAny,NoInAddrAny"} if cluster.names_resolve else {}


@dataclass(frozen=True, slots=True)
class _NodeLine:
    name: str
    address: str
    cpus: int
    topology: str
    memory_mib: int
    extras: str

    @staticmethod
    def of(node: Node, *, in_file: int | None) -> _NodeLine:
        facts = node.facts
        # A number of CPUs from the file need not fit the sockets that were found.
        topology = (
            f" Sockets={facts.sockets} CoresPerSocket={facts.cores_per_socket} ThreadsPerCore={facts.threads_per_core}"
            if in_file is None
            else ""
        )
        extras = f" Gres={node.gres}" if node.gpus else ""
        extras += f" Feature={','.join(node.features)}" if node.features else ""
        return _NodeLine(node.name, node.address, node.cpus, topology, node.memory_mib, extras)


@dataclass(frozen=True, slots=True)
class _PartitionLine:
    name: str
    nodes: str
    default: str
    max_time: str
    extras: str


def _partitions(cluster: Cluster) -> list[_PartitionLine]:
    known = [node.name for node in cluster.compute_nodes]
    lines = []
    for name, partition in cluster.spec.all_partitions.items():
        members = known if partition.machines == "all" else [node for node in known if node in partition.machines]
        extras = f" PriorityTier={partition.priority}"
        extras += f" DefaultTime={partition.default_time}" if partition.default_time else ""
        lines.append(
            _PartitionLine(
                name,
                ",".join(members) or '""',
                "YES" if partition.default else "NO",
                partition.max_time.upper() if partition.max_time == "infinite" else partition.max_time,
                extras,
            )
        )
    return lines


def _memory_per_cpu_mib(cluster: Cluster) -> int:
    """A job that names no memory gets its CPUs' share of the leanest node."""
    return min((node.memory_mib // node.cpus for node in cluster.compute_nodes), default=1024)
