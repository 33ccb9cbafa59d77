"""A newer Slurm: what the distribution offers, whether Slurm supports the jump, and the steps that make it.

The order is Slurm's own: slurmdbd, slurmctld, slurmd. The steps here bring the packages; each daemon then
restarts in its own step, because the program that it has loaded is no longer the one on the disk.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from corral.deploy.cluster import Cluster, Node
from corral.deploy.releases import Release, predecessors, release_of, show, understands, upstream
from corral.deploy.resources import apt
from corral.deploy.resources.script import Script
from corral.deploy.steps.packages import needed
from corral.errors import RefusedError

OFFER_SCRIPT = "LC_ALL=C apt-cache policy slurm-client 2>/dev/null"
DRAIN_REASON = "corral upgrade"
_BACKUPS = "/var/backups/corral"
_KEPT_BACKUPS = 3
_STOP = {"systemd": "systemctl stop {units}", "supervisord": "supervisorctl stop {units}; true"}


@dataclass(frozen=True, slots=True)
class Offer:
    """Slurm's packages on one machine: what is installed, and what apt would install; empty for neither."""

    installed: str
    candidate: str

    @property
    def newer(self) -> bool:
        return bool(self.installed and self.candidate) and self.installed != self.candidate

    @property
    def jump(self) -> str:
        return f"{upstream(self.installed)} to {upstream(self.candidate)}"

    @property
    def present(self) -> Release | None:
        return release_of(self.installed)

    @property
    def future(self) -> Release | None:
        return release_of(self.candidate) or self.present


def parse_offer(policy: str) -> Offer:
    """Read what `apt-cache policy` prints."""
    found = {"Installed": "", "Candidate": ""}
    for line in policy.splitlines():
        key, _, value = line.strip().partition(": ")
        if key in found and value != "(none)":
            found[key] = value
    return Offer(found["Installed"], found["Candidate"])


def check_upgrade(offers: Mapping[str, Offer], head: str) -> None:
    """Raise `RefusedError` unless Slurm supports the way from what is installed to what is offered."""
    target = offers[head].future
    for name, offer in offers.items():
        _check_node(name, offer.future, target, head)
        if offer.present and target and not understands(target, offer.present):
            from_these = ", ".join(show(release) for release in predecessors(target))
            raise RefusedError(
                f"{name}: Slurm {show(offer.present)} cannot become {show(target)} in one step: Slurm {show(target)} "
                f"takes over from {from_these} only. Nothing was changed. Try: an upgrade by way of releases "
                f"in between, or without the history: corral down --purge, then corral up"
            )


def check_installation(offers: Mapping[str, Offer], head: str) -> None:
    """Raise `RefusedError` if a machine without Slurm would get one that the head cannot work with."""
    controller = offers[head].present or offers[head].future
    for name, offer in offers.items():
        if offer.present is None:
            _check_node(name, offer.future, controller, head)


def _check_node(name: str, node: Release | None, controller: Release | None, head: str) -> None:
    if node is None or controller is None or understands(controller, node):
        return
    why = "newer than" if node > controller else "too old for"
    raise RefusedError(
        f"{name}: its distribution offers Slurm {show(node)}, which is {why} the {show(controller)} of the head, "
        f"{head}. Nothing was changed. Try: the same distribution release on both, "
        f"or corral up --upgrade if the head lags"
    )


def pause_scheduling() -> Script:
    """A job that started while packages change would meet two versions: none starts, those that run go on."""
    return Script(
        "pause scheduling",
        look="scontrol ping 2>/dev/null | grep -q 'is UP' || exit 0\n"
        "sinfo -hN -o '%N %T' | awk '$2 !~ /drain|down/ {print $1}' | sort -u",
        act="nodes=$(sinfo -hN -o '%N %T' | awk '$2 !~ /drain|down/ {print $1}' | sort -u | paste -sd,)\n"
        f"scontrol update nodename=$nodes state=drain reason='{DRAIN_REASON}'",
        doing="let no new job start until the upgrade is over",
    )


def resume_scheduling() -> Script:
    """Give back the nodes that we took, and only those."""
    ours = f"sinfo -hN -o '%N %E' | sed -n 's/ {DRAIN_REASON}$//p' | sort -u"
    return Script(
        "resume scheduling",
        look=ours,
        act=f"for node in $({ours}); do scontrol update nodename=$node state=resume; done",
        doing="let jobs start again",
    )


def backup(offer: Offer) -> Script:
    """The accounting database as it was before the upgrade converts it."""
    name = f"slurm_acct_db-{upstream(offer.installed)}"
    return Script(
        "accounting backup",
        # A backup of the last hour is what an interrupted upgrade made.
        look=f"[ -n \"$(find {_BACKUPS} -name '{name}-*.sql.gz' -mmin -60 2>/dev/null)\" ] || echo {name}",
        act=f"""
set -e; umask 077; mkdir -p {_BACKUPS}; cd {_BACKUPS}
new={name}-$(date -u +%Y%m%dT%H%M%SZ).sql.gz
# A pipe hides a dump that failed: its last line tells.
mariadb-dump --skip-ssl --single-transaction --routines slurm_acct_db | gzip > .$new
gzip -dc .$new | tail -n 1 | grep -q 'Dump completed'
mv .$new $new
ls -t slurm_acct_db-*.sql.gz | tail -n +{_KEPT_BACKUPS + 1} | xargs -r rm -f
""",
        doing=f"back up the accounting database to {_BACKUPS}",
        timeout_s=3600,
    )


def upgrade(cluster: Cluster, node: Node, offer: Offer) -> Script:
    """Slurm's packages of one machine. The head's daemons stop first, so that none runs on half of each version."""
    names = " ".join(name for name in needed(cluster, node) if name.startswith("slurm"))
    units = "slurmrestd slurmctld slurmdbd"
    stop = _STOP[node.facts.service_manager].format(units=units) if "head" in node.roles else "true"
    return Script(
        "slurm upgrade",
        look=f"dpkg-query -W -f '${{Version}} ${{db:Status-Status}} ${{Package}}\\n' {names} 2>&1 "
        f"| grep -vxF '{_as_wanted(offer, names)}'",
        act=f"{stop}\n{apt.upgrade(names)}",
        doing=f"upgrade Slurm {offer.jump}",
        after=("pause scheduling", "accounting backup"),
        timeout_s=1800,
    )


def _as_wanted(offer: Offer, names: str) -> str:
    return "\n".join(f"{offer.candidate} installed {name}" for name in names.split())
