"""Our normal law for NGBoost is NGBoost's own, score for score, until sigma vanishes."""

import ngboost
import numpy as np
import pytest
from ngboost.manifold import manifold
from ngboost.scores import LogScore

from genbayes_bench.rivals.ngboost import SMALLEST_SD, normal_of_engine


@pytest.fixture(scope="module")
def laws():
    params = np.random.default_rng(0).standard_normal((2, 30))
    return [manifold(LogScore, law)(params) for law in (normal_of_engine(ngboost), ngboost.distns.Normal)]


def test_score_and_natural_gradient_are_the_engine_s(laws) -> None:
    y = np.random.default_rng(1).standard_normal(30)
    ours, theirs = laws
    np.testing.assert_allclose(ours.score(y), theirs.score(y))
    np.testing.assert_allclose(ours.grad(y), theirs.grad(y))


def test_the_start_is_the_marginal_law() -> None:
    y = np.random.default_rng(2).standard_normal(50)
    law = normal_of_engine(ngboost)
    np.testing.assert_allclose(law.fit(y), ngboost.distns.Normal.fit(y))


def test_sigma_has_a_floor() -> None:
    law = manifold(LogScore, normal_of_engine(ngboost))(np.array([[0.0], [-1e4]]))
    assert law.scale == pytest.approx(SMALLEST_SD)
    assert np.isfinite(law.grad(np.array([1.0]))).all()
