"""How two nodes talk to each other, and who is to blame where they do so badly."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True)
class Pair:
    """What was measured between two nodes; nothing but the problem where they could not meet."""

    a: str
    b: str
    latency_s: float = 0.0
    there_bit_s: float = 0.0
    """From a to b."""
    back_bit_s: float = 0.0
    problem: str = ""

    @property
    def name(self) -> str:
        return f"{self.a} – {self.b}"

    @property
    def slower_bit_s(self) -> float:
        """A cable is as good as its worse direction."""
        return min(self.there_bit_s, self.back_bit_s)

    def has(self, node: str) -> bool:
        return node in (self.a, self.b)

    def sent_by(self, node: str) -> float:
        return self.there_bit_s if node == self.a else self.back_bit_s

    def sent_to(self, node: str) -> float:
        return self.back_bit_s if node == self.a else self.there_bit_s

    def to_json(self) -> dict[str, object]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Blame:
    """Who explains the bad pairs: nodes, and pairs that no node explains; or everybody."""

    nodes: tuple[str, ...] = ()
    pairs: tuple[Pair, ...] = ()
    everybody: bool = False


def culprits(pairs: Sequence[Pair], bad: Collection[Pair]) -> Blame:
    """The fewest nodes that explain the bad pairs: a node is to blame when all that it takes part in is bad.

    Of two nodes alone nobody can tell which one it is, and where every pair is bad, it is what they share.
    """
    nodes = sorted({node for pair in pairs for node in (pair.a, pair.b)})
    if not bad:
        return Blame()
    if len(nodes) > 2 and len(bad) == len(pairs):
        return Blame(everybody=True)
    left, blamed = list(bad), []
    while len(nodes) > 2 and left:
        suspects = [node for node in nodes if all(pair in bad for pair in pairs if pair.has(node))]
        explains = {node: sum(pair.has(node) for pair in left) for node in suspects if node not in blamed}
        worst = max(explains, key=lambda node: explains[node], default=None)
        if worst is None or explains[worst] == 0:
            break
        blamed.append(worst)
        left = [pair for pair in left if not pair.has(worst)]
    return Blame(tuple(blamed), tuple(left))
