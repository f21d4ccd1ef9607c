"""The learning curve: scored on unseen runs, falling where there is something to learn."""

import numpy as np
import pandas as pd
import pytest

from genbayes.campaign.learning_curve import LearningCurve, learn_curve
from genbayes.distribution import Normal


class Nearest:
    """The response of the nearest run, with a fixed spread; remembers how many runs it has seen."""

    sizes: list[int]

    def fit(self, X: pd.DataFrame, y: np.ndarray) -> "Nearest":
        self.x, self.y = X["x"].to_numpy(), y
        self.sizes.append(len(y))
        return self

    def predict_distribution(self, X: pd.DataFrame) -> Normal:
        nearest = np.abs(X["x"].to_numpy()[:, None] - self.x).argmin(axis=1)
        assert not np.isin(X["x"].to_numpy(), self.x).any()  # no run is scored that the model has seen
        return Normal(loc=self.y[nearest], scale=np.full(len(X), 0.01))


def test_more_runs_of_a_smooth_response_are_scored_better_and_never_on_what_was_seen() -> None:
    x = np.random.default_rng(0).uniform(size=200)
    Nearest.sizes = []
    curve = learn_curve(pd.DataFrame({"x": x}), np.sin(6 * x), Nearest, np.random.default_rng(1))
    assert curve.n.tolist() == [15, 25, 42, 71, 119, 200]
    assert curve.crps[-1] < curve.crps[0] / 4
    assert curve.power > 0.5  # the error of the nearest neighbour falls like 1/n
    assert Nearest.sizes[-5:] == [160] * 5
    assert (curve.standard_error > 0).all()


@pytest.mark.parametrize("y", [np.arange(14.0), np.ones(50)], ids=["too few", "constant"])
def test_there_is_no_curve_where_there_is_nothing_to_learn(y: np.ndarray) -> None:
    curve = learn_curve(pd.DataFrame({"x": np.arange(len(y))}), y, Nearest, np.random.default_rng(0))
    assert len(curve.n) == 0
    assert (curve.power, curve.expected_gain(10)) == (0.0, 0.0)


def test_the_expected_gain_follows_the_power_law_and_a_rising_curve_promises_nothing() -> None:
    n = np.array([50.0, 100.0, 200.0])
    curve = LearningCurve(n, 3.0 * n**-0.5, np.zeros(3))
    assert curve.power == pytest.approx(0.5)
    assert curve.expected_gain(200) == pytest.approx(1 - 2**-0.5)
    assert LearningCurve(n, n, np.zeros(3)).expected_gain(10) == 0.0


def test_a_campaign_has_a_curve_by_a_quick_gaussian_process(make_campaign) -> None:
    campaign = make_campaign(n_initial=16, budget=16)
    campaign.run(lambda x: np.sin(6 * x["x"]))
    curve = campaign.learning_curve()
    assert curve.n.tolist() == [15, 16]
    assert curve.crps.max() < 0.2
