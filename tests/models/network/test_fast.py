"""The recipe "fast": folds, relevance, spread, and the choice of batch and length."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from genbayes import QuantileSurrogate
from genbayes.models.network import IQNSettings, LossWeights, NetworkShape, Rows, fit_iqn
from genbayes.models.network import trials as fast
from genbayes.models.network.fit import choose_spread, stretch
from genbayes.models.network.trials import (
    N_FOLDS,
    N_FOURIER,
    Attempt,
    Plan,
    Team,
    best_of,
    default_batch,
    folds,
    measure_relevance,
)
from genbayes.training import History, TrainingSettings


def rows_of(X: np.ndarray, y: np.ndarray) -> Rows:
    scaled = [(part - part.mean(axis=0)) / part.std(axis=0) for part in (X, y)]
    Z, z = (torch.as_tensor(part, dtype=torch.float32) for part in scaled)
    return Rows(Z, z, torch.ones(len(z)))


@pytest.mark.parametrize("n", [10, 11, 133, 1_000])
def test_five_members_keep_different_rows_aside(n: int) -> None:
    aside = folds(n, N_FOLDS, np.random.default_rng(0))
    assert aside.shape == (N_FOLDS, n // N_FOLDS)
    assert len(set(aside.ravel().tolist())) == aside.numel()


def test_a_member_s_fold_does_not_depend_on_how_many_there_are() -> None:
    few, many = (folds(100, k, np.random.default_rng(0)) for k in (2, 12))
    assert torch.equal(few, many[:2])
    assert torch.equal(many[0], many[5])


def test_no_member_keeps_more_aside_than_it_needs() -> None:
    assert folds(90_000, 5, np.random.default_rng(0)).shape == (5, 2_000)


def test_batches_grow_with_the_data_within_limits() -> None:
    assert default_batch(10) == 128
    assert default_batch(10**6) == 1024


def test_inputs_that_do_not_matter_are_found() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(800, 6))
    y = np.sin(6 * X[:, 0]) + X[:, 1] ** 2 + 0.1 * rng.standard_normal(800)
    relevance = measure_relevance(rows_of(X, y), np.random.default_rng(1))
    assert relevance[:2].min() > 0.2
    assert relevance[2:].max() < 0.1


def test_stretching_moves_quantiles_away_from_their_median() -> None:
    q = torch.tensor([[0.0, 1.0, 2.0, 3.0, 4.0]])
    assert stretch(q, 1.5).tolist() == [[-1.0, 0.5, 2.0, 3.5, 5.0]]


def test_a_network_that_is_too_sure_of_itself_is_stretched() -> None:
    """Members that learn their rows by heart state quantiles too close together; unseen rows show it."""
    rng = np.random.default_rng(0)
    rows = rows_of(rng.uniform(size=(150, 3)), rng.standard_normal(150))
    settings = IQNSettings(
        NetworkShape(3, 2, 64, 3, 32), LossWeights(0.0, 0.0, 1.0), TrainingSettings(300, 64, 5e-3), n_tau=4
    )
    generators = [torch.Generator().manual_seed(j) for j in range(2)]
    aside = folds(150, 2, np.random.default_rng(1))
    learnt_by_heart, _ = fit_iqn(rows, settings, generators, aside=None)
    assert choose_spread(learnt_by_heart, rows, aside) < 1.5  # its own training rows cannot tell
    settings = IQNSettings(settings.shape, settings.weights, TrainingSettings(300, 64, 5e-3, patience=None), n_tau=4)
    network, _ = fit_iqn(rows, settings, generators, aside=aside)
    assert np.isfinite(choose_spread(network, rows, aside))


def test_a_good_fit_is_hardly_stretched(make) -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(2_000, 1))
    model = make(n_members=5, n_epochs=30, n_hidden=32).fit(X, X[:, 0] + rng.standard_normal(2_000))
    assert 1 <= model.spread_ < 1.15


def test_training_stops_before_it_learns_noise_by_heart() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.uniform(size=(300, 4)), rng.standard_normal(300)
    model = QuantileSurrogate(n_members=2, random_state=0).fit(X, y)
    assert model.history_.epoch[-1] < 0.5 * model.settings_.training.n_epochs
    # CRPS of the true law of pure noise is 1/sqrt(pi) = 0.564; that of one old response stated with certainty, which is
    # what learning by heart comes to, is E|y - y'| = 2/sqrt(pi). Stay within a fifth of the way.
    best, by_heart = 1 / np.sqrt(np.pi), 2 / np.sqrt(np.pi)
    fresh = rng.standard_normal(2_000)
    crps = model.predict_distribution(rng.uniform(size=(2_000, 4))).crps(fresh).mean()
    assert crps < best + 0.2 * (by_heart - best)


def test_what_the_user_sets_is_not_chosen(make, runs) -> None:
    model = make(n_layers=2, n_hidden=12, batch_size=7, learning_rate=0.002, dropout=0.3, n_epochs=3).fit(*runs)
    shape, training = model.settings_.shape, model.settings_.training
    assert (shape.n_layers, shape.n_hidden, model.settings_.dropout) == (2, 12, 0.3)
    assert (training.batch_size, training.learning_rate, training.n_epochs) == (7, 0.002, 3)


def test_what_was_tried_for_fewer_epochs_is_trained_for_all_of_them(make, runs, monkeypatch) -> None:
    monkeypatch.setattr(fast, "TRIAL_VISITS", 5 * len(runs[1]))
    monkeypatch.setattr(fast, "MOST_EPOCHS", 60)
    trained, train = [], Team.train

    def note(self: Team, plan: Plan, first: int, last: int, n_rounds: int | None = None) -> Attempt:
        trained.append((plan.settings.training.n_epochs, first, last))
        return train(self, plan, first, last, n_rounds)

    monkeypatch.setattr(Team, "train", note)
    model = make(n_epochs=None, n_members=3).fit(*runs)
    assert trained[-1] == (60, 0, 3)  # all members anew, for all the epochs
    assert {n_epochs for n_epochs, _, _ in trained[:-1]} == {5}
    assert model.settings_.training.n_epochs == 60


@pytest.mark.parametrize(("gain", "chosen"), [(0.5, "deep"), (0.02, "shallow"), (-0.5, "shallow")])
def test_the_deep_plan_must_earn_its_freedom(gain: float, chosen: str) -> None:
    """Gains of 0.5 or 0.02 with a standard error of 1 / sqrt(200) = 0.07."""
    noise = torch.randn(2, 100, generator=torch.Generator().manual_seed(0))
    noise -= noise.mean()
    weight = torch.ones(2, 100)

    def attempt(name: str, scores: torch.Tensor) -> Attempt:
        return Attempt(Plan(name, None, torch.ones(1), is_deep=name == "deep"), None, None, scores, weight)

    shallow, deep = attempt("shallow", torch.ones(2, 100)), attempt("deep", 1 - gain + noise)
    assert best_of([shallow, deep]).plan.name == chosen


class Troop(Team):
    """A team whose attempts have the scores that a test gives, by the name of the plan and its rounds."""

    def __init__(self, scores: dict[tuple[str, int], float], unfinished: str, n_rows: int = 100) -> None:
        super().__init__(range(n_rows), None, [], False)
        object.__setattr__(self, "told", (scores, unfinished.split(), []))

    def train(self, plan: Plan, first: int, last: int, n_rounds: int | None = None) -> Attempt:
        scores, unfinished, tried = self.told
        job = plan.name, n_rounds or plan.n_rounds
        tried.append(job)
        history = History(*[np.empty(0)] * 4, seconds=0.0, n_threads=1, is_unfinished=plan.name in unfinished)
        gain = torch.tensor([[1.0, -1.0]]) * scores.get(("doubt about", plan.name), 0.0)
        return Attempt(plan, None, history, scores[job] + gain, torch.ones(1, 2))


def plan(name: str, n_rounds: int = 3) -> Plan:
    training = TrainingSettings(n_epochs=1, learning_rate=0.1, n_rounds=n_rounds)
    settings = IQNSettings(NetworkShape(2), LossWeights(0.1, 0.2, 0.7), training, dropout=0.05)
    return Plan(name, settings, torch.ones(2), is_deep=name == "deep")


@pytest.mark.parametrize(
    ("unfinished", "later", "chosen", "then"),
    [
        ("", {}, "deep", []),  # what has come to its end neither goes on nor asks for Fourier features
        ("shallow", {}, "deep", []),  # what is clearly beaten does not go on
        ("deep", {("deep", 3): 0.3}, "fourier", [("deep", 3), ("fourier", 3)]),
        ("deep", {("deep", 3): 0.1}, "deep", [("deep", 3), ("fourier", 3)]),
        # Fourier features must be clearly better, like all that has more freedom
        ("deep", {("deep", 3): 0.3, ("doubt about", "fourier"): 1.0}, "deep", [("deep", 3), ("fourier", 3)]),
    ],
)
def test_only_what_is_unfinished_and_may_yet_win_goes_on_and_has_to_beat_fourier_features(
    unfinished: str, later: dict[tuple[str, int], float], chosen: str, then: list[tuple[str, int]]
) -> None:
    team = Troop({("shallow", 1): 0.9, ("deep", 1): 0.5, ("fourier", 3): 0.2, **later}, unfinished)
    assert team.choose([plan("shallow"), plan("deep")], plan("fourier")).plan.name == chosen
    assert team.told[2] == [("shallow", 1), ("deep", 1), *then]


def test_an_unfinished_plan_that_is_just_behind_may_overtake_a_finished_one() -> None:
    scores = {("shallow", 1): 0.5, ("deep", 1): 0.51, ("doubt about", "shallow"): 0.1, ("deep", 3): 0.1}
    team = Troop({**scores, ("fourier", 3): 0.2}, "deep")
    assert team.choose([plan("shallow"), plan("deep")], plan("fourier")).plan.name == "deep"


def test_where_no_more_rounds_fit_only_fourier_features_are_tried() -> None:
    team = Troop({("shallow", 1): 0.9, ("deep", 1): 0.5, ("fourier", 1): 0.2}, "shallow deep")
    assert team.choose([plan("shallow", 1), plan("deep", 1)], plan("fourier", 1)).plan.name == "fourier"
    assert team.told[2] == [("shallow", 1), ("deep", 1), ("fourier", 1)]


@pytest.mark.parametrize(("score", "chosen"), [(0.2, "fourier"), (0.6, "deep")])
def test_among_many_runs_fourier_features_are_tried_even_where_all_plans_came_to_their_end(
    score: float, chosen: str
) -> None:
    team = Troop({("shallow", 1): 0.9, ("deep", 1): 0.5, ("fourier", 3): score}, "", fast.MANY_RUNS)
    assert team.choose([plan("shallow"), plan("deep")], plan("fourier")).plan.name == chosen
    assert team.told[2] == [("shallow", 1), ("deep", 1), ("fourier", 3)]


@pytest.mark.parametrize("n_fourier", [0, 10])
def test_fourier_features_that_the_user_sets_are_in_every_plan_and_no_others_are_tried(
    make, runs, n_fourier: int
) -> None:
    model = make(n_fourier=n_fourier, n_epochs=None, recipe="fast").fit(*runs)
    assert model.settings_.shape.n_fourier == n_fourier


def test_fourier_features_of_single_inputs_find_narrow_ridges_among_several_inputs() -> None:
    """A sum of narrow ridges along four inputs: a network without Fourier features finds hardly any of them."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0, np.pi, size=(6_000, 4))
    y = -(np.sin(X) * np.sin(np.arange(1, 5) * X**2 / np.pi) ** 20).sum(axis=1)
    settings = {"n_members": 1, "n_layers": 3, "n_epochs": 20, "random_state": 0, "device": "cpu"}
    fourier, plain = (
        QuantileSurrogate(n_fourier=n, dropout=0.0, **settings).fit(X[:5_000], y[:5_000]) for n in (N_FOURIER, 0)
    )
    crps, without = (model.predict_distribution(X[5_000:]).crps(y[5_000:]).mean() for model in (fourier, plain))
    assert crps < 0.5 * without


@pytest.mark.parametrize(("dropout", "used"), [(None, 0.0), (0.3, 0.3)])
def test_the_fourier_plan_is_the_deep_one_with_features_and_no_dropout_of_ours(
    dropout: float | None, used: float
) -> None:
    fourier = fast.fourier_plan([plan("shallow"), plan("deep")], dropout)
    assert (fourier.settings.shape.n_fourier, fourier.settings.dropout, fourier.is_deep) == (N_FOURIER, used, True)


def test_of_many_inputs_each_has_a_fourier_feature() -> None:
    deep = plan("deep")
    wide = replace(deep, settings=replace(deep.settings, shape=NetworkShape(3 * N_FOURIER)))
    assert fast.fourier_plan([wide], None).settings.shape.n_fourier == 3 * N_FOURIER


@pytest.mark.slow
def test_fine_detail_in_many_quiet_runs_is_left_to_fourier_features() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(4_000, 2))
    y = np.sin(25 * X[:, 0]) * np.cos(20 * X[:, 1]) + 0.02 * rng.standard_normal(4_000)
    model = QuantileSurrogate(n_members=2, random_state=0).fit(X[:3_000], y[:3_000])
    assert model.settings_.shape.n_fourier == N_FOURIER
    crps = model.predict_distribution(X[3_000:]).crps(y[3_000:]).mean()
    assert crps < 2 * 0.02 / np.sqrt(np.pi)  # within twice that of the true law
