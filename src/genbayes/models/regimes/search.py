"""How many regimes, and where EM begins: several starts on few runs, one regime more while left-out runs ask for it.

Most responses have one regime, so a search is made only if y has several peaks, or residuals of a GP of all runs have a
structure, or a quick look finds something. What is found on few runs is carried on to all; there a fit with one regime
more is kept if both log density and CRPS of left-out runs are clearly better.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from genbayes.arrays import FloatArray
from genbayes.models.gp import FittedGP
from genbayes.models.regimes.em import (
    Regimes,
    Runs,
    finish,
    fit_weighted_gp,
    one_regime,
    residuals,
    run_rounds,
    spread_to,
    with_noise,
)
from genbayes.models.regimes.mixture import MOST_REGIMES, evidence_of, find_regimes, responsibilities
from genbayes.models.regimes.noise import HINT_Z, MIN_Z, Noise, fit_scale, mean_gain, shows_structure
from genbayes.models.regimes.starts import guess_labels, mixture_of_planes

FEW_ROWS = 400  # that the search is made on
MOST_ROWS = 2_000  # that numbers of regimes are compared on
LOOK_ROWS = 1_000  # of which a GP says whether to search, where there are more than those
N_FIRST, N_MORE = 2, 5  # rounds of each start, and of the best
FEWEST_INPUTS = 20  # distinct ones: with fewer there is no telling regimes from chance
FEWEST_TO_CUT = 60  # runs of a regime that may be two
APART = 2.5  # sums of two sds between the means of neighbouring peaks of y, for a reader to take them for levels
# Standard errors that log density and CRPS of left-out runs must gain by one regime more: where rows are more than the
# search has seen; where it has seen all of them, and so flatters itself; where regimes are as many as y has levels.
ALL, OWN, PEAKS = (3.0, 1.5), (3.5, 2.0), (1.5, 1.0)


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
        The regimes; one where more do not predict left-out runs clearly better, or have too few runs.

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
        plain = fit_weighted_gp(runs, np.ones(len(runs)), rng_plain, n_starts=3)
    uneven = fit_scale(runs.Z, residuals(plain, runs), runs.weight, rng_plain)
    found = search_regimes(runs, rng_search, n_regimes, plain, uneven)
    return one_regime(runs, plain, rng_plain, MIN_Z, uneven) if found is None else finish(runs, found, rng_last)


def search_regimes(
    runs: Runs,
    rng: np.random.Generator,
    n_regimes: int | None = None,
    plain: FittedGP | None = None,
    uneven: Noise | None = None,
) -> Regimes | None:
    """Labels of two or more regimes at all runs; None where one is enough. GPs and noise may be those of fewer runs.

    See `find_regimes_by_em` for the other arguments; `uneven` is what `fit_scale` makes of the residuals of `plain`.
    """
    rng_rows, rng_plain, rng_search, rng_last = rng.spawn(4)
    order = rng_rows.permutation(len(runs))
    some = runs.take(np.sort(order[:MOST_ROWS]))
    seen = some
    if plain is None or len(some) < len(runs):
        seen = runs.take(np.sort(order[:LOOK_ROWS]))
        plain = fit_weighted_gp(seen, np.ones(len(seen)), rng_plain, None if plain is None else plain.parameters)
        uneven = None
    uneven = uneven or fit_scale(seen.Z, residuals(plain, seen), seen.weight, rng_plain)
    one = one_regime(seen, plain, rng_plain, uneven=uneven)
    if not _is_worth_a_search(seen, one, uneven, n_regimes, rng_plain):
        return None
    few = runs.take(np.sort(order[:FEW_ROWS]))
    candidates = list(_search_numbers(few, plain, n_regimes, rng_search))
    if len(some) != len(seen):
        one = one_regime(some, fit_weighted_gp(some, np.ones(len(some)), rng_plain, plain.parameters), rng_plain)
    found = _choose(some, one, candidates, n_regimes, rng_last)
    if found is None or len(some) == len(runs):
        return found
    return spread_to(runs, found, rng_last)


def _is_worth_a_search(
    seen: Runs, one: Regimes, uneven: Noise, n_regimes: int | None, rng: np.random.Generator
) -> bool:
    if len(np.unique(seen.Z, axis=0)) < FEWEST_INPUTS:
        return False
    if n_regimes is not None or len(find_regimes(seen.y, seen.weight)) > 1:
        return True
    if shows_structure(seen.Z, residuals(one.gps[0], seen), seen.weight, uneven):
        return True
    rows = np.sort(rng.permutation(len(seen))[:FEW_ROWS])  # a quick look all the same: one start, two rounds
    few = seen.take(rows)
    found = run_rounds(few, mixture_of_planes(few.Z, few.y, few.weight, 2, rng, has_gate=True), N_FIRST, rng)
    return found is not None and is_above(found.regimes.score, one.score[rows], few.weight, HINT_Z)


def _search_numbers(few: Runs, plain: FittedGP, n_regimes: int | None, rng: np.random.Generator) -> Iterator[Regimes]:
    """Fits of two regimes, three, ... of few runs, as long as one more promises anything; and of the peaks of y."""
    best = one_regime(few, fit_weighted_gp(few, np.ones(len(few)), rng, plain.parameters), rng)
    for k in range(2, (n_regimes or MOST_REGIMES) + 1):
        found = _search(few, best, k, rng)
        if found is None or (n_regimes is None and not is_above(found.score, best.score, few.weight, HINT_Z)):
            break
        best = found
        yield best
    mixture = find_regimes(few.y, few.weight)
    if n_regimes is None and len(mixture) > len(best):
        label = responsibilities(evidence_of(mixture, few.y), mixture.share)
        peaks = run_rounds(few, label, N_FIRST + N_MORE, rng)
        if peaks is not None:
            yield with_noise(few, peaks.whole(), rng)


def _choose(
    runs: Runs, one: Regimes, candidates: list[Regimes], n_regimes: int | None, rng: np.random.Generator
) -> Regimes | None:
    """The candidate with as many regimes as are wanted, or as left-out runs ask for; None for one regime.

    Two levels that lie apart in x may pass for one regime, which a GP bridges; a reader who sees three levels of y
    expects three, so that regimes which are levels have only to be as good as fewer.
    """
    if n_regimes is not None:
        wanted = [candidate for candidate in candidates if len(candidate) == n_regimes]
        return _carried(runs, wanted[0], rng) if wanted else None
    best, n_peaks = one, _count_peaks(runs)
    for candidate in candidates:
        found = _carried(runs, candidate, rng)
        if found is None:
            continue
        if len(found) == n_peaks > 1:
            is_kept = is_better(found, one, runs, PEAKS) and not is_better(best, found, runs)
        else:
            is_kept = is_better(found, best, runs)
        best = found if is_kept else best
    return None if best is one else best


def _count_peaks(runs: Runs) -> int:
    """Peaks of y with hardly anything between them: neighbours apart by more than 2.5 times the sum of their sds."""
    mixture = find_regimes(runs.y, runs.weight)
    gap, reach = np.diff(mixture.mean), mixture.sd[1:] + mixture.sd[:-1]
    return len(mixture) if (gap > APART * reach).all() else 1


def _carried(runs: Runs, found: Regimes, rng: np.random.Generator) -> Regimes | None:
    """The regimes at more runs than they were found on."""
    if len(found.label) == len(runs):
        return found
    more = spread_to(runs, found, rng)
    return None if more is None else with_noise(runs, more, rng)


def is_better(found: Regimes, rival: Regimes, runs: Runs, errors: tuple[float, float] | None = None) -> bool:
    """Whether left-out runs are clearly better predicted by one fit than by another.

    Args:
        found: The one.
        rival: The other.
        runs: The runs of both.
        errors: Standard errors by which log density and CRPS must be better; None for those that keep false alarms
            away, also where the search has seen all the runs.
    """
    in_density, in_crps = errors or (OWN if len(runs) <= FEW_ROWS else ALL)
    if not is_above(found.score, rival.score, runs.weight, in_density):
        return False
    return is_above(-found.crps(runs), -rival.crps(runs), runs.weight, in_crps)


def is_above(found: FloatArray, rival: FloatArray, weight: FloatArray, n_errors: float) -> bool:
    """Whether scores, (n,) each, exceed a rival's by so many standard errors of the paired difference."""
    mean, error = mean_gain(found, rival, weight)
    return mean > n_errors * error


def _search(runs: Runs, last: Regimes, k: int, rng: np.random.Generator) -> Regimes | None:
    """The best fit of k regimes from several starts; None if none has runs enough in each."""
    rng_start, rng_rounds = rng.spawn(2)
    found = []
    for label in _starts(runs, last, k, rng_start):
        fit = run_rounds(runs, label, N_FIRST, rng_rounds)
        if fit is not None:
            found.append(fit)
    if not found:
        return None
    best = max(found, key=lambda fit: float(fit.regimes.score @ runs.weight))
    mixture = find_regimes(runs.y, runs.weight)
    if len(mixture) == k:  # labels that a reader sees in y, where they do as well
        peaks = run_rounds(runs, responsibilities(evidence_of(mixture, runs.y), mixture.share), N_FIRST, rng_rounds)
        if peaks is not None and not is_above(best.regimes.score, peaks.regimes.score, runs.weight, HINT_Z):
            best = peaks
    last_round = run_rounds(runs, best.regimes.label, N_MORE, rng_rounds, best)
    assert last_round is not None, "what it begins from has runs enough"
    return with_noise(runs, last_round.whole(), rng_rounds)


def _starts(runs: Runs, last: Regimes, k: int, rng: np.random.Generator) -> Iterator[FloatArray]:
    """Labels to start from: guesses of two regimes, or each regime of the last fit cut in two."""
    if len(last) == 1:
        yield from guess_labels(runs.Z, runs.y, runs.weight, last.gps[0].parameters.length, k, rng)
        return
    for c in range(len(last)):
        own = np.flatnonzero(last.label[:, c] > 0.5)
        if len(own) < FEWEST_TO_CUT:
            continue
        part = runs.take(own)
        y = (part.y - part.y.mean()) / max(float(part.y.std()), 1e-12)
        guesses = guess_labels(part.Z, y, part.weight, last.gps[c].parameters.length, 2, rng)
        for two in list(guesses)[:2]:  # neighbours and gated planes, which part the inputs
            label = np.column_stack([last.label, np.zeros(len(runs))])
            label[own[:, None], [c, k - 1]] = last.label[own, c][:, None] * two
            yield label
