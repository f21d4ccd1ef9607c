import numpy as np
import pytest

from genbayes.design.process.kriging import Kriging
from genbayes.design.process.likelihood import profile_of, squared_distances
from genbayes.gp.correlation import CORRELATIONS
from genbayes.gp.exact import ExactKriging
from genbayes.gp.profile import GPParameters
from genbayes.gp.replicates import Replicates

LENGTH, NUGGET = np.array([0.8, 1.7]), 0.05


def runs_of(n: int = 15) -> Replicates:
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(n, 2))
    return Replicates.collect(Z, np.sin(Z[:, 0]) + 0.1 * rng.normal(size=n), np.ones(n))


def kriging(name: str = "matern52", runs: Replicates | None = None) -> Kriging:
    runs = runs_of() if runs is None else runs
    profile = profile_of(runs, CORRELATIONS[name], LENGTH, NUGGET)
    return Kriging(GPParameters(LENGTH, NUGGET, profile.variance, profile.mean, profile.mean_variance), name, runs)


NEW = np.random.default_rng(1).normal(size=(6, 2))


def test_for_matern52_it_predicts_and_leaves_out_as_the_library_does() -> None:
    ours = kriging()
    theirs = ExactKriging(ours.parameters, ours.runs)
    for mine, known in zip(ours.predict(NEW), theirs.predict(NEW), strict=True):
        assert np.allclose(mine, known, atol=1e-10)
    error, variance = ours.leave_one_out()
    mean, latent = theirs.leave_one_out()
    assert np.allclose(ours.runs.mean - error, mean)
    assert np.allclose(variance - ours.parameters.noise, latent)


@pytest.mark.parametrize("name", CORRELATIONS)
def test_covariances_are_those_of_conditioning_a_normal_law_with_a_vague_mean(name: str) -> None:
    gp = kriging(name)
    both = np.vstack([gp.runs.Z, NEW]) / LENGTH
    vague = 1e6
    joint = gp.parameters.variance * (CORRELATIONS[name](squared_distances(both, both))[0] + vague)
    n = len(gp.runs)
    K = joint[:n, :n] + gp.parameters.noise * np.eye(n)
    expected = joint[n:, n:] - joint[n:, :n] @ np.linalg.solve(K, joint[:n, n:])
    seen = gp.look_at(NEW)
    assert np.allclose(gp.covariance(seen, seen), expected, atol=1e-4 * gp.parameters.variance)
    assert np.allclose(gp.variance(seen), np.diag(gp.covariance(seen, seen)))


def test_being_told_further_runs_equals_having_known_them() -> None:
    runs = runs_of()
    rows = np.arange(len(runs))
    few = kriging(runs=runs.take(rows[:10]))
    later = few.with_runs(runs.Z[10:], runs.mean[10:])
    at_once = Kriging(few.parameters, "matern52", runs)
    for a, b in zip(later.predict(NEW), at_once.predict(NEW), strict=True):
        assert np.allclose(a, b)


def test_a_run_at_a_known_input_halves_its_noise() -> None:
    gp = Kriging(GPParameters(np.ones(1), 1.0, 1e6, 0.0, 0.0), "matern52", Replicates.collect(
        np.array([[0.0], [50.0]]), np.array([1.0, -1.0]), np.ones(2)
    ))  # fmt: skip
    again = gp.with_runs(np.array([[0.0]]), np.array([3.0]))
    assert again.runs.n_runs == 3
    assert again.predict(np.array([[0.0]]))[1][0] < gp.predict(np.array([[0.0]]))[1][0]
