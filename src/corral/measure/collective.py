"""What a benchmark of a collective found: rows as in nccl-tests, beside the physical limit of the link."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from corral.measure.bus import algorithm_bit_s, bus_factor
from corral.measure.records import Record

VERSION = 1


@dataclass(frozen=True, slots=True)
class Timing:
    """One size, one variant, out of place or in place."""

    time_s: float
    algbw_bit_s: float
    busbw_bit_s: float
    wrong: int | None
    """Elements that were not what they must be; None where nobody looked."""
    iterations: int | None = None

    def to_json(self) -> Record:
        return {
            "time_s": self.time_s,
            "algbw_bit_s": self.algbw_bit_s,
            "busbw_bit_s": self.busbw_bit_s,
            "wrong": self.wrong,
            "iterations": self.iterations,
        }


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table."""

    size_bytes: int
    count: int
    type: str
    redop: str
    out_of_place: Timing | None
    in_place: Timing | None

    @property
    def timings(self) -> tuple[Timing, ...]:
        return tuple(timing for timing in (self.out_of_place, self.in_place) if timing is not None)

    @property
    def busbw_bit_s(self) -> float:
        """The average of both places."""
        return _average(timing.busbw_bit_s for timing in self.timings)

    def to_json(self) -> Record:
        return {
            "size_bytes": self.size_bytes,
            "count": self.count,
            "type": self.type,
            "redop": self.redop,
            "out_of_place": self.out_of_place.to_json() if self.out_of_place else None,
            "in_place": self.in_place.to_json() if self.in_place else None,
        }


@dataclass(frozen=True, slots=True)
class Variant:
    """One way to carry the data, such as `tuned`."""

    name: str
    how: str
    rows: tuple[Row, ...]

    @property
    def average_busbw_bit_s(self) -> float:
        """Over all sizes, as nccl-tests has it: small sizes pull it down."""
        return _average(timing.busbw_bit_s for row in self.rows for timing in row.timings)

    @property
    def largest(self) -> Row:
        """The size at which a link shows what it can carry."""
        return max(self.rows, key=lambda row: row.size_bytes)

    @property
    def wrong(self) -> int:
        return sum(timing.wrong or 0 for row in self.rows for timing in row.timings)


@dataclass(frozen=True, slots=True)
class Link:
    """Raw TCP from one node to the next; None where no connection could be made."""

    source: str
    to: str
    ring_bit_s: float | None
    single_bit_s: float | None

    def to_json(self) -> Record:
        return {"from": self.source, "to": self.to, "ring_bit_s": self.ring_bit_s, "single_bit_s": self.single_bit_s}


@dataclass(frozen=True, slots=True)
class CollectiveReport:
    """Everything that a run told."""

    collective: str
    where: str
    """The cluster's name, or `this machine`."""
    program: str
    """What measured: torch's version and backend, or nccl-tests."""
    backend: str
    device: str
    ranks: int
    hosts: tuple[str, ...]
    variants: tuple[Variant, ...]
    links: tuple[Link, ...] = ()
    stopped_after_bytes: int | None = None
    """The largest size that was tried because larger ones would have taken too long."""

    @property
    def limit_bit_s(self) -> float | None:
        """What the slowest link of the ring carries: no collective over all nodes can be faster."""
        rates = [link.ring_bit_s for link in self.links]
        found = [rate for rate in rates if rate is not None]
        return min(found) if found and len(found) == len(rates) else None

    def share(self, busbw_bit_s: float) -> float | None:
        """Of the physical limit, where it is known."""
        return busbw_bit_s / self.limit_bit_s if self.limit_bit_s else None

    @property
    def wrong(self) -> int:
        return sum(variant.wrong for variant in self.variants)

    def to_json(self) -> Record:
        """Documented in docs/bench.md."""
        return {
            "version": VERSION,
            "bench": self.collective,
            "where": self.where,
            "program": self.program,
            "backend": self.backend,
            "device": self.device,
            "ranks": self.ranks,
            "hosts": list(self.hosts),
            "raw_tcp": {"limit_bit_s": self.limit_bit_s, "links": [link.to_json() for link in self.links]},
            "stopped_after_bytes": self.stopped_after_bytes,
            "wrong": self.wrong,
            "variants": [self._variant_json(variant) for variant in self.variants],
        }

    def _variant_json(self, variant: Variant) -> Record:
        largest = variant.largest
        return {
            "name": variant.name,
            "how": variant.how,
            "average_busbw_bit_s": variant.average_busbw_bit_s,
            "largest": {
                "size_bytes": largest.size_bytes,
                "busbw_bit_s": largest.busbw_bit_s,
                "share_of_raw_tcp": self.share(largest.busbw_bit_s),
            },
            "wrong": variant.wrong,
            "rows": [row.to_json() for row in variant.rows],
        }


def report_of(records: Sequence[Record], where: str) -> CollectiveReport:
    """The report, from all that the gauge told."""
    setup = next(record for record in records if record["kind"] == "setup")
    links = [link for record in records if record["kind"] == "tcp" for link in record["links"]]
    stopped = [int(record["size_bytes"]) for record in records if record["kind"] == "stopped"]
    rows: dict[str, list[Record]] = {}
    for record in records:
        if record["kind"] == "row":
            rows.setdefault(record["variant"], []).append(record)
    return CollectiveReport(
        collective=setup["collective"],
        where=where,
        program=f"torch {setup['torch']}",
        backend=setup["backend"],
        device=setup["device"],
        ranks=setup["ranks"],
        hosts=tuple(setup["hosts"]),
        variants=tuple(
            Variant(name, told[0]["how"], tuple(row_of(one, setup["collective"], setup["ranks"]) for one in told))
            for name, told in rows.items()
        ),
        links=tuple(Link(link["from"], link["to"], link["ring_bit_s"], link["single_bit_s"]) for link in links),
        stopped_after_bytes=min(stopped) if stopped else None,
    )


def row_of(record: Record, collective: str, ranks: int) -> Row:
    """One row, with what follows from its times."""

    def timing(told: Record | None) -> Timing | None:
        if told is None:
            return None
        rate = algorithm_bit_s(record["size_bytes"], told["time_s"])
        busbw = rate * bus_factor(collective, ranks)
        return Timing(told["time_s"], rate, busbw, told["wrong"], told["iterations"])

    return Row(
        size_bytes=record["size_bytes"],
        count=record["count"],
        type=record["type"],
        redop=record["redop"],
        out_of_place=timing(record["out_of_place"]),
        in_place=timing(record["in_place"]),
    )


def _average(values: Iterable[float]) -> float:
    found = list(values)
    return math.fsum(found) / len(found) if found else 0.0
