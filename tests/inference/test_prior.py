"""Priors: what is taken, what is refused, and that a draw, a density and a file agree."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from genbayes import Box
from genbayes.data.box import Choice, Integer, Log
from genbayes.errors import InvalidInput, PriorAssumed, UnreadableFile
from genbayes.inference import Prior, as_prior

SPREAD = [[2.0, 0.5], [0.5, 1.0]]
PRIORS = {
    "list": [stats.gamma(2.0, scale=3.0), stats.norm(1.0, 2.0)],
    "dict": {"a": stats.beta(2, 3), "b": stats.loguniform(0.1, 10.0)},
    "one": stats.norm(0, 1),
    "truncnorm": [stats.truncnorm(-1, 2, loc=3, scale=0.5)],
    "truncated below": [stats.truncnorm(0, np.inf), stats.truncnorm(-np.inf, 1, loc=2)],
    "normal": stats.multivariate_normal([1.0, -1.0], SPREAD),
    "normal of one": stats.multivariate_normal(0.0, 4.0),
    "t": stats.multivariate_t([1.0, -1.0], SPREAD, df=5),
    "box": Box({"a": (0.0, 2.0), "b": Log(0.01, 1.0)}),
}


@pytest.mark.parametrize("name", PRIORS)
def test_draws_follow_the_margins_and_lie_in_the_support(name: str) -> None:
    prior = as_prior(PRIORS[name])
    theta = prior.sample(2000, np.random.default_rng(1))
    assert theta.shape == (2000, prior.k)
    assert prior.contains(theta).all()
    p_values = [stats.kstest(u, "uniform").pvalue for u in prior.cdf(theta).T]
    assert min(p_values) > 1e-4


@pytest.mark.parametrize("name", PRIORS)
def test_a_prior_survives_a_file(name: str) -> None:
    prior = as_prior(PRIORS[name])
    back = Prior.from_dict(json.loads(json.dumps(prior.to_dict(), allow_nan=False)))
    theta = prior.sample(20, np.random.default_rng(2))
    np.testing.assert_allclose(back.log_prob(theta), prior.log_prob(theta), rtol=1e-12)
    assert back.names == prior.names
    np.testing.assert_array_equal(back.lower, prior.lower)


def test_the_density_is_that_of_scipy() -> None:
    theta = np.array([[0.3, -1.0], [2.0, 0.5]])
    expected = stats.gamma(2.0, scale=3.0).logpdf(theta[:, 0]) + stats.norm(1, 2).logpdf(theta[:, 1])
    np.testing.assert_allclose(as_prior(PRIORS["list"]).log_prob(theta), expected)
    np.testing.assert_allclose(as_prior(PRIORS["t"]).log_prob(theta), PRIORS["t"].logpdf(theta))


def test_the_support_has_infinite_ends_where_there_are_none() -> None:
    prior = as_prior(PRIORS["list"])
    assert prior.lower.tolist() == [0.0, -np.inf]
    assert prior.upper.tolist() == [np.inf, np.inf]


def test_without_a_prior_the_box_of_theta_is_taken_and_named() -> None:
    theta = pd.DataFrame({"a": [0.0, 1.0, 0.5], "b": [2.0, 4.0, 3.0]})
    with pytest.warns(PriorAssumed, match=r"a in \[0, 1\], b in \[2, 4\]"):
        prior = as_prior(None, theta)
    assert prior.names == ("a", "b")
    assert prior.contains(theta).all()


class Foreign(stats.rv_continuous):
    def _pdf(self, x: float) -> float:
        return 1.0


REFUSED = {
    "discrete": ([stats.poisson(3)], "continuous, got a discrete distribution for 'theta1'"),
    "not frozen": ([stats.norm], "freeze it with its numbers"),
    "a number": (3, "got 3"),
    "empty": ([], r"got \[\]"),
    "kde": (stats.gaussian_kde(np.arange(5.0)), "got gaussian_kde"),
    "own": ([Foreign(a=0, b=1, name="norm")(loc=0)], "SciPy has by name"),
    "vector": ([stats.norm([0, 1], 1)], "one distribution a parameter"),
    "improper": ([stats.uniform(0, np.inf)], "must be proper"),
    "no bound": ([stats.norm(0, np.inf)], "numbers or quartiles are not finite; .* a far bound"),
    "nan": ([stats.norm(np.nan, 1)], "must be proper"),
    "no scale": ([stats.norm(0, 0)], "must be proper"),
    "negative scale": ({"a": stats.norm(0, -1)}, "for 'a'"),
    "singular": (stats.multivariate_normal([0, 0], [[1, 1], [1, 1]], allow_singular=True), "full rank"),
    "integer": (Box({"n": Integer(1, 5)}), "continuous, got Integer for 'n'"),
    "choice": (Box({"n": Choice("a", "b")}), "continuous, got Choice for 'n'"),
    "dirichlet": (stats.dirichlet([1.0, 1.0]), "got dirichlet_frozen"),
    "none": (None, "got None without simulated theta"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_proper_continuous_prior_is_refused(name: str) -> None:
    given, sentence = REFUSED[name]
    with pytest.raises(InvalidInput, match=sentence):
        as_prior(given)


@pytest.mark.parametrize(
    ("theta", "sentence"),
    [
        ([[0.5, 0.5], [2.0, 0.5], [0.1, -1.0]], r"got 2 of 3 rows \(rows 1, 2\) outside"),
        ([[0.5, np.nan]], "finite"),
        ([[0.5]], "2 columns"),
        ([0.5, 0.5], r"shape \(n, k\)"),
        (["a", "b"], "numbers"),
    ],
)
def test_theta_that_the_prior_cannot_have_drawn_is_refused(theta: object, sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        as_prior(Box.unit(2)).take(theta)


def test_a_constant_parameter_fills_no_box() -> None:
    with pytest.raises(InvalidInput, match="same value of 'theta2'"):
        as_prior(None, np.array([[0.0, 1.0], [1.0, 1.0]]))


def test_columns_of_a_frame_are_found_by_name() -> None:
    prior = as_prior({"a": stats.norm(0, 1), "b": stats.uniform(5, 1)})
    assert prior.take(pd.DataFrame({"b": [5.5], "a": [0.1]})).tolist() == [[0.1, 5.5]]
    assert prior.take({"b": [5.5], "a": [0.1]}).tolist() == [[0.1, 5.5]]


def test_columns_or_parameters_that_are_only_numbered_are_taken_by_position() -> None:
    prior, unnamed = as_prior(Box({"a": (0, 1), "b": (5, 6)})), as_prior([stats.uniform(0, 1), stats.uniform(5, 1)])
    assert prior.take(pd.DataFrame([[0.1, 5.5]])).tolist() == [[0.1, 5.5]]
    assert unnamed.take(pd.DataFrame({"u": [0.1], "v": [5.5]})).tolist() == [[0.1, 5.5]]


@pytest.mark.parametrize("columns", [["B", "a"], ["u", "v"], ["a", "a"], ["a", "b", "c"]], ids=str)
def test_columns_that_are_not_those_of_the_prior_are_not_taken_by_position(columns: list[str]) -> None:
    prior = as_prior({"a": stats.norm(0, 1), "b": stats.norm(0, 1)})
    with pytest.raises(InvalidInput, match=f"theta must have the columns a, b, got {', '.join(columns)}; rename"):
        prior.take(pd.DataFrame([[0.1, 0.5, 0.3][: len(columns)]], columns=columns))


@pytest.mark.parametrize(
    "kept",
    [
        {},
        {"names": ["a"], "margins": [{"name": "rv_continuous", "numbers": []}]},
        {"names": ["a"], "margins": [{"name": "os.system", "numbers": [1]}]},
        {"names": ["a"], "margins": [{"name": "norm", "numbers": ["x", 1]}]},
        {"names": ["a"], "joint": {"loc": [0.0], "spread": [[-1.0]], "df": None}},
    ],
)
def test_a_foreign_description_is_refused(kept: dict[str, object]) -> None:
    with pytest.raises(UnreadableFile, match="must describe a prior"):
        Prior.from_dict(kept)
