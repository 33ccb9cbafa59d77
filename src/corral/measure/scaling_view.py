"""A report of how training scales, for people: words, tables and charts."""

from __future__ import annotations

from corral.gauges.sizes import ALONE
from corral.measure.scaling import Model, Row, Scaling
from corral.plots.chart import Chart, Series
from corral.plots.html import Section, Table, page

_LATE = 0.02
"""More than this share of a stated compute time behind is worth a warning."""


def line(row: Row) -> str:
    """One row as it comes."""
    nodes = f"{row.n} node{'s' if row.n > 1 else ' '}"
    return f"{row.model:<10} {nodes}  {row.mode:<8} {_ms(row.step_s)} a step, {1 / row.step_s:.4g} steps/s"


def about(report: Scaling, model: Model) -> str:
    """What was trained, and on what."""
    size = f"{model.parameters / 1e6:.4g} M parameters, " if model.parameters else ""
    share = f"{model.batch} × {model.length} {_each(model)} per process, " if model.batch else ""
    precision = f"{model.precision}, " if model.precision else ""
    if model.compute_s is not None:
        computing = f"computing is stated: {model.compute_s * 1000:.4g} ms a step"
    elif report.machine.cuda:
        computing = f"computed by {report.machine.device}"
    else:
        computing = f"computed by a CPU ({report.machine.device})"
    together = f"gradients of {model.accumulate} steps added up, " if model.accumulate > 1 else ""
    return f"{size}{share}{precision}{'compiled, ' if model.compiled else ''}{together}{computing}"


def _each(model: Model) -> str:
    return "words" if model.unit == "tokens" else "pixels"


def table(report: Scaling, model: Model) -> Table:
    """Modes and numbers of nodes of one model, with what it costs and brings."""
    rows = report.of(model.name)
    titles = ["MODE", "NODES", "STEP", "EXTREMES", "STEPS/S", "SPEED-UP", "EFFICIENCY", "EXPOSED"]
    shown = [(title, cells) for title, cells in _more(model, rows) if any(cells)]
    cells = [
        [
            row.mode,
            str(row.n),
            _ms(row.step_s),
            f"{_ms(row.least_s)} – {_ms(row.most_s)}",
            f"{1 / row.step_s:.4g}",
            _times(report.speedup(row)),
            _percent(report.efficiency(row)),
            "–" if report.base(row) == row else _ms(report.exposed_s(row)),
            *(column[at] or "–" for _, column in shown),
        ]
        for at, row in enumerate(rows)
    ]
    return Table([*titles, *(title for title, _ in shown)], cells)


def _more(model: Model, rows: tuple[Row, ...]) -> list[tuple[str, list[str]]]:
    """Columns that only some runs have."""
    return [
        (f"{model.unit}/s".upper(), [_number(row.tokens_s or row.samples_s) for row in rows]),
        ("TFLOP/S", [_number(row.tflop_s) for row in rows]),
        ("MEMORY", [f"{row.peak_memory_bytes / 2**30:.1f} GiB" if row.peak_memory_bytes else "" for row in rows]),
        ("LATE", [_ms(row.late_s) if row.late_s and row.late_s > _LATE * row.step_s else "" for row in rows]),
    ]


def shares(report: Scaling, model: Model) -> str:
    """Where one process's time goes."""
    row = next((row for row in report.of(model.name) if row.forward_s), None)
    if row is None or row.forward_s is None or row.backward_s is None or row.optimizer_s is None:
        return ""
    total = row.forward_s + row.backward_s + row.optimizer_s
    parts = (("forward", row.forward_s), ("backward", row.backward_s), ("optimizer", row.optimizer_s))
    return "one process: " + ", ".join(f"{name} {part / total:.0%}" for name, part in parts)


def warnings(report: Scaling) -> list[str]:
    """What makes numbers doubtful."""
    found = []
    for model in report.models:
        late = [row for row in report.of(model.name) if row.late_s and row.late_s > _LATE * (model.compute_s or 1)]
        if late and model.compute_s:
            worst = max(late, key=lambda row: row.late_s or 0.0)
            found.append(
                f"{model.name}: this machine could not keep the stated {_ms(model.compute_s)} a step in {len(late)} "
                f"rows; the worst was {worst.mode} on {worst.n}, {_ms(worst.late_s)} late. Try: a longer --compute-ms"
            )
    return found


def charts(report: Scaling, model: Model) -> list[Chart]:
    """Efficiency over the nodes, and throughput against n times one node. Nothing for one node alone."""
    rows = report.of(model.name)
    counts = sorted({row.n for row in rows})
    if len(counts) < 2:
        return []
    modes = list(dict.fromkeys(row.mode for row in rows if row.mode != ALONE))
    best = Series("n times one node", tuple((float(at), float(n)) for at, n in enumerate(counts)))
    names = tuple(map(str, counts))
    return [
        Chart(
            f"{model.name}: efficiency",
            "nodes",
            "share of n times one node (%)",
            tuple(Series(mode, _points(report, rows, mode, share=True)) for mode in modes),
            x_names=names,
        ),
        Chart(
            f"{model.name}: work done",
            "nodes",
            "times one node",
            (*(Series(mode, _points(report, rows, mode, share=False)) for mode in modes), best),
            x_names=names,
        ),
    ]


def _points(report: Scaling, rows: tuple[Row, ...], mode: str, *, share: bool) -> tuple[tuple[float, float], ...]:
    places = {n: float(at) for at, n in enumerate(sorted({row.n for row in rows}))}
    found = []
    for row in rows:
        value = report.efficiency(row) if share else report.speedup(row)
        if row.mode in (ALONE, mode) and value is not None:
            found.append((places[row.n], value * 100 if share else value))
    return tuple(found)


def html(report: Scaling) -> str:
    """The report as one page."""
    sections = [
        Section(
            model.name, f"{about(report, model)}. {shares(report, model)}", charts(report, model), table(report, model)
        )
        for model in report.models
    ]
    return page(f"Training on {report.where}", sections, "\n".join(warnings(report)))


def _ms(seconds: float | None) -> str:
    if seconds is None:
        return "–"
    return f"{seconds * 1000:.4g} ms" if seconds < 1 else f"{seconds:.4g} s"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"


def _times(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}×"


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{value:.1%}"
