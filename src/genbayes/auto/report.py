"""What AutoSurrogate tried, what it chose and why, as one value that prints as a table and goes into a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from genbayes.arrays import FloatArray, IntArray
from genbayes.auto.stacking import LEVELS, Stack, mean_and_error
from genbayes.auto.trials import Trials
from genbayes.diagnostics import diagnose
from genbayes.distribution import Mixture, PredictiveDistribution, QuantileFunction
from genbayes.models.registry import Facts

EDGE = 0.2  # of an input's range, at either end, is looked at for thin coverage
THIN = 0.25  # share of the rows that an even design would have there, below which it is called thin
ROUNDING = 1e-6  # a difference of this share of a score is the rounding of a computation


@dataclass(frozen=True)
class Entry:
    """One candidate.

    Attributes:
        name: Its key.
        title: What it is.
        crps: Mean out-of-fold CRPS, None if it has none.
        crps_se: Its standard error.
        n_scored: Rows it was scored on.
        behind: Mean paired difference to the best candidate's score, on the rows both were scored on.
        behind_se: Standard error of that difference.
        seconds: Time of all its fits.
        weight: Its weight in the model, 0 if it has none.
        note: Why it was given up; empty if it was not.
    """

    name: str
    title: str
    crps: float | None
    crps_se: float | None
    n_scored: int
    behind: float | None
    behind_se: float | None
    seconds: float
    weight: float
    note: str = ""

    @property
    def lag(self) -> str:
        """How far it is behind the best, with the standard error: "+0.012 +- 0.003"; "best" for the best itself."""
        if self.behind is None or self.behind_se is None or self.crps is None:
            return "-"
        if self.behind == self.behind_se == 0:
            return "best"
        is_twin = abs(self.behind) + self.behind_se < ROUNDING * self.crps
        return "the same" if is_twin else f"{self.behind:+.2g} +- {self.behind_se:.1g}"


@dataclass(frozen=True)
class SelectionReport:
    """The account of one selection.

    Attributes:
        entries: The candidates, best first.
        kind: How those with a weight are joined: "single", "average" or "pool".
        crps: Out-of-fold CRPS of the result, with weights that had not seen the row.
        crps_se: Its standard error.
        n_scored: Rows behind it.
        reason: Why it was chosen, in plain words.
        trust: How far its intervals can be trusted, in plain words.
        thin: Where in x few runs lie, a line for each input.
        diagnostics: Calibration of the result on rows it had not seen, as plain values.
        seconds: Time of the whole selection.
    """

    entries: tuple[Entry, ...]
    kind: str
    crps: float
    crps_se: float
    n_scored: int
    reason: str
    trust: str
    thin: tuple[str, ...] = ()
    diagnostics: Mapping[str, Any] = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def chosen(self) -> tuple[str, ...]:
        """Names of the candidates with a weight, the largest first."""
        return tuple(entry.name for entry in sorted(self.entries, key=lambda e: -e.weight) if entry.weight > 0)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, ready for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> SelectionReport:
        """The report that `to_dict` described."""
        entries = tuple(Entry(**entry) for entry in values["entries"])
        return cls(**{**values, "entries": entries, "thin": tuple(values["thin"])})

    def __str__(self) -> str:
        rows: list[tuple[str, ...]] = [("candidate", "CRPS", "+- SE", "behind", "rows", "seconds", "weight", "")]
        rows += [_line(entry) for entry in self.entries]
        width = [max(len(row[j]) for row in rows) for j in range(len(rows[0]))]
        table = [
            "  ".join(cell.ljust(width[j]) if j in (0, 7) else cell.rjust(width[j]) for j, cell in enumerate(row))
            for row in rows
        ]
        told = [f"chosen: CRPS {self.crps:.4g} +- {self.crps_se:.2g} on {self.n_scored} unseen rows", self.reason]
        return "\n".join([line.rstrip() for line in [*table, "", *told, self.trust, *self.thin]])


def _line(entry: Entry) -> tuple[str, ...]:
    scored = entry.crps is not None
    return (
        f"{entry.title} ({entry.name})",
        f"{entry.crps:.4g}" if scored else "-",
        f"{entry.crps_se:.2g}" if scored else "-",
        entry.lag,
        str(entry.n_scored) if scored else "-",
        f"{entry.seconds:.1f}",
        f"{entry.weight:.0%}" if entry.weight > 0 else "",
        entry.note,
    )


def sparse_regions(X: FloatArray, numeric: Sequence[int], names: Sequence[str]) -> tuple[str, ...]:
    """Ends of the inputs' ranges that hold few runs.

    Args:
        X: Inputs, shape (n, d).
        numeric: Columns that are not categories.
        names: Names of all columns.

    Returns:
        A sentence for each end of an input's range that holds less than a quarter of the runs of an even design.

    Example:
        >>> X = np.append(np.linspace(0, 1, 99), 10.0)[:, None]
        >>> sparse_regions(X, [0], ["pressure"])
        ('pressure above 8: 1 of 100 runs',)
    """
    told = []
    for j in numeric:
        low, high = float(X[:, j].min()), float(X[:, j].max())
        if low == high or len(np.unique(X[:, j])) < 5:  # a few settings are a design, not a range
            continue
        for side, cut in (("below", low + EDGE * (high - low)), ("above", high - EDGE * (high - low))):
            n_there = int(np.sum(X[:, j] < cut) if side == "below" else np.sum(X[:, j] > cut))
            if n_there < THIN * EDGE * len(X):
                told.append(f"{names[j]} {side} {cut:.3g}: {n_there} of {len(X)} runs")
    return tuple(told)


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
