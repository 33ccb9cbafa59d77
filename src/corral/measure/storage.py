"""What a benchmark of the shared folder found, and how it is told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from corral.measure.records import Record
from corral.measure.words import significant
from corral.plots.chart import Chart, Kind, Series
from corral.plots.html import Section, Table, page

VERSION = 1
THROUGHPUT = ("write", "read")
SMALL = ("create", "stat", "open", "delete")
ALL = "all at once"
TITLES = ("NODE", "WRITE", "READ", "CREATE", "STAT", "OPEN", "DELETE")
UNITS = ("", "MB/s", "MB/s", "/s", "/s", "/s", "/s")


@dataclass(frozen=True, slots=True)
class Figures:
    """One node's: bytes per second of large files, files per second of small ones."""

    node: str
    per_s: dict[str, float]


@dataclass(frozen=True, slots=True)
class StorageReport:
    """Everything that a run told."""

    where: str
    folder: str
    filesystem: str
    source: str
    alone: tuple[Figures, ...]
    """One node at a time."""
    together: tuple[Figures, ...]
    """All nodes at once, each with what it got."""

    @property
    def total(self) -> Figures:
        """What the nodes got together."""
        names = [*THROUGHPUT, *SMALL]
        return Figures(ALL, {name: sum(one.per_s[name] for one in self.together) for name in names})

    def to_json(self) -> Record:
        """Documented in docs/bench.md."""
        return {
            "version": VERSION,
            "bench": "storage",
            "where": self.where,
            "folder": self.folder,
            "filesystem": self.filesystem,
            "source": self.source,
            "alone": [_json(figures) for figures in self.alone],
            "together": [_json(figures) for figures in self.together],
            "total": _json(self.total),
        }


def report_of(records: Sequence[Record], where: str, folder: str) -> StorageReport:
    """The report, from all that the gauge told."""
    setup = next(record for record in records if record["kind"] == "setup")

    def figures(how: str) -> tuple[Figures, ...]:
        told = [record for record in records if record["kind"] == "figure" and record["how"] == how]
        return tuple(
            Figures(node, {record["what"]: _per_s(record) for record in told if record["node"] == node})
            for node in setup["nodes"]
        )

    return StorageReport(
        where, folder, setup["filesystem"], setup["source"], alone=figures("alone"), together=figures("together")
    )


def title(report: StorageReport) -> str:
    """`shared storage of lab: /shared, nfs4 from node0:/shared`."""
    return f"shared storage of {report.where}: {report.folder}, {report.filesystem} from {report.source}"


def headline(report: StorageReport) -> str:
    """The slowest node alone, and all of them together."""
    slowest = min(report.alone, key=lambda one: one.per_s["write"])
    total = report.total.per_s
    return (
        f"the slowest node alone writes {_mb(slowest.per_s['write'])} MB/s; all {len(report.together)} together write "
        f"{_mb(total['write'])} and read {_mb(total['read'])} MB/s, and create {total['create']:.0f} files a second"
    )


def cells(figures: Figures) -> list[str]:
    """A row of the table."""
    large = [_mb(figures.per_s[name]) for name in THROUGHPUT]
    return [figures.node, *large, *(f"{figures.per_s[name]:.0f}" for name in SMALL)]


def charts(report: StorageReport) -> list[Chart]:
    """Throughput and small files: every node alone, and all together."""
    bars = (*report.alone, report.total)
    return [
        _bars("Large files", "MB/s", bars, THROUGHPUT, 1e6),
        _bars("Small files", "files a second", bars, SMALL, 1.0),
    ]


def html(report: StorageReport) -> str:
    """All of it as one page."""
    columns = [f"{name.lower()} ({unit})" if unit else name.lower() for name, unit in zip(TITLES, UNITS, strict=True)]
    return page(
        title(report),
        [
            Section(charts=charts(report)),
            Section("One node at a time", table=Table(columns, [cells(one) for one in report.alone])),
            Section("All at once", table=Table(columns, [cells(one) for one in (*report.together, report.total)])),
        ],
        text=headline(report),
    )


def _bars(name: str, unit: str, bars: Sequence[Figures], what: Sequence[str], scale: float) -> Chart:
    series = tuple(
        Series(one, tuple((float(at), figures.per_s[one] / scale) for at, figures in enumerate(bars))) for one in what
    )
    names = tuple(figures.node for figures in bars)
    return Chart(name, "", unit, series, kind=Kind.BAR, x_names=names)


def _per_s(record: Record) -> float:
    return float(record["amount"] / record["seconds"]) if record["seconds"] > 0 else 0.0


def _mb(byte_s: float) -> str:
    return significant(byte_s / 1e6)


def _json(figures: Figures) -> Record:
    large = {f"{name}_byte_s": figures.per_s[name] for name in THROUGHPUT}
    return {"node": figures.node, **large, **{f"{name}_per_s": figures.per_s[name] for name in SMALL}}
