"""A collective's report for people: the sentence that matters, the chart, and the page."""

from __future__ import annotations

from corral.measure.collective import CollectiveReport, Row, Timing, Variant
from corral.measure.words import decimals, gbit_s, significant, size_text
from corral.plots.chart import Chart, Series
from corral.plots.html import Section, Table, page

_COLUMNS = (
    *("size (B)", "count", "type", "redop"),
    *("time (us)", "algbw (GB/s)", "busbw (GB/s)", "#wrong"),
    *("in place: time (us)", "algbw (GB/s)", "busbw (GB/s)", "#wrong", "iters", "of raw TCP"),
)


def title(report: CollectiveReport) -> str:
    """`allreduce on lab: 3 ranks on 3 nodes`."""
    nodes = len(report.hosts)
    ranks = f"{report.ranks} rank{'s' if report.ranks > 1 else ''}"
    return f"{report.collective} on {report.where}: {ranks} on {nodes} node{'s' if nodes > 1 else ''}"


def about(report: CollectiveReport) -> str:
    """What measured, on what."""
    return f"{report.program}, {report.backend} on {report.device}; {', '.join(report.hosts)}"


def headline(report: CollectiveReport) -> str:
    """How much of the link is used: `tuned 2.11 Gbit/s = 95 % of raw TCP (2.22 Gbit/s); untuned 41 %`."""
    if report.ranks == 1:
        return "one rank alone: nothing crosses a bus, so there is no bus bandwidth"
    best, *others = sorted(report.variants, key=lambda variant: variant.name != "tuned")
    row = best.largest
    text = f"{best.name} {gbit_s(row.busbw_bit_s)} at {size_text(row.size_bytes)}"
    if report.limit_bit_s:
        text += f" = {_percent(report, best)} of the link's raw TCP ({gbit_s(report.limit_bit_s)})"
    for other in others:
        share = _percent(report, other)
        text += f"; {other.name} {share or gbit_s(other.largest.busbw_bit_s)}"
    return text


def remarks(report: CollectiveReport) -> list[str]:
    """What a reader has to know besides."""
    found = []
    if report.wrong:
        found.append(f"{report.wrong} values were wrong: do not trust this network or this library")
    if report.stopped_after_bytes is not None:
        found.append(f"stopped at {size_text(report.stopped_after_bytes)}: larger sizes take long. Try: --max-bytes")
    if report.links and report.limit_bit_s is None:
        found.append("raw TCP could not be measured between all nodes: is a port closed?")
    return found


def links_text(report: CollectiveReport) -> list[str]:
    """Raw TCP, a line per link."""
    return [
        f"{link.source} → {link.to}: {_rate(link.ring_bit_s)} while all send, {_rate(link.single_bit_s)} alone"
        for link in report.links
    ]


def chart(report: CollectiveReport) -> Chart:
    """Bus bandwidth by size, every variant, below the line that none can cross."""
    series = [
        Series(variant.name, tuple((float(row.size_bytes), row.busbw_bit_s / 1e9) for row in variant.rows))
        for variant in sorted(report.variants, key=lambda variant: variant.name != "tuned")
    ]
    if report.limit_bit_s:
        sizes = [row.size_bytes for variant in report.variants for row in variant.rows]
        ends = tuple((float(size), report.limit_bit_s / 1e9) for size in (min(sizes), max(sizes)))
        series.append(Series("raw TCP", ends))
    return Chart(
        title=f"{report.collective}, bus bandwidth",
        x_label="size (bytes)",
        y_label="Gbit/s",
        series=tuple(series),
        x_log=True,
    )


def html(report: CollectiveReport) -> str:
    """All of it as one page."""
    links = Table(
        ("from", "to", "while all send (Gbit/s)", "alone (Gbit/s)"),
        [(link.source, link.to, _gbit(link.ring_bit_s), _gbit(link.single_bit_s)) for link in report.links],
    )
    return page(
        title(report),
        [
            Section(text=about(report), charts=[chart(report)]),
            *(
                Section(f"{variant.name}: {variant.how}", average(variant), table=_table(report, variant))
                for variant in report.variants
            ),
            *([Section("Raw TCP from each node to the next", table=links)] if report.links else []),
        ],
        text=". ".join([headline(report), *remarks(report)]),
    )


def average(variant: Variant) -> str:
    """The last words of nccl-tests."""
    return (
        f"average bus bandwidth {significant(variant.average_busbw_bit_s / 8e9)} GB/s "
        f"({gbit_s(variant.average_busbw_bit_s)}), {variant.wrong} wrong values"
    )


def cells(timing: Timing | None, digits: int) -> tuple[str, str, str, str]:
    """Time, bandwidths and wrong values as nccl-tests writes them; dashes where there are none."""
    if timing is None:
        return ("–", "–", "–", "–")
    return (
        significant(timing.time_s * 1e6),
        f"{timing.algbw_bit_s / 8e9:.{digits}f}",
        f"{timing.busbw_bit_s / 8e9:.{digits}f}",
        "N/A" if timing.wrong is None else str(timing.wrong),
    )


def digits_of(variant: Variant) -> int:
    """Digits behind the point of a variant's bandwidths in GB/s."""
    return decimals(timing.busbw_bit_s / 8e9 for row in variant.rows for timing in row.timings)


def share_text(report: CollectiveReport, row: Row) -> str:
    """`95 %`, or nothing where the limit is unknown."""
    share = report.share(row.busbw_bit_s)
    return "" if share is None else f"{share:.0%}".replace("%", " %")


def iterations_text(row: Row) -> str:
    """How often it was run; both places, where they differ."""
    counts = list(dict.fromkeys(str(timing.iterations) for timing in row.timings if timing.iterations is not None))
    return "/".join(counts) or "–"


def _percent(report: CollectiveReport, variant: Variant) -> str:
    return share_text(report, variant.largest)


def _table(report: CollectiveReport, variant: Variant) -> Table:
    rows = [
        (
            *(str(row.size_bytes), str(row.count), row.type, row.redop),
            *cells(row.out_of_place, digits_of(variant)),
            *cells(row.in_place, digits_of(variant)),
            iterations_text(row),
            share_text(report, row).removesuffix(" %"),
        )
        for row in variant.rows
    ]
    return Table((*_COLUMNS[:-1], "of raw TCP (%)"), rows)


def _rate(bit_s: float | None) -> str:
    return "no connection" if bit_s is None else gbit_s(bit_s)


def _gbit(bit_s: float | None) -> str:
    return "–" if bit_s is None else significant(bit_s / 1e9)
