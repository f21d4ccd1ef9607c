"""Scales of parameters and summaries: what the chain sees is of order one and without a half-open end.

A parameter with one finite end, such as a rate, is replaced by the logarithm of its distance from that end; one that is
positive and spread over decades by its own logarithm; any other stays as it is and is kept in its support by
truncation. Then both parameters and summaries are centred and divided by their standard deviation. Summaries of
long tails are tamed by a logarithm before.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from genbayes.arrays import BoolArray, FloatArray
from genbayes.errors import UnreadableFile
from genbayes.persistence import FOREIGN, State

AS_IS, LOG_ABOVE, LOG_BELOW, LOG = 0, 1, 2, 3  # theta, log(theta - lower), log(upper - theta), log(theta)
DECADES = 20.0  # ratio of the ends of a positive support from which on a skewed parameter is taken by its logarithm
SKEWED = 1.0  # skewness from which on it counts as skewed
TINY = 1e-300  # distance from an end that stands for none: its logarithm is finite


@dataclass(frozen=True)
class ThetaScale:
    """An invertible map from parameters in their support to numbers of order one.

    Attributes:
        kind: What is done to each parameter before standardising, (k,).
        origin: The end that a logarithm measures from, (k,).
        lower, upper: Ends of the support, or of the part of it that was simulated, each (k,).
        center, scale: Mean and standard deviation after it, each (k,).
    """

    kind: np.ndarray[tuple[int], np.dtype[np.int64]]
    origin: FloatArray
    lower: FloatArray
    upper: FloatArray
    center: FloatArray
    scale: FloatArray

    @classmethod
    def learn(
        cls,
        theta: FloatArray,
        lower: FloatArray,
        upper: FloatArray,
        within: tuple[FloatArray, FloatArray] | None = None,
    ) -> ThetaScale:
        """The scale of parameters theta, shape (n, k), in their support.

        Args:
            theta: Parameters, shape (n, k).
            lower: Lower ends of the support, (k,).
            upper: Upper ends, (k,).
            within: Ends of the part of it that theta was drawn from; None for all.

        Example:
            >>> scale = ThetaScale.learn(np.array([[1.0], [np.e]]), np.zeros(1), np.full(1, np.inf))
            >>> scale.transform(np.array([[1.0], [np.e]])).ravel()
            array([-1.,  1.])
        """
        kind = np.array([_kind(theta[:, j], lower[j], upper[j]) for j in range(theta.shape[1])], dtype=np.int64)
        origin = np.choose(kind, [np.zeros(len(kind)), lower, upper, np.zeros(len(kind))])
        lower, upper = within or (lower, upper)
        plain = cls(kind, origin, lower, upper, np.zeros(len(lower)), np.ones(len(lower)))
        bent = plain._bend(theta)
        scale = bent.std(axis=0)
        return cls(kind, origin, lower, upper, bent.mean(axis=0), np.where(scale > 0, scale, 1.0))

    def transform(self, theta: FloatArray) -> FloatArray:
        """Parameters to scaled ones, (..., k) -> (..., k)."""
        return (self._bend(theta) - self.center) / self.scale

    def inverse(self, t: FloatArray) -> FloatArray:
        """Scaled parameters to parameters inside the support, (..., k) -> (..., k)."""
        bent = t * self.scale + self.center
        grown = np.exp(np.where(self.kind == AS_IS, 0.0, bent))
        theta = np.choose(self.kind, [bent, self.origin + grown, self.origin - grown, grown])
        return np.asarray(np.clip(theta, self.lower, self.upper))

    def log_slope(self, theta: FloatArray) -> FloatArray:
        """Sum of log |d scaled / d theta| over the parameters, (..., k) -> (...): what a log density gains."""
        return np.asarray(-(np.log(self.scale) + np.log(self._distance(theta))).sum(axis=-1))

    @property
    def edges(self) -> tuple[FloatArray, FloatArray]:
        """Ends of the support on the scaled line, each (k,); infinite where the map has opened them."""
        ends = []
        for edge in (self.lower, self.upper):
            opened = (self.kind != AS_IS) & (edge == self.origin)
            ends.append(np.where(opened, -np.inf, self.transform(np.where(opened, self.origin + 1, edge))))
        return np.minimum(*ends), np.maximum(*ends)  # a falling map turns them round

    @property
    def falls(self) -> BoolArray:
        """Where the map turns the order round, (k,)."""
        return np.asarray(self.kind == LOG_BELOW)

    def _bend(self, theta: FloatArray) -> FloatArray:
        return np.where(self.kind == AS_IS, theta, np.log(self._distance(theta)))

    def _distance(self, theta: FloatArray) -> FloatArray:
        """What the logarithm is taken of; 1 where none is, (..., k)."""
        with np.errstate(invalid="ignore"):
            away = np.choose(self.kind, [np.ones_like(theta), theta - self.origin, self.origin - theta, theta])
        return np.asarray(np.maximum(away, TINY))

    def to_state(self) -> State:
        """Kinds, ends and moments; infinite ends are kept as arrays hold them."""
        names = ("kind", "origin", "lower", "upper", "center", "scale")
        return State("ThetaScale", {}, {name: getattr(self, name) for name in names})

    @classmethod
    def from_state(cls, state: State) -> ThetaScale:
        """The scale that a state describes."""
        kind = state.whole_array("kind", (None,), at_least=AS_IS, below=LOG + 1)
        lower, upper = (state.array(name, kind.shape, finite=False).astype(np.float64) for name in ("lower", "upper"))
        if not (lower < upper).all():
            raise UnreadableFile(f"ends of the support in the model file must be in order, got others; {FOREIGN}")
        origin, center = (state.array(name, kind.shape).astype(np.float64) for name in ("origin", "center"))
        return cls(
            kind, origin, lower, upper, center, state.array("scale", kind.shape, positive=True).astype(np.float64)
        )


@dataclass(frozen=True)
class SummaryScale:
    """Standardised summaries; those of one sign and long tails by their logarithm first.

    Attributes:
        shift: What is added before the logarithm is taken, (p,); NaN where none is.
        center, scale: Mean and standard deviation after it, each (p,).
    """

    shift: FloatArray
    center: FloatArray
    scale: FloatArray

    @classmethod
    def learn(cls, s: FloatArray, *, may_bend: bool = True) -> SummaryScale:
        """The scale of summaries, shape (n, p), none of them constant; with `may_bend` by logarithms where tails ask.

        Example:
            >>> SummaryScale.learn(np.array([[0.0], [2.0]])).transform(np.array([[1.0]]))
            array([[0.]])
        """
        shift = np.array([_shift(column) if may_bend else np.nan for column in s.T], dtype=np.float64)
        plain = cls(shift, np.zeros(len(shift)), np.ones(len(shift)))
        bent = plain._bend(s)
        return cls(shift, bent.mean(axis=0), np.where(bent.std(axis=0) > 0, bent.std(axis=0), 1.0))

    def transform(self, s: FloatArray) -> FloatArray:
        """Summaries to scaled ones, (..., p) -> (..., p)."""
        return (self._bend(s) - self.center) / self.scale

    def _bend(self, s: FloatArray) -> FloatArray:
        is_log = np.isfinite(self.shift)
        shift = np.where(is_log, self.shift, 1.0)
        # below -shift/2 the logarithm goes on as the straight line that touches it: finite for any observation
        floor = shift / 2
        away = np.maximum(s + shift, floor)
        log = np.log(away) + np.minimum(s + shift - floor, 0.0) / floor
        return np.where(is_log, log, s)

    def to_state(self) -> State:
        """Shifts and moments."""
        return State("SummaryScale", {}, {name: getattr(self, name) for name in ("shift", "center", "scale")})

    @classmethod
    def from_state(cls, state: State) -> SummaryScale:
        """The scale that a state describes."""
        shift = state.array("shift", (None,), finite=False).astype(np.float64)
        center, scale = state.array("center", shift.shape), state.array("scale", shift.shape, positive=True)
        return cls(shift, center.astype(np.float64), scale.astype(np.float64))


def _kind(theta: FloatArray, lower: float, upper: float) -> int:
    if np.isfinite(lower) and np.isfinite(upper):
        is_wide = lower > 0 and upper / lower > DECADES
        return LOG if is_wide and skewness(theta) > SKEWED else AS_IS
    if np.isfinite(lower):
        return LOG_ABOVE
    return LOG_BELOW if np.isfinite(upper) else AS_IS


def _shift(s: FloatArray) -> float:
    """What to add to a summary before its logarithm: its lower quartile size; NaN for no logarithm."""
    if s.min() < 0 or skewness(s) <= SKEWED:
        return float("nan")
    positive = s[s > 0]
    return float(np.quantile(positive, 0.01)) if len(positive) else float("nan")


def skewness(values: FloatArray) -> float:
    """Third central moment over the third power of the standard deviation, (n,) -> a number."""
    spread = values.std()
    return float(((values - values.mean()) ** 3).mean() / spread**3) if spread > 0 else 0.0
