"""The promise itself: coverage against its theorem, from both sides, for models that are wrong."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr

from genbayes import ConformalSurrogate, Normal
from genbayes.conformal.recalibration import cross_bound, rows_needed
from genbayes.models.base import Surrogate

N_REPLICATES = 200


class Slope(Surrogate):
    """Least squares through the origin with a far too small standard deviation, so that copies differ by their rows."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> "Slope":
        self.slope = float(X[:, 0] @ y / (X[:, 0] @ X[:, 0]))
        return self

    def predict_distribution(self, X: np.ndarray) -> Normal:
        return Normal(self.slope * X[:, 0], 0.1)


def cover(
    make: Callable[[], ConformalSurrogate], draw, n: int, seed: int, n_replicates: int = N_REPLICATES
) -> list[float]:
    """Coverage at the level of the constructor, one value a replicate, each with fresh rows and fresh new inputs."""
    found = []
    for rng in np.random.default_rng(seed).spawn(n_replicates):
        model = make().fit(*draw(n, rng))
        X = rng.uniform(size=(100, 1))
        lower, upper = ndtr((np.stack(model.predict_interval(X)) - X.T) / (1 + X.T))  # a new run is N(x, (1 + x)^2)
        found.append(float(np.mean(upper - lower)))
    return found


def mean_and_error(values: list[float]) -> tuple[float, float]:
    return float(np.mean(values)), float(np.std(values, ddof=1)) / math.sqrt(len(values))


@pytest.mark.parametrize(("n_cal", "level"), [(6, 0.7), (20, 0.9), (100, 0.9), (1_000, 0.9)])
def test_coverage_is_the_level_rounded_up_to_a_gap(wrong, draw, n_cal: int, level: float) -> None:
    expected = math.ceil((n_cal + 1) * level) / (n_cal + 1)
    assert level <= expected < level + 1 / (n_cal + 1)
    found = cover(lambda: ConformalSurrogate(wrong(), level, "prefit"), draw, n_cal, seed=n_cal)
    mean, standard_error = mean_and_error(found)
    # by theory the coverage of one calibration is Beta with variance p (1 - p) / (n_cal + 2), and new inputs add to it
    assert standard_error < 1.5 * math.sqrt(expected * (1 - expected) / (n_cal + 2) / N_REPLICATES)
    assert abs(mean - expected) < 3 * standard_error  # false alarm 1 in 370


@settings(max_examples=25, deadline=None)
@given(st.integers(5, 95), st.integers(0, 6), st.integers(0, 2**32))
def test_of_n_plus_one_rows_exactly_the_promised_number_are_covered(percent: int, more: int, seed: int) -> None:
    """Each row in turn is the new one and the others calibrate: what exchangeability averages over, without chance."""
    level, rng = percent / 100, np.random.default_rng(seed)
    n = rows_needed(level) + more
    X, y = rng.uniform(size=(n + 1, 1)), rng.standard_cauchy(n + 1)
    model = Slope().fit(X, rng.standard_normal(n + 1))
    covered = 0
    for i in range(n + 1):
        rest = np.arange(n + 1) != i
        lower, upper = ConformalSurrogate(model, level, "prefit").fit(X[rest], y[rest]).predict_interval(X[[i]])
        covered += int(lower[0] <= y[i] <= upper[0])
    assert covered == math.ceil((n + 1) * level - 1e-9)


def test_a_split_covers_as_promised(draw) -> None:
    found = cover(lambda: ConformalSurrogate(Slope(), 0.8, random_state=0), draw, 40, seed=1)
    mean, standard_error = mean_and_error(found)
    assert abs(mean - math.ceil(11 * 0.8) / 11) < 3 * standard_error  # a quarter calibrates; false alarm 1 in 370


@pytest.mark.parametrize(("n", "n_folds"), [(20, 20), (40, 4), (200, 5)])
def test_cross_covers_at_least_what_its_theorem_says_and_usually_the_level(draw, n: int, n_folds: int) -> None:
    cross = ConformalSurrogate(Slope(), 0.9, "cross", n_folds=n_folds, random_state=0)
    mean, standard_error = mean_and_error(cover(lambda: cross, draw, n, seed=n, n_replicates=60))
    assert mean + 3 * standard_error > cross_bound(n, n_folds, 0.9)
    # least squares on one slope hardly changes with a few rows, so that the order statistics cover almost as in a split
    assert abs(mean - math.ceil((n + 1) * 0.9) / (n + 1)) < 3 * standard_error + 1 / (n + 1)


def test_cross_intervals_vary_less_than_those_of_a_split(draw) -> None:
    split, cross = (
        np.std(cover(lambda: ConformalSurrogate(Slope(), 0.8, method, random_state=0), draw, 60, 2, 60))  # noqa: B023
        for method in ("split", "cross")
    )
    assert cross < 0.75 * split  # 60 rows calibrate instead of 15: half in theory


def test_every_quantile_is_recalibrated(wrong, draw) -> None:
    n, tau, below = 60, np.array([0.1, 0.3, 0.5, 0.7, 0.9]), []
    for rng in np.random.default_rng(3).spawn(N_REPLICATES):
        model = ConformalSurrogate(wrong(), 0.9, "prefit").fit(*draw(n, rng))
        X = rng.uniform(size=(100, 1))
        below.append(ndtr((model.predict_quantiles(X, tau) - X) / (1 + X)).mean(axis=0))
    standard_error = np.std(below, axis=0) / math.sqrt(N_REPLICATES)
    assert (np.abs(np.mean(below, axis=0) - tau) < 3 * standard_error + 1 / (n + 1)).all()  # false alarm below 1 in 74
    own = ndtr((wrong().predict_distribution(X).ppf(tau) - X) / (1 + X)).mean(axis=0)
    assert (np.abs(own - tau) > 0.1).sum() >= 4  # there was something to mend


def test_coverage_holds_within_groups_that_differ() -> None:
    """Noise is ten times larger in one group, which the model does not know."""
    level, size, factor = 0.8, {"calm": 60, "wild": 14}, {"calm": 1.0, "wild": 10.0}
    hits: dict[str, list[float]] = {"calm": [], "wild": []}
    flat = Slope().fit(np.ones((2, 1)), np.zeros(2))
    groups = np.repeat(list(size), list(size.values()))
    for rng in np.random.default_rng(4).spawn(100):
        X = rng.uniform(size=(74, 1))
        y = np.array([factor[group] for group in groups]) * rng.standard_normal(74)
        model = ConformalSurrogate(flat, level, "prefit").fit(X, y, groups=groups)
        for group, found in hits.items():
            lower, upper = ndtr(np.stack(model.predict_interval(X[:20], groups=[group] * 20)) / factor[group])
            found.append(float(np.mean(upper - lower)))
    for group, n in size.items():
        mean, standard_error = mean_and_error(hits[group])
        assert abs(mean - math.ceil((n + 1) * level) / (n + 1)) < 3 * standard_error  # false alarm 1 in 185 for both


def test_ties_only_add_coverage() -> None:
    """Responses 0, 1, 2 and a model that knows nothing: an interval ends on a value and must contain it."""
    level, covered = 0.6, []
    flat = Constant(0.3)
    for rng in np.random.default_rng(5).spawn(100):
        X, y = rng.uniform(size=(21, 1)), rng.integers(3, size=21).astype(float)
        model = ConformalSurrogate(flat, level, "prefit").fit(X[:20], y[:20])
        lower, upper = model.predict_interval(X[20:])
        covered.append(float(lower[0] <= y[20] <= upper[0]))
    assert np.mean(covered) > level - 3 * math.sqrt(level * (1 - level) / 100)


class Constant(Surrogate):
    def __init__(self, value: float) -> None:
        self.value = value

    def predict_distribution(self, X: np.ndarray) -> Normal:
        return Normal(np.full(len(X), self.value), 0.1)


class Nearest(Surrogate):
    """Knows runs by heart: the mean of those at the nearest input, hardly any spread."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> "Nearest":
        self.n_learnt = len(y)
        self.X, group = np.unique(X, axis=0, return_inverse=True)
        self.y = np.bincount(group.ravel(), y) / np.bincount(group.ravel())
        return self

    def predict_distribution(self, X: np.ndarray) -> Normal:
        return Normal(self.y[np.abs(X - self.X.T).argmin(axis=1)], 0.01)


@pytest.mark.parametrize(("method", "n_scores"), [("split", 25), ("cross", 100), ("prefit", 100)])
def test_rows_given_three_times_are_never_parted_and_count_once(draw, method: str, n_scores: int) -> None:
    def three_times(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        order = rng.permutation(np.repeat(np.arange(n), 3))
        X, y = draw(n, rng)
        return X[order], y[order]

    model = Nearest().fit(*draw(100, np.random.default_rng(6))) if method == "prefit" else Nearest()
    make = lambda: ConformalSurrogate(model, 0.9, method, random_state=0)  # noqa: E731
    mean, standard_error = mean_and_error(cover(make, three_times, 100, seed=7, n_replicates=60))
    expected = math.ceil((n_scores + 1) * 0.9) / (n_scores + 1)
    allowed = 1 if method == "cross" else 0.02  # a nearest run changes with every row left out
    assert -3 * standard_error < mean - expected < 3 * standard_error + allowed  # false alarm 1 in 370
    fitted = make().fit(*three_times(100, np.random.default_rng(8)))
    assert len(fitted.scores_) == n_scores
    assert fitted.n_rows_ == 100
    if method != "prefit":  # the model learns from every copy
        assert fitted.models_[0].n_learnt == {"split": 225, "cross": 240}[method]


def draw_repeats(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Five runs at each of n inputs, most of whose spread is the input's own; new runs are N(x, (1 + x)^2)."""
    X = rng.uniform(size=(n, 1))
    y = X + (1 + X) * (0.95 * rng.standard_normal((n, 1)) + math.sqrt(1 - 0.95**2) * rng.standard_normal((n, 5)))
    return np.repeat(X, 5, axis=0), y.ravel()


@pytest.mark.parametrize("method", ["split", "cross"])
def test_where_inputs_repeat_coverage_at_new_inputs_is_had_by_splitting_inputs(method: str) -> None:
    found = {}
    for unit in ("run", "input"):
        make = lambda: ConformalSurrogate(Nearest(), 0.8, method, unit=unit, random_state=0)  # noqa: B023, E731
        found[unit] = mean_and_error(cover(make, draw_repeats, 40, seed=9, n_replicates=60))
    mean, standard_error = found["input"]
    n_inputs = 10 if method == "split" else 40
    expected = math.ceil((n_inputs + 1) * 0.8) / (n_inputs + 1)
    assert mean - expected > -3 * standard_error  # false alarm 1 in 740
    assert method == "cross" or mean - expected < 3 * standard_error
    assert found["run"][0] < 0.5  # runs at inputs that the model has learnt say nothing of new ones
