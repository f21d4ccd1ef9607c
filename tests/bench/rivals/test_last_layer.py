import numpy as np

from genbayes_bench.rivals.last_layer import BayesianHead

RNG = np.random.default_rng(0)
PHI = np.column_stack([RNG.normal(size=(20, 3)), np.ones(20)])
Y = PHI @ [1.0, -2.0, 0.5, 3.0] + 0.3 * RNG.normal(size=20)
HEAD = BayesianHead.learn(PHI, Y, noise=0.09, prior=0.5)


def test_it_is_the_gaussian_process_with_a_linear_kernel() -> None:
    new = np.column_stack([RNG.normal(size=(5, 3)), np.ones(5)])
    K = PHI @ PHI.T / 0.5 + 0.09 * np.eye(20)
    k = new @ PHI.T / 0.5
    assert np.allclose(HEAD.mean(new), k @ np.linalg.solve(K, Y))
    covariance = new @ new.T / 0.5 - k @ np.linalg.solve(K, k.T)
    assert np.allclose(HEAD.covariance(new, new), covariance)
    assert np.allclose(HEAD.variance(new), np.diag(covariance))


def test_further_runs_as_expected_change_the_variance_as_if_they_had_been_there() -> None:
    few = BayesianHead.learn(PHI[:15], Y[:15], noise=0.09, prior=0.5)
    assert np.allclose(few.with_runs(PHI[15:]).variance(PHI), HEAD.variance(PHI))


def test_leaving_one_out_is_learning_without_it() -> None:
    error, variance = HEAD.leave_one_out(PHI, Y)
    rest = BayesianHead.learn(PHI[1:], Y[1:], noise=0.09, prior=0.5)
    assert np.allclose(error[0], Y[0] - rest.mean(PHI[:1])[0])
    assert np.allclose(variance[0], rest.variance(PHI[:1])[0] + 0.09)


def test_draws_vary_as_the_variance_says() -> None:
    draws = np.stack([HEAD.draw(PHI[:3], rng) for rng in RNG.spawn(2000)])
    assert np.allclose(draws.var(axis=0), HEAD.variance(PHI[:3]), rtol=0.15)  # known to 3% each
