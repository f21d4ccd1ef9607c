"""Active learning: learning curves of sequential designs, and the tables of chosen runs against random ones.

A record keeps its curve in `Record.detail["curve"]`: {"n": [...], "rmse": [...]} or any other score by name. Chosen and
random runs of one replicate begin with the same runs and are scored on the same test set, so they are paired.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from genbayes_bench.designs import CHOSEN, DESIGNS, RANDOM, chooses, is_sequential
from genbayes_bench.paper_values import STANDS_FOR, SUMMARY, SummaryRow, published
from genbayes_bench.record import Record, is_finite_number
from genbayes_bench.report.labels import in_order, method_title, metrics_of, problem_title, score_name, standin_of
from genbayes_bench.report.tables import MARK, NONE, Table, as_printed, contest_title, estimate_text
from genbayes_bench.statistics import Contest, Difference, Estimate, Results, compare, estimate

LONGEST_SHOWN = 60  # characters of a curve that is none
Curves = Mapping[int, Mapping[int, float]]  # replicate to number of runs to score


SEQUENTIAL = "gbc-al"  # the paper's name for what has a learning curve
STATIC = ("gp", "gbc", "auto")  # methods shown with runs that nobody chose
HEAD = (
    "problem",
    "n",
    "score",
    "paper: DGP+ALC",
    "paper: GBC-AL",
    "ours, chosen runs",
    "same model, random runs",
    "chosen − random, paired",
    "random runs that buy the same",
    "replicates",
)


def curves_of(records: Iterable[Record], problem: str, metric: str) -> dict[str, dict[int, dict[int, float]]]:
    """Learning curves of a problem by method and replicate, each from the number of runs to the score.

    A malformed curve, or one without a point, is left out; `leave_out_malformed` tells which.
    """
    found: dict[str, dict[int, dict[int, float]]] = {}
    for record in records:
        curve = record.detail.get("curve")
        if record.problem != problem or curve_error(record) is not None:
            continue
        if isinstance(curve, Mapping) and {"n", metric} <= set(curve):
            pairs = zip(curve["n"], curve[metric], strict=True)
            own = {int(n): float(score) for n, score in pairs if score is not None}  # NaN is null in JSON
            if own:
                found.setdefault(record.method, {})[record.replicate] = own
    return found


def leave_out_malformed(records: Iterable[Record]) -> tuple[list[Record], list[str]]:
    """The records without those whose learning curve cannot be read, and a sentence for each of these."""
    sound, complaints = [], []
    for record in records:
        wrong = curve_error(record)
        if wrong is None:
            sound.append(record)
        else:
            whose = f"{record.method!r} on {record.problem!r}, replicate {record.replicate}"
            complaints.append(f"The record of {whose}, was left out: {wrong}")
    return sound, complaints


def curve_error(record: Record) -> str | None:
    """What is wrong with the learning curve of a sequential design; None for a sound one, or where there is none."""
    curve = record.detail.get("curve")
    if curve is None or not is_sequential(record):
        return None
    if not isinstance(curve, Mapping) or "n" not in curve:
        return f"curve must be an object with the list 'n', got {_shown(curve)}"
    if not isinstance(curve["n"], list) or not all(_is_count(n) for n in curve["n"]):
        return f"curve must be over runs: 'n' must be a list of positive whole numbers, got {_shown(curve['n'])}"
    n_sizes = len(curve["n"])
    for name, scores in curve.items():
        if not isinstance(scores, list) or not all(score is None or is_finite_number(score) for score in scores):
            return f"curve must be of scores: {name!r} must be a list of finite numbers, got {_shown(scores)}"
        if len(scores) != n_sizes:
            return f"curve must have as many values of {name!r} as numbers of runs, got {len(scores)} and {n_sizes}"
    return None


def _is_count(value: Any) -> bool:
    return is_finite_number(value) and value >= 1 and value == int(value)


def _shown(value: Any) -> str:
    """The value, or its beginning where it is long."""
    text = repr(value)
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}..."


def scores_at(curves: Curves, n: int) -> dict[int, float]:
    """The score after n runs by replicate, where it is known.

    Example:
        >>> scores_at({0: {50: 0.2, 60: 0.1}, 1: {50: 0.3}}, 60)
        {0: 0.1}
    """
    return {replicate: curve[n] for replicate, curve in curves.items() if n in curve}


def shared_sizes(curves: Curves) -> list[int]:
    """Numbers of runs that every replicate was scored at, in order.

    Example:
        >>> shared_sizes({0: {50: 0.2, 60: 0.1}, 1: {50: 0.3}})
        [50]
    """
    return sorted(set.intersection(*(set(curve) for curve in curves.values()))) if curves else []


def runs_for_the_same(random: Curves, ours: Curves, n: int) -> str | None:
    """How many random runs buy what n chosen ones do.

    Where the mean curve of random runs first reaches our mean score after n, both over the replicates that both have;
    between its points on logarithmic axes, log n being linear in log score.

    Args:
        random: Curves on random runs.
        ours: Curves on chosen runs.
        n: Number of chosen runs.

    Returns:
        The number in words, since it may lie beyond either end of the curve; None where too little is known.

    Example:
        >>> runs_for_the_same({0: {100: 0.4, 400: 0.1}}, {0: {100: 0.2}}, 100)
        '200'
        >>> runs_for_the_same({0: {100: 0.4, 400: 0.3}}, {0: {100: 0.2}}, 100)
        'more than 400'
    """
    ours = {r: curve for r, curve in ours.items() if n in curve and r in random}
    sizes = shared_sizes({r: random[r] for r in ours})
    if not sizes:
        return None
    goal = np.mean([curve[n] for curve in ours.values()])
    score = [np.mean([random[r][size] for r in ours]) for size in sizes]
    i = next((i for i, reached in enumerate(score) if reached <= goal), None)
    if i is None:
        return f"more than {sizes[-1]:,}"
    if i == 0:
        return f"at most {sizes[0]:,}"
    share = np.log(score[i - 1] / goal) / np.log(score[i - 1] / score[i])
    return f"{sizes[i - 1] * (sizes[i] / sizes[i - 1]) ** share:,.0f}"


def learning_table(results: Results) -> Table | None:
    """The paper's Table 6 with ours: runs chosen one by one, as many random ones, and as many given beforehand."""
    known = [(row, cells) for row in _paper_rows() if (cells := _learning_row(results, row)) is not None]
    if not known:
        return None
    static = [j for j in range(len(STATIC)) if any(cells[len(HEAD) + j] != NONE for _, cells in known)]
    shown = [*range(len(HEAD)), *(len(HEAD) + j for j in static)]
    head = [*HEAD, *(f"{method_title(STATIC[j])}, given runs" for j in static)]
    notes = [
        "Mean ± standard error, less is better. Chosen and random runs of a replicate begin with the same runs and are "
        "scored on the same test set: their difference is paired. Where the mean score on random runs reaches that on "
        "chosen ones is read off between the points of its curve, on logarithmic axes. Where there is a difference, "
        "the row is about the replicates that both have. A column is empty where no sequential design has been run "
        "yet; genbayes bench run active-learning does that.",
    ]
    if static:
        notes.append(
            "The last columns learn from as many runs that were given to them, drawn at random or by Latin hypercube, "
            "on replicates and test sets of their own, so they are not paired with the designs."
        )
    notes += _marks(row.problem for row, _ in known)
    return Table("Active learning", head, [[cells[j] for j in shown] for _, cells in known], notes)


def other_designs_table(results: Results) -> Table | None:
    """Designs other than ours on each problem, against ours after the same number of runs; None if there are none."""
    rows, problems = [], []
    for problem in dict.fromkeys(row.problem for row in _paper_rows()):
        metric = metrics_of(problem)[0]
        found = curves_of(results.designs, problem, metric)
        for method in in_order(set(found) - {CHOSEN, RANDOM}):
            rows.append(_other_row(problem, metric, method, found[method], found.get(CHOSEN, {})))
            problems.append(problem)
    head = ("problem", "design", "n", "score", "mean", method_title(CHOSEN), "difference, paired", "replicates")
    note = (
        "At the largest number of runs that both reached, on the replicates that both have; a difference above zero "
        "says that ours is lower."
    )
    return Table("Active learning: other designs", head, rows, [note, *_marks(problems)]) if rows else None


def _paper_rows() -> Iterator[SummaryRow]:
    """The paper's rows of sequential designs, each before those of the versions that stand for its problem."""
    for row in SUMMARY:
        if row.method == SEQUENTIAL:
            yield row
            yield from (replace(row, problem=other) for other, name in STANDS_FOR.items() if name == row.problem)


def _learning_row(results: Results, row: SummaryRow) -> list[str] | None:
    contest = Contest(row.problem, row.n_train)
    static = [results.estimate(contest, method, row.metric) for method in STATIC]
    designs = _design_cells(curves_of(results.designs, row.problem, row.metric), row.n_train)
    if designs is None and not any(static):
        return None
    theirs = [published(row.problem, method, row.metric, row.n_train) for method in (row.rival, row.method)]
    cells = [as_printed(value) for value in theirs] + (designs or [NONE] * (len(HEAD) - 5))
    cells += [estimate_text(each) for each in static]
    return [contest_title(contest), f"{row.n_train:,}", score_name(row.metric), *cells]


def _design_cells(curves: Mapping[str, Curves], n: int) -> list[str] | None:
    """Ours after n runs, random runs, their difference, what random runs buy the same, and replicates."""
    means = {m: estimate(found.values()) for m, each in curves.items() if chooses(m) and (found := scores_at(each, n))}
    if not means:
        return None
    ours = CHOSEN if CHOSEN in means else min(sorted(means), key=lambda method: means[method].mean)
    named = "" if ours == CHOSEN else f", {method_title(ours)}"
    random = curves.get((DESIGNS[ours].random if ours in DESIGNS else None) or "", {})
    own, rival = _on_the_same(curves[ours], random, n)
    at_n, rival_at_n = scores_at(own, n), scores_at(rival, n)
    return [
        _mean_text(at_n) + named,
        _mean_text(rival_at_n),
        _gap_text(compare(at_n, rival_at_n)),
        runs_for_the_same(rival, own, n) or NONE,
        str(len(at_n)),
    ]


def _other_row(problem: str, metric: str, method: str, other: Curves, ours: Curves) -> list[str]:
    both = sorted(set(shared_sizes(other)) & set(shared_sizes(ours)))
    n = (both or shared_sizes(other) or [0])[-1]
    theirs, own = (scores_at(curves, n) for curves in _on_the_same(other, ours, n))
    cells = [_mean_text(theirs), _mean_text(own), _gap_text(compare(theirs, own)), str(len(theirs))]
    return [contest_title(Contest(problem, n)), method_title(method), f"{n:,}", score_name(metric), *cells]


def _on_the_same(one: Curves, other: Curves, n: int) -> tuple[Curves, Curves]:
    """Curves of two designs on the replicates that both have after n runs; all of each where there are none."""
    shared = sorted(set(scores_at(one, n)) & set(scores_at(other, n)))
    return ({r: one[r] for r in shared}, {r: other[r] for r in shared}) if shared else (one, other)


def _mean_text(scores: Mapping[int, float]) -> str:
    return estimate_text(estimate(scores.values()) if scores else None)


def _gap_text(gap: Difference | None) -> str:
    """A paired difference with its standard error, and in percent of the rival's mean."""
    if gap is None:
        return NONE
    text = f"{estimate_text(Estimate(gap.mean, gap.se, gap.n))} ({100 * gap.relative:+.0f}%)"
    return text.replace("-", "−")


def _marks(problems: Iterable[str]) -> list[str]:
    """What the mark of a stand-in means, for each problem that has it."""
    return [f"{MARK} {problem_title(name)}: {standin_of(name)}" for name in dict.fromkeys(problems) if standin_of(name)]
