"""Upgrades as data: what is offered, what is refused, what would be done."""

from __future__ import annotations

import pytest
from tests.unit.deploy.clusters import THREE, cluster_of, facts

from corral.deploy.upgrade import Offer, backup, check_installation, check_upgrade, parse_offer, upgrade
from corral.errors import RefusedError

POLICY = """slurm-client:
  Installed: 24.11.5-4+deb13u1
  Candidate: 26.05.5-1
  Version table:
     26.05.5-1 500
"""
OLD, NEW = "24.11.5-4+deb13u1", "26.05.5-1"


def test_what_apt_says_is_understood() -> None:
    assert parse_offer(POLICY) == Offer(OLD, NEW)
    assert parse_offer(POLICY.replace(OLD, "(none)")) == Offer("", NEW)
    assert parse_offer("") == Offer("", "")


@pytest.mark.parametrize(
    ("offer", "newer"), [(Offer(OLD, NEW), True), (Offer(OLD, OLD), False), (Offer("", NEW), False)]
)
def test_only_another_version_of_what_is_installed_is_an_upgrade(offer: Offer, newer: bool) -> None:
    assert offer.newer is newer


def test_a_supported_jump_is_allowed_and_so_is_a_node_that_lags() -> None:
    check_upgrade({"node0": Offer(OLD, NEW), "node1": Offer(OLD, OLD)}, "node0")


def test_a_jump_too_far_is_refused_with_what_would_be_supported() -> None:
    with pytest.raises(RefusedError, match=r"node0: Slurm 22\.05 cannot become 26\.05.*25\.11, 25\.05, 24\.11"):
        check_upgrade({"node0": Offer("22.05.8-4", NEW)}, "node0")


def test_a_node_that_would_become_newer_than_its_controller_is_refused() -> None:
    with pytest.raises(RefusedError, match=r"node1: .* 26\.05, which is newer than the 24\.11 of the head"):
        check_upgrade({"node0": Offer(OLD, OLD), "node1": Offer(OLD, NEW)}, "node0")


def test_a_new_machine_whose_distribution_is_ahead_of_the_cluster_is_refused() -> None:
    with pytest.raises(RefusedError, match=r"node1: .*newer than the 24\.11"):
        check_installation({"node0": Offer(OLD, OLD), "node1": Offer("", NEW)}, "node0")
    with pytest.raises(RefusedError, match=r"node1: .*too old for the 26\.05"):
        check_installation({"node0": Offer("", NEW), "node1": Offer("", "22.05.8-4")}, "node0")
    check_installation({"node0": Offer(NEW, NEW), "node1": Offer("", OLD)}, "node0")
    check_installation({"node0": Offer("", NEW), "node1": Offer("", NEW)}, "node0")


def test_an_upgrade_touches_slurms_packages_only_and_stops_controllers_first() -> None:
    cluster = cluster_of(THREE, {f"node{i}": facts() for i in range(3)})
    head, node = (upgrade(cluster, cluster.nodes[name], Offer(OLD, NEW)) for name in ("node0", "node1"))
    assert head.doing == "upgrade Slurm 24.11.5 to 26.05.5"
    assert head.act.index("systemctl stop slurmrestd slurmctld slurmdbd") < head.act.index("--only-upgrade")
    assert "systemctl stop" not in node.act
    assert "mariadb" not in head.act + head.look


def test_the_backup_is_of_the_installed_version_and_only_three_are_kept() -> None:
    step = backup(Offer(OLD, NEW))
    assert "slurm_acct_db-24.11.5-" in step.act
    assert "umask 077" in step.act
    assert "tail -n +4" in step.act
    # The server was set up without TLS, on which newer clients insist otherwise.
    assert "mariadb-dump --skip-ssl " in step.act
