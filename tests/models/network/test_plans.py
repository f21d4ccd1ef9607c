"""The recipe "fast": settings by the number of runs, relevance, spread, and the plan that is chosen."""

import itertools
import math
import threading
from dataclasses import dataclass, field, replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from genbayes import QuantileSurrogate
from genbayes.data.folds import draw_member_folds, draw_member_folds_by_input
from genbayes.errors import OutOfReach
from genbayes.metrics import coverage
from genbayes.models.base import ScaledRuns
from genbayes.models.network import DEFAULT, IQNSettings, LossWeights, NetworkShape, Rows, fit_iqn
from genbayes.models.network.ensemble import choose_spread, stretch
from genbayes.models.network.plans import (
    N_FOURIER,
    Plan,
    Race,
    Runner,
    best_of,
    fast_settings,
    fourier_plan,
    measure_relevance,
)
from genbayes.models.network.rival import Rival
from genbayes.threads import Awaited
from genbayes.training import TrainingSettings


def rows_of(X: np.ndarray, y: np.ndarray) -> Rows:
    scaled = [(part - part.mean(axis=0)) / part.std(axis=0) for part in (X, y)]
    Z, z = (torch.as_tensor(part, dtype=torch.float32) for part in scaled)
    return Rows(Z, z, torch.ones(len(z)))


def settings_for(n: int, blocks: tuple[tuple[int, int], ...] = (), **arguments) -> IQNSettings:
    model = QuantileSurrogate(**arguments)
    model.weights_ = DEFAULT
    return fast_settings(model, ScaledRuns(np.zeros((n, 3)), np.zeros(n), np.ones(n), blocks))


@pytest.mark.parametrize(
    ("n", "batch_size", "n_epochs", "n_rounds"),
    [(10, 128, 4_000, 6), (100, 128, 3_200, 3), (8_000, 512, 40, 3), (20_000, 1024, 40, 2), (90_000, 1024, 40, 1)],
)
def test_length_and_batches_go_by_the_number_of_runs(n: int, batch_size: int, n_epochs: int, n_rounds: int) -> None:
    training = settings_for(n).training
    assert (training.batch_size, training.n_epochs, training.n_rounds) == (batch_size, n_epochs, n_rounds)
    assert training.most_epochs * n < 4_000_000


@pytest.mark.parametrize(("n_epochs", "rate"), [(None, 0.005), (2_000, 0.008), (100, 0.01), (9_000, 0.005)])
def test_a_shorter_run_takes_longer_steps_up_to_twice_as_long(n_epochs: int | None, rate: float) -> None:
    training = settings_for(100, n_epochs=n_epochs).training
    assert training.learning_rate == pytest.approx(rate)
    assert training.n_rounds == (3 if n_epochs is None else 1)


def test_categories_of_many_levels_are_embedded() -> None:
    assert settings_for(100, blocks=((2, 5), (5, 17), (17, 117))).shape.blocks == ((17, 117, 21),)


def test_what_the_user_sets_is_not_chosen(make, runs) -> None:
    model = make(n_layers=2, n_hidden=12, batch_size=7, learning_rate=0.002, dropout=0.3, n_epochs=3).fit(*runs)
    shape, training = model.settings_.shape, model.settings_.training
    assert (shape.n_layers, shape.n_hidden, shape.n_merge, model.settings_.dropout) == (2, 12, 12, 0.3)
    assert (training.batch_size, training.learning_rate, training.n_epochs) == (7, 0.002, 3)


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


def test_a_network_that_has_learnt_rows_by_heart_is_stretched_by_those_it_has_not_seen() -> None:
    rng = np.random.default_rng(0)
    rows = rows_of(rng.uniform(size=(150, 3)), rng.standard_normal(150))
    training = TrainingSettings(300, 64, 5e-3)
    settings = IQNSettings(NetworkShape(3, 2, 64, 3, 32), LossWeights(0.0, 0.0, 1.0), training, n_tau=4)
    seen, unseen = torch.arange(120).expand(2, -1), torch.arange(120, 150).expand(2, -1)
    learnt = Rows(rows.Z[:120], rows.y[:120], rows.weight[:120])
    network, _ = fit_iqn(learnt, settings, [torch.Generator().manual_seed(j) for j in range(2)])
    assert choose_spread(network, rows, seen) < 1.5 < choose_spread(network, rows, unseen)


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
    # CRPS of the true distribution of pure noise is 1/sqrt(pi) = 0.564; that of one old response stated with certainty,
    # which is what learning by heart comes to, is E|y - y'| = 2/sqrt(pi). Stay within a fifth of the way.
    best, by_heart = 1 / np.sqrt(np.pi), 2 / np.sqrt(np.pi)
    fresh = rng.standard_normal(2_000)
    crps = model.predict_distribution(rng.uniform(size=(2_000, 4))).crps(fresh).mean()
    assert crps < best + 0.2 * (by_heart - best)


class Scripted(Runner):
    """A runner whose held-out score follows a course, one value for every 50 steps; rows differ by `doubt`."""

    def __init__(self, plan: Plan, course: list[float], doubt: float, unfinished_at: int) -> None:
        self.plan, self.course, self.is_over = plan, course, False
        self.weight, self.noise = np.ones(2), doubt * np.array([1.0, -1.0])
        self.unfinished_at = unfinished_at
        self.training = SimpleNamespace(n_steps=0, epoch=0.0, end_of_round=1000, is_unfinished=False, best=self)

    @property
    def scores(self) -> np.ndarray:
        return self.best_at(self.training.epoch) + self.noise

    def best_at(self, epoch: float) -> float:
        return min(self.course[: int(epoch) // 50], default=np.inf)

    def advance(self, n_checks: int) -> None:
        self.training.n_steps += 50 * n_checks
        self.training.epoch = self.training.n_steps
        self.training.is_unfinished = self.training.n_steps >= self.unfinished_at
        self.is_over = self.training.n_steps >= 1000


@dataclass(frozen=True)
class ScriptedRace(Race):
    """A race whose runners follow courses that a test gives, by the name of the plan."""

    courses: dict[str, list[float]] = field(default_factory=dict)
    doubt: float = 0.0
    unfinished_at: int = 10_000
    entered: dict[str, Scripted] = field(default_factory=dict)

    def enter(self, plan: Plan, report: object) -> Scripted:
        self.entered[plan.name] = Scripted(plan, self.courses[plan.name], self.doubt, self.unfinished_at)
        return self.entered[plan.name]


def plan(name: str) -> Plan:
    training = TrainingSettings(n_epochs=1, learning_rate=0.1, n_rounds=3)
    settings = IQNSettings(NetworkShape(2), LossWeights(0.1, 0.2, 0.7), training, dropout=0.05)
    return Plan(name, settings, torch.ones(2), is_deep=name in ("deep", "fourier"))


def race(courses: dict[str, list[float]], n_rows: int = 100, **more) -> ScriptedRace:
    return ScriptedRace(Rows(None, range(n_rows), None), None, [], False, courses=courses, **more)


def falling(start: float, end: float) -> list[float]:
    """Half of what is left of the way is gone each time that the run grows by a half."""
    return [end + (start - end) * 0.5 ** (math.log(i) / math.log(1.5)) for i in range(1, 21)]


@pytest.mark.parametrize(
    ("courses", "chosen", "steps"),
    [
        # behind at every step, and short even by a bold forecast
        ({"shallow": [2.0, 1.5, 1.2, 1.0] + [1.0] * 16, "smooth": [3.0, 2.5, 2.2, 2.1] + [2.1] * 16}, "shallow", 200),
        # ahead after as many steps: goes on though the leader, further on, is expected to end lower
        ({"shallow": falling(8, 1.2), "smooth": falling(6, 1.0)}, "smooth", 1000),
        # a deep one starts sooner, which counts nothing; one that does not is given up at once
        ({"shallow": falling(8, 1.0), "deep": [1.3] * 20}, "shallow", 200),
        ({"shallow": falling(8, 1.0), "deep": [9.0] * 20}, "shallow", 100),
        ({"shallow": falling(8, 1.3), "deep": falling(2, 1.0)}, "deep", 1000),
    ],
)
def test_a_challenger_is_given_up_when_it_will_not_catch_up(
    courses: dict[str, list[float]], chosen: str, steps: int
) -> None:
    run = race(courses)
    assert run.run([plan(name) for name in courses]).plan.name == chosen
    assert list(run.entered.values())[1].training.n_steps == steps


@pytest.mark.parametrize(("gain", "chosen"), [(0.5, "deep"), (0.02, "shallow"), (-0.5, "shallow")])
def test_the_deep_plan_must_earn_its_freedom(gain: float, chosen: str) -> None:
    """Ahead by more than a standard error, 0.1 / sqrt(2), of the difference of the scores."""
    shallow, deep = Scripted(plan("shallow"), [1.0] * 20, 0.0, 0), Scripted(plan("deep"), [1 - gain] * 20, 0.1, 0)
    for runner in (shallow, deep):
        runner.advance(10)
    assert best_of([shallow, deep]).plan.name == chosen


def test_a_forecast_takes_falls_to_go_on_shrinking() -> None:
    runner = Scripted(plan("shallow"), falling(3, 1), 0.0, 0)
    runner.advance(9)  # 200, 300 and 450 steps are three values in the ratio of a half
    present = runner.score
    assert 1 < runner.forecast() < present
    assert runner.forecast(boldness=0.0) == present
    assert present - runner.forecast(2.0) == pytest.approx(2 * (present - runner.forecast()))


LATE = {"shallow": [1.0] * 20, "deep": [3.0] * 20, "fourier": [0.5] * 20}


@pytest.mark.parametrize(
    ("n_rows", "unfinished_at", "dimmed", "chosen"),
    [(100, 10_000, 1.0, "shallow"), (4_000, 10_000, 1.0, "fourier"), (3_999, 10_000, 1.0, "shallow"),
     (100, 1_000, 1.0, "fourier"), (100, 10_000, 0.1, "fourier")],
)  # fmt: skip
def test_fourier_features_are_tried_for_many_runs_dimmed_inputs_or_what_is_unfinished(
    n_rows: int, unfinished_at: int, dimmed: float, chosen: str
) -> None:
    plans_run = [replace(plan(name), input_scale=torch.tensor([1.0, dimmed])) for name in ("shallow", "deep")]
    run = race(LATE, n_rows, unfinished_at=unfinished_at)
    assert run.run(plans_run, plan("fourier")).plan.name == chosen
    assert ("fourier" in run.entered) is (chosen == "fourier")


@pytest.mark.parametrize(
    ("course", "rival", "at"),
    [
        ([2.0] * 20, 1.0, 150),  # far behind and not falling
        ([2.0] * 20, 1.9, None),  # a single member scores some percent worse than all
        ([1.15] * 20, 1.0, 300),  # an eighth behind is enough once the end can be told
        ([1.1] * 20, 1.0, None),
        ([8.0, 4.0, 2.0, 1.0] + [1.0] * 16, 1.0, None),  # falls so fast that nothing is decided
    ],
)
def test_training_yields_to_a_rival_that_is_out_of_reach(course: list[float], rival: float, at: int | None) -> None:
    aside = torch.arange(24).reshape(2, 12)
    run = replace(race({"shallow": course}), aside=aside, rival=rival_of(np.full(24, rival)))
    object.__setattr__(run, "enter", lambda plan, report: scripted_rows(plan, course))
    if at is None:
        run.run([plan("shallow")])
        return
    with pytest.raises(OutOfReach, match="a rival is out of reach: CRPS .* times the rival's"):
        run.run([plan("shallow")])
    assert SEEN[-1].training.n_steps == at


def test_training_yields_also_where_it_gets_stuck_after_its_end_was_forecast() -> None:
    course = falling(20, 0.9)[:10]
    course += [course[-1]] * 10  # promises to reach the rival at 500 steps, and falls no more
    run = replace(race({"shallow": course}), aside=torch.arange(24).reshape(2, 12), rival=rival_of(np.ones(24)))
    object.__setattr__(run, "enter", lambda plan, report: scripted_rows(plan, course))
    with pytest.raises(OutOfReach, match="a rival is out of reach"):
        run.run([plan("shallow")])
    assert 500 < SEEN[-1].training.n_steps < 1000


def test_before_it_yields_the_plan_with_fourier_features_is_tried_where_it_may_see_more() -> None:
    courses = {"shallow": [2.0] * 20, "fourier": [0.9] * 20}
    rows = Rows(None, range(300), None)
    run = replace(race(courses), rows=rows, aside=torch.arange(24).reshape(2, 12), rival=rival_of(np.ones(24)))
    object.__setattr__(run, "enter", lambda plan, report: scripted_rows(plan, courses[plan.name]))
    dimmed = replace(plan("shallow"), input_scale=torch.tensor([1.0, 0.1]))
    assert run.run([dimmed], plan("fourier")).plan.name == "fourier"
    object.__setattr__(run, "rows", Rows(None, range(299), None))
    with pytest.raises(OutOfReach, match="out of reach"):
        run.run([dimmed], plan("fourier"))


@pytest.mark.parametrize("known_after", [0, 3, 200])
@pytest.mark.parametrize("score", [1.0, 0.5, 1.9])
@pytest.mark.parametrize("n_rows", [100, 300])
def test_a_rival_that_is_known_late_leads_to_the_same_end(known_after: int, score: float, n_rows: int) -> None:
    courses = {"shallow": [2.0] * 20, "deep": falling(20, 0.99), "fourier": [0.9] * 20}

    def end(known_after: int | None) -> str:
        awaited, laps = Awaited(), itertools.count()

        class Watched(Scripted):
            def advance(self, n_checks: int) -> None:
                super().advance(n_checks)
                if next(laps) == known_after:
                    awaited.give(np.full(24, score))

        if known_after is None:
            awaited.give(np.full(24, score))
        rows, aside = Rows(None, range(n_rows), None), torch.arange(24).reshape(2, 12)
        run = replace(race(courses), rows=rows, aside=aside, rival=rival_of(awaited))
        object.__setattr__(run, "enter", lambda plan, report: scripted_rows(plan, courses[plan.name], Watched))
        threading.Timer(0.5, awaited.give, [np.full(24, score)]).start()  # also if training ends before
        dimmed = replace(plan("shallow"), input_scale=torch.tensor([1.0, 0.1]))
        try:
            return run.run([dimmed, plan("deep")], plan("fourier")).plan.name
        except OutOfReach as error:
            return str(error)

    assert end(known_after) == end(None)


def rival_of(scores: np.ndarray | Awaited) -> Rival:
    return Rival(scores, np.arange(24), 1.0)


SEEN: list[Scripted] = []


def scripted_rows(plan: Plan, course: list[float], kind: type[Scripted] = Scripted) -> Scripted:
    SEEN.append(kind(plan, course, 0.0, 10_000))
    SEEN[-1].weight, SEEN[-1].noise = np.ones(24), 0.01 * np.tile([1.0, -1.0], 12)
    return SEEN[-1]


@pytest.mark.parametrize("n_fourier", [0, 10])
def test_fourier_features_that_the_user_sets_are_in_every_plan_and_no_others_are_tried(make, runs, n_fourier) -> None:
    model = make(n_fourier=n_fourier, n_epochs=None, recipe="fast").fit(*runs)
    assert model.settings_.shape.n_fourier == n_fourier


@pytest.mark.parametrize(("dropout", "used"), [(None, 0.0), (0.3, 0.3)])
@pytest.mark.parametrize(("n_inputs", "n_fourier"), [(2, N_FOURIER), (3 * N_FOURIER, 3 * N_FOURIER)])
def test_the_fourier_plan_is_the_deep_one_with_features_and_no_dropout_of_ours(
    dropout: float | None, used: float, n_inputs: int, n_fourier: int
) -> None:
    deep = plan("deep")
    wide = replace(deep, settings=replace(deep.settings, shape=NetworkShape(n_inputs)))
    fourier = fourier_plan([plan("shallow"), wide], dropout)
    assert (fourier.settings.shape.n_fourier, fourier.settings.dropout, fourier.is_deep) == (n_fourier, used, True)


def test_fourier_features_of_single_inputs_find_narrow_ridges_among_several_inputs() -> None:
    """A sum of narrow ridges along four inputs: a network without Fourier features finds hardly any of them."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0, np.pi, size=(6_000, 4))
    y = -(np.sin(X) * np.sin(np.arange(1, 5) * X**2 / np.pi) ** 20).sum(axis=1)
    settings = {"n_members": 1, "n_layers": 3, "n_epochs": 20, "dropout": 0.0, "random_state": 0, "device": "cpu"}
    fourier, plain = (QuantileSurrogate(n_fourier=n, **settings).fit(X[:5_000], y[:5_000]) for n in (N_FOURIER, 0))
    crps, without = (model.predict_distribution(X[5_000:]).crps(y[5_000:]).mean() for model in (fourier, plain))
    assert crps < 0.5 * without


@pytest.mark.slow
def test_fine_detail_in_many_quiet_runs_is_left_to_fourier_features() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(4_000, 2))
    y = np.sin(25 * X[:, 0]) * np.cos(20 * X[:, 1]) + 0.02 * rng.standard_normal(4_000)
    model = QuantileSurrogate(n_members=2, random_state=0).fit(X[:3_000], y[:3_000])
    assert model.settings_.shape.n_fourier == N_FOURIER
    crps = model.predict_distribution(X[3_000:]).crps(y[3_000:]).mean()
    assert crps < 2 * 0.02 / np.sqrt(np.pi)  # within twice that of the true distribution


@pytest.mark.parametrize("n", [10, 11, 133, 1_000])
def test_five_members_hold_out_different_rows(n: int) -> None:
    aside = draw_member_folds(n, 5, np.random.default_rng(0))
    assert aside.shape == (5, n // 5)
    assert len(np.unique(aside)) == aside.size


def test_a_member_s_fold_depends_neither_on_how_many_there_are_nor_grows_without_need() -> None:
    few, many = (draw_member_folds(100, k, np.random.default_rng(0)) for k in (2, 12))
    np.testing.assert_array_equal(few, many[:2])
    np.testing.assert_array_equal(many[0], many[5])
    assert draw_member_folds(90_000, 5, np.random.default_rng(0)).shape == (5, 2_000)


def test_where_inputs_repeat_a_member_holds_out_whole_inputs_a_tenth_of_them() -> None:
    rng = np.random.default_rng(0)
    times = rng.integers(2, 9, 40)
    Z = np.repeat(rng.uniform(size=(40, 2)), times, axis=0)
    for aside in draw_member_folds_by_input(Z, 5, rng):
        held = np.isin(np.arange(len(Z)), aside)
        inside, outside = ({tuple(z) for z in Z[rows]} for rows in (held, ~held))
        assert len(inside) == 4
        assert not inside & outside
    many = draw_member_folds_by_input(np.repeat(rng.uniform(size=(100, 1)), 900, axis=0), 5, rng)
    assert many.shape == (5, 1_800)  # two whole inputs of ten: no more than 2,000 rows


@pytest.mark.parametrize(
    "Z",
    [
        np.random.default_rng(1).uniform(size=(50, 2)),  # no repeats
        np.repeat(np.arange(5.0), 10)[:, None],  # too few inputs
        np.eye(3)[np.arange(60) % 3],  # nothing but categories
    ],
)
def test_elsewhere_members_hold_out_rows(Z: np.ndarray) -> None:
    blocks = [(0, 3)] if Z.shape[1] == 3 else []
    by_input = draw_member_folds_by_input(Z, 5, np.random.default_rng(0), blocks)
    np.testing.assert_array_equal(by_input, draw_member_folds(len(Z), 5, np.random.default_rng(0)))


def test_no_member_does_without_a_category() -> None:
    x, kind = np.repeat(np.arange(20.0), 4), np.tile([0, 0, 1, 1], 20)
    kind[x == 7] = 2  # the third category was run at one input only
    Z = np.column_stack([x, np.eye(3)[kind]])
    for seed in range(5):
        for aside in draw_member_folds_by_input(Z, 10, np.random.default_rng(seed), [(1, 4)]):
            left = np.setdiff1d(np.arange(80), aside)
            assert set(kind[left]) == {0, 1, 2}


def test_intervals_hold_at_new_inputs_of_a_replicated_design() -> None:
    """30 inputs, ten runs each: members that kept repeats of inputs that they learn held 0.72 of new runs."""
    rng = np.random.default_rng([31, 0])
    X = np.repeat(rng.uniform(size=(30, 2)), 10, axis=0)
    y = np.sin(6 * X[:, 0]) + X[:, 1] ** 2 + 0.05 * rng.standard_normal(300)
    X_new = rng.uniform(size=(1_000, 2))
    y_new = np.sin(6 * X_new[:, 0]) + X_new[:, 1] ** 2 + 0.05 * rng.standard_normal(1_000)
    found = QuantileSurrogate(random_state=0).fit(X, y).predict_distribution(X_new)
    assert coverage(*found.interval(0.9), y_new) > 0.82
