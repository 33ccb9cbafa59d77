"""Clocks must agree: munge refuses messages that are five minutes off. A container's clock is its host's."""

from __future__ import annotations

from corral.deploy.cluster import Cluster, Node
from corral.deploy.resources import apt
from corral.deploy.resources.script import Script
from corral.deploy.step import Step

# Whatever keeps the time already is the owner's choice, and stays.
_KEEPERS = "chrony chronyd ntpsec ntp ntpd openntpd systemd-timesyncd"
_LOOK = f"""
systemd-detect-virt -qc && exit 0
for unit in {_KEEPERS}; do
  systemctl -q is-active $unit && systemctl -q is-enabled $unit 2>/dev/null && exit 0
done
echo "nothing keeps the clock right"
"""
_ACT = f"""
for unit in {_KEEPERS}; do
  if systemctl -q cat $unit >/dev/null 2>&1; then systemctl -q enable --now $unit && exit 0; fi
done
({apt.install("systemd-timesyncd")}) || exit 1
systemctl -q enable --now systemd-timesyncd
"""


def steps(_cluster: Cluster, node: Node) -> list[Step]:
    if node.facts.service_manager != "systemd":
        return []
    return [
        Script(
            "time sync",
            look=_LOOK,
            act=_ACT,
            doing="synchronise the clock",
            # One apt-get at a time, and the packages are needed first.
            after=("packages",),
            timeout_s=300,
        )
    ]
