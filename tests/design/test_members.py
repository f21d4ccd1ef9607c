import numpy as np
import pytest

from genbayes import QuantileSurrogate
from genbayes.design.acquisition import VarianceReduction, covariance_of_members, member_medians, taper
from genbayes.distribution.quantile import GRID
from genbayes.models import StationaryGP
from genbayes.models.network.ensemble import member_quantiles

RNG = np.random.default_rng(0)
X = RNG.uniform(size=(40, 2))
Y = np.sin(5 * X[:, 0]) + X[:, 1]


@pytest.fixture(scope="module")
def surrogate() -> QuantileSurrogate:
    return QuantileSurrogate(n_members=3, prior_scale=0.5, n_hidden=8, n_layers=1, n_epochs=20, random_state=0).fit(
        X, Y
    )


def test_medians_of_a_surrogate_are_those_of_its_networks_one_by_one(surrogate: QuantileSurrogate) -> None:
    medians = member_medians(surrogate, X)
    assert medians is not None
    assert medians.shape == (3, 40)
    assert medians.std(axis=0).min() > 0
    q = member_quantiles(surrogate.network_, surrogate.input_scaler_.transform(X), surrogate.spread_).numpy()
    middle = surrogate.response_scaler_.inverse(q[..., np.searchsorted(GRID, 0.5)])
    assert np.allclose(medians, middle, atol=1e-6)


def test_a_model_without_members_has_none() -> None:
    assert member_medians(StationaryGP(random_state=0).fit(X, Y), X) is None


def test_undamped_covariance_is_that_of_numpy() -> None:
    F = RNG.normal(size=(5, 3))
    assert np.allclose(covariance_of_members(F, F, np.ones((3, 3))), np.cov(F.T))


def test_damping_is_one_at_no_distance_and_fades() -> None:
    damping = taper(X, X, 0.3)
    assert np.allclose(np.diag(damping), 1)
    assert damping[np.triu_indices(40, 1)].max() < 1


def test_reduction_by_members_is_positive_and_largest_where_members_disagree_most(surrogate: QuantileSurrogate) -> None:
    reference = RNG.uniform(size=(60, 2))
    reduction = VarianceReduction(reference)(surrogate, X)
    assert (reduction > 0).all()
    disagreement = member_medians(surrogate, X).std(axis=0)  # type: ignore[union-attr]
    top, bottom = np.argsort(disagreement)[-8:], np.argsort(disagreement)[:8]
    assert reduction[top].mean() > reduction[bottom].mean()


def test_a_model_without_members_is_refused_with_a_way_out() -> None:
    with pytest.raises(ValueError, match="model must have two or more members .* use predictive_variance"):
        VarianceReduction(X)(StationaryGP(random_state=0).fit(X, Y), X)
