"""Formulas of known truth: the true distribution is true, and draws for development are apart from the others."""

import numpy as np
import pytest

from genbayes.auto.candidates import choose_candidates
from genbayes.models.registry import Facts
from genbayes_bench.problems.regimes import FIRST_UNTOUCHED, WITH_JUMPS, WITHOUT_JUMPS
from genbayes_bench.studies import regimes

FORMULAS = {**WITH_JUMPS, **WITHOUT_JUMPS}


@pytest.mark.parametrize("name", FORMULAS)
def test_the_truth_covers_as_often_as_it_says(name: str) -> None:
    drawn = FORMULAS[name].draw(20, 0, n_test=400)
    noisy = np.ptp(drawn.truth.ppf([0.1, 0.9]), axis=1) > 0  # a point mass is covered always
    share = np.mean((drawn.truth.cdf(drawn.split.y_test) < 0.3)[noisy])
    assert abs(share - 0.3) < 4 * np.sqrt(0.21 / noisy.sum())  # false alarm 1 in 16,000 for each of 31
    assert drawn.split.X_train.shape == (20, FORMULAS[name].d)


def test_a_draw_is_the_same_whenever_it_is_drawn_and_others_are_others() -> None:
    one, same, other = (WITH_JUMPS["curve"].draw(20, seed, n_test=5) for seed in (0, 0, FIRST_UNTOUCHED))
    np.testing.assert_array_equal(one.split.y_train, same.split.y_train)
    assert not np.isin(one.split.y_train, other.split.y_train).any()


def test_there_are_twenty_formulas_without_jumps_and_parts_for_both_kinds_of_draws() -> None:
    assert len(WITHOUT_JUMPS) == 20
    assert {"curve-1000", "untouched-curve-1000", "untouched-without-jumps-300"} <= set(regimes.make_parts())


def test_a_model_is_measured_against_the_truth() -> None:
    ratio, covered, seconds = regimes.over_truth("gp", WITHOUT_JUMPS["waves, noise"], 60, 0)
    assert 1 < ratio < 1.5
    assert 0.7 < covered < 1
    assert seconds > 0


def test_a_run_that_is_told_of_one_regime_leaves_out_the_search_and_nothing_else() -> None:
    facts = Facts(n=300, n_regimes=1)
    free = [candidate.name for candidate in choose_candidates(None, facts)]
    with regimes.no_search():
        told = [candidate.name for candidate in choose_candidates(None, facts)]
    assert set(free) - set(told) == {"regime-gp", "jump-gp", "iqn-boundary"}
    assert [candidate.name for candidate in choose_candidates(None, facts)] == free


def test_one_model_alone_may_be_measured_on_as_many_draws_as_are_wanted() -> None:
    (line,) = regimes.make_parts(n_draws=2)["rare-300-gp"]()
    assert "StationaryGP over the truth" in line.what
    assert len(line.detail.rpartition("; ")[2].split()) == 2
