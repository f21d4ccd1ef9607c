"""Left-out laws of the GP baselines: those of a GP that has not seen the input, at the same parameters."""

import numpy as np
import pytest

from genbayes.baselines import HeteroskedasticGP, StationaryGP
from genbayes.baselines.leaving import leave_out, match_rows
from genbayes.gp import FittedGP, Replicates


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


@pytest.mark.parametrize("make", [StationaryGP, HeteroskedasticGP])
def test_left_out_laws_come_in_the_order_asked_for(make) -> None:
    X, y = runs()
    model = make(random_state=0).fit(X, y)
    order = np.random.default_rng(1).permutation(40)
    np.testing.assert_array_equal(model._left_out(X[order]).mean(), model._left_out(X).mean()[order])


@pytest.mark.parametrize("make", [StationaryGP, HeteroskedasticGP])
def test_left_out_laws_score_worse_than_seen_ones_and_as_well_as_new_ones(make) -> None:
    X, y = runs()
    model = make(random_state=0).fit(X, y)
    left_out = model._left_out(X).crps(y).mean()
    assert model.predict_distribution(X).crps(y).mean() < left_out < 0.2  # new runs: 0.2 / sqrt(pi) = 0.113 at best


def test_replicates_are_left_out_together() -> None:
    X = np.repeat(np.linspace(-1, 1, 12), 3)[:, None]
    y = np.sin(3 * X[:, 0]) + np.tile([-0.1, 0.0, 0.1], 12)
    y[15:18] += 5  # an outlying input: the others know nothing of it
    model = StationaryGP(random_state=0).fit(X, y)
    assert (y[15:18] - model._left_out(X[15:18]).mean()).min() > 3


def test_rows_are_matched_by_equality() -> None:
    known = Replicates.collect(np.array([[1.0, 2.0], [0.0, 5.0]]), np.zeros(2), np.ones(2)).Z
    assert match_rows(known, np.array([[1.0, 2.0], [1.0, 2.1], [0.0, 5.0]])).tolist() == [1, -1, 0]
