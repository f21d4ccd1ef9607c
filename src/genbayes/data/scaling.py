"""Invertible standardisation: inputs and features to unit scale, responses to an unbounded unit scale.

The network sees numbers of order one whatever the units were. Inputs: numeric columns are centred and divided by
their standard deviation, categories become one-hot blocks. Responses: bounds are removed by a smooth increasing
map g, then the result is standardised. Weighted throughout, so that a weight of 2 equals a row given twice.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from genbayes.arrays import FloatArray
from genbayes.errors import InvalidInput
from genbayes.validation import check_finite, describe_rows

Bounds = tuple[float | None, float | None]

# A response may lie exactly on its bound, where g is infinite: g is taken this share of the typical distance away.
EDGE = 1e-3
OUTER = 0.025  # share of the responses at either end that are not their middle
KNEE = 20.0  # standard deviations of the middle beyond which responses far out are told apart by their logarithm
FARTHEST = 1e25  # standard deviations off the mean that inputs may lie; networks compute with 32 bits, up to 3e38
MOST_LOG = 600.0  # exponent that does not overflow
FAR_OUT = 20.0  # times the spread of the middle, beyond which that of all is the work of a few responses


def weighted_moments(values: FloatArray, weight: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Weighted mean and standard deviation of each column, free of overflow; a constant column's is its own size.

    Args:
        values: Finite numbers, shape (n,) or (n, p).
        weight: Positive weights, shape (n,).

    Returns:
        Mean and standard deviation, each of shape () or (p,).

    Example:
        >>> weighted_moments(np.array([1.0, 3.0]), np.array([1.0, 1.0]))
        (array(2.), array(1.))
    """
    share = weight / weight.sum()
    largest = np.abs(values).max(axis=0)
    unit = np.where(largest > 0, largest, 1.0)  # squares of numbers near 1e300 overflow, of numbers near 1e-300 vanish
    scaled = values / unit
    center = share @ scaled
    scale = np.sqrt(share @ (scaled - center) ** 2)
    rounding = 4 * np.finfo(np.float64).eps * np.abs(center)  # a constant column's spread is rounding noise
    scale = np.where(scale > rounding, scale, 1.0)
    return np.asarray(center * unit), np.asarray(scale * unit)


def robust_moments(values: FloatArray, weight: FloatArray) -> tuple[float, float]:
    """Weighted mean and standard deviation of responses, shape (n,), those of their middle where a few are far out.

    Where the standard deviation is more than 20 times that of the middle 95%, it is that of a few rows alone, and on
    its scale the others are all the same; then mean and standard deviation of the middle are taken. Tails of a
    lognormal distribution with sigma = 2 and regimes of 3% of the rows are within the 20.

    Example:
        >>> y = np.append(np.linspace(-1, 1, 199), 1e6)
        >>> [round(float(part), 2) for part in (*weighted_moments(y, np.ones(200)), *robust_moments(y, np.ones(200)))]
        [5000.0, 70533.68, 0.01, 0.55]
    """
    center, scale = (float(part) for part in weighted_moments(values, weight))
    order = np.argsort(values, kind="stable")
    share = np.cumsum(weight[order]) / weight.sum()
    middle = order[(share > OUTER) & (share <= 1 - OUTER)]
    if len(middle) < 2 or values[middle].min() == values[middle].max():
        return center, scale
    inner_center, inner_scale = (float(part) for part in weighted_moments(values[middle], weight[middle]))
    return (inner_center, inner_scale) if scale > FAR_OUT * inner_scale else (center, scale)


def as_bounds(bounds: Bounds | None) -> Bounds:
    """The user's `y_bounds` as a pair, checked.

    Example:
        >>> as_bounds(None), as_bounds((0, None))
        ((None, None), (0.0, None))
    """
    if bounds is None:
        return (None, None)
    try:
        lower, upper = (None if bound is None else float(bound) for bound in bounds)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"y_bounds must be (lower, upper), got {bounds!r}; either may be None") from error
    finite = all(bound is None or np.isfinite(bound) for bound in (lower, upper))
    if not finite or (lower is not None and upper is not None and lower >= upper):
        raise InvalidInput(f"y_bounds must be finite or None with lower < upper, got {bounds!r}; use None for no bound")
    return lower, upper


def check_within(y: FloatArray, bounds: Bounds) -> FloatArray:
    """The responses, shape (n,), if all lie within their bounds; otherwise which do not.

    Example:
        >>> check_within(np.array([1.0, 2.0]), (0.0, None))
        array([1., 2.])
    """
    lower, upper = bounds
    outside = np.zeros(len(y), dtype=bool)
    if lower is not None:
        outside |= y < lower
    if upper is not None:
        outside |= y > upper
    if outside.any():
        raise InvalidInput(f"y must lie within y_bounds={bounds}, got values outside in {describe_rows(outside)}")
    return y


def bent(X: FloatArray, bend: FloatArray) -> FloatArray:
    """asinh(x / s) of the inputs that have a scale s > 0, the others as they are, (n, d) -> (n, d).

    Example:
        >>> bent(np.array([[1e4, 2.0]]), np.array([1.0, 0.0])).round(2)
        array([[9.9, 2. ]])
    """
    if not bend.any():
        return X
    return np.asarray(np.where(bend > 0, np.arcsinh(X / np.where(bend > 0, bend, 1.0)), X))


@dataclass(frozen=True)
class InputScaler:
    """Z = T(x) to network inputs: standardised numeric columns, then one-hot blocks of the categorical ones.

    Attributes:
        center: Mean of each numeric column, shape (p - c,).
        scale: Standard deviation of each numeric column, shape (p - c,).
        numeric: Indices of the numeric columns.
        categorical: Pairs (column, number of categories).
        bend: Scale s of asinh(x / s) for each numeric column, 0 where x itself is taken, (p - c,); empty for none.
    """

    center: FloatArray
    scale: FloatArray
    numeric: tuple[int, ...]
    categorical: tuple[tuple[int, int], ...] = field(default=())
    bend: FloatArray = field(default_factory=lambda: np.zeros(0))

    @classmethod
    def learn(
        cls,
        Z: FloatArray,
        weight: FloatArray,
        categorical: tuple[tuple[int, int], ...] = (),
        bend: FloatArray | None = None,
    ) -> InputScaler:
        """The scaler of features Z, shape (n, p), with row weights, shape (n,), and bends of the numeric columns.

        Example:
            >>> scaler = InputScaler.learn(np.array([[0.0], [2.0]]), np.ones(2))
            >>> scaler.transform(np.array([[2.0]]))
            array([[1.]])
        """
        coded = {column for column, _ in categorical}
        numeric = tuple(j for j in range(Z.shape[1]) if j not in coded)
        bend = np.zeros(0) if bend is None else bend
        center, scale = weighted_moments(bent(Z[:, list(numeric)], bend), weight)
        return cls(center, scale, numeric, categorical, bend)

    @property
    def blocks(self) -> tuple[tuple[int, int], ...]:
        """Where each category's one-hot block lies in the result: pairs (start, stop)."""
        edges = np.cumsum([len(self.numeric), *(size for _, size in self.categorical)])
        return tuple((int(a), int(b)) for a, b in pairwise(edges))

    @property
    def n_inputs(self) -> int:
        """Number of columns that `transform` takes."""
        return len(self.numeric) + len(self.categorical)

    @property
    def n_outputs(self) -> int:
        """Number of columns that `transform` returns."""
        return len(self.numeric) + sum(size for _, size in self.categorical)

    def reach(self, d: int) -> FloatArray:
        """Ends between which the first d columns can be computed with, shape (2, d)."""
        room = np.full((2, self.n_inputs), np.inf)
        linear = self.bend == 0 if len(self.bend) else np.ones(len(self.numeric), dtype=bool)
        with np.errstate(over="ignore"):
            room[:, list(self.numeric)] = np.where(linear, FARTHEST * self.scale, np.inf)
        center = np.zeros(self.n_inputs)
        center[list(self.numeric)] = np.where(linear, self.center, 0.0)
        return np.asarray((center + np.array([[-1.0], [1.0]]) * room)[:, :d])

    def middle(self, d: int) -> FloatArray:
        """The first d columns of a row in the midst of those it was learnt from, categories by code, shape (1, d)."""
        row = np.zeros((1, self.n_inputs))
        row[0, list(self.numeric)] = self.center
        for k in np.flatnonzero(self.bend):
            row[0, self.numeric[k]] = self.bend[k] * np.sinh(np.clip(self.center[k], -MOST_LOG, MOST_LOG))
        return row[:, :d]

    def transform(self, Z: FloatArray) -> FloatArray:
        """Network inputs, (n, p) -> (n, n_outputs)."""
        out = np.zeros((len(Z), self.n_outputs))
        with np.errstate(over="ignore"):
            scaled = (bent(Z[:, list(self.numeric)], self.bend) - self.center) / self.scale
        out[:, : len(self.numeric)] = check_finite(scaled, "X on the scale of the model")
        row = np.arange(len(Z))
        for (column, _), (start, _) in zip(self.categorical, self.blocks, strict=True):
            out[row, start + Z[:, column].astype(np.int64)] = 1.0  # no table of size x size: levels may be many
        return out

    def inverse(self, out: FloatArray) -> FloatArray:
        """The features, categories by code, that `transform` makes these inputs of, (n, n_outputs) -> (n, p).

        Example:
            >>> scaler = InputScaler.learn(np.array([[0.0, 1.0], [2.0, 0.0]]), np.ones(2), ((1, 2),))
            >>> scaler.inverse(scaler.transform(np.array([[5.0, 1.0]])))
            array([[5., 1.]])
        """
        Z = np.empty((len(out), self.n_inputs))
        Z[:, list(self.numeric)] = self.center + self.scale * out[:, : len(self.numeric)]
        for k in np.flatnonzero(self.bend):
            Z[:, self.numeric[k]] = self.bend[k] * np.sinh(np.clip(Z[:, self.numeric[k]], -MOST_LOG, MOST_LOG))
        for (column, _), (start, stop) in zip(self.categorical, self.blocks, strict=True):
            Z[:, column] = out[:, start:stop].argmax(axis=1)
        return Z


@dataclass(frozen=True)
class ResponseScaler:
    """y to the scale on which the network predicts: z = (g(y) - center) / scale, g increasing.

    No bound: g(y) = y. One bound, at distance r from y: the inverse softplus s log(exp(r/s) - 1), which is nearly
    linear far from the bound and logarithmic near it, so that scores stay those of y itself. Two bounds: the logit.

    Attributes:
        center: Mean of g(y).
        scale: Standard deviation of g(y).
        bounds: (lower, upper), either may be None.
        bend: s, the distance from a single bound within which g bends.
        edge: Small shift that keeps g finite on the bound itself; 0 when no response lies there.
        knee: |z| beyond which the scale is logarithmic, so that responses far out do not drown the others; 0 for none.
    """

    center: float
    scale: float
    bounds: Bounds = (None, None)
    bend: float = 1.0
    edge: float = 0.0
    knee: float = 0.0

    @classmethod
    def learn(
        cls, y: FloatArray, weight: FloatArray, bounds: Bounds = (None, None), robust: bool = False
    ) -> ResponseScaler:
        """The scaler of responses y, shape (n,), which must lie within their bounds; `robust` as in `robust_moments`.

        Example:
            >>> scaler = ResponseScaler.learn(np.array([1.0, 2.0, 3.0]), np.ones(3), (0.0, None))
            >>> bool(scaler.inverse(np.array([-50.0]))[0] >= 0)
            True
        """
        check_within(y, bounds)
        lower, upper = bounds
        mean, spread = (float(part) for part in weighted_moments(y, weight))
        distance = _distance_to_bounds(mean, bounds)
        on_bound = bool(((y == lower) | (y == upper)).any())
        trial = cls(0.0, 1.0, bounds, bend=min(spread, distance), edge=EDGE * distance if on_bound else 0.0)
        g = trial._unbound(y)
        center, scale = (float(part) for part in weighted_moments(g, weight))
        inner = robust_moments(g, weight) if robust else (center, scale)
        return cls(*inner, bounds, trial.bend, trial.edge, knee=KNEE if inner[1] < scale else 0.0)

    @property
    def is_linear(self) -> bool:
        """Whether z is y but for center and scale, so that scores on either differ by the scale alone."""
        return self.bounds == (None, None) and not self.knee

    def transform(self, y: FloatArray) -> FloatArray:
        """Z = (g(y) - center) / scale, any shape; beyond the knee k it is k (1 + log(|z| / k)) with its sign."""
        z = (self._unbound(y) - self.center) / self.scale
        if not self.knee:
            return z
        beyond = np.maximum(np.abs(z) / self.knee, 1.0)
        return np.asarray(np.where(beyond > 1, np.sign(z) * self.knee * (1 + np.log(beyond)), z))

    def inverse(self, z: FloatArray) -> FloatArray:
        """Y = g^{-1}(center + scale z), any shape; never leaves the bounds."""
        if self.knee:
            beyond = np.clip(np.abs(z) / self.knee - 1, 0.0, MOST_LOG)
            z = np.where(beyond > 0, np.sign(z) * self.knee * np.exp(beyond), z)
        return self._rebound(self.center + self.scale * z)

    def _unbound(self, y: FloatArray) -> FloatArray:
        lower, upper = self.bounds
        if lower is not None and upper is not None:
            width = upper - lower + 2 * self.edge
            share = (y - lower + self.edge) / width
            return np.asarray(width / 4 * (np.log(share) - np.log1p(-share)))  # slope 1 in the middle
        if lower is not None:
            return lower + self._softplus_inverse(y - lower + self.edge)
        if upper is not None:
            return upper - self._softplus_inverse(upper - y + self.edge)
        return y

    def _rebound(self, g: FloatArray) -> FloatArray:
        lower, upper = self.bounds
        if lower is not None and upper is not None:
            width = upper - lower + 2 * self.edge
            y = lower - self.edge + width * 0.5 * (1 + np.tanh(2 * g / width))  # logistic(4 g / width)
        elif lower is not None:
            y = lower + self._softplus(g - lower) - self.edge
        elif upper is not None:
            y = upper - self._softplus(upper - g) + self.edge
        else:
            return g
        return np.clip(y, lower, upper)

    def _softplus(self, r: FloatArray) -> FloatArray:
        return np.asarray(self.bend * np.logaddexp(0.0, r / self.bend))

    def _softplus_inverse(self, r: FloatArray) -> FloatArray:
        # s log(exp(r/s) - 1) = r + s log(1 - exp(-r/s)), the form that cannot overflow
        return np.asarray(r + self.bend * np.log(-np.expm1(-r / self.bend)))


def _distance_to_bounds(value: float, bounds: Bounds) -> float:
    """Distance from a value to the nearer bound; 1 when it lies on the bound or there is none."""
    gaps = [abs(value - bound) for bound in bounds if bound is not None]
    return min(gaps) if gaps and min(gaps) > 0 else 1.0
