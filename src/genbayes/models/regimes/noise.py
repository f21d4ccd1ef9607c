"""What a GP leaves of a response: noise that grows with x, and noise that is not normal, from left-out residuals.

    y = m(x) + s(x) h(x) e:   m, s the mean and sd of the GP without the run; log h another smooth function of x;
                              e of any shape, mean square 1.

Each is taken only where it makes left-out residuals clearly more probable: for most responses h = 1 and e is normal.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp, ndtr

from genbayes.arrays import FloatArray
from genbayes.distribution import Normal, PredictiveDistribution, QuantileFunction
from genbayes.distribution.quantile_function import GRID
from genbayes.models.gp import FittedGP, Replicates, fit_gp
from genbayes.persistence import State

FEWEST = 60  # residuals that a shape or a pace of noise is learnt from
MOST_FOR_SCALE, MOST_FOR_SHAPE = 1_000, 2_000  # of which as many say the same
FEW_FOR_SCALE = 400  # that say where to look, and whether to
FLOOR = 0.1  # added to |r| before its logarithm, so that residuals near 0 say no more than that they are small
POWERS = np.linspace(0.0, 3.0, 31)  # of the smoothed log |r|, tried for log h
TAIL, TAIL_SD = 0.02, 4.0  # share and sd of a wide normal beside the kernel density: an outlier is not impossible
MOST_LOG_SCALE = 1.6  # |log h|: nowhere is noise more than five times larger or smaller than foretold
TYPICAL = 3.0  # root mean square of residuals beyond which, or its inverse, they say nothing: y is constant
MIN_Z = 2.0  # standard errors by which left-out residuals must be more probable
HINT_Z = 1.0  # the same, for a hint
MOST_GAIN = 4.0  # in log density, that one run may count for
MIN_GAIN = 0.01  # in mean log density: less is not worth another function


@dataclass(frozen=True)
class Noise:
    """Noise about a GP's mean in units of its sd.

    Attributes:
        pace: GP of the smoothed log |r|; None for h = 1.
        power: log h = shift + power times it.
        shift: See there.
        shape: Quantiles of e at `GRID`; None for normal.
    """

    pace: FittedGP | None = None
    power: float = 0.0
    shift: float = 0.0
    shape: FloatArray | None = None

    def scale(self, Z: FloatArray) -> FloatArray:
        """The factor h at scaled inputs, (n, p) -> (n,)."""
        if self.pace is None:
            return np.ones(len(Z))
        return self._factor(self.pace.predict(Z)[0])

    def scale_left_out(self, Z: FloatArray) -> FloatArray:
        """The same from the residuals of other runs where it has learnt from those at Z."""
        if self.pace is None:
            return np.ones(len(Z))
        return self._factor(self.pace.leave_out(Z)[0])

    def _factor(self, smooth: FloatArray) -> FloatArray:
        return np.asarray(np.exp(np.clip(self.shift + self.power * smooth, -MOST_LOG_SCALE, MOST_LOG_SCALE)))

    def log_density(self, Z: FloatArray, r: FloatArray) -> FloatArray:
        """Log density of residuals at scaled inputs that it has not learnt from, (n, p) and (n,) -> (n,)."""
        h = self.scale(Z)
        if self.shape is None:
            return _normal(r, h)
        e = r / h
        width = np.diff(np.interp(e[:, None] + [-0.1, 0.1], self.shape, GRID), axis=1)[:, 0]  # P(|e' - e| < 0.1)
        tail = -0.5 * (e / TAIL_SD) ** 2 - np.log(TAIL_SD) - 0.5 * np.log(2 * np.pi)
        return np.asarray(np.log((1 - TAIL) * width / 0.2 + TAIL * np.exp(tail) + 1e-300) - np.log(h))

    def about(self, mean: FloatArray, sd: FloatArray) -> PredictiveDistribution:
        """The distributions about means, (n,), with sds h s, (n,)."""
        if self.shape is None:
            return Normal(mean, sd)
        return QuantileFunction(GRID, mean[:, None] + sd[:, None] * self.shape)

    def to_state(self) -> State:
        """What a file keeps."""
        arrays = {} if self.shape is None else {"shape": self.shape}
        state = State("Noise", {"power": self.power, "shift": self.shift, "has_pace": self.pace is not None}, arrays)
        return state if self.pace is None else state.with_part("pace", self.pace.to_state())

    @classmethod
    def from_state(cls, state: State, p: int) -> Noise:
        """The noise of p inputs that a file describes."""
        pace = FittedGP.from_state(state.nested("pace"), p) if state.typed("has_pace", bool) else None
        shape = state.array("shape", (len(GRID),)) if "shape" in state.arrays else None
        return cls(pace, state.number("power"), state.number("shift"), shape)


NORMAL = Noise()


def fit_noise(
    Z: FloatArray, r: FloatArray, weight: FloatArray, rng: np.random.Generator, n_errors: float = MIN_Z
) -> tuple[Noise, FloatArray]:
    """Learn the noise from standardised left-out residuals.

    Args:
        Z: Scaled inputs, shape (n, p).
        r: Residuals in units of the sd that was foretold, shape (n,).
        weight: Positive weights, shape (n,).
        rng: Chooses rows where there are many.
        n_errors: Standard errors by which left-out residuals must be more probable.

    Returns:
        The noise, and the log density of each residual by what the others say, shape (n,).

    Example:
        >>> rng = np.random.default_rng(0)
        >>> r = rng.exponential(size=400) - 1
        >>> noise, density = fit_noise(np.zeros((400, 1)) + np.arange(400.0)[:, None] / 115, r, np.ones(400), rng)
        >>> noise.pace is None, noise.shape is not None
        (True, True)
    """
    best, density = NORMAL, _normal(r, np.ones(len(r)))
    size = float(np.sqrt(np.average(r**2, weights=weight)))
    if len(r) < FEWEST or float(weight.sum()) < FEWEST or not 1 / TYPICAL < size < TYPICAL:
        return best, density
    uneven = fit_scale(Z, r, weight, rng)
    h = uneven.scale_left_out(Z)
    if is_gain(found := _normal(r, h), density, weight, n_errors):
        best, density = uneven, found
    h = best.scale_left_out(Z)
    if is_gain(found := _left_out_density(r / h, weight) - np.log(h), density, weight, n_errors):
        best, density = Noise(best.pace, best.power, best.shift, _smooth_quantiles(r / h, weight)), found
    return best, density


def shows_structure(Z: FloatArray, r: FloatArray, weight: FloatArray, uneven: Noise) -> bool:
    """Whether left-out residuals hint at uneven noise or at a shape that is not normal: a cheap and generous test.

    Where a response jumps, residuals of one GP for all are large near the boundary. `uneven` is what `fit_scale` makes
    of these residuals.
    """
    normal = _normal(r, np.ones(len(r)))
    if len(r) < FEWEST // 2:
        return False
    if is_gain(_normal(r, uneven.scale_left_out(Z)), normal, weight, HINT_Z):
        return True
    return is_gain(_left_out_density(r, weight), normal, weight, HINT_Z)


def is_gain(found: FloatArray, rival: FloatArray, weight: FloatArray, n_errors: float = MIN_Z) -> bool:
    """Whether log densities are higher than a rival's by so many standard errors and one per cent, (n,) each."""
    mean, error = mean_gain(found, rival, weight)
    return mean > max(n_errors * error, MIN_GAIN)


def mean_gain(found: FloatArray, rival: FloatArray, weight: FloatArray) -> tuple[float, float]:
    """Mean of the paired differences of log densities, (n,) each, and its standard error; no run decides alone."""
    gain = np.clip(found - rival, -MOST_GAIN, MOST_GAIN)
    mean = float(np.average(gain, weights=weight))
    return mean, float(np.sqrt(np.average((gain - mean) ** 2, weights=weight) / len(gain)))


def _normal(r: FloatArray, h: FloatArray) -> FloatArray:
    return np.asarray(-0.5 * np.log(2 * np.pi) - np.log(h) - 0.5 * (r / h) ** 2)


def fit_scale(Z: FloatArray, r: FloatArray, weight: FloatArray, rng: np.random.Generator) -> Noise:
    """The h that makes normal residuals most probable, along the smoothed log |r|; r^2 / h^2 has mean 1."""
    rows = np.sort(rng.permutation(len(r))[:MOST_FOR_SCALE])
    Z, r, weight = Z[rows], r[rows], weight[rows]
    u = np.log(np.abs(r) + FLOOR)
    u = (u - float(u.mean())) / max(float(u.std()), 1e-6)
    groups = Replicates.collect(Z, u, weight)
    few = groups.take(np.sort(rng.permutation(len(groups))[:FEW_FOR_SCALE]))
    pace = FittedGP.at(fit_gp(few, rng, n_starts=1).parameters, groups, rng)
    quick = _along(pace, Z, r, weight)
    if len(few) == len(groups) or not is_gain(
        _normal(r, quick.scale_left_out(Z)), _normal(r, np.ones(len(r))), weight, 0
    ):
        return quick
    return _along(fit_gp(groups, rng, start=pace.parameters), Z, r, weight)


def _along(pace: FittedGP, Z: FloatArray, r: FloatArray, weight: FloatArray) -> Noise:
    """The power of the smoothed log |r| that makes residuals most probable, (n, p), (n,) and (n,)."""
    smooth, share = pace.leave_out(Z)[0], weight / weight.sum()

    def fit(power: float) -> tuple[float, float]:
        log_h = power * smooth
        shift = 0.5 * float(np.log(max(share @ (r * np.exp(-log_h)) ** 2, 1e-12)))
        return shift + float(share @ log_h), shift  # the loss, up to a constant

    losses = [fit(float(power)) for power in POWERS]
    best = int(np.argmin([loss for loss, _ in losses]))
    return Noise(pace, float(POWERS[best]), losses[best][1])


def _bandwidth(e: FloatArray) -> float:
    """Silverman's, from the narrower of sd and quartiles."""
    lower, upper = np.quantile(e, [0.25, 0.75])
    narrow = min(float(e.std()), float(upper - lower) / 1.34 or np.inf)
    return 0.9 * narrow * float(len(e) ** -0.2) + 1e-3


def _left_out_density(e: FloatArray, weight: FloatArray) -> FloatArray:
    """Log kernel density of each residual from the others, with a wide tail, (n,)."""
    rows = np.linspace(0, len(e) - 1, min(len(e), MOST_FOR_SHAPE)).astype(np.int64)
    bandwidth, at = _bandwidth(e), e[rows]
    log_share = np.log(weight[rows] / weight[rows].sum())
    density = np.empty(len(e))
    for part in np.array_split(np.arange(len(e)), max(1, len(e) // 500)):
        table = log_share - 0.5 * ((e[part, None] - at) / bandwidth) ** 2
        table[part[:, None] == rows] = -np.inf
        density[part] = logsumexp(table, axis=1) - np.log(bandwidth)
    tail = -0.5 * (e / TAIL_SD) ** 2 - np.log(TAIL_SD)
    return np.asarray(np.logaddexp(np.log(1 - TAIL) + density, np.log(TAIL) + tail) - 0.5 * np.log(2 * np.pi))


def _smooth_quantiles(e: FloatArray, weight: FloatArray) -> FloatArray:
    """Quantiles of a kernel density of the residuals at `GRID`, shrunk so that it spreads no further than they."""
    rows = np.linspace(0, len(e) - 1, min(len(e), MOST_FOR_SHAPE)).astype(np.int64)
    share, bandwidth = weight[rows] / weight[rows].sum(), _bandwidth(e)
    mean = float(share @ e[rows])
    sd = max(float(np.sqrt(share @ (e[rows] - mean) ** 2)), 1e-6)
    e = mean + (e[rows] - mean) * sd / np.hypot(sd, bandwidth)
    at = np.unique(np.concatenate([e + shift * bandwidth for shift in (-2.5, -1.0, 0.0, 1.0, 2.5)]))
    at = at[np.linspace(0, len(at) - 1, min(len(at), 1_000)).astype(np.int64)]
    cdf = ndtr((at[:, None] - e) / bandwidth) @ share
    return np.asarray(np.interp(GRID, cdf, at))
