import numpy as np
import pytest
from scipy.optimize import approx_fprime

from genbayes.arrays import FloatArray
from genbayes.design.process.likelihood import profile_of
from genbayes.gp.correlation import CORRELATIONS
from genbayes.gp.likelihood import exact_profile
from genbayes.gp.replicates import Replicates

LENGTH, NUGGET = np.array([0.8, 1.7]), 0.15


def some_runs() -> Replicates:
    """30 runs at 20 inputs."""
    rng = np.random.default_rng(0)
    places = rng.normal(size=(20, 2))
    return Replicates.collect(
        places[np.append(np.arange(20), rng.integers(20, size=10))], rng.normal(size=30), np.ones(30)
    )


def test_for_matern52_it_is_the_likelihood_of_the_library() -> None:
    ours = profile_of(some_runs(), CORRELATIONS["matern52"], LENGTH, NUGGET)
    theirs = exact_profile(some_runs(), LENGTH, NUGGET)
    assert ours.value == pytest.approx(theirs.value, abs=1e-9)
    assert np.allclose(ours.gradient, theirs.gradient, atol=1e-9)
    assert (ours.variance, ours.mean, ours.mean_variance) == pytest.approx(
        (theirs.variance, theirs.mean, theirs.mean_variance)
    )


@pytest.mark.parametrize("name", CORRELATIONS)
def test_gradients_are_derivatives_of_the_value(name: str) -> None:
    def value(theta: FloatArray) -> float:
        return profile_of(some_runs(), CORRELATIONS[name], np.exp(theta[:-1]), float(np.exp(theta[-1]))).value

    theta = np.log([*LENGTH, NUGGET])
    slope = profile_of(some_runs(), CORRELATIONS[name], LENGTH, NUGGET).gradient
    assert np.allclose(slope, approx_fprime(theta, value, 1e-6), atol=1e-4)


def test_the_value_without_gradient_is_the_same() -> None:
    both = [profile_of(some_runs(), CORRELATIONS["matern32"], LENGTH, NUGGET, with_gradient=w) for w in (True, False)]
    assert both[0].value == both[1].value
    assert np.isnan(both[1].gradient).all()
