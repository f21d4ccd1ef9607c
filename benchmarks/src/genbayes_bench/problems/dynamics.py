"""Two simulators of dynamics: an epidemic (SIR), and predators with their prey (Lotka-Volterra).

Both solve their equations for all rows at once by the classical Runge-Kutta method of order 4 with a fixed step, and
then add the noise of measurement. Definitions as in sbibm (Lueckmann et al. 2021).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from genbayes.arrays import FloatArray

PEOPLE, COUNTED = 1e6, 1_000  # N; people tested on a day
N_TIMES = 10
SIR_DAYS, SIR_STEPS = 17.0, 170  # between two counts
PREY_DAYS, PREY_STEPS = 2.1, 420
LOG_NOISE = 0.1
FEWEST, MOST = 1e-10, 1e4  # animals, so that a logarithm exists and nothing overflows
BLOCK = 4_096  # rows at a time, which fit into a core's cache

Slope = Callable[[FloatArray], FloatArray]  # state (2, n) to its derivative


def sir(theta: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Positive tests among 1,000 people on days 0, 17, ..., 153: Binomial(1000, I / N), (n, 2) -> (n, 10)."""
    share = np.clip(solve_sir(theta), 0.0, 1.0)
    return rng.binomial(COUNTED, share).astype(np.float64)


def solve_sir(theta: FloatArray) -> FloatArray:
    """Share I / N of the infected: S' = -beta S I / N, I' = beta S I / N - gamma I, N = 1e6, I(0) = 1.

    Args:
        theta: beta and gamma, shape (n, 2).

    Returns:
        Shares on days 0, 17, ..., 153, shape (n, 10).
    """

    def slope_of(rows: FloatArray) -> Slope:
        beta, gamma = rows.T

        def slope(state: FloatArray) -> FloatArray:
            s, i = state
            new = beta * s * i
            return np.stack([-new, new - gamma * i])

        return slope

    states = _solve(theta, slope_of, (1 - 1 / PEOPLE, 1 / PEOPLE), SIR_DAYS, SIR_STEPS)
    return np.asarray(states[1].T)


def lotka_volterra(theta: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Prey, then predators, at times 0, 2.1, ..., 18.9, times LogNormal(0, 0.1) noise, (n, 4) -> (n, 20)."""
    animals = np.concatenate(list(solve_lotka_volterra(theta)), axis=1)
    return np.asarray(np.clip(animals, FEWEST, MOST) * np.exp(LOG_NOISE * rng.standard_normal(animals.shape)))


def solve_lotka_volterra(theta: FloatArray) -> tuple[FloatArray, FloatArray]:
    """X' = alpha x - beta x y, y' = -gamma y + delta x y, x(0) = 30, y(0) = 1.

    The logarithms u of x and v of y are solved for: u' = alpha - beta e^v, v' = -gamma + delta e^u; so neither can
    become negative.

    Args:
        theta: alpha, beta, gamma and delta, shape (n, 4).

    Returns:
        Prey x and predators y at times 0, 2.1, ..., 18.9, each of shape (n, 10).
    """

    def slope_of(rows: FloatArray) -> Slope:
        alpha, beta, gamma, delta = rows.T
        return lambda state: np.stack([alpha - beta * np.exp(state[1]), delta * np.exp(state[0]) - gamma])

    prey, predators = np.exp(_solve(theta, slope_of, (np.log(30.0), 0.0), PREY_DAYS, PREY_STEPS))
    return prey.T, predators.T


def _solve(
    theta: FloatArray, slope_of: Callable[[FloatArray], Slope], start: tuple[float, float], every: float, n_steps: int
) -> FloatArray:
    """States at ten times, `every` apart, of all rows of theta, shape (2, 10, n)."""
    blocks = [theta[i : i + BLOCK] for i in range(0, len(theta), BLOCK)]
    return np.concatenate([_solve_block(slope_of(b), len(b), start, every, n_steps) for b in blocks], axis=2)


def _solve_block(slope: Slope, n: int, start: tuple[float, float], every: float, n_steps: int) -> FloatArray:
    state = np.repeat(np.array(start)[:, None], n, axis=1)
    found, h = [state], every / n_steps
    for _ in range(N_TIMES - 1):
        for _ in range(n_steps):
            a = slope(state)
            b = slope(state + h / 2 * a)
            c = slope(state + h / 2 * b)
            state = state + h / 6 * (a + 2 * b + 2 * c + slope(state + h * c))
        found.append(state)
    return np.stack(found, axis=1)
