"""What `scontrol -o show` prints, with what people may write into it."""

from __future__ import annotations

from corral.slurm.shown import parse_jobs, parse_nodes, parse_partitions

JOB = (
    "JobId=18 ArrayJobId=17 ArrayTaskId=3 ArrayTaskThrottle=1 JobName=lr=1 JobState=RUNNING x UserId=alice(25735) "
    "GroupId=alice(25735) MCS_label=N/A Priority=10025 Nice=0 Account=research QOS=normal JobState=PENDING "
    "Reason=BeginTime Dependency=afterok:4(unfulfilled) Requeue=1 Restarts=2 BatchFlag=1 Reboot=0 ExitCode=0:9 "
    "RunTime=00:00:00 TimeLimit=UNLIMITED TimeMin=N/A SubmitTime=1794741080 EligibleTime=1794744680 AccrueTime=Unknown "
    "StartTime=1794744680 EndTime=Unknown Deadline=N/A Partition=main,short AllocNode:Sid=node0:2503 "
    "ReqNodeList=node[0-1] ExcNodeList=(null) NodeList= NumNodes=2 NumCPUs=4 ReqB:S:C:T=0:0:*:* "
    "ReqTRES=cpu=4,mem=8G,node=2,billing=4,gres/gpu=2 AllocTRES=(null) Features=(null) Command=(null) "
    "WorkDir=/shared/my files StdErr=/dev/null StdIn=/dev/null StdOut=/shared/a b/log Comment=x Partition=none "
    "TresPerNode=gres/gpu:a100:1 "
)
NODE = (
    "NodeName=node1 Arch=x86_64 CoresPerSocket=2  CPUAlloc=1 CPUEfctv=2 CPUTot=2 CPULoad=5.57 AvailableFeatures=fast "
    "ActiveFeatures=fast,big Gres=gpu:rtx5090:2 NodeAddr=10.77.0.11 OS=Linux 6.1 #1 SMP  RealMemory=7424 AllocMem=1024 "
    "State=MIXED+DRAIN ThreadsPerCore=1 Partitions=main,short  BootTime=1 CfgTRES=cpu=2,mem=7424M,billing=2,gres/gpu=2 "
    "AllocTRES=cpu=1,mem=1G,gres/gpu=1 CurrentWatts=0 Reason=State=IDLE says bob [bob@1794741080] "
)


def test_a_jobs_name_cannot_pretend_to_be_its_state() -> None:
    (job,) = parse_jobs(JOB)
    assert (job.name, job.state, job.user) == ("lr=1 JobState=RUNNING x", "PENDING", "alice")
    assert job.partitions == ("main", "short")


def test_a_job_tells_what_it_wants_and_since_when() -> None:
    (job,) = parse_jobs(JOB)
    assert (job.label, job.restarts, job.exit_code, job.signal) == ("17_3", 2, 0, 9)
    assert (job.started, job.ended, job.time_limit_s) == (1794744680, 0, None)
    assert (job.wanted_nodes, job.nodes) == (("node0", "node1"), ())
    assert (job.wants.gpus, job.wants.memory_mib, job.gpus_per_node) == (2, 8192, {"a100": 1})
    assert (job.folder, job.output) == ("/shared/my files", "/shared/a b/log")


def test_a_drained_node_is_not_in_service_whatever_its_reason_says() -> None:
    (node,) = parse_nodes(NODE)
    assert not node.in_service
    assert (node.state, node.reason) == ("MIXED", "State=IDLE says bob")
    assert (node.has.gpus, node.taken.gpus, node.taken.memory_mib) == (2, 1, 1024)
    assert node.features == {"fast", "big"}


def test_a_silent_node_is_not_in_service() -> None:
    (node,) = parse_nodes(NODE.replace("MIXED+DRAIN", "IDLE*"))
    assert not node.in_service
    assert parse_nodes(NODE.replace("MIXED+DRAIN", "IDLE"))[0].in_service


def test_partitions_have_a_longest_time_or_none() -> None:
    found = parse_partitions(
        "PartitionName=main MaxTime=UNLIMITED State=UP\nPartitionName=short MaxTime=00:10:00 State=DOWN\n"
    )
    assert (found["main"].up, found["main"].time_limit_s) == (True, None)
    assert (found["short"].up, found["short"].time_limit_s) == (False, 600)
