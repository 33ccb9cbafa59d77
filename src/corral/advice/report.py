"""Advice as JSON, as a table and as one HTML page."""

from __future__ import annotations

import math
from dataclasses import asdict

from corral.advice.case import ERROR_SOURCE, MEDIAN_ERROR, MODEL, MODES, Case, mode_name
from corral.advice.figures import charts
from corral.advice.quantities import count_words, rate_words, time_words
from corral.advice.words import Recommendation
from corral.inside.cost import Prediction
from corral.plots.html import Section, Table, page

_OPTIONS = {"local": ("every", "fragments", "bits"), "powersgd": ("rank",)}


def to_json(case: Case, found: Recommendation) -> dict[str, object]:
    """Version 1, as docs/when-does-multi-node-pay.md describes it."""
    work, link = case.work, case.link
    return {
        "version": 1,
        "nodes": case.nodes,
        "target": case.target,
        "link": {**asdict(link), "source": case.link_source},
        "work": {
            "model": case.model or None,
            "step_s": work.step_s,
            "parameters": work.gradient_bytes // 4,
            "batch": work.batch,
            "source": case.work_source,
        },
        "recommendation": {
            "mode": None if found.best is None else _mode(found.best),
            "words": list(found.words),
            "ddp_pays_from": asdict(found.pays),
        },
        "predictions": [_prediction(one) for one in case.predictions()],
        "model": MODEL,
        "median_error": MEDIAN_ERROR,
    }


def sources(case: Case) -> list[str]:
    """What the numbers rest on, a line each."""
    work = case.work
    name = f"{case.model}: " if case.model else ""
    size = f"{count_words(work.gradient_bytes // 4)} parameters, batch {work.batch}"
    error = f"median {MEDIAN_ERROR:.0%} ({ERROR_SOURCE})"
    return [
        f"link: {rate_words(case.link.bit_s)} of TCP ({case.link_source})",
        f"step: {name}{time_words(work.step_s)} on one node, {size} ({case.work_source})",
        f"model: {MODEL}",
        f"error of predicted step times: {error}",
    ]


def table(case: Case) -> Table:
    """A row per mode; for each number of nodes the step time, the speed-up and the efficiency."""
    counts = range(2, case.nodes + 1)
    columns = ["mode", *(title for n in counts for title in (f"step, n={n}", "speed-up", "efficiency"))]
    rows = []
    for mode in MODES:
        cells = [mode_name(mode)]
        for n in counts:
            one = case.predict(mode, n)
            cells += [time_words(one.step_s), f"{one.speedup:.2f}×", f"{one.efficiency:.0%}"]
        rows.append(cells)
    rows.append(
        [
            "independent experiments",
            *(cell for n in counts for cell in (time_words(case.work.step_s), f"{n}.00×", "100%")),
        ]
    )
    return Table(columns, rows)


def html(case: Case, found: Recommendation) -> str:
    """The page."""
    return page(
        "When several nodes pay",
        [
            Section("", text=" ".join(found.words)),
            Section("Predicted", charts=charts(case), table=table(case)),
            *(Section("What this rests on" if at == 0 else "", text=line) for at, line in enumerate(sources(case))),
        ],
    )


def _mode(one: Prediction) -> dict[str, object]:
    options = {name: getattr(one.mode, name) for name in _OPTIONS.get(one.mode.name, ())}
    if one.mode.name == "local":
        options["overlap"] = one.mode.ahead
    if one.mode.accumulate > 1:
        options["accumulate"] = one.mode.accumulate
    return {"mode": one.mode.name, "options": options}


def _prediction(one: Prediction) -> dict[str, object]:
    seconds = {"step_s": one.step_s, "exchange_s": one.exchange_s, "exposed_s": one.exposed_s}
    return {
        **_mode(one),
        "nodes": one.nodes,
        # JSON has no infinity: a step that never ends has no duration.
        **{name: value if math.isfinite(value) else None for name, value in seconds.items()},
        "speedup": one.speedup,
        "efficiency": one.efficiency,
    }
