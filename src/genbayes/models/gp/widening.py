"""How wide the intervals of a fitted GP must be: it was fitted to the very runs that it is sure of.

Its runs, each left out in turn, ask for one factor of all standard deviations; that the length
scales were chosen to suit them is added by a rule.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np
from scipy.spatial import cKDTree
from scipy.special import ndtri

from genbayes.arrays import BoolArray, FloatArray
from genbayes.metrics import believed, best_spread
from genbayes.models.gp.estimation import EXACT_LIMIT
from genbayes.models.gp.likelihood import match_rows
from genbayes.models.gp.search import INERT

# Distinct inputs at which half of what they ask for is believed.
SPREAD_ROWS = 20
FEWEST_RESIDUALS = 5  # that a factor is read off
TWINS, USUAL_NEIGHBOUR = 0.01, 8  # an input this much nearer than the eighth usually is has almost a twin
STANDARD_NORMAL: FloatArray = np.asarray(ndtri((np.arange(50) + 0.5) / 50))  # its quantiles at 50 levels


@runtime_checkable
class LeavesOut(Protocol):
    """A fitted GP that can say what it would have said of its runs without them."""

    def leave_out(self, Z: FloatArray, /, *, by_refits: bool = True) -> tuple[FloatArray, FloatArray, FloatArray]:
        """As `FittedProcess.predict`, but at an input that it was fitted to without the runs there."""

    @property
    def is_refitted(self) -> bool:
        """Whether `leave_out` may do so by refits."""

    @property
    def length_scales(self) -> FloatArray:
        """Length scales of the mean process, shape (p,)."""

    @property
    def distinct_inputs(self) -> FloatArray:
        """Inputs that it was fitted to, shape (u, p)."""


def optimism(Z: FloatArray) -> float:
    """Share by which errors of new runs exceed leave-one-out errors at parameters estimated from all runs.

    About (p + 1) / n for n runs of p inputs: a parameter for each input, and the noise. On five formulas of 2 to 12
    inputs new runs erred 5 to 16% more at n = 100 and 0 to 9% more at n = 200, each known to about 5%.

    Args:
        Z: Scaled inputs of the runs, shape (n, p).
    """
    return min(1.0, float(Z.shape[1] + 1) / len(Z))


def widening(length: FloatArray, n: int) -> float:
    """Share by which intervals of a GP are too narrow since it is fitted to the very runs that it knows.

    2 b / (1 + b), b = (a + 1) / n for n distinct inputs and a length scales that are not inert, and the nugget. That is
    more than errors are larger (`optimism`): where a fit went astray by chance, it is also the more sure of itself. On
    draws of five families of functions, 15 runs of three inputs to 400 of ten, 90% intervals held 0.75 to 0.91 without
    it and 0.87 to 0.94 with it, at no larger CRPS.

    Args:
        length: Length scales, shape (p,).
        n: Distinct inputs.

    Example:
        >>> round(widening(np.array([1.0, 2.0, 1e5]), 27), 6)
        0.2
    """
    n_active = int(np.sum(length < INERT * length.min()))
    b = (n_active + 1) / n
    return 2 * b / (1 + b)


def held_out_spread(gp: LeavesOut, Z: FloatArray, t: FloatArray, weight: FloatArray) -> float:
    """Factor of the standard deviations that runs ask for, each seen by the others alone.

    a = (1 + widening) c^(u / (u + 20)), c asked for by runs left out in closed form (`asked_spread`), believed the
    less the fewer the u distinct inputs. Where the GP was refitted, sqrt(a b) with the b that runs left out by refits
    ask for: those need no allowance, but are as few.

    Args:
        gp: The fitted process.
        Z: Scaled inputs of the runs, shape (n, p).
        t: Scaled responses, shape (n,).
        weight: Positive weights, shape (n,).
    """
    u = len(gp.distinct_inputs)
    if u < 2:
        return 1.0
    c = asked_spread(gp, Z, t, weight, by_refits=False)
    allowed = 1 + widening(gp.length_scales, u)
    if c is None:
        return allowed
    factor = allowed * believed(c, u, SPREAD_ROWS)
    refitted = asked_spread(gp, Z, t, weight) if gp.is_refitted else None
    return factor if refitted is None else float(np.sqrt(factor * refitted))


def asked_spread(
    gp: LeavesOut, Z: FloatArray, t: FloatArray, weight: FloatArray, *, by_refits: bool = True
) -> float | None:
    """The factor c of least mean CRPS of N(0, c^2) at standardised residuals of runs left out; None of fewer than five.

    Residuals count alike whatever their scale, for the factor is one of scales (`genbayes.metrics.spread`). Below 1 it
    stops where nine in ten residuals would still lie within their 90% intervals: a few large ones, as beside a jump,
    leave the CRPS to the many small ones. Runs that have almost a twin say nothing, for the twin is not left out with
    them.

    Args:
        gp: The fitted process, of at least two distinct inputs.
        Z: Scaled inputs of the runs, shape (n, p).
        t: Scaled responses, shape (n,).
        weight: Positive weights, shape (n,).
        by_refits: Whether residuals are those of refits, where the GP has them.
    """
    mean, latent, noise = gp.leave_out(Z, by_refits=by_refits)
    alone = stand_alone(gp.distinct_inputs / gp.length_scales)[match_rows(gp.distinct_inputs, Z)]
    if alone.sum() < FEWEST_RESIDUALS:
        return None
    r, weight = ((t - mean) / np.sqrt(latent + noise))[alone], weight[alone]
    c = best_spread(np.broadcast_to(STANDARD_NORMAL, (len(r), len(STANDARD_NORMAL))), r, weight)
    if c < 1:
        c = min(1.0, max(c, _ninth_tenth(np.abs(r), weight) / float(ndtri(0.95))))
    return c


def stand_alone(W: FloatArray) -> BoolArray:
    """Whether each scaled input, (u, p), has no other far nearer than inputs usually are, (u,)."""
    if len(W) > EXACT_LIMIT:
        return np.ones(len(W), dtype=bool)  # so many lie close together anyway
    distance, _ = cKDTree(W).query(W, k=min(USUAL_NEIGHBOUR, len(W) - 1) + 1)
    return np.asarray(distance[:, 1] >= TWINS * np.median(distance[:, -1]))


def _ninth_tenth(size: FloatArray, weight: FloatArray) -> float:
    """The value that nine tenths of the weight do not exceed, (n,) and (n,) -> a number."""
    order = np.argsort(size)
    reached = np.cumsum(weight[order]) / weight.sum()
    return float(size[order][np.searchsorted(reached, 0.9 - 1e-12)])
