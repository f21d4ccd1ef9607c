"""PosteriorEstimator: shapes, support, agreement of draws and density, files, seeds, and one sentence for bad input."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from genbayes import Box, InvalidInput, PosteriorEstimator, QuantileSurrogate, load
from genbayes.errors import ConstantSummaries, DuplicatePairs, OutsideSimulations, PriorAssumed

PRIOR = Box({"a": (-1.0, 1.0), "b": (-1.0, 1.0)})


def simulate(n: int, seed: int = 0) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    rng = np.random.default_rng(seed)
    theta = rng.uniform(-1, 1, size=(n, 2))
    return theta, theta + 0.3 * rng.standard_normal((n, 2))


@pytest.fixture(scope="module")
def fitted() -> PosteriorEstimator:
    return PosteriorEstimator(PRIOR, n_members=2, random_state=0).fit(*simulate(400))


def test_one_observation_has_no_axis_of_its_own_and_many_have(fitted: PosteriorEstimator) -> None:
    one, many = fitted.condition([0.9, -0.9]), fitted.condition([[0.9, -0.9], [0.0, 0.0], [0.1, 0.2]])
    theta = np.zeros((4, 2))
    assert one.sample(5, random_state=0).shape == (5, 2)
    assert many.sample(5, random_state=0).shape == (3, 5, 2)
    assert (one.mean().shape, many.mean().shape) == ((2,), (3, 2))
    assert (one.cov().shape, many.cov().shape) == ((2, 2), (3, 2, 2))
    assert (one.ppf(0.5).shape, one.ppf([0.1, 0.5, 0.9]).shape, many.ppf([0.1, 0.9]).shape) == ((2,), (2, 3), (3, 2, 2))
    assert (one.log_prob(theta[0]).shape, one.log_prob(theta).shape, many.log_prob(theta).shape) == ((), (4,), (3, 4))
    assert [end.shape for end in many.interval(0.9)] == [(3, 2), (3, 2)]


def test_the_posterior_of_many_observations_is_that_of_each(fitted: PosteriorEstimator) -> None:
    y = np.array([[0.9, -0.9], [0.0, 0.3]])
    many = fitted.condition(y)
    np.testing.assert_allclose(many.mean(), [fitted.condition(row).mean() for row in y], atol=1e-5)
    np.testing.assert_allclose(many.ppf(0.3), [fitted.condition(row).ppf(0.3) for row in y], atol=1e-4)


def test_draws_lie_in_the_box_and_pile_up_at_its_edge_where_the_observation_says_so(fitted: PosteriorEstimator) -> None:
    with pytest.warns(OutsideSimulations):
        posterior = fitted.condition([1.6, -1.6])
    draws = posterior.sample(2_000, random_state=0)
    assert (np.abs(draws) <= 1).all()
    assert (np.abs(draws) > 0.8).mean() > 0.4


def test_the_density_integrates_to_one_and_vanishes_outside(fitted: PosteriorEstimator) -> None:
    posterior = fitted.condition([0.7, -0.2])
    axis = (np.arange(200) + 0.5) / 100 - 1
    grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    assert np.exp(posterior.log_prob(grid)).mean() * 4 == pytest.approx(1, abs=0.005)
    assert np.isneginf(posterior.log_prob([[1.01, 0.0], [0.0, -3.0]])).all()


def test_draws_agree_with_the_density(fitted: PosteriorEstimator) -> None:
    posterior = fitted.condition([0.7, -0.2])
    axis = (np.arange(200) + 0.5) / 100 - 1
    grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    weight = np.exp(posterior.log_prob(grid))
    mean = weight @ grid / weight.sum()
    draws = posterior.sample(20_000, random_state=1)
    # each mean of 20,000 draws has a standard error below 0.003; 4 of them fail once in 16,000
    np.testing.assert_allclose(draws.mean(axis=0), mean, atol=0.012)
    np.testing.assert_allclose(posterior.mean(), mean, atol=0.004)
    product = ((grid - mean) ** 2).prod(axis=1)
    np.testing.assert_allclose(((draws - mean) ** 2).prod(axis=1).mean(), weight @ product / weight.sum(), rtol=0.08)


def test_quantiles_and_distribution_functions_of_margins_invert_each_other(fitted: PosteriorEstimator) -> None:
    posterior = fitted.condition([[0.7, -0.2], [-0.9, 0.9]])
    tau = np.array([0.02, 0.3, 0.5, 0.97])
    q = posterior.ppf(tau)  # (o, k, m)
    np.testing.assert_allclose(posterior.cdf(np.swapaxes(q, 1, 2)), np.broadcast_to(tau[:, None], (2, 4, 2)), atol=1e-4)
    draws = posterior.sample(20_000, random_state=0)
    share = (draws[:, :, :, None] <= q[:, None]).mean(axis=1)
    np.testing.assert_allclose(share, np.broadcast_to(tau, (2, 2, 4)), atol=0.02)


def test_points_with_names_are_read_by_name(fitted: PosteriorEstimator) -> None:
    posterior, (a, b) = fitted.condition([0.7, -0.2]), fitted.prior_.names
    point = [0.6, -0.1]
    frame, series = pd.DataFrame({b: [point[1]], a: [point[0]]}), pd.Series({b: point[1], a: point[0]})
    assert posterior.log_prob(frame)[0] == posterior.log_prob(point)
    assert posterior.log_prob(series) == posterior.log_prob(dict(series)) == posterior.log_prob(point)
    np.testing.assert_array_equal(posterior.cdf(frame)[0], posterior.cdf(point))
    assert posterior.region(0.9).contains(frame)[0] == posterior.region(0.9).contains(point)
    with pytest.raises(InvalidInput, match="theta must have the keys .*, got c; rename or drop some"):
        posterior.log_prob({"c": 0.1})
    with pytest.raises(InvalidInput, match="theta must have the values .*, got A, B; rename"):
        posterior.log_prob(pd.Series({"A": 0.1, "B": 0.2}))
    assert posterior.log_prob(pd.Series(point)) == posterior.log_prob(point)
    with pytest.raises(InvalidInput, match=r"the same number of values for each name, got shapes \(\) and \(2,\)"):
        posterior.log_prob({a: [0.1, 0.2], b: 0.1})
    with pytest.raises(InvalidInput, match="a number or a list of numbers for each name"):
        posterior.log_prob({a: [[0.1], [0.2, 0.3]], b: 0.1})


def test_regions_of_a_parameter_are_asked_by_name_too(fitted: PosteriorEstimator) -> None:
    region = fitted.condition([0.7, -0.2]).region(0.8, margin="b")
    inside, points = region.contains([-0.2, 0.9]), {"b": [-0.2, 0.9], "a": [0.9, -0.2]}
    assert inside.tolist() == [True, False]
    for named in (points, pd.DataFrame(points), {"b": points["b"]}, pd.Series(points["b"], index=["u", "v"])):
        np.testing.assert_array_equal(region.contains(named), inside)
    assert region.contains(pd.Series({"b": -0.2, "a": 0.9}))
    with pytest.raises(InvalidInput, match="theta must have the keys b, got a"):
        region.contains({"a": 0.1})


def test_pairs_are_read_from_dictionaries_whose_keys_name_them() -> None:
    theta, y = simulate(100)
    named = {"a": theta[:, 0], "b": theta[:, 1]}, {"s2": y[:, 1], "s1": y[:, 0]}
    uniform = stats.uniform(-1, 2)
    for prior in (PRIOR, [uniform, uniform], None):
        estimator = PosteriorEstimator(prior, n_members=1, random_state=0)
        if prior is None:
            with pytest.warns(PriorAssumed, match="a in "):
                estimator.fit(*named)
        else:
            estimator.fit(*named)
        assert (estimator.prior_.names, estimator.response_names_) == (("a", "b"), ("s2", "s1"))
        np.testing.assert_array_equal(
            estimator.condition({"s1": 0.1, "s2": 0.2}).mean(), estimator.condition([0.2, 0.1]).mean()
        )
    with pytest.raises(InvalidInput, match=r"y must have one column of values for each name, got shape \(100, 2\)"):
        estimator.fit(theta, {"s": y})
    with pytest.raises(InvalidInput, match="theta must have at least 50 distinct pairs for 2 parameters, got 1"):
        PosteriorEstimator(PRIOR).fit({"a": 0.1, "b": 0.2}, [[0.1]])


@pytest.mark.parametrize("y", [[0.7, -0.2], [[0.7, -0.2], [-0.9, 0.9]]], ids=["one", "many"])
def test_answers_for_one_parameter_are_asked_for_by_name_or_number(fitted: PosteriorEstimator, y: Any) -> None:
    posterior = fitted.condition(y)
    for j, name in enumerate(posterior.names):
        np.testing.assert_array_equal(posterior.ppf([0.1, 0.4], margin=name), posterior.ppf([0.1, 0.4])[..., j, :])
        np.testing.assert_array_equal(posterior.ppf(0.5, margin=j), posterior.ppf(0.5)[..., j])
        np.testing.assert_array_equal(posterior.interval(0.8, margin=name)[1], posterior.interval(0.8)[1][..., j])
        np.testing.assert_array_equal(posterior.mean(name), posterior.mean()[..., j])
        np.testing.assert_array_equal(posterior.std(name), posterior.std()[..., j])
        np.testing.assert_array_equal(posterior.ppf(0.5, margin=np.int64(j)), posterior.ppf(0.5, margin=j))
    for wrong in ("c", 2, True, np.True_, 0.0):
        with pytest.raises(InvalidInput, match="margin must be a parameter"):
            posterior.ppf(0.5, margin=wrong)  # type: ignore[arg-type]


def test_a_summary_has_a_row_for_each_parameter_by_its_name(fitted: PosteriorEstimator) -> None:
    posterior, name = fitted.condition([0.7, -0.2]), fitted.prior_.names[1]
    table = posterior.summary(0.8)
    assert list(table.columns) == ["mean", "sd", "q0.1", "q0.5", "q0.9"]
    assert table.loc[name, "q0.9"] == posterior.interval(0.8, margin=name)[1]
    many = fitted.condition([[0.7, -0.2], [-0.9, 0.9]])
    assert many.summary().loc[(1, name), "mean"] == many.mean(name)[1]


@pytest.mark.parametrize(
    ("level", "ends"),
    [
        (0.9, ["q0.05", "q0.95"]),
        (0.999, ["q0.0005", "q0.9995"]),
        (0.9999, ["q0.00005", "q0.99995"]),
        (0.99999, ["q0.000005", "q0.999995"]),
        (1e-4, ["q0.49995", "q0.50005"]),
        (1 / 3, ["q0.333333333333333", "q0.666666666666667"]),
    ],
)
def test_columns_of_a_summary_name_their_levels_exactly(
    fitted: PosteriorEstimator, level: float, ends: list[str]
) -> None:
    assert list(fitted.condition([0.7, -0.2]).summary(level).columns) == ["mean", "sd", ends[0], "q0.5", ends[1]]


def test_margins_and_supports_of_every_kind_of_prior_are_kept() -> None:
    prior = [stats.lognorm(0.5), stats.norm(0, 2), stats.uniform(3, 1), stats.weibull_max(2.0, loc=5.0)]
    rng = np.random.default_rng(0)
    theta = np.column_stack([each.rvs(size=300, random_state=rng) for each in prior])
    y = theta * rng.lognormal(0, 0.2, theta.shape)
    posterior = PosteriorEstimator(prior, n_members=1, random_state=0).fit(theta, y)
    found = posterior.condition(theta[:2])
    draws = found.sample(1_000, random_state=0)
    assert (draws[..., 0] > 0).all()
    assert (draws[..., 3] < 5).all()
    assert (draws[..., 2] >= 3).all()
    assert (draws[..., 2] <= 4).all()
    q = found.ppf([0.1, 0.9])
    assert (q[..., 0] < q[..., 1]).all()
    np.testing.assert_allclose((draws <= q[:, :, 0][:, None]).mean(axis=1), 0.1, atol=0.04)
    np.testing.assert_allclose(found.cdf(q[:, None, :, 1])[:, 0], 0.9, atol=1e-3)


def test_the_same_seed_gives_the_same_posterior(fitted: PosteriorEstimator) -> None:
    again = PosteriorEstimator(PRIOR, n_members=2, random_state=0).fit(*simulate(400))
    y = [0.2, 0.4]
    np.testing.assert_array_equal(
        fitted.condition(y).sample(10, random_state=3), again.condition(y).sample(10, random_state=3)
    )


def test_a_saved_estimator_is_the_same_when_loaded(fitted: PosteriorEstimator, tmp_path: Path) -> None:
    loaded = load(fitted.save(tmp_path / "posterior.gb"))
    y = [[0.2, 0.4], [0.5, 0.5]]
    np.testing.assert_array_equal(
        fitted.condition(y).sample(10, random_state=3), loaded.condition(y).sample(10, random_state=3)
    )
    np.testing.assert_array_equal(fitted.condition(y).log_prob([0.1, 0.2]), loaded.condition(y).log_prob([0.1, 0.2]))
    np.testing.assert_array_equal(fitted.held_out_.theta, loaded.held_out_.theta)
    assert loaded.prior_.names == ("a", "b")


def test_a_function_as_summary_is_applied_and_refused_by_save(tmp_path: Path) -> None:
    theta, y = simulate(200)
    estimator = PosteriorEstimator(PRIOR, summary=lambda y: y[:, :1] * 2, n_members=1, random_state=0).fit(theta, y)
    assert estimator.n_summaries_ == 1
    assert estimator.condition(y[0]).sample(3, random_state=0).shape == (3, 2)
    with pytest.raises(InvalidInput, match="summary must be None or a name to be saved, got a function"):
        estimator.save(tmp_path / "posterior.gb")


@pytest.mark.parametrize(
    ("y", "sentence"),
    [
        ([0.1, 0.2, 0.3], "y must have 2 values as in fit, got 3"),
        ([[0.1], [0.2]], "y must have 2 values as in fit, got 1"),
        ([0.1, np.nan], r"y must be finite, got NaN or infinity in 1 of 1 rows \(row 0\)"),
        (["a", "b"], "y must be numbers"),
        (np.empty((0, 2)), "y must have at least one observation, got none"),
        (pd.DataFrame({"Y2": [0.1], "y1": [0.2]}), "y must have the columns y1, y2, got Y2, y1"),
    ],
)
def test_an_observation_that_cannot_be_one_is_refused(fitted: PosteriorEstimator, y: Any, sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        fitted.condition(y)


@pytest.mark.parametrize(
    ("theta", "y", "sentence"),
    [
        (np.zeros((1, 2)), np.zeros((1, 2)), "theta must have at least 50 distinct pairs for 2 parameters, got 1"),
        (np.zeros((60, 2)), np.zeros((60, 2)), "theta must have at least 50 distinct pairs for 2 parameters, got 1"),
        (simulate(60)[0], np.ones((60, 3)), "y must vary, got the same values in every simulation"),
        (simulate(60)[0], simulate(59)[1], "theta and y must have as many rows, got 60 and 59"),
        (2 * simulate(60)[0], simulate(60)[1], r"theta must lie in the prior's support, got \d+ of 60 rows"),
        (simulate(60)[0], np.full((60, 1), np.nan), "y must be finite"),
    ],
)
def test_pairs_that_teach_nothing_are_refused(theta: Any, y: Any, sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        PosteriorEstimator(PRIOR).fit(theta, y)


def test_repeated_pairs_are_used_once_and_counted() -> None:
    theta, y = simulate(60)
    with pytest.warns(DuplicatePairs, match="60 of 120 pairs repeat others exactly"):
        fitted = PosteriorEstimator(PRIOR, n_members=1, random_state=0).fit(np.vstack([theta] * 2), np.vstack([y] * 2))
    assert fitted.n_pairs_ == 60


def test_constant_summaries_are_ignored_and_named() -> None:
    theta, y = simulate(60)
    y = np.column_stack([np.ones(60), y, np.zeros(60)])
    with pytest.warns(ConstantSummaries, match="summaries 0, 3 of y"):
        fitted = PosteriorEstimator(PRIOR, n_members=1, random_state=0).fit(theta, y)
    assert fitted.condition([1.0, 0.3, 0.2, 0.0]).mean().shape == (2,)


def scalar_pairs(n: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    rng = np.random.default_rng(0)
    theta = rng.gamma(2.0, size=n)
    return theta, np.log(theta) + 0.3 * rng.standard_normal(n)


def test_one_parameter_has_the_better_of_network_and_chain_and_the_paper_s_network_on_request(tmp_path: Path) -> None:
    theta, y = scalar_pairs(300)
    fast = PosteriorEstimator([stats.gamma(2.0)], random_state=0).fit(theta, y)
    assert (fast.chain_ is None) != (fast.network_ is None)
    assert fast.condition(y[0]).sample(5, random_state=0).shape == (5, 1)


@pytest.mark.parametrize("n_axes", [1, 2])
def test_a_quantile_network_answers_every_question_of_a_posterior(
    n_axes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "genbayes.inference.scalar.QuantileSurrogate", lambda **kw: QuantileSurrogate(n_epochs=20, n_hidden=8, **kw)
    )
    theta, y = scalar_pairs(200)
    fitted = PosteriorEstimator([stats.gamma(2.0)], recipe="paper", random_state=0).fit(theta, y)
    found = fitted.condition([0.4] if n_axes == 1 else [[0.4], [0.8]])
    front = () if n_axes == 1 else (2,)
    draws = found.sample(4_000, random_state=0)
    assert (draws > 0).all()
    assert (found.mean().shape, found.cov().shape, found.ppf([0.1, 0.9]).shape) == (
        (*front, 1),
        (*front, 1, 1),
        (*front, 1, 2),
    )
    np.testing.assert_allclose(draws.mean(axis=-2), found.mean(), atol=0.1)
    np.testing.assert_allclose(found.cdf(found.ppf(0.3).reshape(-1, 1, 1)), 0.3, atol=1e-6)
    at = found.ppf(np.array([0.23, 0.61])).reshape(-1, 2, 1)
    slope = (found.cdf(at + 1e-7) - found.cdf(at - 1e-7)) / 2e-7
    np.testing.assert_allclose(np.exp(found.log_prob(at)), slope.reshape(*front, 2), rtol=1e-3)
    assert np.isneginf(found.log_prob([-1.0])).all()
    loaded = load(fitted.save(tmp_path / "posterior.gb"))
    np.testing.assert_array_equal(loaded.condition(0.4).ppf(0.2), fitted.condition(0.4).ppf(0.2))


def test_the_paper_s_network_is_of_one_parameter() -> None:
    with pytest.raises(InvalidInput, match="recipe must be 'fast' for several parameters, got 'paper' for 2"):
        PosteriorEstimator(PRIOR, recipe="paper").fit(*simulate(60))
