"""The paper's propositions in section 3 as tests: what a quantile function that is nearly right costs, and consistency.

Proposition 2: where two quantile functions differ by at most eps at every level, their CRPS differ by at most 2 eps.
Proposition 3: the expected CRPS of the fitted network falls to that of the true distribution as n grows.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from genbayes import Empirical, Mixture, Normal, QuantileFunction, QuantileSurrogate, metrics

VALUES = st.floats(-100, 100).map(lambda value: round(value, 6))
EPS = st.floats(0, 10)
ROUNDING = 1e-9


@settings(max_examples=200, deadline=None)
@given(arrays(float, 12, elements=VALUES), arrays(float, 12, elements=st.floats(-1, 1)), EPS, st.floats(-200, 200))
def test_quantiles_within_eps_have_a_crps_within_two_eps(q, direction, eps: float, y: float) -> None:
    """Equally likely values, whose quantile functions differ by at most eps at every level, to the very ends."""
    Q, G = np.sort(q)[None], np.sort(np.sort(q) + eps * direction)[None]  # sorting brings them no further apart
    assert np.abs(Q - G).max() <= eps + ROUNDING
    for crps in (metrics.crps, lambda table, y: Empirical(table).crps(y)):
        assert abs(crps(G, np.array([y])) - crps(Q, np.array([y])))[0] <= 2 * eps + ROUNDING


KINDS = [
    lambda shift: Normal([shift], 0.7),
    lambda shift: QuantileFunction([0.1, 0.4, 0.5, 0.9], [np.array([-1.0, 0.0, 0.1, 3.0]) + shift]),
    lambda shift: Mixture([Normal([shift], 0.2), Normal([4.0 + shift], 1.0)], [0.3, 0.7]),
    lambda shift: Mixture([Normal([shift], 0.2), QuantileFunction([0.2, 0.8], [[shift, shift + 1]])]),
]


@settings(max_examples=50, deadline=None)
@given(st.sampled_from(KINDS), st.floats(-5, 5), st.floats(-20, 20))
def test_a_distribution_moved_by_eps_has_a_crps_within_two_eps(kind, shift: float, y: float) -> None:
    moved, still = (kind(each).crps([y])[0] for each in (shift, 0.0))
    assert abs(moved - still) <= 2 * abs(shift) + 1e-7  # some kinds are integrated numerically


def test_no_bound_below_eps_would_hold() -> None:
    """Far above all quantiles the CRPS grows as fast as y does."""
    eps, Q = 0.5, np.zeros((1, 100))
    assert metrics.crps(Q - eps, np.array([50.0])) - metrics.crps(Q, np.array([50.0])) == pytest.approx(eps)


@pytest.mark.slow
def test_the_expected_crps_falls_to_that_of_the_true_distribution() -> None:
    """y = sin(6 x) + w(x) U with U uniform on (0, 1) and w = 0.3 + x: bounded, with continuous quantiles.

    The CRPS of the true distribution is w / 6 on average. Four draws of each size; their mean excess falls by more than
    two standard errors each time that n grows eightfold, and ends below 4% of the least possible.
    """
    least = (0.3 + 0.5) / 6

    def excess(n: int, rng: np.random.Generator) -> float:
        X = rng.uniform(size=(n + 20_000, 1))
        w = 0.3 + X[:, 0]
        y = np.sin(6 * X[:, 0]) + w * rng.uniform(size=len(X))
        model = QuantileSurrogate(random_state=0).fit(X[:n], y[:n])
        u = (np.arange(200) + 0.5) / 200
        truth = np.sin(6 * X[n:]) + w[n:, None] * u
        there = model.predict_distribution(X[n:])
        return float(np.mean(there.crps(y[n:]) - metrics.crps(truth, y[n:])))

    found = np.array([[excess(n, rng) for rng in np.random.default_rng(n).spawn(4)] for n in (40, 320, 2_560)])
    mean, error = found.mean(axis=1), found.std(axis=1, ddof=1) / 2
    assert (mean[:-1] - mean[1:] > 2 * np.hypot(error[:-1], error[1:])).all(), found
    assert mean[-1] < 0.04 * least, found
