"""What is good enough: from the cluster file where it says so, else from what the machines are."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from corral.checks.ladder.pair_results import Pair
from corral.spec.model import ClusterSpec
from corral.spec.values import rate_bit_s, time_s

_SHARE_OF_LINK = 0.7
"""TCP carries 94 % of what a link negotiates, and both ends may have something else to do for a moment."""
_SHARE_OF_OTHERS = 1 / 3
"""Where nothing is known of the links: less than a third of what others reach is another kind of link."""
_TIMES_OTHERS = 5.0
_LATENCY_ALWAYS_FINE_S = 2e-3
_SHARE_OF_TCP = 0.5
_GLOO_ON_CPU_BIT_S = 1e9
"""What a CPU adds up in any case: over a faster link gloo waits for it, and not for the link."""


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Limits that the owner set; None leaves them to the facts."""

    bandwidth_bit_s: float | None = None
    latency_s: float | None = None
    allreduce_share: float | None = None
    link_bit_s: float | None = None
    """What a local cluster's links are shaped to."""

    @staticmethod
    def of(spec: ClusterSpec) -> Thresholds:
        check = spec.check
        link = spec.local.link if spec.local else None
        return Thresholds(
            rate_bit_s(check.bandwidth) if check.bandwidth else None,
            time_s(check.latency) if check.latency else None,
            check.allreduce / 100 if check.allreduce else None,
            rate_bit_s(link) if link else None,
        )

    def least_bit_s(self, pair: Pair, speeds: Mapping[str, float | None], pairs: Sequence[Pair]) -> float:
        """What a pair must carry, given what the nodes' interfaces negotiated and how the other pairs do."""
        if self.bandwidth_bit_s is not None:
            return self.bandwidth_bit_s
        first, second = speeds.get(pair.a), speeds.get(pair.b)
        link = self.link_bit_s or (min(first, second) if first and second else None)
        if link is not None:
            return _SHARE_OF_LINK * link
        return _SHARE_OF_OTHERS * _usual([(one, one.slower_bit_s) for one in pairs if not one.problem], max)

    def longest_s(self, pairs: Sequence[Pair]) -> float:
        """How long a byte may take."""
        if self.latency_s is not None:
            return self.latency_s
        usual = _usual([(one, one.latency_s) for one in pairs if not one.problem], min)
        return max(_TIMES_OTHERS * usual, _LATENCY_ALWAYS_FINE_S)

    def least_allreduce_bit_s(self, raw_bit_s: float, backend: str) -> float:
        """What an all-reduce must reach over links that carry `raw_bit_s`."""
        if self.allreduce_share is not None:
            return self.allreduce_share * raw_bit_s
        return _SHARE_OF_TCP * (min(raw_bit_s, _GLOO_ON_CPU_BIT_S) if backend == "gloo" else raw_bit_s)


def _usual(measured: Sequence[tuple[Pair, float]], best: Callable[[Iterable[float]], float]) -> float:
    """The median over the nodes of the best that each of them reaches.

    Not the median over the pairs: of three nodes, one that is bad spoils two of the three pairs.
    """
    nodes = {node for pair, _ in measured for node in (pair.a, pair.b)}
    bests = [best(value for pair, value in measured if pair.has(node)) for node in nodes]
    return statistics.median(bests) if bests else 0.0
