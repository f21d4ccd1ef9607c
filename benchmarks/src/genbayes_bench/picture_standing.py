"""Pictures of all problems together: every score, ratios to the baselines, average ranks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from genbayes_bench.labels import OURS, baselines_among, in_order, method_title, problem_title
from genbayes_bench.lines import Line
from genbayes_bench.overall import SMALLEST, Ranks, Ratio, average_ranks, bootstrap_ratio, ratios
from genbayes_bench.picture import Picture, look_of, share_legend
from genbayes_bench.plotting.landscape import plot_landscape
from genbayes_bench.plotting.panels import PAGE, new_panels
from genbayes_bench.plotting.standing import plot_ranks, plot_ratios
from genbayes_bench.summary import Results

__all__ = ["draw_landscape", "draw_ranks", "draw_ratios", "ranks_caption"]

SEED = 7  # of the resampled problems; any would do
ROW = 0.27  # inches of a row of a picture
SHOWN = (*OURS, "gp", "boosted")  # in the picture of every score: more would hide one another


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
