"""Inputs that span decades get a logarithmic scale where runs held out say so, and only there."""

from pathlib import Path

import numpy as np
import pytest

from genbayes import load
from genbayes.data.log_scaling import choose_bends
from genbayes.data.scaling import InputScaler
from genbayes.models import StationaryGP

RNG = np.random.default_rng(0)
U, V = RNG.uniform(size=(2, 120))
WIDE = np.exp(12 * U)


@pytest.mark.parametrize(
    ("X", "y", "is_bent"),
    [
        (np.column_stack([WIDE, V]), np.sin(6 * U) + V, [True, False]),
        (np.column_stack([-WIDE, V]), np.sin(6 * U) + V, [True, False]),
        (np.column_stack([WIDE, V]), WIDE / 1e5 + V, [False, False]),  # it acts by its plain value
        (np.column_stack([WIDE, V]), V, [False, False]),  # it does not matter
        (np.column_stack([np.exp(U), V]), np.sin(6 * U), [False, False]),  # within a decade
        (np.column_stack([WIDE, np.exp(12 * V)]), np.sin(6 * (U + V)), [True, True]),  # neither tells much alone
        (WIDE[:15, None], np.sin(6 * U[:15]), [False]),  # too few to say
        (np.zeros((120, 1)), V, [False]),
    ],
)
def test_an_input_is_bent_where_it_spans_decades_and_unseen_runs_are_predicted_better(
    X, y, is_bent: list[bool]
) -> None:
    y = y + 0.01 * np.random.default_rng(1).standard_normal(len(y))
    np.testing.assert_array_equal(choose_bends(X, y, np.ones(len(y))) > 0, is_bent)


@pytest.mark.parametrize("unit", [1e-9, 1e9])
def test_the_unit_of_an_input_does_not_matter(unit: float) -> None:
    X, y = WIDE[:, None], np.sin(6 * U)
    np.testing.assert_allclose(choose_bends(unit * X, y, np.ones(120)), unit * choose_bends(X, y, np.ones(120)))


def test_a_response_over_decades_of_an_input_is_learnt_and_zero_is_still_an_input(tmp_path: Path) -> None:
    X, y = np.column_stack([WIDE, V]), np.sin(6 * U) + V
    model = StationaryGP(random_state=0).fit(X[:90], y[:90])
    error = np.abs(model.predict(X[90:]) - y[90:]).mean()
    assert error < 0.01  # 0.25 on the plain scale
    zero = np.array([[0.0, 0.5], [-1.0, 0.5]])
    assert np.isfinite(model.predict_distribution(zero).ppf(0.5)).all()
    again = load(model.save(tmp_path / "model.gb"))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_the_middle_of_a_bent_column_is_one_of_its_values() -> None:
    scaler = InputScaler.learn(WIDE[:, None], np.ones(120), bend=np.array([1.0]))
    np.testing.assert_allclose(scaler.inverse(scaler.transform(WIDE[:, None])), WIDE[:, None])
    assert WIDE.min() < scaler.middle(1)[0, 0] < WIDE.max()
    np.testing.assert_allclose(scaler.transform(scaler.middle(1)), 0.0, atol=1e-9)
