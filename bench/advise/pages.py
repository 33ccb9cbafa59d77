"""The tables and plots of docs/when-does-multi-node-pay.md, from measured step times and the cost model."""

from __future__ import annotations

import math
from pathlib import Path

from bench.results import table, write_section

from corral.advice.case import MODES, Case, given_link, mode_name
from corral.advice.figures import by_batch, by_link
from corral.advice.inputs import Given, work_of
from corral.advice.measured import STEPS, Step
from corral.advice.quantities import count_words, link_rate, time_words
from corral.advice.words import recommend
from corral.inside.cost import DDP
from corral.plots.svg import svg

_PAGE = Path("docs/when-does-multi-node-pay.md")
_PLOTS = Path("docs/plots")
_LINKS = ("100mbit", "1gbit", "2.5gbit", "10gbit")
_NODES = 3
_OWNER_S_LINK = "2.5gbit"


def write_docs() -> None:
    """Replace what is generated in the page, and its plots."""
    _PLOTS.mkdir(exist_ok=True)
    write_section("Step times that were measured", _steps(), _PAGE)
    write_section("Three nodes: predicted speed-up", _speedups(), _PAGE)
    write_section("From where on DDP pays", _pays(), _PAGE)
    for step in STEPS:
        name = _plot_name(step)
        (_PLOTS / f"{name}-by-link.svg").write_text(svg(by_link(_case(step, _OWNER_S_LINK))))
        (_PLOTS / f"{name}-by-batch.svg").write_text(svg(by_batch(_case(step, _OWNER_S_LINK))))


def _case(step: Step, rate: str) -> Case:
    found = work_of(Given(model=step.model, gpu=step.gpu, batch=step.batch))
    link, source = given_link(link_rate(rate), rate)
    return Case(link, source, found.work, found.source, _NODES, step.model)


def _plot_name(step: Step) -> str:
    return f"{step.model}-{step.gpu}-{step.batch}"


def _steps() -> str:
    if not STEPS:
        return "None yet."
    rows = [
        [
            step.model,
            count_words(_case(step, _OWNER_S_LINK).work.gradient_bytes // 4),
            step.gpu,
            step.precision,
            str(step.batch),
            time_words(step.step_s),
            time_words(step.eager_s),
            step.source,
        ]
        for step in STEPS
    ]
    return table(
        ["model", "parameters", "GPU", "precision", "batch", "step, compiled", "not compiled", "how it was measured"],
        rows,
    )


def _speedups() -> str:
    """Per step a table of modes and links; the best of each link that pays is bold."""
    parts = []
    for step in STEPS:
        cases = [_case(step, rate) for rate in _LINKS]
        rows = [[mode_name(mode), *(f"{case.predict(mode).speedup:.2f}×" for case in cases)] for mode in MODES]
        rows.append(["independent experiments", *(f"{_NODES}.00×" for _ in cases)])
        parts += [f"**{_title(step)}**", "", table(["", *_LINKS], rows), ""]
        parts += [f"![Efficiency by link](plots/{_plot_name(step)}-by-link.svg)", ""]
    return "\n".join(parts).strip() or "Nothing to predict from yet."


def _pays() -> str:
    """The batch and the accumulation from which DDP reaches the target."""
    rows = []
    for step in STEPS:
        for rate in _LINKS:
            case = _case(step, rate)
            found = recommend(case)
            advised = "independent experiments only" if found.best is None else mode_name(found.best.mode)
            rows.append(
                [
                    _title(step),
                    rate,
                    f"{case.predict(DDP).efficiency:.0%}",
                    _number(found.pays.batch),
                    _number(found.pays.accumulate),
                    advised,
                ]
            )
    titles = [
        "step",
        "link",
        "DDP now",
        "80 % from batch",
        "or from so many steps added up",
        "advised for one training",
    ]
    plots = [f"![Efficiency by batch](plots/{_plot_name(step)}-by-batch.svg)" for step in STEPS]
    return "\n".join([table(titles, rows), "", *plots]) if STEPS else "Nothing to predict from yet."


def _title(step: Step) -> str:
    return f"{step.model}, batch {step.batch}, {step.gpu}, {time_words(step.step_s)}"


def _number(found: float | None) -> str:
    return "never" if found is None or math.isinf(found) else f"{found:,}"
