"""Who is to blame for bad links."""

from __future__ import annotations

from itertools import combinations

import pytest

from corral.checks.finding import Finding
from corral.checks.ladder.network import better_of, judge_pairs
from corral.checks.ladder.pair_results import Blame, Pair, culprits
from corral.checks.ladder.thresholds import Thresholds

GBIT = 1e9


def tournament(nodes: int, slow: dict[str, float] | None = None, latency_s: float = 5e-5) -> list[Pair]:
    """Every pair at 2.3 Gbit/s, or at the rate of its slower node."""
    rates = {f"n{number}": 2.3 * GBIT for number in range(nodes)} | (slow or {})
    return [Pair(a, b, latency_s, min(rates[a], rates[b]), min(rates[a], rates[b])) for a, b in combinations(rates, 2)]


def bad(pairs: list[Pair], *names: str) -> list[Pair]:
    return [pair for pair in pairs if f"{pair.a}{pair.b}" in names]


def found(
    pairs: list[Pair], limits: Thresholds | None = None, speeds: dict[str, float] | None = None
) -> list[tuple[str, str]]:
    findings = judge_pairs("lab", pairs, speeds or {}, limits or Thresholds())
    return [(finding.where, finding.kind) for finding in findings]


def one(pairs: list[Pair], limits: Thresholds) -> Finding:
    (finding,) = judge_pairs("lab", pairs, {}, limits)
    return finding


def test_a_node_that_is_bad_with_everybody_is_to_blame() -> None:
    pairs = tournament(4)
    assert culprits(pairs, bad(pairs, "n0n2", "n1n2", "n2n3")) == Blame(nodes=("n2",))


def test_one_bad_pair_among_good_ones_is_a_pair() -> None:
    pairs = tournament(3)
    assert culprits(pairs, bad(pairs, "n0n1")) == Blame(pairs=tuple(bad(pairs, "n0n1")))


def test_two_bad_nodes_explain_all_that_is_bad() -> None:
    pairs = tournament(5)
    spoilt = [pair for pair in pairs if pair.has("n1") or pair.has("n4")]
    assert set(culprits(pairs, spoilt).nodes) == {"n1", "n4"}
    assert culprits(pairs, spoilt).pairs == ()


def test_a_node_and_a_pair_besides() -> None:
    pairs = tournament(5)
    spoilt = [pair for pair in pairs if pair.has("n0")] + bad(pairs, "n2n3")
    assert culprits(pairs, spoilt) == Blame(("n0",), tuple(bad(pairs, "n2n3")))


def test_of_two_nodes_nobody_can_tell_which() -> None:
    pairs = tournament(2)
    assert culprits(pairs, pairs) == Blame(pairs=tuple(pairs))


def test_where_all_is_bad_it_is_what_they_share() -> None:
    pairs = tournament(4)
    assert culprits(pairs, pairs) == Blame(everybody=True)


def test_nothing_bad_blames_nobody() -> None:
    assert culprits(tournament(3), []) == Blame()


def test_of_three_nodes_the_one_at_100_mbit_is_named_although_it_spoils_most_pairs() -> None:
    assert found(tournament(3, {"n2": 0.093 * GBIT})) == [("n2", "slow-link")]


def test_links_that_vary_a_little_are_fine() -> None:
    assert found(tournament(3, {"n1": 1.2 * GBIT})) == []


def test_a_local_cluster_s_links_are_judged_by_what_they_are_shaped_to() -> None:
    limits = Thresholds(link_bit_s=2.5 * GBIT)
    assert found(tournament(3), limits) == []
    assert found(tournament(3, {"n1": 1.2 * GBIT}), limits) == [("n1", "slow-link")]


def test_negotiated_speeds_decide_what_a_pair_must_carry() -> None:
    fast = {"n0": 10 * GBIT, "n1": 10 * GBIT, "n2": 10 * GBIT}
    assert found(tournament(3), speeds=fast) == [("lab", "slow-link")]


def test_a_port_that_negotiated_less_is_named_even_though_it_carries_what_it_negotiated() -> None:
    pairs = tournament(3, {"n1": 0.094 * GBIT})
    speeds = {"n0": 2.5 * GBIT, "n1": 0.1 * GBIT, "n2": 2.5 * GBIT}
    assert found(pairs, speeds=speeds) == [("n1", "link-negotiated")]


def test_the_owner_s_own_limit_counts_alone() -> None:
    assert found(tournament(3), Thresholds(bandwidth_bit_s=2 * GBIT)) == []
    assert found(tournament(3), Thresholds(bandwidth_bit_s=3 * GBIT)) == [("lab", "slow-link")]


def test_a_finding_has_both_directions_and_what_the_others_reach() -> None:
    pairs = [Pair("a", "b", 1e-4, 9e8, 9e8), Pair("a", "c", 1e-4, 9.1e8, 9.3e7), Pair("b", "c", 1e-4, 9e8, 9.2e7)]
    finding = one(pairs, Thresholds())
    assert finding.where == "c"
    assert "it sends 92–93 Mbit/s and receives 900–910 Mbit/s" in finding.what
    assert "pairs without it reach 900 Mbit/s" in finding.what


def test_nodes_that_do_not_meet_are_cut_and_not_slow() -> None:
    pairs = [pair for pair in tournament(3) if not pair.has("n2")]
    pairs += [Pair("n0", "n2", problem="timed out"), Pair("n1", "n2", problem="timed out")]
    assert found(pairs) == [("n2", "link-cut")]


@pytest.mark.parametrize(("limits", "severity"), [(Thresholds(), "warning"), (Thresholds(latency_s=1e-3), "error")])
def test_a_long_way_is_an_error_only_where_the_owner_set_a_limit(limits: Thresholds, severity: str) -> None:
    pairs = [Pair("a", "b", 1e-4, 9e8, 9e8), Pair("a", "c", 2e-2, 9e8, 9e8), Pair("b", "c", 2e-2, 9e8, 9e8)]
    finding = one(pairs, limits)
    assert (finding.where, finding.kind, finding.severity) == ("c", "latency", severity)


def test_what_was_bad_only_once_is_not_bad() -> None:
    unlucky, again = tournament(3, {"n2": 1e7}), tournament(3)
    assert better_of(unlucky, again) == again
    assert better_of(again, unlucky) == again
