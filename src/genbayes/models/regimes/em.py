"""Regimes from inputs and responses together: labels, classifier and a GP for each regime by EM over soft labels.

One round, from probabilities r_ic that run i lies in regime c:

    P(c | x)           a GP classifier of r with a length scale for each input; of row i by folds without it
    p(y | c, x)        a GP of the runs of c, weighted by r_ic; of row i without it (leave-one-out)
    r_ic               P(c | x_i) p(y_i | c, x_i) over its sum

Paper section 4.2 takes labels from y alone, which go wrong where regimes overlap in y. The score of a fit is the mean
log of sum_c P(c | x_i) p(y_i | c, x_i), each part without row i; a further regime must raise it clearly.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

import numpy as np
from scipy.special import logsumexp, softmax

from genbayes.arrays import FloatArray, IntArray
from genbayes.data.folds import draw_stratified_folds
from genbayes.data.scaling import InputScaler
from genbayes.models.gp import FittedGP, Replicates, fit_gp
from genbayes.models.gp.likelihood import GPParameters
from genbayes.models.gp.stationary import AUTO, EXACT_LIMIT
from genbayes.models.regimes.classifier import RegimeClassifier, fit_classifier
from genbayes.models.regimes.gp_classifier import GPScores, fit_gp_scores
from genbayes.models.regimes.mixture import MOST_REGIMES, evidence_of, find_regimes, responsibilities
from genbayes.models.regimes.noise import HINT_Z, NORMAL, Noise, fit_noise, mean_gain, shows_structure
from genbayes.models.regimes.probabilities import Stack, fit_stack
from genbayes.models.regimes.starts import guess_labels, mixture_of_planes

LEVELS = (400, 2_000)  # rows of the search, and of the rounds between it and those with all rows
LOOK_ROWS = 1_000  # of which a GP says whether to search, where there are more than exact ones take quickly
N_FIRST, N_MORE, N_LAST = 2, 5, 3  # rounds of each start, of the best start, and with more rows
LEAST_LABEL = 0.02  # a run counts for a regime's GP from this probability on
LEAST_PROBABILITY = 1e-3  # of a regime at a run that the classifier has not seen
LEAST_VARIANCE = 1e-6  # of a response in a regime, for one whose runs are all equal
MAX_LOG_ODDS = 30.0  # that one run may give its regime: an outlier must not overrule its neighbourhood for ever
FEWEST_ROWS, FEWEST_SHARE = 8, 0.02  # of a regime
FEWEST_INPUTS = 20  # distinct ones: with fewer there is no telling regimes from chance
FEWEST_TO_CUT = 60  # runs of a regime that may be two
SETTLED = 0.002  # mean change of the labels below which rounds end
MIN_Z = 3.0  # standard errors by which the score of one regime more must be higher


@dataclass(frozen=True)
class Runs:
    """What the search sees: scaled inputs (n, p), standardised responses (n,) and weights (n,)."""

    Z: FloatArray
    y: FloatArray
    weight: FloatArray

    def __len__(self) -> int:
        return len(self.y)

    def take(self, rows: IntArray) -> Runs:
        """Some of the runs."""
        return Runs(self.Z[rows], self.y[rows], self.weight[rows])


@dataclass(frozen=True)
class Regimes:
    """Regimes of some runs.

    Attributes:
        gps: The GP of each regime, k of them.
        noises: What each GP leaves.
        label: Probability of each regime at each run, its response known, shape (n, k).
        unseen: The same from the inputs alone, by folds without the run, shape (n, k).
        evidence: Log density of each run in each regime, without it, shape (n, k).
        classifier: Probability of each regime at scaled inputs; None for one regime.
    """

    gps: tuple[FittedGP, ...]
    noises: tuple[Noise, ...]
    label: FloatArray
    unseen: FloatArray
    evidence: FloatArray
    classifier: RegimeClassifier | None = None

    def __len__(self) -> int:
        return len(self.gps)

    @property
    def score(self) -> FloatArray:
        """Log density of each run without it, shape (n,)."""
        return np.asarray(logsumexp(np.log(self.unseen) + self.evidence, axis=1))

    @property
    def regime(self) -> IntArray:
        """The more probable regime of each run, shape (n,)."""
        return np.asarray(self.label.argmax(axis=1))

    @property
    def is_plain(self) -> bool:
        """Whether there is one regime and its noise is even and normal: the stationary GP alone."""
        return len(self) == 1 and self.noises[0].pace is None and self.noises[0].shape is None

    def accuracy(self, weight: FloatArray) -> float:
        """Share of runs whose regime the classifier names rightly without having seen them."""
        return float(np.average(self.unseen.argmax(axis=1) == self.regime, weights=weight))


@runtime_checkable
class HasRegimes(Protocol):
    """A fitted model that has found regimes, for others of the same runs to stand on.

    Attributes:
        regimes_: What was found at the runs of `fit`, merged.
        input_scaler_: From their inputs to those that the regimes' classifier takes.
        fingerprint_: SHA-256 of these runs.
    """

    regimes_: Regimes
    input_scaler_: InputScaler
    fingerprint_: str


def find_regimes_by_em(
    runs: Runs, rng: np.random.Generator, n_regimes: int | None = None, plain: FittedGP | None = None
) -> Regimes:
    """Regimes of runs, from inputs and responses together.

    Args:
        runs: The runs.
        rng: Draws starts, folds, and the rows of the search.
        n_regimes: Their number where it is known; None to find it, at most five.
        plain: A GP of all runs, if there is one.

    Returns:
        The regimes; one where more do not raise the score of left-out runs clearly, or have too few runs.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> Z = rng.uniform(-1.7, 1.7, (120, 2))
        >>> y = np.where(Z[:, 0] > 0, Z[:, 1], -Z[:, 1]) + 0.1 * rng.standard_normal(120)  # the slope jumps
        >>> found = find_regimes_by_em(Runs(Z, y, np.ones(120)), rng)
        >>> len(found), found.accuracy(np.ones(120)) > 0.9
        (2, True)
    """
    rng_plain, rng_search, rng_last = rng.spawn(3)
    if plain is None:
        plain = _fit_gp(runs, np.ones(len(runs)), rng_plain, n_starts=3)
    found = search_regimes(runs, rng_search, n_regimes, plain)
    return _one_regime(runs, plain, rng_plain) if found is None else _finish(runs, found, rng_last)


def search_regimes(
    runs: Runs, rng: np.random.Generator, n_regimes: int | None = None, plain: FittedGP | None = None
) -> Regimes | None:
    """Labels of two or more regimes at all runs; None where one is enough. GPs and noise may be those of fewer runs.

    Most responses have one regime, so a search is made only if y has several peaks, or residuals of a GP of all runs
    have a structure, or a quick look finds something. See `find_regimes_by_em` for the arguments.
    """
    rng_rows, rng_plain, rng_search, rng_last = rng.spawn(4)
    order = rng_rows.permutation(len(runs))
    seen = runs.take(np.sort(order[: LEVELS[1]]))
    if plain is None or len(seen) < len(runs):
        seen = runs.take(np.sort(order[:LOOK_ROWS]))
        plain = _fit_gp(seen, np.ones(len(seen)), rng_plain, None if plain is None else plain.parameters)
    if not _is_worth_a_search(seen, _one_regime(seen, plain, rng_plain), n_regimes, rng_plain):
        return None
    few = runs.take(np.sort(order[: LEVELS[0]]))
    rival = _one_regime(few, _fit_gp(few, np.ones(len(few)), rng_plain, plain.parameters), rng_plain)
    found: Regimes | None = _search_number(few, rival, n_regimes, rng_search)
    if found is None or len(found) == 1:
        return None
    for size in (*LEVELS[1:], len(runs)):
        if found is not None and len(found.label) < size <= len(runs):
            found = _spread(runs.take(np.sort(order[:size])), found, rng_last)
    return found


def _is_worth_a_search(seen: Runs, one: Regimes, n_regimes: int | None, rng: np.random.Generator) -> bool:
    if len(np.unique(seen.Z, axis=0)) < FEWEST_INPUTS:
        return False
    if n_regimes is not None or len(find_regimes(seen.y, seen.weight)) > 1:
        return True
    if shows_structure(seen.Z, _residuals(one.gps[0], seen), seen.weight, rng):
        return True
    rows = np.sort(rng.permutation(len(seen))[: LEVELS[0]])  # a quick look all the same: one start, two rounds
    few = seen.take(rows)
    found = _rounds(few, mixture_of_planes(few.Z, few.y, few.weight, 2, rng, has_gate=True), N_FIRST, rng)
    return found is not None and _is_above(found.regimes.score, one.score[rows], few.weight, HINT_Z)


def _search_number(few: Runs, one: Regimes, n_regimes: int | None, rng: np.random.Generator) -> Regimes:
    """The fit with as many regimes as the score asks for, or as are wanted."""
    best = one
    for k in range(2, (n_regimes or MOST_REGIMES) + 1):
        found = _search(few, best, k, rng)
        if found is None or (n_regimes is None and not is_clearly_higher(found, best, few.weight)):
            break
        best = found
    if n_regimes is None:
        return _prefer_peaks(few, best, one, rng)
    return best if len(best) == n_regimes else one


def _prefer_peaks(runs: Runs, best: Regimes, one: Regimes, rng: np.random.Generator) -> Regimes:
    """Regimes that are peaks of y, where those are more than were found and predict as well.

    Two levels apart in x may pass for one regime, which a GP bridges; a reader who sees three peaks expects three.
    """
    mixture = find_regimes(runs.y, runs.weight)
    if len(mixture) <= max(len(best), 2):
        return best
    found = _rounds(runs, responsibilities(evidence_of(mixture, runs.y), mixture.share), N_FIRST + N_MORE, rng)
    if found is None:
        return best
    whole = _with_noise(runs, found.whole(), rng)
    is_as_good = not _is_above(best.score, whole.score, runs.weight, 1.0)
    return whole if is_as_good and is_clearly_higher(whole, one, runs.weight) else best


def is_clearly_higher(found: Regimes, rival: Regimes, weight: FloatArray, n_errors: float = MIN_Z) -> bool:
    """Whether the score of one fit exceeds that of another by so many standard errors of the paired difference."""
    return _is_above(found.score, rival.score, weight, n_errors)


def _is_above(found: FloatArray, rival: FloatArray, weight: FloatArray, n_errors: float) -> bool:
    mean, error = mean_gain(found, rival, weight)
    return mean > n_errors * error


def _one_regime(runs: Runs, gp: FittedGP, rng: np.random.Generator) -> Regimes:
    ones = np.ones((len(runs), 1))
    return _with_noise(runs, Regimes((gp,), (NORMAL,), ones, ones, np.zeros_like(ones)), rng)


def _search(runs: Runs, last: Regimes, k: int, rng: np.random.Generator) -> Regimes | None:
    """The best fit of k regimes from several starts; None if none has runs enough in each."""
    rng_start, rng_rounds = rng.spawn(2)
    found = []
    for label in _starts(runs, last, k, rng_start):
        fit = _rounds(runs, label, N_FIRST, rng_rounds)
        if fit is not None:
            found.append(fit)
    if not found:
        return None
    best = max(found, key=lambda fit: float(fit.regimes.score @ runs.weight))
    last_round = _rounds(runs, best.regimes.label, N_MORE, rng_rounds, best)
    assert last_round is not None, "what it begins from has runs enough"
    return _with_noise(runs, last_round.whole(), rng_rounds)


def _starts(runs: Runs, last: Regimes, k: int, rng: np.random.Generator) -> Iterator[FloatArray]:
    """Labels to start from: guesses of k regimes, and each regime of the last fit cut in two."""
    if len(last) == 1:
        yield from guess_labels(runs.Z, runs.y, runs.weight, last.gps[0].parameters.length, k, rng)
        return
    for c in range(len(last)):
        own = np.flatnonzero(last.label[:, c] > 0.5)
        if len(own) < FEWEST_TO_CUT:
            continue
        part = runs.take(own)
        residual = _residuals(last.gps[c], part)
        if not shows_structure(part.Z, residual, part.weight, rng):
            continue
        y = (part.y - part.y.mean()) / max(float(part.y.std()), 1e-12)
        for two in guess_labels(part.Z, y, part.weight, last.gps[c].parameters.length, 2, rng):
            label = np.column_stack([last.label, np.zeros(len(runs))])
            label[own[:, None], [c, k - 1]] = last.label[own, c][:, None] * two
            yield label


@dataclass(frozen=True)
class _Round:
    """What a round leaves for the next: the regimes, and the classifier's scores and stack."""

    regimes: Regimes
    scores: GPScores
    stack: Stack

    def whole(self) -> Regimes:
        """The regimes with their classifier."""
        return replace(self.regimes, classifier=RegimeClassifier.unscaled(self.scores, self.stack))


def _rounds(
    runs: Runs, label: FloatArray, n_rounds: int, rng: np.random.Generator, last: _Round | None = None
) -> _Round | None:
    """Rounds of EM from labels, (n, k), until they settle: the best of them; None if a regime has too few runs."""
    fewest = max(FEWEST_ROWS, FEWEST_SHARE * float(runs.weight.sum()))
    folds = draw_stratified_folds(runs.Z, label.argmax(axis=1), rng)
    best, highest = last, -np.inf if last is None else _mean(last.regimes, runs)
    for _ in range(n_rounds):
        if (runs.weight @ label).min() < fewest or len(np.unique(label.argmax(axis=1))) < label.shape[1]:
            break
        last = _round(runs, label, folds, rng, last)
        if _mean(last.regimes, runs) > highest and (runs.weight @ last.regimes.label).min() >= fewest:
            best, highest = last, _mean(last.regimes, runs)
        change, label = float(np.abs(last.regimes.label - label).mean()), last.regimes.label
        if change < SETTLED:
            break
    return best


def _mean(regimes: Regimes, runs: Runs) -> float:
    return float(np.average(regimes.score, weights=runs.weight))


def _round(
    runs: Runs, label: FloatArray, folds: Sequence[IntArray], rng: np.random.Generator, last: _Round | None
) -> _Round:
    """One round: GPs and classifier of the labels, and the labels that follow."""
    starts = [None] * label.shape[1] if last is None else [gp.parameters for gp in last.regimes.gps]
    gps = tuple(_fit_gp(runs, label[:, c], rng, start) for c, start in enumerate(starts))
    evidence = np.column_stack([_log_density(gp, runs) for gp in gps])
    scores, held_out = fit_gp_scores(runs.Z, label, runs.weight, folds, rng, None if last is None else last.scores)
    stack, _ = fit_stack([held_out], relative_evidence(evidence), runs.weight)
    unseen = _at_least(stack.probabilities([held_out]))
    label = np.asarray(softmax(np.log(unseen) + evidence, axis=1))
    return _Round(Regimes(gps, (NORMAL,) * len(gps), label, unseen, evidence), scores, stack)


def relative_evidence(evidence: FloatArray) -> FloatArray:
    """Log densities less the largest of each row, none far below it, (n, k)."""
    return np.asarray(np.maximum(evidence - evidence.max(axis=1, keepdims=True), -MAX_LOG_ODDS))


def _at_least(probability: FloatArray) -> FloatArray:
    clipped = np.maximum(probability, LEAST_PROBABILITY)
    return np.asarray(clipped / clipped.sum(axis=1, keepdims=True))


def _fit_gp(
    runs: Runs,
    label: FloatArray,
    rng: np.random.Generator,
    start: GPParameters | None = None,
    n_starts: int = 1,
    kernel: str = "matern52",
) -> FittedGP:
    """The GP of one regime, runs weighted by the probability that they lie in it, (n,)."""
    rows = np.flatnonzero(label > LEAST_LABEL)
    groups = Replicates.collect(runs.Z[rows], runs.y[rows], runs.weight[rows] * label[rows])
    return fit_gp(groups, rng, n_starts=n_starts, start=start, kernel=kernel)


def _left_out(gp: FittedGP, runs: Runs) -> tuple[FloatArray, FloatArray]:
    """Mean and sd of each run by a GP without it, (n,) each."""
    mean, latent, noise = gp.leave_out(runs.Z)
    return mean, np.sqrt(np.maximum(latent + noise, LEAST_VARIANCE))


def _residuals(gp: FittedGP, runs: Runs) -> FloatArray:
    mean, sd = _left_out(gp, runs)
    return np.asarray((runs.y - mean) / sd)


def _log_density(gp: FittedGP, runs: Runs) -> FloatArray:
    """Log density of each run under a GP without it, (n,)."""
    mean, sd = _left_out(gp, runs)
    return np.asarray(-0.5 * np.log(2 * np.pi) - np.log(sd) - 0.5 * ((runs.y - mean) / sd) ** 2)


def _with_noise(runs: Runs, regimes: Regimes, rng: np.random.Generator) -> Regimes:
    """The regimes with the noise that each GP leaves, and the evidence that follows."""
    noises, evidence = [], np.empty(regimes.label.shape)
    for c, gp in enumerate(regimes.gps):
        own = np.flatnonzero(regimes.label[:, c] > LEAST_LABEL)
        mean, sd = _left_out(gp, runs)
        r = (runs.y - mean) / sd
        noise, density = fit_noise(runs.Z[own], r[own], runs.weight[own] * regimes.label[own, c], rng)
        noises.append(noise)
        evidence[:, c] = noise.log_density(runs.Z, r) - np.log(sd)
        evidence[own, c] = density - np.log(sd[own])
    return replace(regimes, noises=tuple(noises), evidence=evidence)


def _spread(runs: Runs, few: Regimes, rng: np.random.Generator) -> Regimes | None:
    """Rounds with more rows, from what was found on few of them; beyond exact GPs a round's parameters are kept."""
    assert few.classifier is not None
    evidence = np.column_stack([_log_density(gp, runs) for gp in few.gps])
    label = np.asarray(softmax(np.log(_at_least(few.classifier.probabilities(runs.Z))) + evidence, axis=1))
    if len(runs) > EXACT_LIMIT:
        return replace(few, label=label, evidence=evidence)
    found = _rounds(runs, label, N_LAST, rng)
    return None if found is None else found.whole()


def _finish(runs: Runs, found: Regimes, rng: np.random.Generator) -> Regimes:
    """GPs, noise and the committee of classifiers of the labels that were found."""
    gps = []
    for label in found.label.T:
        exact = int((label > LEAST_LABEL).sum()) <= EXACT_LIMIT
        gps.append(_fit_gp(runs, label, rng, n_starts=3, kernel=AUTO if exact else "matern52"))
    found = _with_noise(runs, replace(found, gps=tuple(gps)), rng)
    classifier, unseen = fit_classifier(runs.Z, relative_evidence(found.evidence), found.label, runs.weight, rng)
    unseen = _at_least(unseen)
    label = np.asarray(softmax(np.log(unseen) + found.evidence, axis=1))
    return replace(found, classifier=classifier, unseen=unseen, label=label)
