"""Weights of candidates: the right score, its minimum over the simplex, no gain on rows seen; and models so joined."""

from itertools import product

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import ndtri

from genbayes import InvalidInput, Mixture, Normal
from genbayes.auto.stacking import (
    LEVELS,
    MIN_SAVING,
    MIN_WEIGHT,
    PULL_ERRORS,
    _Average,
    _Pool,
    choose_stack,
    cross_fitted_table,
    crps_of_table,
    find_team,
    joint_table,
)
from genbayes.auto.surrogate import Combination
from genbayes.distribution.quantile_function import GRID
from genbayes.metrics import crps, crps_normal, stretch_table

M = len(LEVELS)
NORMAL = ndtri(LEVELS)
SIMPLEX = [np.array([a, b, 50 - a - b]) / 50 for a, b in product(range(51), range(51)) if a + b <= 50]
WAYS = [_Average, _Pool]
X = np.linspace(-1, 1, 7)[:, None]
TAU = np.array([0.001, 0.025, 0.1, 0.5, 0.9, 0.975, 0.999])


def bells(y: np.ndarray, *laws: tuple[float, float]) -> np.ndarray:
    """Tables of N(loc, scale^2) that say the same at every row."""
    return np.stack([np.tile(loc + scale * NORMAL, (len(y), 1)) for loc, scale in laws])


def draw_tables(n: int, seed: int, n_candidates: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Candidates that are wrong in ways of their own, about y ~ N(f, 1)."""
    rng = np.random.default_rng(seed)
    f = 2 * rng.standard_normal(n)
    errors = 0.7 * rng.standard_normal((n_candidates, n))
    scale = rng.uniform(0.5, 1.5, n_candidates)
    return (f + errors)[:, :, None] + scale[:, None, None] * NORMAL, f + rng.standard_normal(n)


def by_hand(kind: type, w: np.ndarray, Q: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The score of a stack from the definition of the CRPS, E|Y - y| - E|Y - Y'| / 2, for joined tables."""
    if kind is _Average:
        return crps(np.tensordot(w, Q, axes=1), y)
    draws, mass = np.concatenate(list(Q), axis=1), np.repeat(w / M, M)
    spread = np.abs(draws[:, :, None] - draws[:, None, :]) @ mass @ mass
    return np.abs(draws - y[:, None]) @ mass - spread / 2


@settings(max_examples=50)
@given(
    arrays(np.float64, (3, M), elements=st.floats(-1e6, 1e6)),
    arrays(np.float64, 3, elements=st.floats(-1e6, 1e6)),
)
def test_the_score_is_the_estimator_of_the_paper(table: np.ndarray, y: np.ndarray) -> None:
    q = np.sort(table, axis=1)
    np.testing.assert_allclose(crps_of_table(q, y), crps(q, y), rtol=1e-9, atol=1e-7)


def test_the_score_of_fifty_quantiles_is_within_a_thousandth_of_the_whole_normal_law() -> None:
    y = ndtri((np.arange(1_000) + 0.5) / 1_000)
    table = np.tile(NORMAL, (1_000, 1))
    assert crps_of_table(table, y).mean() == pytest.approx(crps_normal(0.0, 1.0, y).mean(), rel=1e-3)


@pytest.mark.parametrize("y", [0.0, 0.3, 1.0])
def test_the_score_of_a_uniform_law_is_its_closed_form(y: float) -> None:
    expected = (y**3 + (1 - y) ** 3) / 3
    assert crps_of_table(LEVELS[None], np.array([y]))[0] == pytest.approx(
        expected, abs=1 / (4 * M**2)
    )  # a level cell of width 1/M in which y lies


@pytest.mark.parametrize("kind", WAYS)
@pytest.mark.parametrize("seed", range(3))
def test_fitted_weights_are_as_good_as_any_on_a_grid_over_the_simplex(kind, seed: int) -> None:
    Q, y = draw_tables(25, seed)
    way = kind(Q, y)
    pull = PULL_ERRORS * np.mean([(each - way.single.mean(axis=0)).std() / 5 for each in way.single])

    def value(w: np.ndarray) -> float:
        return way.scores(w).mean() + 0.5 * pull * np.sum((w - 1 / 3) ** 2)

    assert value(way.fit(np.ones(25))) <= min(value(w) for w in SIMPLEX) * (1 + 1e-4)


def test_what_luck_may_explain_leaves_weights_equal_and_what_it_cannot_does_not() -> None:
    rng = np.random.default_rng(0)
    y = rng.standard_normal(4_000)
    Q = bells(y, (0.0, 1.0), (0.0, 1.0)) + 0.3 * rng.standard_normal((2, 4_000, 1))  # equally good, each with errors
    Q[1] += 0.4  # the second is biased as well
    few, many = (choose_stack(Q[:, :n], y[:n], np.ones(n), np.arange(n) % 5).weights for n in (40, 4_000))
    assert abs(few[0] - 0.5) < 0.25
    assert many[0] > 0.6


@pytest.mark.parametrize("kind", WAYS)
def test_row_scores_are_those_of_the_joined_law(kind) -> None:
    Q, y = draw_tables(12, 5)
    w = np.array([0.2, 0.5, 0.3])
    np.testing.assert_allclose(kind(Q, y).scores(w), by_hand(kind, w, Q, y), rtol=1e-10)


@pytest.mark.parametrize("kind", WAYS)
def test_the_gradient_is_that_of_the_mean_score(kind) -> None:
    Q, y = draw_tables(30, 6)
    way, share, w, step = kind(Q, y), np.full(30, 1 / 30), np.array([0.2, 0.5, 0.3]), 1e-6
    slopes = [(way.scores(w + step * e) - way.scores(w - step * e)).mean() / (2 * step) for e in np.eye(3)]
    np.testing.assert_allclose(way.gradient(w, share), slopes, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("kind", WAYS)
@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.floats(0, 1))
def test_the_mean_score_is_convex_in_the_weights(kind, seed: int, t: float) -> None:
    Q, y = draw_tables(8, seed)
    way = kind(Q, y)
    one, other = np.random.default_rng(seed).dirichlet(np.ones(3), 2)
    between = way.scores(t * one + (1 - t) * other).mean()
    assert between <= t * way.scores(one).mean() + (1 - t) * way.scores(other).mean() + 1e-12


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 5))
@example(8, 4)  # a negligible weight is dropped here
def test_weights_are_shares_and_none_is_negligible(seed: int, n_candidates: int) -> None:
    Q, y = draw_tables(30, seed, n_candidates)
    w = choose_stack(Q, y, np.ones(30), np.arange(30) % 5).weights
    assert w.shape == (n_candidates,)
    assert w.sum() == pytest.approx(1.0)
    assert ((w == 0) | (w >= MIN_WEIGHT)).all()


def test_two_opposite_biases_cancel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("genbayes.auto.stacking.PULL_ERRORS", 0.0)
    y = np.random.default_rng(0).standard_normal(400)
    stack = choose_stack(bells(y, (-0.5, 1.0), (1.0, 1.0)), y, np.ones(400), np.arange(400) % 5)
    assert stack.kind == "average"
    assert stack.weights @ [-0.5, 1.0] == pytest.approx(y.mean(), abs=0.02)


def test_laws_that_are_right_at_times_are_pooled_by_how_often_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("genbayes.auto.stacking.PULL_ERRORS", 0.0)
    y = np.repeat([-3.0, 3.0], [140, 60])
    order = np.random.default_rng(1).permutation(200)
    stack = choose_stack(bells(y, (-3.0, 0.01), (3.0, 0.01)), y[order], np.ones(200), np.arange(200) % 5)
    assert stack.kind == "pool"
    np.testing.assert_allclose(stack.weights, [0.7, 0.3], atol=0.005)


def test_a_useless_candidate_gets_no_weight() -> None:
    Q, y = draw_tables(200, 2, 2)
    useless = np.broadcast_to(40 + NORMAL, (1, 200, M))
    stack = choose_stack(np.concatenate([Q, useless]), y, np.ones(200), np.arange(200) % 5)
    assert stack.weights[2] == 0
    assert (stack.weights[:2] > 0).all()


def test_the_best_alone_is_kept_where_it_is_clearly_ahead_of_any_average() -> None:
    y = np.random.default_rng(3).standard_normal(100)
    right, wrong = y[:, None] + 0.1 * NORMAL, y[:, None] + 4 + 0.1 * NORMAL
    stack = choose_stack(np.stack([wrong, right]), y, np.ones(100), np.arange(100) % 5)
    assert (stack.kind, stack.weights.tolist()) == ("single", [0.0, 1.0])


def test_where_luck_decides_who_is_best_candidates_are_joined() -> None:
    rng = np.random.default_rng(3)
    y = rng.standard_normal(60)
    Q = bells(y, (0.0, 1.0), (0.0, 1.0)) + 0.4 * rng.standard_normal((2, 60, 1))
    stack = choose_stack(Q, y, np.ones(60), np.arange(60) % 5)
    assert stack.kind == "average"
    assert (stack.weights > 0.2).all()


@pytest.mark.parametrize(("bias", "errors_ahead", "kind"), [(0.0, (0.2, 0.4), "average"), (0.5, (1.2, 1.6), "single")])
def test_the_best_alone_must_be_ahead_by_a_standard_error_of_the_paired_difference(
    bias: float, errors_ahead: tuple[float, float], kind: str
) -> None:
    """Both candidates keep a weight, so that nothing but the rule decides; the one with more bias is further behind."""
    rng = np.random.default_rng(5)
    y = rng.standard_normal(60)
    Q = bells(y, (0.0, 1.0), (bias, 1.0)) + 0.4 * rng.standard_normal((2, 60, 1))
    fold, joined = np.arange(60) % 5, np.empty(60)
    for held_out in (fold == each for each in range(5)):
        w = _Average(Q, y).fit(np.where(held_out, 0.0, 1.0))
        joined[held_out] = by_hand(_Average, w, Q, y)[held_out]
    lost = joined - crps_of_table(Q[0], y)
    low, high = errors_ahead
    assert low < lost.mean() / (lost.std() / np.sqrt(60)) < high
    assert (_Average(Q, y).fit(np.ones(60)) > 0).all()
    assert choose_stack(Q, y, np.ones(60), fold).kind == kind


def test_a_single_candidate_is_the_stack() -> None:
    y = NORMAL[::2]
    Q = bells(y, (0.0, 1.0))
    stack = choose_stack(Q, y, np.ones(25), np.arange(25) % 2)
    assert (stack.kind, stack.weights.tolist(), stack.spread) == ("single", [1.0], 1.0)
    np.testing.assert_array_equal(stack.scores, crps_of_table(Q[0], y))


@pytest.mark.parametrize(("scale", "asked"), [(0.5, 2.0), (2.0, 0.5), (1.0, 1.0)])
def test_quantiles_that_lie_too_close_or_too_far_apart_are_moved_as_unseen_rows_ask(scale: float, asked: float) -> None:
    y = np.random.default_rng(1).standard_normal(600)
    Q = bells(y, (0.0, scale))
    stack = choose_stack(Q, y, np.ones(600), np.arange(600) % 5)
    assert stack.spread == pytest.approx(asked, rel=0.12)
    stretched = crps_of_table(stretch_table(Q[0], stack.spread), y)
    assert stack.scores.mean() == pytest.approx(stretched.mean(), rel=0.01)


def test_few_rows_are_half_believed_and_a_factor_that_helps_only_its_own_rows_is_not_kept() -> None:
    y = np.random.default_rng(1).standard_normal(4_000)
    few, many = (choose_stack(bells(y[:n], (0.0, 0.4)), y[:n], np.ones(n), np.arange(n) % 5) for n in (40, 4_000))
    assert 1 < few.spread < 0.85 * many.spread
    spreads = [
        choose_stack(bells(part, (0.0, 1.0)), part, np.ones(40), np.arange(40) % 5).spread
        for part in y[:1_600].reshape(40, 40)
    ]
    assert np.mean(np.array(spreads) == 1) > 0.5  # nothing to mend


@pytest.mark.parametrize("unit", [1e-9, 1e9])
def test_units_do_not_change_the_weights(unit: float) -> None:
    Q, y = draw_tables(60, 4)
    plain, scaled = (choose_stack(u * Q, u * y, np.ones(60), np.arange(60) % 5) for u in (1.0, unit))
    np.testing.assert_allclose(scaled.weights, plain.weights, atol=1e-3)
    np.testing.assert_allclose(scaled.scores / unit, plain.scores, rtol=1e-3)


def test_the_order_of_candidates_does_not_matter() -> None:
    Q, y = draw_tables(60, 4)
    plain, turned = (choose_stack(Q[order], y, np.ones(60), np.arange(60) % 5) for order in ([0, 1, 2], [2, 0, 1]))
    np.testing.assert_allclose(turned.weights, plain.weights[[2, 0, 1]], atol=0.01)


def test_the_scale_of_row_weights_does_not_matter_and_rows_of_weight_zero_are_as_if_not_there() -> None:
    Q, y = draw_tables(40, 7)
    weight, fold = np.tile([1.0, 3.0], 20), np.arange(40) % 5
    weighted, tiny = (choose_stack(Q, y, weight * factor, fold) for factor in (1.0, 1e-3))
    assert weighted.kind == tiny.kind
    np.testing.assert_allclose(weighted.weights, tiny.weights, atol=1e-4)
    np.testing.assert_allclose(weighted.scores, tiny.scores, rtol=1e-4)
    way, half = _Average(Q, y), np.repeat([1.0, 0.0], 20)
    np.testing.assert_allclose(way.fit(half), _Average(Q[:, :20], y[:20]).fit(np.ones(20)), atol=1e-4)


def test_the_score_of_a_row_comes_from_weights_that_have_not_seen_its_fold(monkeypatch: pytest.MonkeyPatch) -> None:
    Q, y = draw_tables(60, 8)
    fold = np.arange(60) % 3
    monkeypatch.setattr("genbayes.auto.stacking.with_spread", lambda stack, *_: stack)
    stack = choose_stack(Q, y, np.ones(60), fold)
    assert stack.kind == "average"
    for each in range(3):
        inside, outside = fold == each, fold != each
        w = _Average(Q[:, outside], y[outside]).fit(np.ones(outside.sum()))
        np.testing.assert_allclose(stack.scores[inside], by_hand(_Average, w, Q[:, inside], y[inside]), rtol=1e-3)


def test_fitting_weights_to_chance_is_not_rewarded() -> None:
    """Many equally good candidates about a response that none knows: weights fitted to few rows gain only there."""
    rng = np.random.default_rng(9)
    Q = 0.8 * rng.standard_normal((12, 30))[:, :, None] + NORMAL
    y = rng.standard_normal(30)
    way = _Average(Q, y)
    stack = choose_stack(Q, y, np.ones(30), np.arange(30) % 5)
    assert stack.scores.mean() > way.scores(way.fit(np.ones(30))).mean()


def test_rows_of_one_fold_are_judged_by_weights_of_the_other_half() -> None:
    Q, y = draw_tables(60, 8)
    one_fold = choose_stack(Q, y, np.ones(60), np.full(60, 2))
    halves = choose_stack(Q, y, np.ones(60), np.arange(60) % 2)
    np.testing.assert_array_equal(one_fold.scores, halves.scores)


def test_a_weaker_candidate_of_another_kind_is_preferred_to_a_twin() -> None:
    y = np.random.default_rng(10).standard_normal(300)
    Q = bells(y, (-0.5, 0.7), (-0.51, 0.7), (0.8, 0.7))
    assert find_team(Q, y, np.ones(300), 2) == [0, 2]


def test_the_team_begins_with_the_best_and_names_each_candidate_once() -> None:
    Q, y = draw_tables(80, 11, 5)
    team = find_team(Q, y, np.ones(80), 9)
    scores = [crps_of_table(q, y).mean() for q in Q]
    assert scores[team[0]] <= min(scores) * (1 + MIN_SAVING)
    assert sorted(team) == list(range(5))


def test_who_neither_helps_nor_may_be_better_is_not_in_the_team() -> None:
    y = np.random.default_rng(10).standard_normal(300)
    assert find_team(bells(y, (0.0, 1.0), (3.0, 1.0)), y, np.ones(300), 2) == [0]


def test_a_place_that_is_left_goes_to_a_rival_within_luck_of_the_best() -> None:
    y = np.random.default_rng(10).standard_normal(300)
    median = float(np.median(y))
    Q = bells(y, (median, 1.0), (median + 3.0, 1.0), (median + 0.08, 1.0))  # the last is behind by one standard error
    behind = crps_of_table(Q[2], y) - crps_of_table(Q[0], y)
    assert 0 < behind.mean() < 2 * behind.std() / np.sqrt(300)
    assert find_team(Q, y, np.ones(300), 3) == [0, 2]


def test_of_candidates_that_are_as_good_the_first_is_taken() -> None:
    y = np.random.default_rng(10).standard_normal(300)
    best = float(np.median(y))
    Q = bells(y, (best + 0.01, 1.0), (best, 1.0))
    scores = [crps_of_table(q, y).mean() for q in Q]
    assert scores[1] < scores[0] < scores[1] * (1 + MIN_SAVING)
    assert find_team(Q, y, np.ones(300), 1) == [0]


def test_row_weights_decide_who_is_best() -> None:
    y = np.repeat([0.0, 4.0], 20)
    Q = bells(y, (0.0, 0.1), (4.0, 0.1))
    assert find_team(Q, y, np.where(y == 0, 1.0, 5.0), 1) == [1]
    assert find_team(Q, y, np.where(y == 0, 5.0, 1.0), 1) == [0]


def join(kind: str, models: list, weights: list[float], bounds=(None, None)) -> Combination:
    return Combination(kind, tuple(models), np.array(weights), bounds)


@pytest.fixture
def pair(fakes) -> list:
    return [fakes.Bell(shift=-2.0, scale=0.5, slope=1.0), fakes.Bell(shift=4.0, scale=2.0, slope=-1.0)]


@settings(max_examples=20)
@given(st.floats(0.01, 0.99))
def test_the_average_of_normal_laws_has_their_mean_location_and_scale(w: float) -> None:
    """Q(tau) = sum_k w_k (m_k + s_k z_tau) is again the quantile of a normal law."""

    class Fixed:
        def __init__(self, loc: float, scale: float) -> None:
            self.law = Normal(np.full(3, loc), scale)

        def predict_distribution(self, X):
            return self.law

    law = join("average", [Fixed(-2.0, 0.5), Fixed(4.0, 2.0)], [w, 1 - w]).predict_run(X[:3])
    loc, scale = -2 * w + 4 * (1 - w), 0.5 * w + 2 * (1 - w)
    np.testing.assert_allclose(law.ppf(TAU), np.tile(loc + scale * ndtri(TAU), (3, 1)), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(law.mean(), loc, atol=1e-6)
    np.testing.assert_allclose(law.std(), scale, rtol=0.01)


def test_the_average_follows_each_row(pair) -> None:
    np.testing.assert_allclose(
        join("average", pair, [0.25, 0.75]).predict_run(X).ppf(0.5), 2.5 - 0.5 * X[:, 0], atol=1e-12
    )


def test_the_table_of_an_average_is_symmetric_and_fine() -> None:
    np.testing.assert_allclose(GRID, 1 - GRID[::-1], atol=1e-15)
    assert (np.diff(GRID) > 0).all()
    assert np.diff(GRID).max() <= 0.025 + 1e-12


def test_the_pool_is_the_mixture(pair) -> None:
    law = join("pool", pair, [0.25, 0.75]).predict_run(X)
    expected = Mixture([model.predict_distribution(X) for model in pair], [0.25, 0.75])
    np.testing.assert_array_equal(law.ppf(TAU), expected.ppf(TAU))
    np.testing.assert_allclose(law.cdf(1.0), expected.cdf(1.0), rtol=1e-12)


@pytest.mark.parametrize("kind", ["single", "average", "pool"])
def test_one_model_speaks_for_itself(kind: str, pair) -> None:
    law = join(kind, pair[:1], [1.0]).predict_run(X)
    assert isinstance(law, Normal)
    np.testing.assert_array_equal(law.ppf(TAU), pair[0].predict_distribution(X).ppf(TAU))


@pytest.mark.parametrize(("kind", "n_models"), [("single", 1), ("average", 2), ("pool", 2)])
def test_no_law_leaves_the_bounds(kind: str, n_models: int, pair) -> None:
    law = join(kind, pair[:n_models], [1 / n_models] * n_models, (-1.5, 3.0)).predict_run(X)
    q, draws = law.ppf([1e-6, 0.01, 0.5, 0.99, 1 - 1e-6]), law.sample(200, random_state=0)
    assert q.min() >= -1.5
    assert q.max() <= 3.0
    assert draws.min() >= -1.5
    assert draws.max() <= 3.0
    np.testing.assert_allclose(law.cdf(3.0), 1.0)


@pytest.mark.parametrize(("kind", "n_models"), [("single", 1), ("average", 2), ("pool", 2)])
def test_bounds_far_away_change_hardly_anything(kind: str, n_models: int, pair) -> None:
    weights = [1 / n_models] * n_models
    free, bounded = (
        join(kind, pair[:n_models], weights, bounds).predict_run(X) for bounds in ((None, None), (-1e6, 1e6))
    )
    np.testing.assert_allclose(bounded.ppf(TAU), free.ppf(TAU), rtol=0.02, atol=0.02)


def test_what_is_known_of_the_mean_is_averaged_like_the_runs(pair) -> None:
    law = join("average", pair, [0.25, 0.75]).predict_mean(X)
    np.testing.assert_allclose(law.mean(), 2.5 - 0.5 * X[:, 0])
    np.testing.assert_allclose(law.std(), np.full(7, 0.25 * 0.25 + 0.75 * 1.0))


def test_what_is_known_of_the_mean_is_pooled_like_the_runs(pair) -> None:
    law = join("pool", pair, [0.25, 0.75]).predict_mean(X)
    expected = Mixture([model.predict_distribution(X, of="mean") for model in pair], [0.25, 0.75])
    np.testing.assert_array_equal(law.ppf(TAU), expected.ppf(TAU))


@pytest.mark.parametrize("kind", ["average", "pool"])
def test_models_that_do_not_know_the_mean_are_left_out_of_it(kind: str, pair) -> None:
    pair[1].knows_mean = False
    law = join(kind, pair, [0.25, 0.75]).predict_mean(X)
    np.testing.assert_allclose(law.mean(), X[:, 0] - 2.0)
    np.testing.assert_allclose(law.std(), np.full(7, 0.25))


def test_a_model_of_the_users_own_that_takes_no_of_is_left_out_of_the_mean(pair) -> None:
    class Plain:
        def predict_distribution(self, X):
            return Normal(np.zeros(len(X)), 1.0)

    law = join("average", [pair[0], Plain()], [0.25, 0.75]).predict_mean(X)
    np.testing.assert_allclose(law.mean(), X[:, 0] - 2.0)


@pytest.mark.parametrize("kind", ["average", "pool"])
def test_what_is_known_of_the_mean_keeps_to_the_bounds(kind: str, pair) -> None:
    law = join(kind, pair, [0.25, 0.75], bounds=(0.0, 1.0)).predict_mean(X)
    q = law.ppf(TAU)
    assert q.min() >= 0.0
    assert q.max() <= 1.0


def test_where_none_knows_the_mean_it_is_said(pair) -> None:
    for model in pair:
        model.knows_mean = False
    with pytest.raises(InvalidInput, match="of must be 'run'.*, got 'mean'"):
        join("pool", pair, [0.5, 0.5]).predict_mean(X)


def equal_candidates(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Ten calibrated candidates that err by chance alone, none better than another, (10, n, M) and (n,)."""
    y = rng.standard_normal(n)
    return np.sqrt(1.25) * NORMAL + 0.5 * rng.standard_normal((10, n, 1)), y


def test_no_choice_behind_the_quantiles_of_a_row_has_seen_its_fold() -> None:
    """Whatever the responses of a fold are, its own quantiles stay; those of the other folds may change."""
    Q, y = equal_candidates(30, np.random.default_rng(0))
    fold = np.arange(30) % 3
    other = np.where(fold == 0, Q[4, :, M // 2], y)  # now the fifth candidate is always right in the first fold
    plain, turned = (cross_fitted_table(Q, each, np.ones(30), fold, 3) for each in (y, other))
    np.testing.assert_array_equal(turned[fold == 0], plain[fold == 0])
    assert (turned[fold != 0] != plain[fold != 0]).any()


@pytest.mark.slow
def test_the_reported_score_does_not_flatter_what_chance_has_chosen() -> None:
    """Chosen and scored on the same 20 rows, it seems 7% better than on fresh ones; chosen anew without each fold, not.

    Differences are taken to the mean of all candidates on the same rows, so that the rows' own luck drops out; then the
    mean of 40 draws is known to 1.2%.
    """
    fold, same, anew, level = np.arange(20) % 5, [], [], []
    for rng in np.random.default_rng(3).spawn(40):
        (Q, y), (fresh, z) = equal_candidates(20, rng), equal_candidates(1_000, rng)
        team = find_team(Q, y, np.ones(20), 3)
        stack = choose_stack(Q[team], y, np.ones(20), fold)
        truth = crps_of_table(stretch_table(joint_table(stack, fresh[team]), stack.spread), z).mean()
        truth -= np.mean([crps_of_table(q, z) for q in fresh])
        mean = np.mean([crps_of_table(q, y) for q in Q])
        same.append(stack.scores.mean() - mean - truth)
        anew.append(crps_of_table(cross_fitted_table(Q, y, np.ones(20), fold, 3), y).mean() - mean - truth)
        level.append(mean)
    assert np.mean(same) < -0.04 * np.mean(level)
    assert abs(np.mean(anew)) < 0.03 * np.mean(level)
