"""Left-out answers of a GP: those of one that has not seen the input, at the same parameters."""

import numpy as np

from genbayes.models import StationaryGP
from genbayes.models.gp import FittedGP, Replicates, fit_gp, leave_out, match_rows


def runs(n: int = 40) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (n, 1))
    return X, np.sin(3 * X[:, 0]) + 0.2 * rng.standard_normal(n)


def test_leaving_out_is_fitting_without_the_row() -> None:
    X, y = runs()
    model = StationaryGP(random_state=0).fit(X, y)
    mean, latent, _ = leave_out(model.gp_, model.gp_.runs.Z[[7]])
    kept = np.delete(np.arange(40), 7)
    others = FittedGP(model.gp_.parameters, model.gp_.runs.take(kept))
    # the constant mean is estimated anew without the row, which FittedGP.at given parameters does not do
    np.testing.assert_allclose(mean, others.predict(model.gp_.runs.Z[[7]])[0], atol=0.02)
    np.testing.assert_allclose(latent, others.predict(model.gp_.runs.Z[[7]])[1], rtol=0.2)


def test_left_out_answers_come_in_the_order_asked_for() -> None:
    X, y = runs()
    model = StationaryGP(random_state=0).fit(X, y)
    Z, order = model._scaled(X), np.random.default_rng(1).permutation(40)
    np.testing.assert_array_equal(leave_out(model.gp_, Z[order])[0], leave_out(model.gp_, Z)[0][order])


def test_left_out_answers_miss_by_more_than_seen_ones() -> None:
    X, y = runs()
    model = StationaryGP(random_state=0).fit(X, y)
    Z, scaled = model._scaled(X), model.response_scaler_.transform(y)
    seen, left_out = (np.mean((answer[0] - scaled) ** 2) for answer in (model.gp_.predict(Z), leave_out(model.gp_, Z)))
    assert seen < left_out < 0.2  # of the variance of y


def test_replicates_are_left_out_together() -> None:
    X = np.repeat(np.linspace(-1, 1, 12), 3)[:, None]
    y = np.sin(3 * X[:, 0]) + np.tile([-0.1, 0.0, 0.1], 12)
    y[15:18] += 5  # an outlying input: the others know nothing of it
    model = StationaryGP(random_state=0).fit(X, y)
    mean = model.response_scaler_.inverse(leave_out(model.gp_, model._scaled(X[15:18]))[0])
    assert (y[15:18] - mean).min() > 3


def test_a_single_input_has_nothing_to_be_left_for() -> None:
    groups = Replicates.collect(np.zeros((5, 1)), np.arange(5.0), np.ones(5))
    gp = fit_gp(groups, np.random.default_rng(0))
    np.testing.assert_array_equal(leave_out(gp, groups.Z), gp.predict(groups.Z))


def test_rows_are_matched_by_equality() -> None:
    known = Replicates.collect(np.array([[1.0, 2.0], [0.0, 5.0]]), np.zeros(2), np.ones(2)).Z
    assert match_rows(known, np.array([[1.0, 2.0], [1.0, 2.1], [0.0, 5.0]])).tolist() == [1, -1, 0]
