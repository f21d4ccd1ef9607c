"""The learning curve: scored on unseen runs, falling where there is something to learn."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from genbayes.campaign.learning_curve import LearningCurve, learn_curve
from genbayes.distribution import Normal
from genbayes.models import registry


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


def test_the_error_of_the_gain_is_how_the_gain_varies_where_the_curve_is_noisy() -> None:
    n, crps, error = np.array([20.0, 30.0, 50.0, 90.0]), np.array([1.0, 0.85, 0.7, 0.5]), np.full(4, 0.01)
    rng = np.random.default_rng(0)
    gains = [LearningCurve(n, crps + error * rng.standard_normal(4), error).expected_gain(30) for _ in range(2_000)]
    assert LearningCurve(n, crps, error).gain_error(30) == pytest.approx(np.std(gains), rel=0.1)  # 6 errors of the std


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
    assert curve.model == curve.to_dict()["model"] == "stationary GP"


class Guess:
    """Errs by a given amount at every run."""

    def __init__(self, error: float = 1.0, categorical: object = None) -> None:
        self.error, self.categorical = error, categorical

    def get_params(self, deep: bool = True) -> dict[str, object]:
        return {"error": self.error, "categorical": self.categorical}

    def set_params(self, **settings: object) -> "Guess":
        vars(self).update(settings)
        return self

    def fit(self, X: pd.DataFrame, y: np.ndarray) -> "Guess":
        return self

    def predict_distribution(self, X: pd.DataFrame) -> Normal:
        return Normal(loc=X["x"].to_numpy() + self.error, scale=np.full(len(X), 1e-6))


@pytest.mark.parametrize(
    ("n", "gp", "network", "chosen"),
    [
        (40, 0.2, 0.1, "quantile network"),  # clearly better
        (40, 0.2, 0.2, "stationary GP"),  # no better
        (40, 0.01, 0.001, "stationary GP"),  # the GP leaves next to nothing, so nothing else is tried
        (25, 0.2, 0.1, "stationary GP"),  # too few runs for networks
    ],
)
def test_the_curve_is_of_the_model_that_the_proposer_would_ask(
    make_campaign, monkeypatch, n: int, gp: float, network: float, chosen: str
) -> None:
    for name, error in (("gp", gp), ("network", network)):
        entry = replace(registry._models[name], home=Guess, settings={"error": error})
        monkeypatch.setitem(registry._models, name, entry)
    campaign = make_campaign(n_initial=n, budget=n)
    campaign.run(lambda x: x["x"])  # from 0 to 1, so that its standard deviation is 0.29
    curve = campaign.learning_curve()
    assert curve.model == chosen
    assert curve.crps[-1] == pytest.approx(network if chosen == "quantile network" else gp, abs=1e-4)
    assert campaign.learning_curve(Guess(0.5)).model == "Guess"
