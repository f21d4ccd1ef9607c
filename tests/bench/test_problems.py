"""Benchmark problems against their definitions and, where it is at hand, against reference data."""

import csv
from pathlib import Path

import numpy as np
import pytest

from genbayes_bench.problems import draw_bgp, draw_friedman, friedman, split_motorcycle

REFERENCE = Path(__file__).parents[3] / "shared" / "reference"


@pytest.mark.parametrize("d", [2, 3])
def test_bgp_has_two_levels_and_the_stated_noise(d: int) -> None:
    split = draw_bgp(d, 0)
    assert split.X_train.shape == (1_600, d)
    assert np.abs(np.vstack([split.X_train, split.X_test])).max() <= 0.5
    # residual sd of 400 rows: 2 with a standard error of 2 / sqrt(800) = 0.07; four of those
    assert np.std(split.y_test - split.f_test) == pytest.approx(2.0, abs=0.28)
    low, high = np.sort(split.f_test)[[40, -40]]
    assert high - low > 8


def test_replicates_differ_and_repeat() -> None:
    assert draw_bgp(2, 1).y_train[0] != draw_bgp(2, 2).y_train[0]
    np.testing.assert_array_equal(draw_friedman(3).y_train, draw_friedman(3).y_train)


def test_friedman_ignores_the_last_five_inputs() -> None:
    X = np.random.default_rng(0).uniform(size=(5, 10))
    other = np.column_stack([X[:, :5], 1 - X[:, 5:]])
    np.testing.assert_array_equal(friedman(X), friedman(other))


def test_friedman_at_known_points() -> None:
    X = np.zeros((2, 10))
    X[1, :5] = [1.0, 0.5, 1.0, 1.0, 1.0]
    np.testing.assert_allclose(friedman(X), [5.0, 10 + 5 + 10 + 5])


def test_a_motorcycle_split_uses_every_run_once() -> None:
    split = split_motorcycle(0)
    assert (len(split.y_train), len(split.y_test)) == (106, 27)
    whole = split_motorcycle(0, np.ones(133, dtype=bool))
    np.testing.assert_array_equal(np.sort(np.r_[split.y_train, split.y_test]), np.sort(whole.y_train))


@pytest.mark.skipif(not REFERENCE.exists(), reason="the reference folder is not beside the repository")
def test_the_reference_splits_fit_the_bundled_data() -> None:
    with (REFERENCE / "mcycle_splits.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["split"] == "1"]
    assert len(rows) == 133
    assert sum(row["set"] == "train" for row in rows) == 106
