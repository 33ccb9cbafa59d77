"""Slurm's accounts, shares, limits and qualities of service, as sacctmgr knows them."""

from __future__ import annotations

from corral.deploy.cluster import Cluster, Node
from corral.deploy.resources.script import Script
from corral.deploy.step import Step
from corral.deploy.steps.people import ROLL

DEFAULT_ACCOUNT = "research"
# `normal` work pushes `scavenger` work back into the queue when it needs the room.
_QOS = ("normal", "scavenger")
# How long a job that is pushed back has to save its work.
_GRACE_S = 30

# sacctmgr fails when there is nothing to do; that is what we hope for.
_TRY = """
try() {
  out=$("$@" 2>&1) && return
  case $out in *"Nothing new"*|*[Aa]lready*|*"Nothing mod"*|*"Nothing added"*) ;; *) echo "$out"; exit 1;; esac
}
"""

# Slurm forgets nobody: what was used stays for accounting, without a share, and takes no more jobs. Who left the
# cluster has waiting jobs too, which must not start; who changed accounts may finish them.
_CLOSE = """
sacctmgr -nP list assoc where cluster={cluster} user=$(roll) format=user,account | sed 's/$/|/' | left |
while IFS='|' read -r user account _; do
  case ",$people," in *,$user,*) jobs=-1;; *) jobs=0;; esac
  try sacctmgr -iQ modify user $user where account=$account cluster={cluster} \\
    set fairshare=0 maxjobs=$jobs maxsubmitjobs=0
done
"""


def steps(cluster: Cluster, node: Node) -> list[Step]:
    if "head" not in node.roles:
        return []
    wanted, name = _Wanted(cluster), cluster.spec.name
    return [
        Script(
            "slurm cluster",
            look=f"sacctmgr -nP list cluster format=cluster | grep -qx {name} || echo {name}",
            act=f"sacctmgr -iQ add cluster {name}",
            doing="register the cluster for accounting",
            after=("slurmdbd",),
        ),
        Script(
            "slurm accounts",
            look=wanted.look(),
            act=wanted.act(),
            doing="set up Slurm's accounts, limits and qualities of service",
            # GPUs can be limited only once slurmctld has told slurmdbd that there are such things.
            after=("slurmctld", "people"),
        ),
    ]


class _Wanted:
    """What sacctmgr should list, and the commands that make it so."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster.spec.name
        self._users = {"root": (DEFAULT_ACCOUNT, 1, "", "")} | {
            name: (
                user.account,
                user.shares,
                "" if user.limits.gpus is None else f"gres/gpu={user.limits.gpus}",
                "" if user.limits.jobs is None else str(user.limits.jobs),
            )
            for name, user in cluster.spec.users.items()
        }
        self._accounts = dict.fromkeys([DEFAULT_ACCOUNT, *(user[0] for user in self._users.values())])

    def look(self) -> str:
        """Print every line that sacctmgr should list and does not, and every association that should be closed."""
        lines = [
            "qos|normal|100|scavenger|00:00:00",
            f"qos|scavenger|0||00:00:{_GRACE_S}",
            f"cluster|{self._cluster}|normal,scavenger",
        ]
        for name, (account, shares, gpus, jobs) in self._users.items():
            lines += [f"default|{name}|{account}", f"user|{name}|{account}|{shares}|{gpus}|{jobs}||"]
        listing = (
            "sacctmgr -nP list qos format=name,priority,preempt,gracetime | sed 's/^/qos|/'; "
            f"sacctmgr -nP list assoc where cluster={self._cluster} account=root user= format=cluster,qos"
            " | sed 's/^/cluster|/'; "
            "sacctmgr -nP list user format=user,defaultaccount | sed 's/^/default|/'; "
            f"sacctmgr -nP list assoc where cluster={self._cluster} user=$(roll)"
            " format=user,account,fairshare,grptres,grpjobs,maxjobs,maxsubmit | sed 's/^/user|/'"
        )
        wanted = " ".join(f"'{line}'" for line in lines)
        return "\n".join(
            [
                self._shell(),
                f"have=$({listing})",
                f'for line in {wanted}; do echo "$have" | grep -qxF "$line" || echo "$line"; done',
                'echo "$have" | grep "^user|" | left | grep -vE "[|]0$"',
            ]
        )

    def act(self) -> str:
        cluster = self._cluster
        run = "sacctmgr -iQ"
        script = [
            _TRY,
            self._shell(),
            f"try {run} add qos scavenger priority=0 preemptmode=requeue",
            f"try {run} modify qos scavenger set gracetime={_GRACE_S}",
            f"try {run} modify qos normal set priority=100 preempt=scavenger",
            f"try {run} modify cluster {cluster} set qos={','.join(_QOS)}",
        ]
        script += [
            f"try {run} add account {name} cluster={cluster} description={name} organization={cluster}"
            for name in self._accounts
        ]
        for name, (account, shares, gpus, jobs) in self._users.items():
            script.append(f"try {run} add user {name} account={account} cluster={cluster}")
            script.append(f"try {run} modify user {name} where cluster={cluster} set defaultaccount={account}")
            script.append(
                f"try {run} modify user {name} where account={account} cluster={cluster} set fairshare={shares} "
                f"grptres={gpus or 'gres/gpu=-1'} grpjobs={jobs or -1} maxjobs=-1 maxsubmitjobs=-1"
            )
        return "\n".join([*script, _CLOSE.format(cluster=cluster)])

    def _shell(self) -> str:
        """`roll`: everybody that Corral ever let in; `left`: of associations, those that the file does not name."""
        names = ",".join(self._users)
        current = "|".join(f"{name}[|]{account}" for name, (account, *_) in self._users.items())
        return (
            f"people={names}\n"
            f"roll() {{ printf %s $people; awk '{{ printf \",%s\", $1 }}' {ROLL} 2>/dev/null; }}\n"
            f"left() {{ grep -vE '^(user[|])?({current})[|]'; }}"
        )
