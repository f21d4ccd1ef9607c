"""ALC against brute force: the candidate is really added."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from genbayes.errors import InvalidInput
from genbayes.models.gp.deep import (
    KERNELS,
    NOISE_FREE,
    DeepGPDraws,
    DeepGPSettings,
    Kernel,
    alc,
    sample_deep_gp,
)
from genbayes.models.gp.deep import (
    prediction as layers,
)
from genbayes.models.gp.deep.layers import correlate
from genbayes.models.gp.deep.prediction import DrawnLayers

RNG = np.random.default_rng(7)
X, CANDIDATES, REFERENCE = RNG.random((12, 2)), RNG.random((5, 2)), RNG.random((9, 2))
Y = np.sin(3 * X[:, 0] + X[:, 1])


def make_draws(n_draws: int, nugget: float | None = None, kernel: Kernel = "matern52") -> DeepGPDraws:
    settings = DeepGPSettings(kernel=kernel, n_samples=n_draws, n_burn_in=30, thinning=3, nugget=nugget)
    return sample_deep_gp(X, (Y - Y.mean()) / Y.std(), settings, np.random.default_rng(0))


def mean_variance(draws: DeepGPDraws, W: np.ndarray, w_r: np.ndarray) -> float:
    """Mean over w_r of the variance of an outer layer observed at W, given the parameters of a single draw."""
    theta = draws.theta_y[0]
    K = correlate(cdist(W, W, "sqeuclidean"), theta, draws.kernel) + draws.nugget[0] * np.eye(len(W))
    k = correlate(cdist(w_r, W, "sqeuclidean"), theta, draws.kernel)
    return float(draws.tau2[0] * np.mean(1 - np.sum(k * np.linalg.solve(K, k.T).T, axis=1)))


@pytest.mark.parametrize("kernel", KERNELS)
def test_one_draw_equals_adding_the_candidate(kernel: Kernel) -> None:
    draws = make_draws(1, nugget=0.01, kernel=kernel)
    drawn = DrawnLayers(draws, 0)
    w_c, w_r = drawn.hidden(CANDIDATES, "mean"), drawn.hidden(REFERENCE, "mean")
    before = mean_variance(draws, draws.w[0], w_r)
    after = [mean_variance(draws, np.vstack([draws.w[0], w]), w_r) for w in w_c]
    np.testing.assert_allclose(alc(draws, CANDIDATES, REFERENCE), before - np.array(after), rtol=1e-8)


def test_scores_average_over_draws() -> None:
    draws = make_draws(3)
    each = [alc(draws[t : t + 1], CANDIDATES, REFERENCE) for t in range(3)]
    np.testing.assert_allclose(alc(draws, CANDIDATES, REFERENCE), np.mean(each, axis=0))


def test_a_run_that_is_known_already_teaches_nothing() -> None:
    draws = make_draws(4, nugget=NOISE_FREE)
    known, fresh = alc(draws, X, REFERENCE), alc(draws, CANDIDATES, REFERENCE)
    assert np.isfinite(known).all()
    assert known.max() < 1e-3 * fresh.min()


def test_chunks_of_candidates_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    draws = make_draws(2)
    whole = alc(draws, CANDIDATES, REFERENCE)
    monkeypatch.setattr(layers, "CELLS_PER_CHUNK", 24)  # two candidates at a time
    np.testing.assert_allclose(alc(draws, CANDIDATES, REFERENCE), whole, rtol=1e-9)


def test_wrong_inputs_are_refused_by_name() -> None:
    draws = make_draws(1)
    with pytest.raises(InvalidInput, match=r"candidates must have shape \(k, 2\)"):
        alc(draws, [[0.5]], REFERENCE)
    with pytest.raises(InvalidInput, match=r"reference must have shape \(k, 2\)"):
        alc(draws, CANDIDATES, np.empty((0, 2)))
