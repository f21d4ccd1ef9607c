"""Formulas that no setting was chosen on: the judges of whether a change of the recipe or of the choice cost accuracy.

Develop on other draws of other formulas. Smooth simulators with little noise, uneven, skewed and heavy-tailed noise,
kinks, jumps, ripples, a category, a hidden input, many inert inputs; from 150 to 2,000 runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from genbayes.arrays import FloatArray
from genbayes_bench.problems.problem import Split

STREAM = 1_715  # keeps these draws apart from those of other problems
N_TEST = 2_000

Respond = Callable[[FloatArray, np.random.Generator], FloatArray]  # inputs in the unit cube to noisy responses


@dataclass(frozen=True)
class Untouched:
    """A formula in the unit cube.

    Attributes:
        n: Training runs.
        d: Inputs.
        respond: Inputs, shape (n, d), and a generator of noise to responses, shape (n,).
        categorical: Columns that are rounded to categories 0 to 3.
    """

    n: int
    d: int
    respond: Respond
    categorical: tuple[int, ...] = ()

    def draw(self, seed: int, n_test: int = N_TEST) -> Split:
        """Training and test runs, uniform inputs.

        Example:
            >>> UNTOUCHED["queue"].draw(0).X_train.shape
            (600, 2)
        """
        rng = np.random.default_rng([STREAM, self.n, self.d, seed])
        X = rng.uniform(size=(self.n + n_test, self.d))
        for j in self.categorical:
            X[:, j] = np.floor(4 * X[:, j])
        y = self.respond(X, rng)
        return Split(X[: self.n], y[: self.n], X[self.n :], y[self.n :])


def _between(X: FloatArray, lower: list[float], upper: list[float]) -> FloatArray:
    """Columns of X brought from the unit cube to a box, transposed."""
    return np.asarray((np.array(lower) + X * np.subtract(upper, lower)).T)


def _otl(X: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Midpoint voltage of an output transformerless circuit (Ben-Ari and Steinberg 2007), noise of 0.2%."""
    rb1, rb2, rf, rc1, rc2, beta = _between(X, [50, 25, 0.5, 1.2, 0.25, 50], [150, 70, 3, 2.5, 1.2, 300])
    vb1, load = 12 * rb2 / (rb1 + rb2), beta * (rc2 + 9)
    v = (vb1 + 0.74) * load / (load + rf) + 11.35 * rf / (load + rf) + 0.74 * rf * load / ((load + rf) * rc1)
    return np.asarray(v * (1 + 0.002 * rng.standard_normal(len(v))))


def _wing(X: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Weight of a light aircraft's wing (Forrester et al. 2008), ten inputs, noise of sd 1."""
    sw, wfw, a, sweep, q, taper, tc, nz, wdg, wp = _between(
        X,
        [150, 220, 6, -10, 16, 0.5, 0.08, 2.5, 1_700, 0.025],
        [200, 300, 10, 10, 45, 1.0, 0.18, 6, 2_500, 0.08],
    )
    c = np.cos(np.pi * sweep / 180)
    f = 0.036 * sw**0.758 * wfw**0.0035 * (a / c**2) ** 0.6 * q**0.006 * taper**0.04
    f = f * (100 * tc / c) ** -0.3 * (nz * wdg) ** 0.49 + sw * wp
    return np.asarray(f + rng.standard_normal(len(f)))


def _robot(X: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Distance of a three-segment robot arm's end from its shoulder, no noise."""
    angle, length = np.cumsum(2 * np.pi * X[:, :3] * 0.4, axis=1), X[:, 3:]
    u, v = (length * np.cos(angle)).sum(axis=1), (length * np.sin(angle)).sum(axis=1)
    return np.asarray(np.hypot(u, v))


def _epidemic(X: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Peak share of infected in an SIR model, Euler steps, binomial noise of 400 people."""
    beta, gamma, first = 0.1 + 0.5 * X[:, 0], 0.03 + 0.12 * X[:, 1], 0.001 + 0.03 * X[:, 2]
    s, i, peak = 1 - first, first.copy(), first.copy()
    for _ in range(300):
        new, out = beta * s * i, gamma * i
        s, i = s - new, i + new - out
        peak = np.maximum(peak, i)
    return np.asarray(rng.binomial(400, np.clip(peak, 0, 1)) / 400 + 1e-4 * rng.standard_normal(len(peak)))


def _queue(X: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Mean waiting time of ten customers of a single server: skewed, the more so the busier it is."""
    load = 0.3 + 0.6 * X[:, 0]
    return np.asarray(rng.gamma(2 + 4 * X[:, 1], load / (1 - load) / (2 + 4 * X[:, 1])) + 0.1 * load)


def _kinks(X: FloatArray, rng: np.random.Generator) -> FloatArray:
    """The largest of three planes, noise of sd 0.1."""
    planes = np.stack([2 * X[:, 0] - X[:, 1], 1.5 * X[:, 2] + 0.5 * X[:, 3] - 0.6, 0.5 - X[:, 0] + X[:, 1]])
    return np.asarray(planes.max(axis=0) + 0.1 * rng.standard_normal(len(X)))


def _heavy(X: FloatArray, rng: np.random.Generator) -> FloatArray:
    """A smooth function of five inputs under Student's t with three degrees of freedom."""
    f = np.sin(3 * X[:, 0] + X[:, 1]) + X[:, 2] * X[:, 3] + 0.3 * X[:, 4] ** 2
    return np.asarray(f + 0.15 * rng.standard_t(3, len(f)))


def _skewed(X: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Six inputs, gamma responses whose mean and shape depend on three of them."""
    mean, shape = np.exp(0.5 + X[:, 0] - X[:, 1] * X[:, 2]), 1 + 5 * X[:, 3]
    return np.asarray(mean * rng.gamma(shape) / shape)


def _step(X: FloatArray, rng: np.random.Generator) -> FloatArray:
    """A jump of 4 across an oblique plane, different slopes on its sides, noise of sd 0.5."""
    above = X[:, 0] + 0.7 * X[:, 1] > 0.9
    f = np.where(above, 4 + np.sin(5 * X[:, 2]), 2 * X[:, 0] - X[:, 2])
    return np.asarray(f + 0.5 * rng.standard_normal(len(f)))


def _ripples(X: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Waves whose pace grows along the first input, noise of sd 0.05."""
    return np.asarray(np.sin(25 * X[:, 0] ** 2) * (0.5 + X[:, 1]) + 0.05 * rng.standard_normal(len(X)))


def _kinds(X: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Four numbers and one category of four levels that bends the response and sets its noise."""
    kind = X[:, 4].astype(np.int64)
    slope, sd = np.array([1.0, -1.0, 2.0, 0.0])[kind], np.array([0.1, 0.1, 0.3, 0.6])[kind]
    return np.asarray(slope * np.sin(3 * X[:, 0]) + X[:, 1] ** 2 + sd * rng.standard_normal(len(X)))


def _hidden(X: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Two branches that no input tells apart, the upper one in 30 to 70% of runs."""
    up = rng.uniform(size=len(X)) < 0.3 + 0.4 * X[:, 1]
    return np.asarray(np.where(up, 1.5 + X[:, 0], -X[:, 0]) + 0.2 * rng.standard_normal(len(X)))


def _inert(X: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Three of twenty inputs matter, noise of sd 0.3."""
    f = 2 * np.sin(4 * X[:, 3]) + 3 * (X[:, 11] - 0.5) * X[:, 17]
    return np.asarray(f + 0.3 * rng.standard_normal(len(f)))


def _uneven(X: FloatArray, rng: np.random.Generator) -> FloatArray:
    """One input, noise that swells in the middle."""
    x = X[:, 0]
    return np.asarray(
        np.sin(8 * x) * (1 - x) + (0.05 + 0.5 * np.exp(-40 * (x - 0.5) ** 2)) * rng.standard_normal(len(x))
    )


def _ishigami(X: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Ishigami and Homma's function (1990), noise of sd 1."""
    a, b, c = _between(X, [-np.pi] * 3, [np.pi] * 3)
    return np.asarray(np.sin(a) + 7 * np.sin(b) ** 2 + 0.1 * c**4 * np.sin(a) + rng.standard_normal(len(a)))


def _ridges(X: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Three ridges across eight inputs, noise of sd 0.01."""
    w = np.random.default_rng(7).standard_normal((3, 8)) / 2
    u = X @ w.T
    return np.asarray(
        np.tanh(2 * u[:, 0]) + np.sin(2 * u[:, 1]) + 0.3 * u[:, 2] ** 2 + 0.01 * rng.standard_normal(len(u))
    )


UNTOUCHED: Mapping[str, Untouched] = {
    "uneven": Untouched(150, 1, _uneven),
    "otl": Untouched(200, 6, _otl),
    "epidemic": Untouched(250, 3, _epidemic),
    "wing": Untouched(300, 10, _wing),
    "robot": Untouched(400, 6, _robot),
    "queue": Untouched(600, 2, _queue),
    "kinks": Untouched(800, 4, _kinks),
    "kinds": Untouched(900, 5, _kinds, categorical=(4,)),
    "heavy": Untouched(1_000, 5, _heavy),
    "ridges": Untouched(1_000, 8, _ridges),
    "inert": Untouched(1_000, 20, _inert),
    "ripples": Untouched(1_200, 2, _ripples),
    "hidden": Untouched(1_500, 2, _hidden),
    "skewed": Untouched(1_500, 6, _skewed),
    "step": Untouched(1_600, 3, _step),
    "ishigami": Untouched(2_000, 3, _ishigami),
}
