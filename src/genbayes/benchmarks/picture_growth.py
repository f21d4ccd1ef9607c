"""Pictures over the number of runs: scaling and learning curves, paper Figures 4 to 6."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from genbayes.arrays import FloatArray
from genbayes.benchmarks.exhibits import curves_of
from genbayes.benchmarks.labels import in_order, method_title, problem_title, score_name
from genbayes.benchmarks.paper_values import PAPER, PAPER_NAMES, Published
from genbayes.benchmarks.picture import Picture, look_of, share_legend
from genbayes.benchmarks.summary import Results
from genbayes.plotting.growth import Curve, plot_growth
from genbayes.plotting.panels import PAGE, new_panels
from genbayes.plotting.style import place_legend

__all__ = ["draw_learning", "draw_scaling"]

LEARNING_METRICS = {"rocket": "rmse", "grace": "rmspe"}
BAND = (0.05, 0.95)  # of replicates, as in the paper's Figures 5 and 6


def draw_scaling(results: Results) -> Picture:
    """Figure 4: time to fit and RMSE to the truth over the number of runs, the paper's and ours."""
    picture = Picture(
        "figure4-scaling",
        "Figure 4: Friedman's function, time and error over the number of runs",
        "Left, seconds to fit; right, RMSE to the noise-free function. Filled markers are ours; hollow "
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
        curves = [_paper_curve(theirs, method) for method in ("gp", "gbc-paper")]
        for method in methods:
            found = [(contest.n_train, results.estimate(contest, method, metric)) for contest in contests]
            known = [(n, each.mean) for n, each in found if each is not None]
            if known:
                n, value = zip(*known, strict=True)
                curves.append(Curve(method_title(method), n, value, look_of(method)))
        plot_growth(curves, ax=ax, ylabel=score_name(metric))
    share_legend(axes)
    return picture.drawn_on(axes[0])


def draw_learning(results: Results, name: str, problem: str) -> Picture:
    """Figures 5 and 6: the error over the number of runs that a sequential design has asked for."""
    number, metric = name.removeprefix("figure"), LEARNING_METRICS[problem]
    picture = Picture(
        f"{name}-{problem}",
        f"Figure {number}: {problem_title(problem)}, learning curves of active learning",
        "Mean over replicates with the band from their 5% to their 95% quantile; hollow markers are what the paper "
        "reports for GBC-AL and for DGP+ALC.",
        f"Figure {number} ({problem_title(problem)}) is not there yet: the records hold no learning curves of "
        "sequential designs.",
    )
    found = curves_of(results.records, problem, metric)
    if not found:
        return picture
    theirs = [value for value in PAPER if value.problem == problem and value.metric == metric]
    curves = [_mean_curve(method, found[method], place) for place, method in enumerate(in_order(found))]
    curves += [_paper_curve(theirs, method) for method in ("gbc-al", "dgp-alc")]
    (ax,) = new_panels(1, 1, (PAGE / 1.5, 3.0))
    plot_growth(curves, ax=ax, xlabel="runs", ylabel=score_name(metric), log_x=False)
    place_legend(ax)
    return picture.drawn_on(ax)


def _paper_curve(values: Sequence[Published], method: str) -> Curve:
    own = sorted((v for v in values if v.method == method), key=lambda value: value.n_train)
    look = {"gbc-al": 6, "dgp-alc": 7}.get(method, look_of(method))  # rarely used by ours
    name = f"paper: {PAPER_NAMES[method]}"
    return Curve(name, [v.n_train for v in own], [v.mean for v in own], look, hollow=True)


def _mean_curve(method: str, runs: Sequence[tuple[FloatArray, FloatArray]], look: int) -> Curve:
    """Mean and band over the replicates at the sizes that all of them have."""
    shared = sorted(set.intersection(*(set(n.tolist()) for n, _ in runs)))
    table = np.array([[score[np.flatnonzero(n == size)[0]] for size in shared] for n, score in runs])
    lower, upper = np.quantile(table, BAND, axis=0)
    name = f"{method_title(method)} ({len(runs)})"
    return Curve(name, shared, table.mean(axis=0), look, band=(lower, upper))
