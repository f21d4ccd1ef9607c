"""Pictures of how designs learn: the error over the number of runs, paper Figures 5 and 6 and the other problems."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from genbayes_bench.labels import in_order, method_title, metrics_of, problem_title, score_name, standin_of
from genbayes_bench.learning import Curves, curves_of, scores_at, shared_sizes
from genbayes_bench.paper_values import PAPER
from genbayes_bench.picture import Picture, share_legend
from genbayes_bench.picture_growth import paper_curve
from genbayes_bench.plotting.growth import Curve, plot_growth
from genbayes_bench.plotting.panels import PAGE, name_panel, new_panels
from genbayes_bench.summary import Results, estimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_learning", "draw_more_learning"]

N_ERRORS = 2.0  # standard errors drawn to either side
MORE = ("exp2d_gbc", "rocket_hl20", "satmini", "proxy7")  # design problems that are in no figure of the paper
PAPERS = ("gbc-al", "dgp-alc")
MOST_DESIGNS = 6  # looks that the paper's two leave; further designs stand in their table only
DECADE = 10.0  # highest over lowest value from which on a linear axis hides the lower curves
PANEL, LEGEND_ROW = 2.5, 0.19  # inches: height of a panel with its labels, and of a row of the legend
COLUMNS = 2  # of the legend
HOW_TO_READ = (
    "Mean over replicates with two standard errors to either side; hollow markers are what the paper reports for "
    "GBC-AL and for DGP+ALC."
)
HOW_TO_MAKE = "python -m genbayes_bench.studies.design run {}, then pack, makes its records."


def draw_learning(results: Results, number: int, problem: str) -> Picture:
    """Figures 5 and 6: the error over the number of runs that a sequential design has asked for."""
    picture = Picture(
        f"figure{number}-{problem}",
        f"Figure {number}: {problem_title(problem)}, learning curves of active learning",
        f"{HOW_TO_READ}{_standins([problem])}",
        f"Figure {number} ({problem_title(problem)}) is not there yet: {HOW_TO_MAKE.format(problem)}",
    )
    found = _found(results, problem)
    return picture.drawn_on(_draw(results, {problem: _count(found)}, PAGE / 1.5)) if found else picture


def draw_more_learning(results: Results) -> Picture:
    """Learning curves of the design problems that have no figure in the paper, a panel each."""
    there = [problem for problem in MORE if _found(results, problem)]
    picture = Picture(
        "learning-more",
        "Active learning on the other problems: learning curves",
        f"{HOW_TO_READ}{_standins(there)}",
        f"Learning curves of the other design problems are not there yet: {HOW_TO_MAKE.format('exp2d')}",
    )
    named = {problem: f"{problem_title(problem)}, {_count(_found(results, problem))}" for problem in there}
    return picture.drawn_on(_draw(results, named, PAGE)) if named else picture


def _draw(results: Results, named: Mapping[str, str], width: float) -> Axes:
    """A panel a problem under its name, two in a row, with one legend above all; the first panel."""
    curves = {problem: _curves(results, problem) for problem in named}
    labels = {curve.name for each in curves.values() for curve in each}
    n_columns = min(2, len(named))
    n_rows = math.ceil(len(named) / n_columns)
    legend = LEGEND_ROW * (math.ceil(len(labels) / COLUMNS) + 0.5)
    height = PANEL * n_rows + legend
    axes = new_panels(n_rows, n_columns, (width, height), legend=legend / height)
    for ax, (problem, name) in zip(axes, named.items(), strict=False):
        own = curves[problem]
        ylabel = score_name(metrics_of(problem)[0])
        plot_growth(own, ax=ax, xlabel="runs", ylabel=ylabel, log_x=False, log_y=_spans_a_decade(own))
        name_panel(ax, name)
    for ax in axes[len(named) :]:
        ax.set_axis_off()
    fullest_first = sorted(axes[: len(named)], key=lambda ax: -len(ax.lines))  # it sets the order of the legend
    share_legend(fullest_first, COLUMNS)
    return axes[0]


def _found(results: Results, problem: str) -> dict[str, dict[int, dict[int, float]]]:
    """Curves of the designs that are drawn, in the order of tables, which is that of looks in all figures."""
    drawn = in_order({record.method for record in results.designs})[:MOST_DESIGNS]
    found = curves_of(results.designs, problem, metrics_of(problem)[0])
    return {method: found[method] for method in drawn if method in found}


def _curves(results: Results, problem: str) -> list[Curve]:
    metric, looks = metrics_of(problem)[0], in_order({record.method for record in results.designs})
    theirs = [value for value in PAPER if (value.problem, value.metric) == (problem, metric)]
    ours = [_mean_curve(m, curves, looks.index(m)) for m, curves in _found(results, problem).items()]
    return ours + [paper_curve(theirs, m) for m in PAPERS if any(value.method == m for value in theirs)]


def _mean_curve(method: str, curves: Curves, look: int) -> Curve:
    """Mean and band over the replicates at the sizes that all of them have."""
    sizes = shared_sizes(curves)
    found = [estimate(scores_at(curves, n).values()) for n in sizes]
    mean, half = np.array([each.mean for each in found]), N_ERRORS * np.array([each.se or 0.0 for each in found])
    return Curve(method_title(method), sizes, mean, look, band=(mean - half, mean + half))


def _count(found: Mapping[str, Curves]) -> str:
    """The number of replicates, or the fewest and most of a method."""
    counts = sorted({len(curves) for curves in found.values()})
    return f"{' to '.join(map(str, dict.fromkeys((counts[0], counts[-1]))))} replicate{'s' * (counts[-1] > 1)}"


def _spans_a_decade(curves: Sequence[Curve]) -> bool:
    values = np.concatenate([np.asarray(curve.value, dtype=np.float64) for curve in curves])
    return bool((values > 0).all() and values.max() > DECADE * values.min())


def _standins(problems: Sequence[str]) -> str:
    """What a reader should know where the paper's numbers are of other data."""
    told = [f"{problem_title(name)}: {standin_of(name)}" for name in problems if standin_of(name)]
    return (
        f" Where the data are not the paper's, its markers are only for orientation. {'; '.join(told)}." if told else ""
    )
