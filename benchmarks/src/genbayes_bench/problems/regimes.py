"""Formulas with regimes whose true distribution is known, and as many without: judges of how well jumps are found.

A formula says which regime an input lies in, the mean there and the distribution of the noise, so that the CRPS of the
truth itself can stand beside that of a model. Seeds below `FIRST_UNTOUCHED` are for development; those from it on
chose nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from scipy.stats import gamma, norm, t

from genbayes.arrays import FloatArray, IntArray
from genbayes.distribution import PredictiveDistribution, QuantileFunction
from genbayes_bench.problems.problem import Split

STREAM = 1_642  # keeps these draws apart from those of other problems
N_TEST = 2_000
FIRST_UNTOUCHED = 1_000
LEVELS: FloatArray = (np.arange(400) + 0.5) / 400  # of the true quantile function
NOISES: Mapping[str, FloatArray] = {  # quantiles of noise of mean 0 and sd 1
    "normal": norm.ppf(LEVELS),
    "skewed": (gamma.ppf(LEVELS, 1.5) - 1.5) / np.sqrt(1.5),
    "heavy": t.ppf(LEVELS, 3) / np.sqrt(3.0),
    "two peaks": np.sign(LEVELS - 0.5) * 0.95 + 0.31 * norm.ppf((2 * LEVELS) % 1.0),
}

Moments = tuple[FloatArray, FloatArray]  # mean and sd of a response, (n,) each
Truth = Callable[[FloatArray, np.random.Generator], Moments]  # inputs in the unit cube, and what is drawn once a draw


@dataclass(frozen=True)
class TrueDraw:
    """One draw and what is true of it.

    Attributes:
        split: Runs to learn from and to test on.
        truth: The true distribution of each test run.
    """

    split: Split
    truth: PredictiveDistribution

    @property
    def best_crps(self) -> float:
        """Mean CRPS of the truth at the test runs: no model is better but by chance."""
        return float(self.truth.crps(self.split.y_test).mean())


@dataclass(frozen=True)
class TrueFormula:
    """A formula in the unit cube whose distribution is known.

    Attributes:
        d: Inputs.
        moments: Mean and sd of the response; it may draw what is random once a draw, such as a surface.
        noise: Key of `NOISES`.
        n_regimes: Regimes there are; 1 for a formula without jumps.
        categorical: Columns that are categories 0 to 3.
    """

    d: int
    moments: Truth
    noise: str = "normal"
    n_regimes: int = 1
    categorical: tuple[int, ...] = ()

    def draw(self, n: int, seed: int, n_test: int = N_TEST) -> TrueDraw:
        """Training and test runs at uniform inputs.

        Example:
            >>> drawn = WITH_JUMPS["curve"].draw(300, 0)
            >>> drawn.split.X_train.shape, len(drawn.truth)
            ((300, 5), 2000)
        """
        rng = np.random.default_rng([STREAM, n, self.d, seed])
        X = rng.uniform(size=(n + n_test, self.d))
        for j in self.categorical:
            X[:, j] = np.floor(4 * X[:, j])
        mean, sd = self.moments(X, rng)
        noise = NOISES[self.noise]
        y = mean + sd * np.interp(rng.uniform(size=len(X)), LEVELS, noise)
        test = slice(n, None)
        truth = QuantileFunction(LEVELS, mean[test, None] + sd[test, None] * noise)
        return TrueDraw(Split(X[:n], y[:n], X[test], y[test], mean[test]), truth)


def _pick(regime: IntArray, *values: FloatArray | float) -> FloatArray:
    """The value of each run's regime, (n,)."""
    table = np.column_stack([np.broadcast_to(np.asarray(value, np.float64), len(regime)) for value in values])
    return np.asarray(table[np.arange(len(regime)), regime])


def _curve(X: FloatArray, rng: np.random.Generator) -> Moments:
    """A wave in two of five inputs; the levels overlap, and the noise grows with the fourth."""
    upper = (X[:, 1] > 0.5 + 0.25 * np.sin(5 * X[:, 0])).astype(np.int64)
    low, high = 1.5 * np.sin(4 * X[:, 2]) + X[:, 0], 4.2 + 3 * (X[:, 2] - 0.5) ** 2 - 2 * X[:, 4]
    return _pick(upper, low, high), 0.2 + 0.6 * X[:, 3]


def _twelve(X: FloatArray, rng: np.random.Generator) -> Moments:
    """An oblique plane in two inputs, a mean of a third: all that matters of twelve or fifteen."""
    upper = (X[:, 2] + 0.8 * X[:, 7] > 0.9).astype(np.int64)
    return _pick(upper, 2 * X[:, 5], 3.5 - 1.5 * np.sin(4 * X[:, 5])), np.full(len(X), 0.35)


def _rare(X: FloatArray, rng: np.random.Generator) -> Moments:
    """A corner with a twentieth of the runs, four above the rest."""
    corner = ((1 - X[:, 0]) ** 2 + (1 - X[:, 1]) ** 2 < 0.0637).astype(np.int64)
    mean = np.sin(5 * X[:, 0]) + X[:, 2]
    return _pick(corner, mean, mean + 4.0), np.full(len(X), 0.3)


def _slope(X: FloatArray, rng: np.random.Generator) -> Moments:
    """The same levels on both sides of a curve, the opposite slope."""
    upper = (X[:, 0] + 0.4 * np.sin(4 * X[:, 1]) > 0.65).astype(np.int64)
    along = 3 * (X[:, 2] - 0.5)
    return _pick(upper, along, -along), np.full(len(X), 0.3)


def _three(X: FloatArray, rng: np.random.Generator) -> Moments:
    """Three sectors about a point; each response's range covers most of the others'."""
    angle = np.arctan2(X[:, 1] - 0.45, X[:, 0] - 0.55)
    sector = np.digitize(angle, [-np.pi / 3, np.pi / 2.5]).astype(np.int64)
    wave = np.sin(5 * X[:, 2])
    return _pick(sector, 1.5 * wave, 1.0 - 2 * X[:, 2] + 1.5 * X[:, 0], 0.5 - 1.5 * wave), np.full(len(X), 0.25)


def _noise_only(X: FloatArray, rng: np.random.Generator) -> Moments:
    """One mean; beyond an oblique plane the noise is five times larger."""
    upper = (X[:, 0] + X[:, 1] > 1.1).astype(np.int64)
    return np.asarray(np.sin(4 * X[:, 2]) + X[:, 0]), _pick(upper, 0.15, 0.75)


def _point_mass(X: FloatArray, rng: np.random.Generator) -> Moments:
    """Nothing happens within a disc, y = 0 exactly; outside a smooth scatter."""
    outside = ((X[:, 0] - 0.4) ** 2 + (X[:, 1] - 0.5) ** 2 > 0.12).astype(np.int64)
    return _pick(outside, 0.0, 0.5 + np.sin(4 * X[:, 2]) + X[:, 1]), _pick(outside, 0.0, 0.2)


def _bgp(d: int) -> Truth:
    """Two GP surfaces parted by a plane, as in paper section 5.3, planes and surfaces drawn once a draw."""

    def moments(X: FloatArray, rng: np.random.Generator) -> Moments:
        a = rng.choice([-1.0, 1.0], d)
        squared = (X**2).sum(axis=1)
        distance = np.maximum(squared[:, None] + squared - 2 * X @ X.T, 0)
        k = np.exp(-distance / (2 * (0.1 * d) ** 2)) + 1e-8 * np.eye(len(X))
        one, two = 3 * (np.linalg.cholesky(k) @ rng.standard_normal((len(X), 2))).T
        return np.where((X - 0.5) @ a >= 0, one, 13 + two), np.full(len(X), 2.0)

    return moments


WITH_JUMPS: Mapping[str, TrueFormula] = {
    "curve": TrueFormula(5, _curve, "skewed", 2),
    "twelve": TrueFormula(12, _twelve, n_regimes=2),
    "fifteen": TrueFormula(15, _twelve, n_regimes=2),
    "rare": TrueFormula(3, _rare, n_regimes=2),
    "slope": TrueFormula(4, _slope, n_regimes=2),
    "three": TrueFormula(3, _three, n_regimes=3),
    "noise": TrueFormula(4, _noise_only, n_regimes=2),
    "point": TrueFormula(3, _point_mass, n_regimes=2),
    "bgp2": TrueFormula(2, _bgp(2), n_regimes=2),
    "bgp3": TrueFormula(3, _bgp(3), n_regimes=2),
    "bgp4": TrueFormula(4, _bgp(4), n_regimes=2),
}


def _waves(X: FloatArray) -> FloatArray:
    return np.asarray(np.sin(5 * X[:, 0]) + X[:, 1] ** 2)


def _friedman(X: FloatArray) -> FloatArray:
    return np.asarray(np.sin(np.pi * X[:, 0] * X[:, 1]) + 2 * (X[:, 2] - 0.5) ** 2 + X[:, 3] + 0.5 * X[:, 4])


def _ridge(X: FloatArray) -> FloatArray:
    return np.asarray(np.tanh(3 * (X[:, 0] - X[:, 1])) + 0.5 * X[:, 2])


def _kinds(X: FloatArray) -> FloatArray:
    return np.asarray(np.array([0.0, 0.8, -0.5, 0.3])[X[:, 2].astype(np.int64)] + np.sin(4 * X[:, 0]))


def _even(X: FloatArray) -> FloatArray:
    return np.full(len(X), 0.25)


def _growing(X: FloatArray) -> FloatArray:
    return np.asarray(0.1 + 0.5 * X[:, 1])


def _tiny(X: FloatArray) -> FloatArray:
    return np.full(len(X), 0.01)


def _without(mean: Callable[[FloatArray], FloatArray], sd: Callable[[FloatArray], FloatArray]) -> Truth:
    return lambda X, rng: (mean(X), sd(X))


_MEANS = {
    "waves": (_waves, 2, ()),
    "friedman": (_friedman, 8, ()),
    "ridge": (_ridge, 4, ()),
    "kinds": (_kinds, 3, (2,)),
}
_SCATTERS = {
    "little noise": (_tiny, "normal"),
    "noise": (_even, "normal"),
    "uneven": (_growing, "normal"),
    "heavy": (_even, "heavy"),
    "skewed": (_growing, "skewed"),
}
WITHOUT_JUMPS: Mapping[str, TrueFormula] = {
    f"{of_mean}, {of_noise}": TrueFormula(d, _without(mean, sd), noise, categorical=categorical)
    for of_mean, (mean, d, categorical) in _MEANS.items()
    for of_noise, (sd, noise) in _SCATTERS.items()
}
