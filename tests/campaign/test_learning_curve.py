"""The learning curve: scored on unseen runs, falling where there is something to learn."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from genbayes.campaign.learning_curve import LearningCurve, Runs, learn_curve
from genbayes.data import Choice
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


def runs_at(x: np.ndarray, y: np.ndarray) -> Runs:
    return Runs.of(pd.DataFrame({"x": x}), y, [])


def test_more_runs_of_a_smooth_response_are_scored_better_and_never_on_what_was_seen() -> None:
    x = np.random.default_rng(0).uniform(size=200)
    Nearest.sizes = []
    curve = learn_curve(runs_at(x, np.sin(6 * x)), Nearest, np.random.default_rng(1))
    assert curve.n.tolist() == [15, 25, 42, 71, 119, 200]
    assert curve.crps[-1] < curve.crps[0] / 4
    assert curve.power > 0.5  # the error of the nearest neighbour falls like 1/n
    assert Nearest.sizes[-5:] == [160] * 5
    assert (curve.standard_error > 0).all()


ONE, TWO = np.zeros(20), np.zeros(50)
ONE[3], TWO[[8, 12]] = 1.0, 1.0


@pytest.mark.parametrize(
    ("y", "reason"),
    [
        (np.arange(14.0), "it takes 15 runs; done so far: 14"),
        (np.zeros(20), "all 20 runs gave 0, which leaves nothing to learn"),
        (ONE, "19 of 20 runs gave 0, which leaves nothing to learn where the others are held out"),
    ],
    ids=["too few", "constant", "constant but for one"],
)
def test_a_curve_that_is_not_there_says_why(y: np.ndarray, reason: str) -> None:
    Nearest.sizes = []
    curve = learn_curve(runs_at(np.arange(len(y)), y), Nearest, np.random.default_rng(0))
    assert (len(curve.n), Nearest.sizes) == (0, [])
    assert (curve.power, curve.expected_gain(10)) == (0.0, 0.0)
    assert curve.reason == curve.to_dict()["reason"] == f"No learning curve: {reason}."


def test_too_few_inputs_to_hold_one_out_have_no_curve() -> None:
    curve = learn_curve(runs_at(np.arange(16) % 2, np.arange(16.0)), Nearest, np.random.default_rng(0))
    assert curve.reason.startswith("No learning curve: 16 runs at 2 inputs are too few to hold inputs out")


def test_runs_that_each_have_a_category_of_their_own_have_no_curve() -> None:
    gas = pd.DataFrame({"gas": [f"gas {i}" for i in range(20)]})
    curve = learn_curve(Runs.of(gas, np.arange(20.0), ["gas"]), Nearest, np.random.default_rng(0))
    assert curve.reason.startswith("No learning curve: nearly every run has a category that no other has")


def test_sizes_with_nothing_to_learn_are_skipped() -> None:
    x = np.random.default_rng(0).uniform(size=60)
    Nearest.sizes = []
    curve = learn_curve(runs_at(x, np.r_[np.zeros(21), x[21:]]), Nearest, np.random.default_rng(1))
    assert curve.n.tolist() == [26, 34, 45, 60]  # not 15 and 20
    assert curve.reason == ""


@pytest.mark.parametrize("order", ["in turn", "one after the other"])
def test_repeats_of_an_input_are_not_scored_by_a_model_that_learnt_it(order: str) -> None:
    x, y = np.random.default_rng(0).uniform(size=(2, 15))
    rows = np.tile(np.arange(15), 3) if order == "in turn" else np.repeat(np.arange(15), 3)
    Nearest.sizes = []
    curve = learn_curve(runs_at(x[rows], y[rows]), Nearest, np.random.default_rng(0))  # Nearest looks
    assert curve.n[-1] == 45
    assert curve.crps.min() > 0.1  # neighbours differ by a third on average, copies by 0


def test_the_standard_error_counts_repeats_of_an_input_once() -> None:
    x, y = np.random.default_rng(0).uniform(size=(2, 30))
    once, thrice = (learn_curve(runs_at(np.tile(x, n), np.tile(y, n)), Guess, np.random.default_rng(0)) for n in (1, 3))
    assert (once.n[-1], thrice.n[-1]) == (30, 90)
    assert thrice.standard_error[-1] == pytest.approx(once.standard_error[-1])  # Guess errs the same at every repeat


def test_a_category_of_few_runs_is_learnt_and_never_scored(make_campaign) -> None:
    campaign = make_campaign({"x": (0.0, 1.0), "gas": Choice(*"ABCDEFGH")}, n_initial=20, budget=20)
    campaign.run(lambda x: x["x"] + ord(x["gas"]) % 3)
    assert campaign.learning_curve().n.tolist() == [15, 16, 17, 18, 19, 20]


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
