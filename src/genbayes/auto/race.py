"""The order in which candidates are tried, and when one is given up. No time limit: every question is asked in turn.

1. Under a time limit, one quick version of each family on few rows; families are then tried in the order of their
   scores.
2. GPs: they are quick, and their scores are what the others have to reach. Their residuals tell whether noise is even.
3. Regimes, from inputs and responses together, unless a cheap test finds no sign of any; once, for all that use them.
4. Networks, which end early when the best GP is out of reach. What promises something by then: trees, if a quick
   version is not far behind; what builds on the GP, if that is not far behind itself; models of jumps, if there are
   regimes.
5. A model of uneven noise that would be joined is fitted once more, without a fold: noise that it has fitted to its
   own runs may flatter it where each is left out by itself.
6. Candidates that cannot leave their own runs out are fitted without one fold, and without further ones as long as they
   are not clearly behind.

What is measured of the response on the way are `Findings`. Standardised residuals of a GP, each without its own run,
tell whether noise depends on the inputs: their sizes are regressed on inputs and prediction. Ranks make the test robust
against tails.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import fdtrc
from scipy.stats import rankdata

from genbayes.arrays import FloatArray, IntArray
from genbayes.auto.candidates import Trials
from genbayes.auto.jobs import NO_TIME
from genbayes.auto.stacking import LEVELS, find_team
from genbayes.data.dataset import Dataset
from genbayes.errors import InvalidInput
from genbayes.models.regimes.em import HasRegimes
from genbayes.models.regimes.mixture import NUMBERS
from genbayes.models.registry import Facts

ENOUGH_TO_WEIGH = 1_000  # out-of-fold rows that settle the weights of three candidates to a few percent
FAR_BEHIND = 1.08  # a candidate that errs this many times more than the best is not worth refining where y jumps
N_BEST = 3  # candidates that are joined, at most
ENOUGH_TO_DROP = 60  # rows after which a candidate may be given up: a handful of them can mislead
MOST_TO_WEIGH = 4_000  # rows that settle weights to a percent
FAR_BEHIND_SMOOTH = 1.3  # elsewhere
QUICK_FAR_BEHIND = 1.25  # a quick version of trees that errs this many times more than the best promises nothing
PROBED_BY, FITTED_BY = 0.6, 0.95  # shares of a time limit by which quick versions, and all fits, have ended
UNEVEN = 0.01  # chance, if the noise were even, of residuals that depend on the inputs as much; below, it is uneven
NOTHING_LEFT = 0.05  # chance above which residuals are taken to be even, and normal
QUIET = 1e-3  # noise of less than this share of the response's spread is none that runs could show


@dataclass(frozen=True)
class Findings:
    """What is known of the response.

    Attributes:
        n_regimes: Regimes of its marginal distribution.
        noise: Standard deviation of the noise that a GP found, as a share of that of y; None if there was no GP.
        unevenness: How many times larger the noise is where it is large (90% of runs below) than where it is small
            (10%); None if it was not asked.
        chance: Chance of such an unevenness in even noise; None if it was not asked.
        normality: Chance of residuals of such a shape if they were normal; None if it was not asked.
    """

    n_regimes: int = 1
    noise: float | None = None
    unevenness: float | None = None
    chance: float | None = None
    normality: float | None = None

    @property
    def leaves_nothing(self) -> bool:
        """Whether a GP's residuals look even and normal, so that nothing is left to be learnt from them."""
        asked = (self.chance, self.normality)
        return all(chance is not None and chance > NOTHING_LEFT for chance in asked)

    @property
    def is_uneven(self) -> bool:
        """Whether even noise is ruled out."""
        return self.chance is not None and self.chance < UNEVEN

    def sentences(self) -> list[str]:
        """Each finding with its number."""
        told = []
        if self.n_regimes > 1:
            told.append(f"The response has {NUMBERS[self.n_regimes]} regimes.")
        if self.noise is not None and self.noise < QUIET:
            told.append("No noise was found.")
        elif self.is_uneven and self.unevenness is not None and self.chance is not None:
            chance = "under 0.1%" if self.chance < 0.001 else f"{self.chance:.1%}"
            told.append(
                f"The noise is uneven: about {self.unevenness:.2g} times larger in some runs than in others "
                f"(even noise would look so {chance} of the time)."
            )
        return told


def run_race(trials: Trials, facts: Facts, is_free: bool) -> Findings:
    """Try the candidates; what is learnt of the response on the way is returned.

    Args:
        trials: The candidates, none of them tried yet.
        facts: What is known before any fit.
        is_free: Whether the candidates are ours to leave out; those that a user names are all tried.
    """
    findings = Findings(n_regimes=facts.n_regimes)
    order = list(trials.trials)
    if trials.clock.limit is not None:
        order = _by_promise(trials)
    itself = [name for name in order if trials.judges_itself(name)]
    base = [name for name in itself if trials.trials[name].candidate.family == "gp"]
    is_last = trials.clock.limit is not None and order and order[0] not in base  # another family promises more
    finders = _regime_finders(trials, itself)
    others = [name for name in itself if name not in finders and (is_last or name not in base)]
    later = [name for name in others if is_free and _may_wait(trials, name)]
    sooner = [name for name in others if name not in later]
    trees = _trees(trials, later)
    with trials.ahead(sooner, trees):
        if not is_last:
            trials.fit_all(base, trials.clock.left(FITTED_BY))
            findings = _study(trials, base, facts, findings)
        trials.fit_all(finders, trials.clock.left(FITTED_BY))
        findings = _count_regimes(trials, findings)
        trials.begin_unless_behind(trees, QUICK_FAR_BEHIND)  # a thread may be idle while another trains the network
        trials.fit_all(sooner, trials.clock.left(FITTED_BY), trials.best_scores())
        promising = _promising(trials, later, findings)
        trials.fit_all(promising, trials.clock.left(FITTED_BY), trials.best_scores())
    _cross_validate(trials, [name for name in order if name not in itself])
    if not trials.alive:
        raise _nothing_works(trials)
    for name in team_of(trials)[0]:
        if trials.trials[name].candidate.asks == "uneven" and len(trials.alive) > 1:
            trials.verify(name, trials.clock.left(FITTED_BY))
    return findings if findings.noise is not None else _study(trials, base, facts, findings)


def _by_promise(trials: Trials) -> list[str]:
    """Names in the order of their families' quick versions; families without one keep their place behind."""
    first: dict[str, str] = {}
    for name, trial in trials.trials.items():
        if trial.candidate.probe is not None:
            first.setdefault(trial.candidate.family, name)
    left = trials.clock.left(PROBED_BY)
    trials.probe(list(first.values()), None if left is None else left / max(1, len(first)))
    known = {family: float(np.nanmean(trials.scores(name))) for family, name in first.items() if name in trials.alive}

    def promise(name: str) -> float:
        candidate = trials.trials[name].candidate
        family = "gp" if candidate.refines in trials.trials else candidate.family
        return known.get(family, np.inf)

    return sorted(trials.trials, key=promise)  # a stable sort: what is refined stays before what refines it


def _study(trials: Trials, base: Sequence[str], facts: Facts, findings: Findings) -> Findings:
    """What the first GP that was fitted says of the noise."""
    for name in base:
        model, q = trials.trials[name].model, trials.trials[name].q
        parameters = getattr(getattr(model, "gp_", None), "parameters", None)
        if parameters is None or not np.isfinite(q[:, 0]).any():
            continue
        known = np.flatnonzero(np.isfinite(q[:, 0]))
        found = measure_unevenness(q[known], trials.data.take(known), facts.categorical)
        unevenness, chance = (None, None) if found is None else found
        return replace(
            findings,
            noise=float(np.sqrt(parameters.noise)),
            unevenness=unevenness,
            chance=chance,
            normality=measure_normality(q[known], trials.data.y[known]),
        )
    return findings


def _regime_finders(trials: Trials, names: Sequence[str]) -> list[str]:
    """Candidates that find the regimes which others ask for."""
    wanted = {trial.candidate.refines for trial in trials.trials.values() if trial.candidate.asks == "regimes"}
    return [name for name in names if name in wanted]


def _count_regimes(trials: Trials, findings: Findings) -> Findings:
    """How many regimes were found, one if their model is behind; a model that adds nothing is noted as such."""
    for name, trial in trials.trials.items():
        if isinstance(trial.model, HasRegimes) and not trial.note:
            found = trial.model.regimes_
            if found.is_plain and len(trials.alive) > 1:
                trial.note = "found one regime and even, normal noise: the stationary GP"
            return replace(findings, n_regimes=1 if trials.is_behind(name) else len(found))
    return findings


def _may_wait(trials: Trials, name: str) -> bool:
    """Whether the scores of others tell if a candidate is worth a fit."""
    candidate = trials.trials[name].candidate
    return candidate.family == "trees" or candidate.refines in trials.trials


def _trees(trials: Trials, names: Sequence[str]) -> list[str]:
    return [name for name in names if trials.trials[name].candidate.family == "trees"]


def _promising(trials: Trials, names: Sequence[str], findings: Findings) -> list[str]:
    """Those worth a fit, given what has been seen; the others are noted with the reason."""
    slow = _trees(trials, names)
    if trials.clock.limit is None:
        trials.probe(slow, None)
    kept = []
    for name in names:
        trial = trials.trials[name]
        base = trial.candidate.refines
        refined = trials.trials.get(base)
        if (
            trial.candidate.asks != "regimes"
            and refined is not None
            and refined.is_alive
            and trials.is_behind(base, how_far(findings))
        ):
            trial.note = "not tried: what it refines is far behind"
        elif trial.candidate.asks == "uneven" and findings.chance is not None and not findings.is_uneven:
            trial.note = f"not tried: no sign of uneven noise (p = {findings.chance:.2g})"
        elif trial.candidate.asks == "shape" and findings.leaves_nothing and not trials.is_behind(base):
            trial.note = f"not tried: residuals of the GP look normal (p = {findings.normality:.2g}) and even"
        elif trial.candidate.asks == "regimes" and findings.n_regimes == 1:
            trial.note = "not tried: one regime was found"
        elif name in slow and trials.is_behind(name, QUICK_FAR_BEHIND):
            trial.note = "a quick version was far behind"
        else:
            kept.append(name)
    return kept


def how_far(findings: Findings) -> float:
    """How many times the best score a GP's may be before neither it nor its residuals are worth looking at."""
    return FAR_BEHIND if findings.n_regimes > 1 else FAR_BEHIND_SMOOTH


def _cross_validate(trials: Trials, names: Sequence[str]) -> None:
    """Candidates that cannot judge themselves, fold by fold, until rows are enough, time is up or they are behind."""
    n_scored = 0
    for fold in range(int(trials.fold.max()) + 1):
        racing = [name for name in names if not trials.trials[name].note]
        if not racing or n_scored >= ENOUGH_TO_WEIGH:
            return
        left = trials.clock.left(FITTED_BY)
        if left is not None:  # a fit to all rows has to follow
            racing = [name for name in racing if not fold or left > 2 * max(trials.trials[name].seconds)]
            left = left if not trials.alive else 0.5 * left
        trials.fit_without(racing, fold, left)
        n_scored += int(np.sum(trials.fold == fold))
        if n_scored >= ENOUGH_TO_DROP and trials.alive:
            helpful = team_of(trials)[0]
            for name in racing:
                if trials.trials[name].is_alive and name not in helpful and trials.is_behind(name):
                    trials.trials[name].note = "clearly behind"


def team_of(trials: Trials) -> tuple[list[str], IntArray]:
    """The candidates that are best together, and the rows on which they were compared.

    Quick versions count only where nothing else was fitted; a candidate that was judged on few rows and is clearly
    behind there does not narrow down the rows on which the others are compared.
    """
    whole = [name for name in trials.alive if not trials.trials[name].n_learnt]
    known = {name: np.isfinite(trials.scores(name)) for name in whole or trials.alive}
    most = max(int(rows.sum()) for rows in known.values())
    kept = [name for name in known if known[name].sum() > most / 2 or not trials.is_behind(name)]
    rows = np.flatnonzero(np.all([known[name] for name in kept], axis=0))
    if not len(rows):  # judged on different rows: the one judged on most
        kept = [max(kept, key=lambda name: int(known[name].sum()))]
        rows = np.flatnonzero(known[kept[0]])
    rows = rows[np.linspace(0, len(rows) - 1, min(len(rows), MOST_TO_WEIGH)).astype(np.int64)]
    Q = np.stack([trials.trials[name].q[rows] for name in kept])
    return [kept[k] for k in find_team(Q, trials.data.y[rows], trials.data.weight[rows], N_BEST)], rows


def _nothing_works(trials: Trials) -> InvalidInput:
    tried = {trial.note for trial in trials.trials.values() if not trial.note.startswith("not tried")}
    if tried == {NO_TIME}:
        return InvalidInput(
            f"time_limit must leave time for at least one candidate, got {trials.clock.limit!r} seconds for "
            f"{len(trials.data)} rows; raise it, or choose a quick model such as gp"
        )
    notes = "; ".join(f"{name}: {trial.note}" for name, trial in trials.trials.items())
    return InvalidInput(f"candidates must include one that can be fitted to these runs, got none ({notes})")


def measure_normality(q: FloatArray, y: FloatArray) -> float:
    """Chance of such skewness and tails of standardised residuals if they were normal (Jarque & Bera 1980).

    Args:
        q: Out-of-fold quantiles of a GP at `LEVELS`, shape (n, m).
        y: Responses, shape (n,).
    """
    z = (y - _median(q)) / np.maximum(_spread(q), np.finfo(np.float64).tiny)
    z = (z - z.mean()) / max(float(z.std()), float(np.finfo(np.float64).tiny))
    n, skewness, tails = len(z), float(np.mean(z**3)), float(np.mean(z**4)) - 3
    return float(np.exp(-0.5 * n * (skewness**2 / 6 + tails**2 / 24)))  # chi-squared with two degrees of freedom


def _median(q: FloatArray) -> FloatArray:
    middle = len(LEVELS) // 2  # levels are even in number, so the median lies between two of them
    return np.asarray(q[:, middle - 1 : middle + 1].mean(axis=1))


def _spread(q: FloatArray) -> FloatArray:
    flank = len(LEVELS) // 6
    return np.asarray(q[:, -flank] - q[:, flank - 1])


def measure_unevenness(q: FloatArray, data: Dataset, categorical: Sequence[int] = ()) -> tuple[float, float] | None:
    """How uneven the noise is, and the chance of that in even noise.

    F-test of a regression of the ranks of |y - median| / spread on inputs, their squares, and the prediction.

    Args:
        q: Out-of-fold quantiles of a GP at `LEVELS`, shape (n, m).
        data: The runs.
        categorical: Columns that are categories, which are left out.

    Returns:
        Ratio of the spread that the regression expects in nine of ten runs to that in one of ten, and the chance;
        None where rows are too few to ask.
    """
    median = _median(q)
    size = np.abs(data.y - median) / np.maximum(_spread(q), np.finfo(np.float64).tiny)
    numeric = [j for j in range(data.X.shape[1]) if j not in categorical]
    Z = np.column_stack([data.X[:, numeric], median])
    Z = (Z - Z.mean(axis=0)) / np.maximum(Z.std(axis=0), np.finfo(np.float64).tiny)
    A = np.column_stack([np.ones(len(Z)), Z, Z**2])
    n, k = A.shape
    if n < 3 * k:
        return None
    rank = rankdata(size) / n
    basis, _ = np.linalg.qr(A)
    explained = float(np.sum((basis[:, 1:].T @ rank) ** 2))
    left = float(np.sum((rank - basis @ (basis.T @ rank)) ** 2))
    chance = float(fdtrc(k - 1, n - k, explained / (k - 1) / (left / (n - k))))
    expected = basis @ (basis.T @ size)
    low, high = np.quantile(np.maximum(expected, 0.1 * size.mean()), [0.1, 0.9])
    return float(high / low), chance
