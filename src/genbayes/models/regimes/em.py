"""Regimes from inputs and responses together: labels, classifier and a GP for each regime by EM over soft labels.

One round, from probabilities r_ic that run i lies in regime c:

    P(c | x)           a GP classifier of r with a length scale for each input; of row i by folds without it
    p(y | c, x)        a GP of the runs of c, weighted by r_ic; of row i without it (leave-one-out)
    r_ic               P(c | x_i) p(y_i | c, x_i) over its sum

Paper section 4.2 takes labels from y alone, which go wrong where regimes overlap in y. The score of a fit is the mean
log of sum_c P(c | x_i) p(y_i | c, x_i), each part without row i. Where rounds begin, and how many regimes: `search`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol, runtime_checkable

import numpy as np
from scipy.special import logsumexp, softmax

from genbayes.arrays import FloatArray, IntArray
from genbayes.data.folds import draw_stratified_folds
from genbayes.data.scaling import InputScaler
from genbayes.distribution import Mixture
from genbayes.models.gp import FittedGP, Replicates, fit_gp
from genbayes.models.gp.estimation import EXACT_LIMIT
from genbayes.models.gp.likelihood import GPParameters
from genbayes.models.gp.stationary import AUTO
from genbayes.models.regimes.classifier import RegimeClassifier, fit_classifier
from genbayes.models.regimes.gp_classifier import GPScores, fit_gp_scores
from genbayes.models.regimes.noise import HINT_Z, NORMAL, Noise, fit_noise
from genbayes.models.regimes.noise import MIN_Z as MIN_NOISE_Z
from genbayes.models.regimes.probabilities import Stack, fit_stack
from genbayes.threads import share_out

LEAST_LABEL = 0.02  # a run counts for a regime's GP from this probability on
LEAST_PROBABILITY = 1e-3  # of a regime at a run that the classifier has not seen
LEAST_VARIANCE = 1e-6  # of a response in a regime, for one whose runs are all equal
MOST_LOG_DENSITY = -0.5 * math.log(2 * math.pi * LEAST_VARIANCE)  # of a run: no model is rewarded for more
MAX_LOG_ODDS = 30.0  # that one run may give its regime: an outlier must not overrule its neighbourhood for ever
FEWEST_ROWS, FEWEST_SHARE = 8, 0.02  # of a regime
SETTLED = 0.002  # mean change of the labels below which rounds end
N_LAST = 3  # rounds with more rows than the search had


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

    def score_of(self, others: Runs) -> FloatArray:
        """Log density of runs that it has not learnt from, (n,)."""
        chance = np.ones((len(others), 1)) if self.classifier is None else self.classifier.probabilities(others.Z)
        evidence = np.empty(chance.shape)
        for c, (gp, noise) in enumerate(zip(self.gps, self.noises, strict=True)):
            mean, sd = left_out(gp, others)
            evidence[:, c] = noise.log_density(others.Z, (others.y - mean) / sd) - np.log(sd)
        evidence = np.minimum(evidence, MOST_LOG_DENSITY)
        return np.asarray(logsumexp(np.log(_at_least(chance)) + evidence, axis=1))

    def crps(self, runs: Runs) -> FloatArray:
        """CRPS of each run without it, shape (n,)."""
        components = []
        for gp, noise in zip(self.gps, self.noises, strict=True):
            mean, sd = left_out(gp, runs)
            components.append(noise.about(mean, sd * noise.scale_left_out(runs.Z)))
        return Mixture(components, self.unseen).crps(runs.y)

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


def plain_regime(runs: Runs, gp: FittedGP) -> Regimes:
    """All runs in one regime, of a GP that is given, whose noise is even and normal."""
    ones = np.ones((len(runs), 1))
    return Regimes((gp,), (NORMAL,), ones, ones, np.minimum(_log_density(gp, runs), MOST_LOG_DENSITY)[:, None])


def one_regime(runs: Runs, gp: FittedGP, rng: np.random.Generator, n_errors: float = HINT_Z) -> Regimes:
    """All runs in one regime, of a GP that is given, with the noise that it leaves."""
    return with_noise(runs, plain_regime(runs, gp), rng, n_errors)


@dataclass(frozen=True)
class Round:
    """What a round leaves for the next: the regimes, and the classifier's scores and stack."""

    regimes: Regimes
    scores: GPScores
    stack: Stack

    def whole(self) -> Regimes:
        """The regimes with their classifier."""
        return replace(self.regimes, classifier=RegimeClassifier.unscaled(self.scores, self.stack))


def run_rounds(
    runs: Runs, label: FloatArray, n_rounds: int, rng: np.random.Generator, last: Round | None = None
) -> Round | None:
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
    runs: Runs, label: FloatArray, folds: Sequence[IntArray], rng: np.random.Generator, last: Round | None
) -> Round:
    """One round: GPs and classifier of the labels, and the labels that follow."""
    starts = [None] * label.shape[1] if last is None else [gp.parameters for gp in last.regimes.gps]
    gps = tuple(share_out(partial(fit_weighted_gp, runs), label.T, rng.spawn(len(starts)), starts))
    evidence = np.column_stack([_log_density(gp, runs) for gp in gps])
    scores, held_out = fit_gp_scores(runs.Z, label, runs.weight, folds, rng, None if last is None else last.scores)
    stack, _ = fit_stack([held_out], relative_evidence(evidence), runs.weight)
    unseen = _at_least(stack.probabilities([held_out]))
    label = np.asarray(softmax(np.log(unseen) + evidence, axis=1))
    return Round(Regimes(gps, (NORMAL,) * len(gps), label, unseen, evidence), scores, stack)


def relative_evidence(evidence: FloatArray) -> FloatArray:
    """Log densities less the largest of each row, none far below it, (n, k)."""
    return np.asarray(np.maximum(evidence - evidence.max(axis=1, keepdims=True), -MAX_LOG_ODDS))


def _at_least(probability: FloatArray) -> FloatArray:
    clipped = np.maximum(probability, LEAST_PROBABILITY)
    return np.asarray(clipped / clipped.sum(axis=1, keepdims=True))


def fit_weighted_gp(
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


def left_out(gp: FittedGP, runs: Runs) -> tuple[FloatArray, FloatArray]:
    """Mean and sd of each run by a GP without it, (n,) each."""
    mean, latent, noise = gp.leave_out(runs.Z)
    return mean, np.sqrt(np.maximum(latent + noise, LEAST_VARIANCE))


def residuals(gp: FittedGP, runs: Runs) -> FloatArray:
    """Standardised residual of each run by a GP without it, (n,)."""
    mean, sd = left_out(gp, runs)
    return np.asarray((runs.y - mean) / sd)


def _log_density(gp: FittedGP, runs: Runs) -> FloatArray:
    """Log density of each run under a GP without it, (n,)."""
    mean, sd = left_out(gp, runs)
    return np.asarray(-0.5 * np.log(2 * np.pi) - np.log(sd) - 0.5 * ((runs.y - mean) / sd) ** 2)


def with_noise(runs: Runs, regimes: Regimes, rng: np.random.Generator, n_errors: float = HINT_Z) -> Regimes:
    """The regimes with the noise that each GP leaves, and the evidence that follows; a hint of it is enough here.

    Where numbers of regimes are compared, noise that is not noticed would pass for a regime.
    """
    noises, evidence = [], np.empty(regimes.label.shape)
    for c, gp in enumerate(regimes.gps):
        own = np.flatnonzero(regimes.label[:, c] > LEAST_LABEL)
        mean, sd = left_out(gp, runs)
        r = (runs.y - mean) / sd
        weight = runs.weight[own] * regimes.label[own, c]
        noise, density = fit_noise(runs.Z[own], r[own], weight, rng, n_errors)
        noises.append(noise)
        evidence[:, c] = noise.log_density(runs.Z, r) - np.log(sd)
        evidence[own, c] = density - np.log(sd[own])
    return replace(regimes, noises=tuple(noises), evidence=np.minimum(evidence, MOST_LOG_DENSITY))


def spread_to(runs: Runs, few: Regimes, rng: np.random.Generator) -> Regimes | None:
    """Rounds with more rows, from what was found on few of them; beyond exact GPs a round's parameters are kept."""
    assert few.classifier is not None
    evidence = np.column_stack([_log_density(gp, runs) for gp in few.gps])
    label = np.asarray(softmax(np.log(_at_least(few.classifier.probabilities(runs.Z))) + evidence, axis=1))
    if len(runs) > EXACT_LIMIT:
        return replace(few, label=label, evidence=evidence)
    found = run_rounds(runs, label, N_LAST, rng)
    return None if found is None else found.whole()


def finish(runs: Runs, found: Regimes, rng: np.random.Generator) -> Regimes:
    """GPs, noise and the committee of classifiers of the labels that were found."""
    gps = share_out(partial(_fit_widely, runs), found.label.T, rng.spawn(len(found)))
    found = with_noise(runs, replace(found, gps=tuple(gps)), rng, MIN_NOISE_Z)
    classifier, unseen = fit_classifier(runs.Z, relative_evidence(found.evidence), found.label, runs.weight, rng)
    unseen = _at_least(unseen)
    label = np.asarray(softmax(np.log(unseen) + found.evidence, axis=1))
    return replace(found, classifier=classifier, unseen=unseen, label=label)


def _fit_widely(runs: Runs, label: FloatArray, rng: np.random.Generator) -> FittedGP:
    """The GP of one regime, searched for from several starts and with several kernels where runs are not too many."""
    exact = int((label > LEAST_LABEL).sum()) <= EXACT_LIMIT
    return fit_weighted_gp(runs, label, rng, n_starts=3, kernel=AUTO if exact else "matern52")
