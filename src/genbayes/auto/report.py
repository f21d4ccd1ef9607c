"""What AutoSurrogate tried, what it chose and why, as one value that prints as a table and goes into a file."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from genbayes.arrays import FloatArray, IntArray
from genbayes.auto.candidates import DISBELIEVED, Trials
from genbayes.auto.jobs import NO_TIME
from genbayes.auto.race import Findings, how_far
from genbayes.auto.stacking import LEVELS, Kind, Stack
from genbayes.diagnostics import diagnose
from genbayes.distribution import QuantileFunction
from genbayes.metrics import mean_and_error, paired_difference
from genbayes.models.registry import Facts
from genbayes.persistence import as_type

EDGE = 0.2  # of an input's range, at either end, is looked at for thin coverage
THIN = 0.25  # share of the rows that an even design would have there, below which it is called thin
ROUNDING = 1e-6  # a difference of this share of a score is the rounding of a computation
TWINS = ("best", "the same")  # lags of a candidate beside the best that predicts as it does
QUICK = "a quick version on"  # what a note says of a candidate that was not fitted in full
FEW_ROWS = 100  # below, coverage is known to a few percent only


def significant(value: float, digits: int) -> str:
    """A number with so many significant digits.

    Example:
        >>> significant(0.012345, 2)
        '0.012'
    """
    return f"{value:.{digits}g}"


def percent(share: float) -> str:
    """A share of a whole, with a digit behind the point where it is below 1%.

    Example:
        >>> percent(0.123), percent(0.0032), percent(0.0001)
        ('12%', '0.3%', 'under 0.1%')
    """
    if share < 0.0005:
        return "under 0.1%"
    return f"{share:.1%}" if share < 0.01 else f"{share:.0%}"


def whole_percents(weights: Sequence[float]) -> list[str]:
    """Weights as whole percents that sum to 100 as the weights sum to one; none for a weight of zero.

    Each is rounded down, and what is missing goes to the largest remainders (Hamilton's method).

    Example:
        >>> whole_percents([0.125, 0.125, 0.75, 0.0])  # rounded one by one they would sum to 99
        ['13%', '12%', '75%', '-']
    """
    exact = [100 * weight / (sum(weights) or 1.0) for weight in weights]
    floors = [math.floor(share) for share in exact]
    n_missing = round(sum(exact)) - sum(floors)
    raised = sorted(range(len(exact)), key=lambda k: floors[k] - exact[k])[:n_missing]
    return [
        f"{floor + (k in raised)}%" if weight > 0 else "-"
        for k, (floor, weight) in enumerate(zip(floors, weights, strict=True))
    ]


@dataclass(frozen=True)
class Entry:
    """One candidate.

    Attributes:
        name: Its key.
        title: What it is.
        crps: Mean out-of-fold CRPS on the rows that decided, as far as it was scored on them; None if it has none.
        crps_se: Its standard error.
        n_scored: Rows behind it.
        behind: Mean paired difference to the score of the best that could be chosen, on these rows.
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
        """How far it is behind the best, with the standard error: "+0.012 ± 0.003"; "best" for the best itself."""
        if self.behind is None or self.behind_se is None or self.crps is None:
            return "-"
        if self.behind == self.behind_se == 0:
            return "best"
        is_twin = abs(self.behind) + self.behind_se < ROUNDING * self.crps
        return "the same" if is_twin else f"{self.behind:+.2g} ± {self.behind_se:.1g}"

    def cells(self, weight: str, number: Callable[[float, int], str]) -> tuple[str, ...]:
        """Its row in the table of a report, which knows the weights of all and so how its own is rounded."""
        return (
            self.name,
            self.title,
            number(self.crps, 4) if self.crps is not None else "-",
            number(self.crps_se, 2) if self.crps_se is not None else "-",
            self.lag,
            f"{self.n_scored:,}" if self.crps is not None else "-",
            f"{self.seconds:.1f}",
            weight,
            self.note,
        )


@dataclass(frozen=True)
class SelectionReport:
    """What one selection tried and chose.

    Attributes:
        entries: The candidates, best first.
        kind: How those with a weight are joined: "single", "average" or "pool".
        crps: Out-of-fold CRPS of the result, by a team, a way to join it and weights chosen without the row's fold.
        crps_se: Its standard error.
        n_scored: Rows behind it.
        reason: Why it was chosen, in plain words.
        trust: How far its intervals can be trusted, in plain words.
        thin: Where in x few runs lie, a line for each input.
        diagnostics: Calibration of the result on rows it had not seen, as plain values.
        seconds: Time of the whole selection.
    """

    entries: tuple[Entry, ...]
    kind: Kind
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

    @property
    def tally(self) -> str:
        """How many were scored, and what became of the others.

        Example:
            >>> entry = Entry("gp", "stationary GP", 0.1, 0.01, 60, 0.0, 0.0, 1.0, 1.0)
            >>> late = Entry("network", "quantile network", None, None, 0, None, None, 9.0, 0.0, NO_TIME)
            >>> SelectionReport((entry, late), "single", 0.1, 0.01, 60, "", "").tally
            '1 of 2 surrogates scored in full, 1 had no time.'
        """
        begins = {"a quick version": "by a quick version only", "not tried": "not tried", "stopped": "stopped early"}
        begins |= {NO_TIME: "had no time", "found one regime": "the same as another"}
        rest = [entry for entry in self.entries if entry.note or entry.crps is None]
        words = [next((said for begin, said in begins.items() if e.note.startswith(begin)), "") for e in rest]
        words = [word or ("failed" if e.crps is None else "given up") for word, e in zip(words, rest, strict=True)]
        told = [f"{words.count(word)} {word}" for word in dict.fromkeys(words)]
        full = f"{len(self.entries) - len(rest)} of {len(self.entries)} surrogates scored in full"
        return ", ".join([full, *told]) + "."

    @property
    def weights(self) -> tuple[str, ...]:
        """The weight of each candidate as whole percents that sum to 100; "-" for none."""
        return tuple(whole_percents([entry.weight for entry in self.entries]))

    def cells(self, number: Callable[[float, int], str] = significant) -> list[tuple[str, ...]]:
        """The table: name, title, CRPS, standard error, behind, rows, seconds, weight, note; "-" for none.

        Args:
            number: Writes a number with so many significant digits.

        Returns:
            A row for each candidate.
        """
        return [entry.cells(weight, number) for entry, weight in zip(self.entries, self.weights, strict=True)]

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, ready for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> SelectionReport:
        """The report that `to_dict` described."""
        report: SelectionReport = as_type(values, cls, "the report in the model file")
        return report

    def __str__(self) -> str:
        head = ("name", "surrogate", "CRPS", "± SE", "behind", "rows", "seconds", "weight", "")
        rows = [head, *self.cells()]
        width = [max(len(row[j]) for row in rows) for j in range(len(head))]
        table = [
            "  ".join(cell.ljust(width[j]) if j in (0, 1, 8) else cell.rjust(width[j]) for j, cell in enumerate(row))
            for row in rows
        ]
        chosen = f"chosen: CRPS {self.crps:.4g} ± {self.crps_se:.2g} on {self.n_scored} rows that no model had seen"
        return "\n".join(
            [line.rstrip() for line in [*table, "", self.tally, chosen, self.reason, self.trust, *self.thin]]
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
    found = []
    for j in numeric:
        low, high = float(X[:, j].min()), float(X[:, j].max())
        if low == high or len(np.unique(X[:, j])) < 5:  # a few settings are a design, not a range
            continue
        for side, cut in (("below", low + EDGE * (high - low)), ("above", high - EDGE * (high - low))):
            n_there = int(np.sum(X[:, j] < cut) if side == "below" else np.sum(X[:, j] > cut))
            if n_there < THIN * EDGE * len(X):
                found.append(f"{names[j]} {side} {cut:.3g}: {n_there} of {len(X)} runs")
    return tuple(found)


def write_report(
    trials: Trials,
    names: Sequence[str],
    stack: Stack,
    rows: IntArray,
    unseen: FloatArray,
    findings: Findings,
    facts: Facts,
    columns: Sequence[str],
) -> SelectionReport:
    """The report of a selection.

    Args:
        trials: All that was tried.
        names: Candidates that were weighed, K of them.
        stack: How they were joined.
        rows: Rows that decided it, shape (r,).
        unseen: Quantiles of the result at `LEVELS` by choices that had not seen the row, shape (r, m).
        findings: What was measured of the response.
        facts: What was known before.
        columns: Names of the inputs.
    """
    data = trials.data
    weights = dict(zip(names, stack.weights.tolist(), strict=True))
    best = _best_scores(trials, names, rows)
    entries = sorted((_entry(trials, name, weights.get(name, 0.0), best, rows) for name in trials.trials), key=_order)
    mean, se = mean_and_error(stack.scores, data.weight[rows])
    diagnostics = diagnose(QuantileFunction(LEVELS, unseen), data.y[rows], data.weight[rows])
    caution = f" With {len(rows)} rows this is known only roughly." if len(rows) < FEW_ROWS else ""
    numeric = [j for j in range(data.X.shape[1]) if j not in facts.categorical]
    saving = paired_difference(best[rows], stack.scores, data.weight[rows])
    gps = [name for name in trials.alive if trials.trials[name].candidate.family == "gp"]
    if all(
        trials.is_behind(name, how_far(findings)) for name in gps
    ):  # what residuals show may be the GP's own failure
        findings = Findings(findings.n_regimes)
    reason = [*findings.sentences(), *_reasons(entries, stack, saving, len(rows), trials.clock.limit)]
    return SelectionReport(
        entries=tuple(entries),
        kind=stack.kind,
        crps=mean,
        crps_se=se,
        n_scored=len(rows),
        reason=" ".join(reason),
        trust=f"{diagnostics.sentence}{caution} ConformalSurrogate adds a guarantee.",
        thin=sparse_regions(data.X, numeric, columns),
        diagnostics=diagnostics.to_dict(),
        seconds=trials.clock.seconds,
    )


def _best_scores(trials: Trials, names: Sequence[str], rows: IntArray) -> FloatArray:
    """Scores of the candidate that is best on the rows that decided, of all that could be chosen, shape (n,).

    Those that were weighed are among them even if their fit to all runs, which comes last, has failed.
    """
    whole = [name for name in trials.alive if not trials.trials[name].n_learnt]
    compared = [scores for scores in map(trials.scores, {*whole, *names}) if np.isfinite(scores[rows]).all()]
    return min(compared, key=lambda scores: float(scores[rows] @ trials.data.weight[rows]))


def _entry(trials: Trials, name: str, weight: float, best: FloatArray, rows: IntArray) -> Entry:
    """What a candidate scored on the rows that decided; on others only if it was scored on none of these."""
    trial, scores = trials.trials[name], trials.scores(name)
    known = np.isfinite(scores)
    decided = known & np.isin(np.arange(len(known)), rows)
    known = decided if decided.any() else known
    mean, se = mean_and_error(scores[known], trials.data.weight[known]) if known.any() else (None, None)
    both = known & np.isfinite(best)
    behind, behind_se = mean_and_error((scores - best)[both], trials.data.weight[both]) if both.any() else (None, None)
    return Entry(
        name=name,
        title=trial.title,
        crps=mean,
        crps_se=se,
        n_scored=int(known.sum()),
        behind=behind,
        behind_se=behind_se,
        seconds=round(sum(trial.seconds), 3),
        weight=weight,
        note=trial.note or (f"{QUICK} {trial.n_learnt:,} rows" if trial.n_learnt else ""),
    )


def _order(entry: Entry) -> tuple[bool, float, float]:
    """Candidates with a weight first, then by how far they are behind the best, those without a score last."""
    return entry.behind is None, -entry.weight, 0.0 if entry.behind is None else entry.behind


def _reasons(
    entries: Sequence[Entry], stack: Stack, saving: tuple[float, float], n_rows: int, limit: float | None
) -> list[str]:
    """Who was compared with whom, on which rows, by how much; nothing that was not measured.

    Args:
        entries: The candidates.
        stack: How those with a weight were joined.
        saving: CRPS of the best candidate minus that of the result, and its standard error.
        n_rows: Rows that decided.
        limit: The time limit, if there was one.
    """
    scored = [e for e in entries if e.crps is not None and e.behind is not None and e.note != DISBELIEVED]
    late = sum(entry.note == NO_TIME for entry in entries)
    best = next((entry for entry in scored if entry.lag == "best"), scored[0])
    if len(scored) == 1 and late:
        others = "one other had" if late == 1 else f"{late} others had"
        return [f"Only the {best.title} finished in {limit:g} s; {others} no time."]
    if len(entries) == 1:
        return [f"Only the {best.title} was tried."]
    told = [f"Only quick versions finished in {limit:g} s."] if limit and QUICK in best.note else []
    on = f"on {n_rows:,} rows that no model had seen"
    lower = [e for e in entries if e.behind is not None and e.behind < 0 and e.lag not in TWINS]  # they were given up
    rivals = sorted(
        (e for e in scored if e is not best and e not in lower), key=lambda e: (e.lag in TWINS, e.behind or 0.0)
    )
    if rivals or lower:
        whose = " of those that could be chosen" if lower else ""
        told.append(f"The {best.title} had the lowest CRPS{whose} {on}{_distance(best, *rivals[:1])}.")
    elif stopped := [entry.title for entry in entries if entry.note.startswith("stopped")]:
        what = f"{', '.join(stopped[:-1])} and {stopped[-1]}" if len(stopped) > 1 else stopped[0]
        told.append(f"The {best.title} was out of reach for the {what}, which did not finish.")
    chosen = [entry for entry in entries if entry.weight > 0]
    if len(chosen) > 1:
        how = "averages the quantiles" if stack.kind == "average" else "pools the distributions"
        shares = whole_percents([entry.weight for entry in chosen])
        *first, last = [f"the {entry.title} ({share})" for entry, share in zip(chosen, shares, strict=True)]
        told.append(f"The chosen model {how} of {', '.join(first)} and {last}{_saved(saving, best)}.")
    elif len(chosen) == 1 and chosen[0] is not best:
        told.append(f"The chosen model is the {chosen[0].title}, which is simpler.")
    elif rivals:
        told.append("Joining it with others saved nothing.")
    if stack.spread != 1:
        change = f"{percent(abs(stack.spread - 1))} {'wider' if stack.spread > 1 else 'narrower'}"
        told.append(f"Its intervals were then made {change}, which lowers the CRPS of rows that did not choose it.")
    return told


def _distance(best: Entry, second: Entry | None = None) -> str:
    """How far the second is behind, and whether that is more than chance; nothing if there is none."""
    if second is None:
        return ""
    assert second.behind is not None
    assert second.behind_se is not None
    if second.lag in TWINS:
        return f"; the {second.title} scored the same"
    if second.behind <= second.behind_se:
        return f"; the {second.title} was level with it ({second.lag})"
    share = "" if not best.crps else f" ({percent(second.behind / best.crps)})"
    return f"; next was the {second.title}, {second.lag}{share} behind"


def _saved(saving: tuple[float, float], best: Entry) -> str:
    """What joining saved of the best candidate's CRPS, if it is more than its error."""
    gain, error = saving
    if not best.crps or gain <= error:
        return ": too close to call, and safer than trusting one to be ahead"
    return f", which saves {gain / best.crps:.1%} ± {error / best.crps:.1%} of the CRPS of the {best.title} alone"
