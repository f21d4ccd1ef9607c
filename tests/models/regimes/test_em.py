"""Regimes from inputs and responses together: found where y alone hides them, and none where there are none."""

from collections.abc import Iterator

import numpy as np
import pytest

from genbayes.models.regimes import em, search
from genbayes.models.regimes.em import Regimes, Runs
from genbayes.models.regimes.search import find_regimes_by_em, is_above
from genbayes.models.regimes.starts import guess_labels


def draw(kind: str, n: int = 150, seed: int = 0) -> tuple[Runs, np.ndarray]:
    rng = np.random.default_rng(seed)
    Z = rng.uniform(-1.7, 1.7, (n, 3))
    noise = rng.standard_normal(n)
    side = (Z[:, 0] > 0.3).astype(np.int64)
    if kind == "slope":  # the marginal distribution of y is the same on both sides
        y = np.where(side == 1, Z[:, 1], -Z[:, 1]) + 0.1 * noise
    elif kind == "rare":
        side = ((Z[:, 0] > 1.0) & (Z[:, 1] > 0.5)).astype(np.int64)
        y = np.sin(2 * Z[:, 2]) + 4 * side + 0.1 * noise
    elif kind == "constant":
        y = np.where(side == 1, np.sin(Z[:, 1]) + 0.1 * noise + 1, 0.0)
    elif kind == "smooth":
        side, y = np.zeros(n, np.int64), np.sin(2 * Z[:, 0]) + Z[:, 1] + 0.2 * noise
    else:  # skewed noise that grows
        side, y = np.zeros(n, np.int64), np.sin(Z[:, 0]) + np.exp(0.4 * Z[:, 1]) * rng.exponential(0.3, n)
    return Runs(Z, (y - y.mean()) / y.std(), np.ones(n)), side


def found_in(kind: str, **given: int) -> tuple[Regimes, np.ndarray]:
    runs, side = draw(kind, **given)
    return find_regimes_by_em(runs, np.random.default_rng(1)), side


@pytest.mark.parametrize("kind", ["slope", "rare", "constant"])
def test_regimes_that_only_inputs_and_responses_together_reveal_are_found(kind: str) -> None:
    found, side = found_in(kind)
    assert len(found) == 2
    right = float(np.mean(found.regime == side))
    assert max(right, 1 - right) > 0.95
    assert found.accuracy(np.ones(150)) > 0.9


@pytest.mark.parametrize("kind", ["smooth", "skewed"])
def test_smooth_responses_and_uneven_noise_have_one_regime(kind: str) -> None:
    found, _ = found_in(kind)
    assert len(found) == 1
    assert (found.label == 1).all()


def test_a_response_without_any_sign_is_not_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "_search_numbers", lambda *given: pytest.fail("searched"))
    assert len(found_in("smooth")[0]) == 1


def test_few_runs_for_many_inputs_are_searched_only_where_levels_of_y_lie_apart(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    runs, side = draw("slope", n=40)
    more = np.random.default_rng(2).uniform(-1.7, 1.7, (40, 7))
    apart = Runs(np.hstack([runs.Z, more]), 9.0 * side + 0.1 * runs.y, np.ones(40))
    assert len(find_regimes_by_em(apart, np.random.default_rng(1))) == 2
    monkeypatch.setattr(search, "_search_numbers", lambda *given: pytest.fail("searched"))
    assert len(find_regimes_by_em(Runs(apart.Z, runs.y, np.ones(40)), np.random.default_rng(1))) == 1


def test_many_runs_are_searched_on_few_and_assigned_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "FEW_ROWS", 100)
    monkeypatch.setattr(search, "MOST_ROWS", 200)
    found, side = found_in("slope", n=260)
    assert len(found) == 2
    assert found.label.shape == (260, 2)
    right = float(np.mean(found.regime == side))
    assert max(right, 1 - right) > 0.95


def test_runs_that_the_search_has_not_seen_bear_out_a_jump_and_not_a_guess() -> None:
    runs, _ = draw("slope", n=300)
    few, others = runs.take(np.arange(100)), runs.take(np.arange(100, 300))
    one = em.plain_regime(few, em.fit_weighted_gp(few, np.ones(100), np.random.default_rng(0)))
    two = find_regimes_by_em(few, np.random.default_rng(1))
    assert two.score_of(others).mean() > one.score_of(others).mean() + 0.5
    assert search._promises(two, one, few, others, is_peak=False)
    assert not search._promises(one, two, few, others, is_peak=False)
    shuffled = Runs(others.Z, np.random.default_rng(2).permutation(others.y), others.weight)
    assert not search._promises(two, one, few, shuffled, is_peak=False)


def test_a_number_of_regimes_that_is_refused_ends_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    runs, _ = draw("smooth")
    one = find_regimes_by_em(runs, np.random.default_rng(1))
    asked = []

    def candidates() -> Iterator[Regimes]:
        for k in (2, 3):
            asked.append(k)
            yield one

    monkeypatch.setattr(search, "is_better", lambda *given: False)
    peaks = search.find_regimes(runs.y, runs.weight)
    assert search._choose(runs, one, candidates(), peaks, np.random.default_rng(0)) is None
    assert asked == [2]


def test_a_fit_of_one_round_that_is_hopeless_is_not_gone_on_with_and_the_best_always_is() -> None:
    runs, side = draw("slope")
    rng = np.random.default_rng(0)
    one = em.one_regime(runs, em.fit_weighted_gp(runs, np.ones(150), rng), rng)
    good, bad = (em.run_rounds(runs, np.eye(2)[each], 1, rng) for each in (side, rng.integers(2, size=150)))
    assert good is not None
    assert bad is not None
    assert search._worth_going_on([good, bad], one, runs) == [good]
    assert search._worth_going_on([bad], good.regimes, runs) == []


def test_labels_and_scores_are_those_of_bayes_rule_and_left_out_runs() -> None:
    found, _ = found_in("slope")
    np.testing.assert_allclose(found.label.sum(axis=1), 1)
    joint = found.unseen * np.exp(found.evidence)
    np.testing.assert_allclose(found.label, joint / joint.sum(axis=1, keepdims=True), rtol=1e-6)
    np.testing.assert_allclose(found.score, np.log(joint.sum(axis=1)), rtol=1e-6)


def test_a_further_regime_must_be_clearly_better_by_the_weights_of_the_runs() -> None:
    first, zeros = np.arange(60) < 30, np.zeros(60)
    assert is_above(np.where(first, 1.0, 0.1), zeros, np.ones(60), 3.0)
    assert not is_above(np.where(first, 1.0, -1.0), zeros, np.ones(60), 3.0)
    assert is_above(np.where(first, 1.0, -1.0), zeros, np.where(first, 1.0, 1e-3), 3.0)


def test_the_crps_of_left_out_runs_is_that_of_the_mixture_and_a_false_regime_does_not_lower_it() -> None:
    found, _ = found_in("slope")
    runs, _ = draw("slope")
    single, _ = found_in("smooth")
    assert found.crps(runs).shape == (150,)
    assert found.crps(runs).mean() < 0.2  # the noise alone has 0.06, one GP about 0.3
    assert not search.is_better(single, single, draw("smooth")[0])


@pytest.mark.parametrize("k", [2, 3])
def test_every_guess_is_a_table_of_probabilities(k: int) -> None:
    runs, _ = draw("slope", n=60)
    for label in guess_labels(runs.Z, runs.y, runs.weight, np.ones(3), k, np.random.default_rng(0)):
        assert label.shape == (60, k)
        np.testing.assert_allclose(label.sum(axis=1), 1)
