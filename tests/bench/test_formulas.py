"""Formula problems against independent values, and draws that earlier records were made with."""

from __future__ import annotations

import numpy as np
import pytest

from genbayes_bench.problems import PROBLEMS, draw_exp2d, draws_of
from genbayes_bench.problems.formulas import borehole, michalewicz, piston, proxy, side_force
from genbayes_bench.problems.jumps import jump


def test_the_flat_part_of_michalewicz_is_a_fifth_of_the_box_and_raised() -> None:
    X = np.random.default_rng(0).uniform(0, np.pi, (100_000, 4))
    y = michalewicz(X)
    # 20.8% of 100,000 points; standard error 0.0013, four of those
    assert np.mean(y > 0.4) == pytest.approx(0.208, abs=0.0052)
    assert y.max() == pytest.approx(0.5, abs=1e-6)
    assert not ((y > 0) & (y < 0.49)).any()
    assert not ((y > -0.01) & (y < 0)).any()


def test_michalewicz_has_its_published_minimum_in_two_dimensions() -> None:
    # -1.8013 at (2.20, 1.57) for d = 2; the other two inputs at 0 add nothing
    assert michalewicz(np.array([[2.2029, 1.5708, 0.0, 0.0]]))[0] == pytest.approx(-1.8013, abs=1e-4)


def test_the_borehole_grows_with_its_radius_and_the_head() -> None:
    middle = np.array([0.1, 25_050.0, 89_335.0, 1_050.0, 89.55, 760.0, 1_400.0, 10_950.0])
    wide, high = middle.copy(), middle.copy()
    wide[0] *= 1.2
    high[3] += 29  # the flow is proportional to Hu - Hl, 290
    base, wider, higher = borehole(np.array([middle, wide, high]))
    assert higher / base == pytest.approx(1.1)
    assert wider > 1.3 * base


def test_the_piston_at_the_middle_of_its_box_takes_its_known_time() -> None:
    middle = np.array([[45.0, 0.0125, 0.006, 3_000.0, 100_000.0, 293.0, 350.0]])
    assert piston(middle)[0] == pytest.approx(0.4644, abs=1e-4)


def test_the_side_force_is_nothing_without_sideslip_and_changes_at_mach_one() -> None:
    m = np.linspace(0.2, 6, 200)
    still = np.column_stack([m, np.full(200, 10.0), np.zeros(200)])
    np.testing.assert_array_equal(side_force(still), 0)
    slipping = side_force(np.column_stack([m, np.full(200, 25.0), np.full(200, 4.0)]))
    steepest = m[np.abs(np.diff(slipping)).argmax()]
    assert 0.7 < steepest < 1.4


def test_the_proxy_at_a_corner() -> None:
    assert proxy(np.zeros((1, 7)))[0] == 3


def test_the_jump_is_two_high_and_at_one_half() -> None:
    below, above = jump(np.array([[0.5], [0.5 + 1e-9]]))
    assert above - below == pytest.approx(2, abs=1e-6)


def test_hl20_matches_its_table_at_the_nodes() -> None:
    problem = PROBLEMS["rocket_hl20"]
    if problem.absent:
        pytest.skip(problem.absent)
    from genbayes_bench.problems.formulas import side_force_hl20

    # mach 1.1, alpha 0: CYB_a0 = -0.017436 a degree of sideslip
    assert side_force_hl20(np.array([[1.1, 0.0, 2.0]]))[0] == pytest.approx(2 * -0.017436)


def test_training_inputs_of_a_formula_are_a_latin_hypercube() -> None:
    split = draws_of(lambda X: X.sum(axis=1), [-1.0, 10.0], [1.0, 20.0], stream=1)(0, 50, 30)
    cells = np.floor((split.X_train - [-1, 10]) / [2, 10] * 50).astype(int)
    for column in cells.T:
        assert sorted(column) == list(range(50))
    assert split.f_test is None


def test_noise_of_a_formula_has_the_stated_size() -> None:
    split = draws_of(lambda X: X[:, 0], [0.0], [1.0], stream=2, noise_sd=0.3)(0, 50, 2_000)
    # sd of 2,000 residuals: standard error 0.3 / sqrt(4,000), four of those
    assert np.std(split.y_test - split.f_test) == pytest.approx(0.3, abs=4 * 0.3 / np.sqrt(4_000))
    assert split.noise_sd == 0.3


def test_draws_that_earlier_records_were_made_with_are_unchanged() -> None:
    split = draw_exp2d(0)
    assert (split.X_train.shape, split.X_test.shape) == ((100, 2), (1_000, 2))
    np.testing.assert_allclose(split.X_train[0], [1.2880856325262657, -1.6821237553302562], rtol=1e-12)
    assert split.y_train[0] == pytest.approx(0.2994473107610641, rel=1e-12)
