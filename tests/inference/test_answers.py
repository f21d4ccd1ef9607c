"""What a posterior answers: predictions, importance weights, replicates, ArviZ, pictures; and where pairs come from."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from genbayes import Box, Campaign, InvalidInput, PosteriorEstimator
from genbayes.errors import FewEffectiveDraws, SimulationsDropped
from genbayes.inference import as_prior
from genbayes.inference.emulation import FEWEST_TRIALS

SD = np.sqrt(0.5)


def simulate(theta: Any, rng: np.random.Generator) -> Any:
    return theta + rng.standard_normal(np.shape(theta))


def log_likelihood(y: Any) -> Any:
    return lambda theta: stats.norm.logpdf(y - theta).sum(axis=1)


def test_weights_against_the_likelihood_give_the_exact_moments_from_a_posterior_that_is_too_wide(gaussian: Any) -> None:
    y = np.array([1.0, -2.0])
    wide = gaussian(narrow=0.8).condition_on_summaries(y[None], is_single=True)
    weighted = wide.reweight(log_likelihood(y), n=100_000, random_state=0)
    # effective size about 60,000, so standard errors are below 0.003 of the mean and 0.6% of a variance
    np.testing.assert_allclose(weighted.mean(), y / 2, atol=0.012)
    np.testing.assert_allclose(weighted.cov(), 0.5 * np.eye(2), atol=0.01)
    assert 0.4 < weighted.effective_size / 100_000 < 1
    assert weighted.sample(500, random_state=0).shape == (500, 2)
    assert "100,000 weighted draws, effective sample size" in str(weighted)


def test_few_effective_draws_are_warned_of(gaussian: Any) -> None:
    narrow = gaussian(narrow=8.0).condition_on_summaries(np.array([[1.0, -2.0]]), is_single=True)
    with pytest.warns(FewEffectiveDraws, match="effective sample size"):
        narrow.reweight(lambda theta: -50.0 * ((theta - 1.5) ** 2).sum(axis=1), n=1000, random_state=0)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda p: p.reweight(lambda t: np.zeros(3)), r"return \(10000,\), got shape \(3,\)"),
        (lambda p: p.reweight(lambda t: np.full(len(t), np.nan)), "must be a number or -inf"),
        (lambda p: p.reweight(lambda t: np.full(len(t), -np.inf)), "finite at some"),
        (lambda p: p.plot(truth=[1.0]), "truth must have 2 values"),
        (lambda p: p.plot(n=1), "n must be a whole number of at least 2"),
    ],
    ids=["shape", "nan", "minus infinity", "truth", "one draw"],
)
def test_what_cannot_be_answered_is_said_in_one_sentence(gaussian: Any, call: Any, sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        call(gaussian(n=50).condition_on_summaries(np.zeros((1, 2)), is_single=True))


def test_predictions_are_simulated_with_draws(gaussian: Any) -> None:
    posterior = gaussian(n=50).condition_on_summaries(np.array([[2.0, 0.0]]), is_single=True)
    y = posterior.predictive(simulate, n=2000, random_state=0)
    assert y.shape == (2000, 2)
    # predictive N(1, 1.5): the mean of 2,000 has standard error 0.027
    np.testing.assert_allclose(y.mean(axis=0), [1.0, 0.0], atol=0.11)
    np.testing.assert_array_equal(y, posterior.predictive(simulate, n=2000, random_state=0))


def test_replicates_stand_for_predictions_without_a_simulator(gaussian: Any) -> None:
    found = gaussian(n=50).condition_on_summaries(np.array([[2.0, 0.0]]), is_single=True).replicates()
    assert found.effective > 200
    np.testing.assert_allclose(found.y.mean(axis=0), [1.0, 0.0], atol=0.3)
    assert gaussian(n=50, narrow=200.0).condition_on_summaries(np.zeros((1, 2)), is_single=True).replicates() is None


def test_arviz_gets_chains_of_every_parameter_with_the_density(gaussian: Any) -> None:
    pytest.importorskip("arviz")
    data = gaussian(n=50).condition_on_summaries(np.zeros((1, 2)), is_single=True).to_arviz(n=400)
    assert data.posterior["theta2"].shape == (4, 100)
    assert data.sample_stats["lp"].shape == (4, 100)


def test_a_corner_plot_has_a_panel_for_each_parameter_and_pair(gaussian: Any) -> None:
    figure = gaussian(k=3, n=50).condition_on_summaries(np.zeros((1, 3)), is_single=True).plot(truth=[0, 0, 0])
    assert len(figure.axes) == 6


@pytest.mark.parametrize(
    "truth",
    [
        {"theta2": 1.0, "theta1": 0.5},
        pd.DataFrame({"theta2": [1.0], "theta1": [0.5]}),
        pd.DataFrame({"u": [0.5], "v": [1.0]}),  # parameters are only numbered
        np.array([[0.5, 1.0]]),
    ],
    ids=["dictionary", "frame", "other names", "one row"],
)
def test_a_true_point_is_marked_wherever_it_comes_from(gaussian: Any, truth: Any) -> None:
    figure = gaussian(n=50).condition_on_summaries(np.zeros((1, 2)), is_single=True).plot(truth=truth, n=100)
    marked = [
        tuple(np.ravel(line.get_data())) for axes in figure.axes for line in axes.lines if len(line.get_xdata()) == 1
    ]
    assert marked == [(0.5, 1.0)]


def test_a_simulator_is_run_at_draws_from_the_prior_and_its_failures_are_reported() -> None:
    def fails_at_times(theta: Any, rng: np.random.Generator) -> Any:
        return simulate(theta, rng) if theta[0] > -0.8 else np.nan

    prior = {"a": stats.uniform(-1, 2), "b": stats.norm(0, 1)}
    estimator = PosteriorEstimator(prior, n_members=1, random_state=0)
    with pytest.warns(SimulationsDropped, match="of 150 simulations failed") as caught:
        estimator.fit_simulator(fails_at_times, n_simulations=150)
    assert estimator.n_pairs_ + sum(estimator.dropped_.values()) == 150
    assert "simulations were not used: the run failed" in str(estimator.report_)
    assert estimator.prior_.names == ("a", "b")
    assert len(caught) <= 2  # theta is no longer uniform, which may be said as well


@pytest.mark.parametrize(
    ("prior", "n", "sentence"),
    [(None, 100, "prior must be given to draw"), (Box.unit(1), 0, "n_simulations must be a whole number")],
)
def test_a_simulator_needs_a_prior_and_a_number_of_runs(prior: Any, n: int, sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        PosteriorEstimator(prior).fit_simulator(simulate, n_simulations=n)


@pytest.mark.parametrize(("n_rounds", "given"), [(1, [0.0]), (2, None)])
def test_rounds_need_an_observation_and_a_single_fit_needs_none(n_rounds: int, given: Any) -> None:
    with pytest.raises(InvalidInput, match="y_observed must be given with n_rounds above 1 and only then"):
        PosteriorEstimator(Box.unit(1), n_rounds=n_rounds).fit_simulator(simulate, 100, y_observed=given)


def test_rounds_run_the_simulator_where_the_posterior_may_be() -> None:
    seen: list[Any] = []

    def watch(theta: Any, rng: np.random.Generator) -> Any:
        seen.append(theta)
        return theta + 0.1 * rng.standard_normal(2)

    estimator = PosteriorEstimator(Box.unit(2), n_rounds=2, n_members=1, random_state=0)
    estimator.fit_simulator(watch, 300, y_observed=[0.5, 0.5])
    later = np.array(seen[150:])
    assert len(seen) == 300
    assert later.std(axis=0).max() < 0.8 * np.array(seen[:150]).std(axis=0).min()


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Campaign:
    space = Box({"a": (-4.0, 4.0), "b": (-4.0, 4.0)})
    url, n = f"sqlite:///{tmp_path_factory.mktemp('campaign')}/c.db", FEWEST_TRIALS + 30
    made = Campaign.create(url, "c", space, n_initial=n, responses=["s1", "s2"], random_state=0)
    rng = np.random.default_rng(0)
    for trial in made.ask(n):
        theta = np.array([trial.x["a"], trial.x["b"]])
        made.tell(trial, y=simulate(theta, rng).tolist())
    return made


def test_trials_of_a_campaign_teach_an_emulator_that_stands_in_for_the_simulator(campaign: Campaign) -> None:
    prior = {"b": stats.norm(0, 1), "a": stats.norm(0, 1.5)}
    estimator = PosteriorEstimator(prior, n_members=1, random_state=0).fit_campaign(campaign, n_emulated=400)
    assert estimator.prior_.names == ("b", "a")
    assert estimator.dropped_["draws from the prior lie outside the campaign's space"] > 0
    assert any("emulator of 80 trials" in note for note in estimator.notes_)
    # s1 = a + noise, so a is about 1.5^2 / (1 + 1.5^2) of it; few trials and pairs, so loosely
    assert estimator.condition([2.0, 0.0]).mean()[1] == pytest.approx(2 * 2.25 / 3.25, abs=0.6)


def test_without_a_prior_a_campaign_has_its_space_and_its_names(campaign: Campaign) -> None:
    estimator = PosteriorEstimator(n_members=1, random_state=0).fit_campaign(campaign, n_emulated=400)
    assert estimator.prior is None
    assert estimator.prior_.to_dict() == as_prior(campaign.space).to_dict()
    assert estimator.response_names_ == ("s1", "s2")
    assert (
        estimator.notes_[0]
        == "The prior is uniform on the campaign's space (of the logarithm, for logarithmic inputs)."
    )


@pytest.mark.parametrize(
    ("prior", "sentence"),
    [
        ({"a": stats.norm(0, 1)}, "prior must be of the campaign's inputs .a, b., got one of a"),
        ([stats.norm(0, 1)] * 2, "got one of theta1, theta2; pass a dictionary"),
    ],
)
def test_a_prior_of_other_inputs_than_the_campaigns_is_refused(campaign: Campaign, prior: Any, sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        PosteriorEstimator(prior).fit_campaign(campaign)


def test_a_campaign_with_few_trials_is_refused(tmp_path: Any) -> None:
    few = Campaign.create(f"sqlite:///{tmp_path}/c.db", "c", Box({"a": (0.0, 1.0)}), random_state=0)
    with pytest.raises(InvalidInput, match="campaign must have at least 50 finished trials, got 0"):
        PosteriorEstimator(Box({"a": (0.0, 1.0)})).fit_campaign(few)
