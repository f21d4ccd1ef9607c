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
    Round,
    Runs,
    finish,
    fit_weighted_gp,
    one_regime,
    plain_regime,
    residuals,
    run_rounds,
    spread_to,
    with_noise,
)
from genbayes.models.regimes.mixture import (
    MOST_REGIMES,
    GaussianMixture,
    evidence_of,
    find_regimes,
    responsibilities,
)
from genbayes.models.regimes.noise import FEWEST as FEWEST_FOR_NOISE
from genbayes.models.regimes.noise import HINT_Z, MIN_Z, fit_scale, mean_gain, shows_structure
from genbayes.models.regimes.starts import guess_labels, mixture_of_planes
from genbayes.threads import share_out

FEW_ROWS = 400  # that the search is made on
MOST_ROWS = 2_000  # that numbers of regimes are compared on
LOOK_ROWS = 1_000  # of which a GP says whether to search, where there are more than those
N_FIRST, N_MORE = 2, 5  # rounds of each start, and of the best
FEWEST_INPUTS = 20  # distinct ones: with fewer there is no telling regimes from chance
RUNS_AN_INPUT = 5  # distinct ones: with fewer only levels of y that lie apart are looked into
FEWEST_TO_CUT = 60  # runs of a regime that may be two
ENOUGH_OTHERS = 200  # runs that the search has not seen, to ask whether they bear out what it found
HOPELESS = 3.0  # standard errors by which a fit of one round may be behind and still come first
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
    found = search_regimes(runs, rng_search, n_regimes, plain)
    if len(found) > 1:
        return finish(runs, found, rng_last)
    return plain_regime(runs, plain) if found.is_plain else one_regime(runs, plain, rng_plain, MIN_Z)


def search_regimes(
    runs: Runs, rng: np.random.Generator, n_regimes: int | None = None, plain: FittedGP | None = None
) -> Regimes:
    """Labels of two or more regimes at all runs, GPs and noise may be those of fewer; or one regime of some runs.

    See `find_regimes_by_em` for the arguments.
    """
    rng_rows, rng_plain, rng_search, rng_last = rng.spawn(4)
    order = rng_rows.permutation(len(runs))
    some = runs.take(np.sort(order[:MOST_ROWS]))
    seen = some
    if plain is None or len(some) < len(runs):
        seen = runs.take(np.sort(order[:LOOK_ROWS]))
        plain = fit_weighted_gp(seen, np.ones(len(seen)), rng_plain, None if plain is None else plain.parameters)
    one, peaks = one_regime(seen, plain, rng_plain), find_regimes(some.y, some.weight)
    if not _is_worth_a_search(seen, one, n_regimes, peaks, rng_plain):
        return one
    few, others = runs.take(np.sort(order[:FEW_ROWS])), runs.take(np.sort(order[FEW_ROWS:MOST_ROWS]))
    last = one
    if len(few) < len(seen):
        last = one_regime(few, fit_weighted_gp(few, np.ones(len(few)), rng_plain, plain.parameters), rng_plain)
    candidates = _search_numbers(few, others, last, n_regimes, peaks, rng_search)
    if n_regimes is not None:
        wanted = [candidate for candidate in candidates if len(candidate) == n_regimes]
        found = _carried(some, wanted[0], rng_last) if wanted else None
    else:
        if len(some) != len(seen):
            plain = fit_weighted_gp(some, np.ones(len(some)), rng_plain, plain.parameters)
            one = one_regime(some, plain, rng_plain)
        found = _choose(some, one, candidates, peaks, rng_last)
    if found is None or len(some) == len(runs):
        return found or one
    return spread_to(runs, found, rng_last) or one


def _is_worth_a_search(
    seen: Runs, one: Regimes, n_regimes: int | None, peaks: GaussianMixture, rng: np.random.Generator
) -> bool:
    n_distinct, is_apart = len(np.unique(seen.Z, axis=0)), n_regimes is not None or _count_peaks(peaks) > 1
    if n_distinct < FEWEST_INPUTS or (n_distinct < RUNS_AN_INPUT * seen.Z.shape[1] and not is_apart):
        return False
    if n_regimes is not None or len(peaks) > 1 or not one.is_plain:
        return True
    if len(seen) < FEWEST_FOR_NOISE:  # too few for a noise of their own, yet they may hint at one
        r = residuals(one.gps[0], seen)
        if shows_structure(seen.Z, r, seen.weight, fit_scale(seen.Z, r, seen.weight, rng)):
            return True
    rows = np.sort(rng.permutation(len(seen))[:FEW_ROWS])  # a quick look all the same: one start, two rounds
    few = seen.take(rows)
    label = mixture_of_planes(few.Z, few.y, few.weight, 2, rng, has_gate=True)
    found = run_rounds(few, label, N_FIRST, rng)
    return found is not None and is_above(found.regimes.score, one.score[rows], few.weight, HINT_Z)


def _search_numbers(
    few: Runs,
    others: Runs,
    best: Regimes,
    n_regimes: int | None,
    peaks: GaussianMixture,
    rng: np.random.Generator,
) -> Iterator[Regimes]:
    """Fits of two regimes, three, ... of few runs, as long as one more promises anything; and of the peaks of y."""
    for k in range(2, (n_regimes or MOST_REGIMES) + 1):
        found = _search(few, best, k, rng)
        if found is None or (n_regimes is None and not _promises(found, best, few, others, k <= len(peaks))):
            break
        best = found
        yield best
    if n_regimes is None and len(peaks) > len(best):
        label = responsibilities(evidence_of(peaks, few.y), peaks.share)
        level = run_rounds(few, label, N_FIRST + N_MORE, rng)
        if level is not None:
            yield with_noise(few, level.whole(), rng)


def _promises(found: Regimes, best: Regimes, few: Runs, others: Runs, is_peak: bool) -> bool:
    """Whether one regime more may be wanted: it is better by left-out runs, and by runs that the search has not seen.

    With as many standard errors as would make the difference clear on all of them.
    """
    n_errors = ALL[0] * np.sqrt(len(few) / (len(few) + len(others))) if len(others) else OWN[0]
    if not is_above(found.score, best.score, few.weight, HINT_Z if is_peak else float(n_errors)):
        return False
    if is_peak or len(others) < ENOUGH_OTHERS:
        return True
    return is_above(found.score_of(others), best.score_of(others), others.weight, HINT_Z)


def _choose(
    runs: Runs, one: Regimes, candidates: Iterator[Regimes], peaks: GaussianMixture, rng: np.random.Generator
) -> Regimes | None:
    """The fit with as many regimes as left-out runs ask for; None for one regime.

    Two levels that lie apart in x may pass for one regime, which a GP bridges; a reader who sees three levels of y
    expects three, so that regimes which are levels have only to be as good as fewer.
    """
    best, n_peaks = one, _count_peaks(peaks)
    for candidate in candidates:
        found = _carried(runs, candidate, rng)
        if found is None:
            continue
        if len(found) == n_peaks > 1:
            is_kept = is_better(found, one, runs, PEAKS) and not is_better(best, found, runs)
        else:
            is_kept = is_better(found, best, runs)
        if not is_kept and len(found) >= n_peaks:
            break
        best = found if is_kept else best
    return None if best is one else best


def _count_peaks(mixture: GaussianMixture) -> int:
    """Peaks of y with hardly anything between them: neighbours apart by more than 2.5 times the sum of their sds."""
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
    starts = list(_starts(runs, last, k, rng_start))
    tried = share_out(lambda label, child: run_rounds(runs, label, 1, child), starts, rng_rounds.spawn(len(starts)))
    found = _worth_going_on([fit for fit in tried if fit is not None], last, runs)
    found = share_out(lambda fit, child: _go_on(runs, fit, N_FIRST - 1, child), found, rng_rounds.spawn(len(found)))
    if not found:
        return None
    best = max(found, key=lambda fit: float(fit.regimes.score @ runs.weight))
    mixture = find_regimes(runs.y, runs.weight)
    if len(mixture) == k:  # labels that a reader sees in y, where they do as well
        peaks = run_rounds(runs, responsibilities(evidence_of(mixture, runs.y), mixture.share), N_FIRST, rng_rounds)
        if peaks is not None and not is_above(best.regimes.score, peaks.regimes.score, runs.weight, HINT_Z):
            best = peaks
    return with_noise(runs, _go_on(runs, best, N_MORE, rng_rounds).whole(), rng_rounds)


def _worth_going_on(fits: list[Round], last: Regimes, runs: Runs) -> list[Round]:
    """Fits of one round that are neither hopeless against one regime less nor far behind the best of them."""
    hopeful = [fit for fit in fits if not is_above(last.score, fit.regimes.score, runs.weight, HOPELESS)]
    if not hopeful:
        return []
    best = max(hopeful, key=lambda fit: float(fit.regimes.score @ runs.weight))
    return [fit for fit in hopeful if not is_above(best.regimes.score, fit.regimes.score, runs.weight, HOPELESS)]


def _go_on(runs: Runs, fit: Round, n_rounds: int, rng: np.random.Generator) -> Round:
    found = run_rounds(runs, fit.regimes.label, n_rounds, rng, fit)
    assert found is not None, "what it begins from has runs enough"
    return found


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
