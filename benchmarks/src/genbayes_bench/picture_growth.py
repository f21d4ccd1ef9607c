"""Pictures over the number of runs: how time and error grow, paper Figure 4; designs are in `picture_learning`."""

from __future__ import annotations

from collections.abc import Sequence

from genbayes_bench.labels import in_order, method_title, score_name
from genbayes_bench.paper_values import PAPER, PAPER_NAMES, Published
from genbayes_bench.picture import Picture, look_of, share_legend
from genbayes_bench.plotting.growth import Curve, plot_growth
from genbayes_bench.plotting.panels import PAGE, new_panels
from genbayes_bench.summary import Results

__all__ = ["draw_scaling", "paper_curve"]


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
