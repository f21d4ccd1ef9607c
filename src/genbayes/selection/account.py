"""The account of a selection: scores, what was chosen, why, how far to trust it, and where little is known."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from genbayes.arrays import FloatArray, IntArray
from genbayes.calibration import diagnose
from genbayes.distribution import Mixture, PredictiveDistribution, QuantileFunction
from genbayes.models.registry import Facts
from genbayes.selection.report import Entry, SelectionReport, sparse_regions
from genbayes.selection.stacking import LEVELS, Stack, mean_and_error
from genbayes.selection.trials import Trials

__all__ = ["give_account"]

FEW_ROWS = 100  # below, even honest coverage is known to a few percent only
LEAST_SAID = 0.0005  # share of a score that is shown as 0.1% and more
COUNTS = {1: "one regime", 2: "two regimes", 3: "three regimes", 4: "four regimes", 5: "five regimes"}
WHY = {
    "gp": "the response is smooth and its noise even",
    "gp-smooth": "the response is very smooth and its noise even",
    "sparse-gp": "the response is smooth and the runs are many",
    "het-gp": "the noise changes with the inputs",
    "regime-gp": "it is smooth within each regime",
    "jump-gp": "it is smooth but for a jump between regimes",
    "iqn-boundary": "its law changes from regime to regime",
    "iqn-shallow": "its law is no Gaussian around a smooth mean",
    "iqn-deep": "it changes abruptly or its law is no Gaussian",
    "iqn-wavy": "it changes quickly along some input",
    "gp-iqn": "the mean is smooth, what is left is not Gaussian",
    "boosted": "it changes in steps or along few inputs at a time",
}


def give_account(
    trials: Trials,
    names: Sequence[str],
    stack: Stack,
    rows: IntArray,
    facts: Facts,
    columns: Sequence[str],
    seconds: float,
) -> SelectionReport:
    """The report of a selection.

    Args:
        trials: All that was tried.
        names: Candidates that were weighed, K of them.
        stack: How they were joined.
        rows: Rows that decided it, shape (r,).
        facts: What was known before.
        columns: Names of the inputs.
        seconds: Time spent.
    """
    data = trials.data
    weights = dict(zip(names, stack.weights.tolist(), strict=True))
    best = trials.scores(min(names, key=lambda name: float(trials.scores(name)[rows] @ data.weight[rows])))
    entries = sorted((_entry(trials, name, weights.get(name, 0.0), best) for name in trials.trials), key=_order)
    mean, se = mean_and_error(stack.scores, data.weight[rows])
    law = _law_of_rows([trials.trials[name].q[rows] for name in names], stack)
    diagnostics = diagnose(law, data.y[rows], data.weight[rows])
    numeric = [j for j in range(data.X.shape[1]) if j not in facts.categorical]
    return SelectionReport(
        entries=tuple(entries),
        kind=stack.kind,
        crps=mean,
        crps_se=se,
        n_scored=len(rows),
        reason=_reason(entries, stack, mean, facts),
        trust=_trust(diagnostics.sentence, len(rows)),
        thin=sparse_regions(data.X, numeric, columns),
        diagnostics=diagnostics.to_dict(),
        seconds=seconds,
    )


def _entry(trials: Trials, name: str, weight: float, best: FloatArray) -> Entry:
    trial, scores = trials.trials[name], trials.scores(name)
    known = np.isfinite(scores)
    mean, se = mean_and_error(scores[known], trials.data.weight[known]) if known.any() else (None, None)
    both = known & np.isfinite(best)
    behind, behind_se = mean_and_error((scores - best)[both], trials.data.weight[both]) if both.any() else (None, None)
    return Entry(
        name=name,
        title=trial.candidate.title,
        crps=mean,
        crps_se=se,
        n_scored=int(known.sum()),
        behind=behind,
        behind_se=behind_se,
        seconds=round(sum(trial.seconds), 3),
        weight=weight,
        note=trial.fault,
    )


def _order(entry: Entry) -> tuple[bool, float, float]:
    """Candidates with a weight first, then by how far they are behind the best, those without a score last."""
    return entry.behind is None, -entry.weight, 0.0 if entry.behind is None else entry.behind


def _law_of_rows(tables: Sequence[FloatArray], stack: Stack) -> PredictiveDistribution:
    """The joined law of rows that no model had seen."""
    if stack.kind == "pool":
        return Mixture([QuantileFunction(LEVELS, q) for q in tables], stack.weights)
    return QuantileFunction(LEVELS, np.tensordot(stack.weights, np.stack(tables), axes=1))


def _reason(entries: Sequence[Entry], stack: Stack, mean: float, facts: Facts) -> str:
    """Why this and nothing else, in a sentence or two."""
    chosen = [entry for entry in entries if entry.weight > 0]
    first = chosen[0]
    regimes = f"The response has {COUNTS[facts.n_regimes]}; " if facts.n_regimes > 1 else ""
    opening = f"{regimes}the {first.title} did best" + (f": {WHY[first.name]}." if first.name in WHY else ".")
    opening = opening[0].upper() + opening[1:]
    if len(chosen) == 1:
        rivals = [e for e in entries if e.weight == 0 and e.crps is not None]
        return opening + (" Joining it with others saved nothing on unseen rows." if rivals else "")
    best = min(e.crps for e in chosen if e.crps is not None)
    how = "averaging their quantiles" if stack.kind == "average" else "pooling their distributions"
    listed = " and ".join(f"the {e.title} ({e.weight:.0%})" for e in chosen)
    listed = listed[0].upper() + listed[1:]
    saved = 1 - mean / best
    if saved < LEAST_SAID:
        return f"{opening} {listed} are too close to call on unseen rows; {how} is safer than trusting one to be ahead."
    return f"{opening} {listed} make up for each other: {how} saves {saved:.1%}."


def _trust(sentence: str, n: int) -> str:
    caution = f" With {n} unseen rows this is known only roughly." if n < FEW_ROWS else ""
    return f"{sentence}{caution} ConformalSurrogate adds a guarantee."
