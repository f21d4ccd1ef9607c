"""The figures of the report, each with its words: the paper's, and those of all problems together.

A figure whose records are not there yet says so in one sentence instead.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from genbayes.plotting.fan_chart import plot_fan
from genbayes.plotting.style import FONT_SIZE, INK
from genbayes_bench.figure_data import figure_data_of
from genbayes_bench.paper_values import PAPER, PAPER_NAMES, Published
from genbayes_bench.report.labels import (
    OURS,
    baselines_among,
    in_order,
    method_title,
    metrics_of,
    problem_title,
    score_name,
    standin_of,
)
from genbayes_bench.report.learning import Curves, curves_of, scores_at, shared_sizes
from genbayes_bench.report.plots import (
    PAGE,
    Curve,
    add_colour_bar,
    name_panel,
    new_panels,
    plot_growth,
    plot_landscape,
    plot_points,
    plot_ranks,
    plot_ratios,
    plot_surface,
)
from genbayes_bench.report.verdicts import Line
from genbayes_bench.statistics import SMALLEST, Ranks, Ratio, Results, average_ranks, bootstrap_ratio, estimate, ratios

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LEGEND_COLUMNS = 4
# the order of STYLES: methods that often meet in one figure are as different as can be
LOOK_ORDER = ("gbc", "auto", "gp", "het-gp", "jump-gp", "gbc-paper", "boosted", "gbc-aug")


JUMP_PANELS = ("gp", "gbc-paper", "gbc")
MOTORCYCLE_PANELS = ("gp", "het-gp", "gbc-paper", "gbc")
SURFACE_PANELS = ("gp", "gbc-paper", "gbc")
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
HOW_TO_MAKE = "genbayes bench run {} --methods al,al-random makes its records."
SEED = 7  # of the resampled problems; any would do
ROW = 0.27  # inches of a row of a picture
SHOWN = (*OURS, "gp", "boosted")  # in the picture of every score: more would hide one another


@dataclass(frozen=True)
class Picture:
    """A figure with its words.

    Attributes:
        name: File name without its ending, and prefix of its identifiers on the page.
        title: Headline.
        caption: How to read it.
        missing: Why there is no figure, should there be none.
        figure: The figure; None if its records are not there.
    """

    name: str
    title: str
    caption: str
    missing: str
    figure: Figure | None = None

    def drawn_on(self, ax: Axes) -> Picture:
        """The same with the figure that an axis belongs to."""
        figure = ax.get_figure(root=True)
        assert figure is not None
        return replace(self, figure=figure)


def look_of(method: str) -> int:
    """The number of a method's look, the same in every figure.

    Example:
        >>> look_of("gbc"), look_of("auto")
        (0, 1)
    """
    return LOOK_ORDER.index(method) if method in LOOK_ORDER else len(LOOK_ORDER) - 1


def share_legend(axes: Sequence[Axes], columns: int = LEGEND_COLUMNS) -> None:
    """One legend above all panels, naming each series once."""
    labelled: dict[str, Any] = {}
    for ax in axes:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            labelled.setdefault(label, handle)
    figure = axes[0].get_figure(root=True)
    assert figure is not None
    figure.legend(
        list(labelled.values()),
        list(labelled),
        loc="upper center",
        ncols=min(columns, len(labelled)),
        frameon=False,
        fontsize=FONT_SIZE - 0.5,
        labelcolor=INK,
        handlelength=2.4,
    )


def draw_jump(results: Results) -> Picture:
    """Figure 1: bands along the one input of the jump, the process and the networks side by side."""
    picture = Picture(
        "figure1-jump",
        "Figure 1: a jump in one dimension",
        "Medians with 50% and 90% bands after 100 noise-free runs (dots). The process has one length scale for all of "
        "the curve; the network may be sharp in one place and smooth in another.",
        "Figure 1 is not there yet: no record of jump1d holds its curves; genbayes bench run jump1d makes them.",
    )
    return _fans(picture, results, "jump1d", JUMP_PANELS, 1, 2.5, "x", "y")


def draw_motorcycle(results: Results) -> Picture:
    """Figure 2: motorcycle data, four panels."""
    picture = Picture(
        "figure2-motorcycle",
        "Figure 2: motorcycle crash data",
        "Medians with 50% and 90% bands; dots are the runs of the first split that were learnt from. The stationary "
        "process has one spread everywhere; the others follow the data.",
        "Figure 2 is not there yet: no record of motorcycle holds curves; genbayes bench run motorcycle makes them.",
    )
    return _fans(picture, results, "motorcycle", MOTORCYCLE_PANELS, 2, 4.4, "time (ms)", "acceleration (g)")


def draw_surface(results: Results) -> Picture:
    """Figure 3: mean surfaces of BGP in two dimensions beside the truth."""
    picture = Picture(
        "figure3-bgp",
        "Figure 3: two surfaces parted by a line (BGP, d = 2)",
        "Predicted means of the first replicate, one scale of colours; left, the noise-free truth at the test inputs. "
        "The dashed line is where the truth jumps.",
        "Figure 3 is not there yet: no record of bgp2 holds its surface; genbayes bench run bgp2 makes them.",
    )
    found = figure_data_of(results.records, "bgp2")
    shown = [method for method in SURFACE_PANELS if method in found]
    if not shown:
        return picture
    first = found[shown[0]]
    limits = float(min(first["f_test"])), float(max(first["f_test"]))
    axes = new_panels(1, len(shown) + 1, (PAGE, 2.3), shared=True)
    plot_points(np.transpose(first["X_test"]), first["f_test"], limits, boundary=first["normal"], ax=axes[0])
    name_panel(axes[0], "Truth")
    for ax, method in zip(axes[1:], shown, strict=True):
        own = found[method]
        plot_surface(own["x1"], own["x2"], own["mean"], limits, boundary=own["normal"], ax=ax)
        name_panel(ax, method_title(method))
        ax.set_ylabel("")
    add_colour_bar(axes, limits, "y")
    return picture.drawn_on(axes[0])


def _fans(
    picture: Picture,
    results: Results,
    problem: str,
    panels: Sequence[str],
    n_rows: int,
    height: float,
    xlabel: str,
    ylabel: str,
) -> Picture:
    """Bands of several methods in panels of one scale."""
    found = figure_data_of(results.records, problem)
    shown = [method for method in panels if method in found]
    if not shown:
        return picture
    rows = n_rows if len(shown) > n_rows else 1
    n_columns = -(-len(shown) // rows)
    axes = new_panels(rows, n_columns, (PAGE, height), shared=True, legend=0.3 / height)
    for place, (ax, method) in enumerate(zip(axes, shown, strict=False)):
        _fan(ax, found[method], xlabel if place >= len(shown) - n_columns else "", "" if place % n_columns else ylabel)
        name_panel(ax, method_title(method))
    for ax in axes[len(shown) :]:
        ax.set_axis_off()
    _limit(axes[0], found[shown[0]]["y_train"])
    share_legend(axes[:1])
    return picture.drawn_on(axes[0])


def _fan(ax: Axes, own: Mapping[str, Any], xlabel: str, ylabel: str) -> None:
    bands = [(level, lower, upper) for level, lower, upper in own["bands"]]
    plot_fan(
        own["x"],
        own["median"],
        bands,
        x_observed=own["x_train"],
        y_observed=own["y_train"],
        ax=ax,
        xlabel=xlabel,
        ylabel=ylabel,
        legend=False,
    )


def _limit(ax: Axes, y: Sequence[float]) -> None:
    """Limits that hold the runs and a third of their range beyond, so that one wild band does not squeeze the rest."""
    low, high = min(y), max(y)
    below, above = ax.get_ylim()
    room = (high - low) / 3
    ax.set_ylim(max(below, low - room), min(above, high + room))


def draw_scaling(results: Results) -> Picture:
    """Figure 4: time to fit and RMSE to the truth over the number of runs, the paper's and ours."""
    picture = Picture(
        "figure4-scaling",
        "Figure 4: Friedman's function, time and error over the number of runs",
        "Left, cpu seconds to fit; right, RMSE to the noise-free function. Filled markers are ours; hollow "
        "ones the paper's, on a GPU (GBC) and 16 cores (GP). Both axes are logarithmic.",
        "Figure 4 is not there yet: genbayes bench run friedman_scaling makes its records.",
    )
    contests = results.of_problem("friedman_scaling")
    methods = in_order({method for contest in contests for method in results.methods(contest)})
    if len(contests) < 2:
        return picture
    axes = new_panels(1, 2, (PAGE, 3.1), legend=0.17)
    for ax, metric in zip(axes, ("seconds", "rmse_f"), strict=True):
        theirs = [v for v in PAPER if v.problem == "friedman_scaling" and v.metric == metric]
        curves = [paper_curve(theirs, method) for method in ("gp", "gbc-paper")]
        for method in methods:
            found = [(contest.n_train, results.estimate(contest, method, metric)) for contest in contests]
            known = [(n, each.mean) for n, each in found if each is not None]
            if known:
                n, value = zip(*known, strict=True)
                curves.append(Curve(method_title(method), n, value, look_of(method)))
        plot_growth(curves, ax=ax, ylabel=score_name(metric))
    share_legend(axes)
    return picture.drawn_on(axes[0])


def paper_curve(values: Sequence[Published], method: str) -> Curve:
    """What the paper reports for a method over the number of runs, hollow."""
    own = sorted((v for v in values if v.method == method), key=lambda value: value.n_train)
    look = {"gbc-al": 6, "dgp-alc": 7}.get(method, look_of(method))  # rarely used by ours
    name = f"paper: {PAPER_NAMES[method]}"
    return Curve(name, [v.n_train for v in own], [v.mean for v in own], look, hollow=True)


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
        f"Learning curves of the other design problems are not there yet: {HOW_TO_MAKE.format('exp2d_gbc')}",
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
    notes = [f"{problem_title(name)}: {standin_of(name)}" for name in problems if standin_of(name)]
    return (
        f" Where the data are not the paper's, its markers are only for orientation. {'; '.join(notes)}."
        if notes
        else ""
    )


def draw_landscape(lines: Sequence[Line]) -> Picture:
    """Every method on every problem, over the strongest baseline."""
    picture = Picture(
        "landscape",
        "Every problem",
        "CRPS over that of the strongest baseline of the problem, whichever that is, which therefore stands at 1: left "
        "of it is better. Baselines that apply to some problems only are in the tables below. "
        "Ratios beyond 4 are drawn at the edge. Logarithmic axis.",
        "There is no picture of all problems: no problem has records of a baseline and of a method of ours.",
    )
    usable = [line for line in lines if line.metric == "crps" and line.strongest and line.against_strongest]
    if not usable:
        return picture
    methods = in_order({method for line in usable for method in line.estimates if method in SHOWN})
    names = [problem_title(line.contest.problem) for line in usable]
    (ax,) = new_panels(1, 1, (PAGE, 1.5 + ROW * len(names)), legend=min(0.3, 0.5 / (1.5 + ROW * len(names))))
    by_method = {method_title(m): _over_strongest(usable, m) for m in methods}
    plot_landscape(names, by_method, {method_title(m): look_of(m) for m in methods}, ax=ax, xlabel="CRPS ratio")
    share_legend([ax])
    return picture.drawn_on(ax)


def draw_ratios(results: Results) -> Picture:
    """AutoSurrogate and GBC over each baseline: geometric mean over problems with bootstrap interval."""
    picture = Picture(
        "ratios",
        "Over all problems: ratios of CRPS",
        "Diamonds are geometric means over problems with 95% bootstrap intervals over problems; faint dots are the "
        "problems. Left of 1 the first of the two is better. Orange: worse by more than the interval.",
        "There are no ratios over problems: too few problems have records of both.",
    )
    found = _all_ratios(results)
    if not found:
        return picture
    (ax,) = new_panels(1, 1, (PAGE, 0.9 + ROW * len(found)))
    mean, lower, upper = ([getattr(ratio, part) for ratio in found.values()] for part in ("mean", "lower", "upper"))
    each = [list(ratio.each.values()) for ratio in found.values()]
    plot_ratios(list(found), mean, lower, upper, each, ax=ax, xlabel="ratio of CRPS, less is better")
    return picture.drawn_on(ax)


def draw_ranks(results: Results) -> Picture:
    """Average ranks with the critical difference."""
    found = average_ranks(results)
    caption = "" if found is None else ranks_caption(found)
    missing = "There are no average ranks: fewer than two methods share two problems."
    picture = Picture("ranks", "Over all problems: average ranks", caption, missing)
    if found is None:
        return picture
    (ax,) = new_panels(1, 1, (PAGE * 0.8, 0.9 + ROW * len(found.methods)))
    ours = [method in OURS for method in found.methods]
    plot_ranks([method_title(method) for method in found.methods], found.average, found.critical, ours, ax=ax)
    return picture.drawn_on(ax)


def ranks_caption(found: Ranks) -> str:
    """What the ranks are of, and what the tests say."""
    return (
        f"Average rank by CRPS over the {len(found.problems)} problems that all of these methods were run on "
        f"({', '.join(problem_title(p) for p in found.problems)}). Lines are half the critical difference of Nemenyi's "
        f"test ({found.critical:.2f}) to either side: methods whose lines do not overlap differ at 5%; methods that "
        f"apply to fewer problems are left out. Friedman's test that all are alike: p = "
        f"{found.p_value:.2g}. Squares are ours."
    )


def _all_ratios(results: Results) -> dict[str, Ratio]:
    there = {method for contest in results.contests for method in results.methods(contest)}
    found = {}
    for ours in ("auto", "gbc"):
        for rival in baselines_among(there):
            each = ratios(results, ours, rival)
            if len(each) > 1:
                name = f"{method_title(ours)} / {method_title(rival)} ({len(each)})"
                found[name] = bootstrap_ratio(each, np.random.default_rng(SEED))
    return found


def _over_strongest(lines: Sequence[Line], method: str) -> dict[str, float]:
    """Mean score over that of the strongest baseline, by title of the problem."""
    found = {}
    for line in lines:
        assert line.strongest is not None
        if method in line.against_strongest:
            found[problem_title(line.contest.problem)] = 1 + line.against_strongest[method].relative
        elif method in line.estimates:
            strongest = max(line.estimates[line.strongest].mean, SMALLEST)
            found[problem_title(line.contest.problem)] = line.estimates[method].mean / strongest
    return found
