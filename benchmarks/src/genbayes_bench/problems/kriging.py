"""Functions that Gaussian processes are compared on: half to develop on, half that no setting was chosen on.

Draws of GPs of known smoothness, sums of ridge functions, compositions of elementary functions, and small systems of
differential equations; of one to fifteen inputs in the unit cube, some of them inert. All are of our own making, so
that no method has been tuned on them.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from genbayes.arrays import FloatArray
from genbayes.models.gp.kernels import CORRELATIONS
from genbayes_bench.problems.problem import Split

N_TEST = 1_000
NOISE_SHARE = 0.1  # of the variance of a noisy response
Respond = Callable[[FloatArray, np.random.Generator], FloatArray]  # inputs (n, d) and a generator to values (n,)


@dataclass(frozen=True)
class KrigingCase:
    """A function in the unit cube, or a way of drawing one.

    Attributes:
        name: What it is called.
        d: Inputs.
        respond: Inputs, shape (n, d), and a generator to noise-free responses, shape (n,).
        is_untouched: Whether it only judges.
    """

    name: str
    d: int
    respond: Respond
    is_untouched: bool

    def draw(self, n: int, is_noisy: bool, seed: int, n_test: int = N_TEST) -> Split:
        """Training and test runs at uniform inputs.

        Example:
            >>> KRIGING_CASES["pendulum"].draw(100, is_noisy=False, seed=0).X_train.shape
            (100, 3)
        """
        rng = np.random.default_rng([zlib.crc32(self.name.encode()), n, seed])
        X = rng.uniform(size=(n + n_test, self.d))
        f = self.respond(X, rng)
        y = f.copy()
        if is_noisy:
            y += np.sqrt(NOISE_SHARE / (1 - NOISE_SHARE)) * f.std() * rng.standard_normal(len(f))
        return Split(X[:n], y[:n], X[n:], y[n:], f_test=f[n:])


def _path(kernel: str, *length: float) -> Respond:
    """One path of a GP of given length scales, drawn at all inputs together."""

    def respond(X: FloatArray, rng: np.random.Generator) -> FloatArray:
        W = X / np.array(length)
        K, _ = CORRELATIONS[kernel].between(W, W)
        K[np.diag_indices_from(K)] = 1 + 1e-12
        values, vectors = np.linalg.eigh(K)
        return np.asarray(vectors @ (np.sqrt(np.maximum(values, 0.0)) * rng.standard_normal(len(X))))

    return respond


def _ridges(shape: Callable[[FloatArray], FloatArray], n_ridges: int, steepness: float) -> Respond:
    """sum_j a_j shape(w_j'(x - 1/2) + b_j), with random a, b and directions w."""

    def respond(X: FloatArray, rng: np.random.Generator) -> FloatArray:
        w = steepness * rng.standard_normal((X.shape[1], n_ridges)) / np.sqrt(X.shape[1])
        return np.asarray(shape((X - 0.5) @ w + rng.standard_normal(n_ridges)) @ rng.standard_normal(n_ridges))

    return respond


def _solve(slope: Callable[[FloatArray], FloatArray], state: FloatArray, until: float, n_steps: int) -> FloatArray:
    """State at the end, by the classical Runge-Kutta method, shape (k, n)."""
    h = until / n_steps
    for _ in range(n_steps):
        a = slope(state)
        b = slope(state + h / 2 * a)
        c = slope(state + h / 2 * b)
        state = state + h / 6 * (a + 2 * b + 2 * c + slope(state + h * c))
    return state


def _pendulum(X: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Angle of a damped pendulum after four seconds, by first angle, damping and length."""
    angle, damping, length = 0.3 + 2 * X[:, 0], 0.1 + 0.4 * X[:, 1], 0.8 + X[:, 2]

    def slope(state: FloatArray) -> FloatArray:
        return np.stack([state[1], -damping * state[1] - 9.81 / length * np.sin(state[0])])

    return np.asarray(_solve(slope, np.stack([angle, np.zeros(len(X))]), 4.0, 200)[0])


def _predators(X: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Logarithm of the prey after a while, by four rates of Lotka and Volterra's equations."""
    birth, death, eaten, fed = 0.6 + 0.4 * X[:, 0], 0.6 + 0.4 * X[:, 1], 0.6 + 0.4 * X[:, 2], 0.6 + 0.4 * X[:, 3]

    def slope(state: FloatArray) -> FloatArray:
        prey, hunter = np.exp(state)
        return np.stack([birth - eaten * hunter, fed * prey - death])

    return np.asarray(_solve(slope, np.log(np.full((2, len(X)), [[1.5], [0.7]])), 6.0, 200)[0])


def _epidemic(X: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Share of people ill after thirty days, by infection rate, recovery rate and share at the start."""
    rate, recovery, first = 0.2 + 0.4 * X[:, 0], 0.05 + 0.15 * X[:, 1], 0.001 + 0.02 * X[:, 2]

    def slope(state: FloatArray) -> FloatArray:
        flow = rate * state[0] * state[1]
        return np.stack([-flow, flow - recovery * state[1]])

    return np.asarray(_solve(slope, np.stack([1 - first, first]), 30.0, 150)[1])


def _oscillator(X: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Van der Pol's oscillator after five units of time, by its parameter and where it starts."""
    mu, first = 0.2 + 2 * X[:, 0], 0.5 + 2 * X[:, 1]

    def slope(state: FloatArray) -> FloatArray:
        return np.stack([state[1], mu * (1 - state[0] ** 2) * state[1] - state[0]])

    return np.asarray(_solve(slope, np.stack([first, np.zeros(len(X))]), 5.0, 300)[0])


def _reactor(X: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Amount of the middle product of A -> B -> C after a while, temperature and rates varied, six inputs."""
    hot = 1 / (1 + 0.5 * X[:, 0])
    first, second = (np.exp(1 + X[:, 1 + i] - (1 + X[:, 3 + i]) * 2 * hot) for i in (0, 1))
    feed = 0.2 * X[:, 5]

    def slope(state: FloatArray) -> FloatArray:
        return np.stack([feed - first * state[0], first * state[0] - second * state[1] ** 2])

    return np.asarray(_solve(slope, np.stack([np.ones(len(X)), np.zeros(len(X))]), 3.0, 100)[1])


def _waves(X: FloatArray, rng: np.random.Generator) -> FloatArray:
    return np.asarray(np.exp(-2 * X[:, 0]) * np.sin(7 * X[:, 0] * (1 + X[:, 1])) + 0.3 * X[:, 1] ** 2)


def _fraction(X: FloatArray, rng: np.random.Generator) -> FloatArray:
    return np.asarray((1 + X[:, 0] * X[:, 1]) / (0.5 + X[:, 2] + 0.5 * X[:, 3] ** 2) + 0.2 * np.sqrt(0.1 + X[:, 4]))


def _kink(X: FloatArray, rng: np.random.Generator) -> FloatArray:
    return np.asarray(np.abs(X[:, 0] + 0.5 * X[:, 1] - 0.7) + np.sin(3 * X[:, 2]))


def _terms(X: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Four inputs act apart, six do nothing."""
    return np.asarray(np.sin(6 * X[:, 0]) + 3 * (X[:, 1] - 0.5) ** 2 + np.exp(X[:, 2]) + 2 * X[:, 3])


def _products(X: FloatArray, rng: np.random.Generator) -> FloatArray:
    return np.asarray(np.prod(1 + 0.4 * np.sin(np.pi * X * np.arange(1, 9) / 4), axis=1))


def _logarithm(X: FloatArray, rng: np.random.Generator) -> FloatArray:
    return np.asarray(np.log(0.05 + X[:, 0] ** 2 + X[:, 1] * X[:, 2]) * np.cos(2 * X[:, 1]))


def _ripple(X: FloatArray, rng: np.random.Generator) -> FloatArray:
    r = 14 * np.hypot(X[:, 0] - 0.2, X[:, 1] - 0.3)
    return np.asarray(np.cos(r) / (1 + 0.2 * r))


def _larger(X: FloatArray, rng: np.random.Generator) -> FloatArray:
    return np.asarray(np.maximum(X[:, 0] + X[:, 1] ** 2, 1.4 * X[:, 2]) + 0.5 * np.sin(4 * X[:, 3]))


def _sparse(X: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Three of fifteen inputs matter much, three little."""
    large = np.tanh(3 * (X[:, 0] - 0.4)) + X[:, 1] * np.cos(3 * X[:, 2])
    return np.asarray(large + 0.05 * (X[:, 3] + X[:, 4] ** 2 + X[:, 5] * X[:, 0]))


def _softplus(t: FloatArray) -> FloatArray:
    return np.logaddexp(0.0, t)


def _bump(t: FloatArray) -> FloatArray:
    return np.asarray(np.exp(-(t**2)))


_DEVELOP: Mapping[str, tuple[int, Respond]] = {
    "path, Matern-5/2": (3, _path("matern52", 0.4, 0.8, 1.6)),
    "path, squared exponential": (4, _path("squared-exponential", 0.5, 0.7, 1.0, 2.0)),
    "path, separable": (5, _path("matern52-separable", 0.7, 1.0, 1.5, 2.0, 3.0)),
    "ridges, tanh": (6, _ridges(np.tanh, 12, 3.0)),
    "ridges, sine": (4, _ridges(np.sin, 8, 4.0)),
    "waves": (2, _waves),
    "fraction": (5, _fraction),
    "kink": (3, _kink),
    "pendulum": (3, _pendulum),
    "predators": (4, _predators),
    "terms": (10, _terms),
    "products": (8, _products),
}
_UNTOUCHED: Mapping[str, tuple[int, Respond]] = {
    "path, Matern-3/2": (2, _path("matern32", 0.5, 1.0)),
    "path, Matern-7/2": (5, _path("matern72", 0.6, 0.8, 1.0, 1.5, 3.0)),
    "path, separable, eight inputs": (8, _path("matern52-separable", 1.0, 1.2, 1.5, 2.0, 3.0, 5.0, 9.0, 30.0)),
    "ridges, softplus": (8, _ridges(_softplus, 15, 5.0)),
    "ridges, bumps": (5, _ridges(_bump, 10, 3.0)),
    "logarithm": (3, _logarithm),
    "ripple": (2, _ripple),
    "larger": (4, _larger),
    "epidemic": (3, _epidemic),
    "oscillator": (2, _oscillator),
    "reactor": (6, _reactor),
    "sparse": (15, _sparse),
}
KRIGING_CASES: Mapping[str, KrigingCase] = {
    name: KrigingCase(name, d, respond, cases is _UNTOUCHED)
    for cases in (_DEVELOP, _UNTOUCHED)
    for name, (d, respond) in cases.items()
}
