"""What models say of their own runs unseen: all rows in any order, honest where there is nothing to learn."""

from typing import Any

import numpy as np
import pytest

from genbayes import BoundaryFeatures, QuantileSurrogate
from genbayes.models import BoostedQuantiles, HeteroskedasticGP, ModularJumpGP, RegimeGP, StationaryGP
from genbayes.models.gp_informed import GPInformedSurrogate
from genbayes.models.protocols import gives_out_of_fold

QUICK = {"n_epochs": 60, "random_state": 0}
MODELS = {
    "gp": StationaryGP(random_state=0),
    "het-gp": HeteroskedasticGP(random_state=0),
    "regime-gp": RegimeGP(random_state=0),
    "jump-gp": ModularJumpGP(random_state=0),
    "gp-iqn": GPInformedSurrogate(**QUICK),
    "network": QuantileSurrogate(n_layers=1, **QUICK),
    "boundary": QuantileSurrogate(n_layers=1, features=BoundaryFeatures(), **QUICK),
    "boosted": BoostedQuantiles(n_trees=40, n_leaves=4, random_state=0),
}


@pytest.mark.parametrize("name", MODELS)
def test_rows_may_come_in_any_order_and_noise_is_not_predicted(name: str) -> None:
    """Which of two levels a run has is a coin that no input shows: the CRPS of the true distribution is about 2.8."""
    if name == "boosted":
        pytest.importorskip("lightgbm")
    rng = np.random.default_rng(0)
    X, y = rng.uniform(size=(150, 2)), 10.0 * rng.integers(0, 2, 150) + rng.standard_normal(150)
    model: Any = MODELS[name]
    assert gives_out_of_fold(model)
    model.fit(X, y)
    rows, unseen = model.predict_out_of_fold(X, y)
    assert len(np.unique(rows)) == len(rows) >= 145
    scores = np.full(150, np.nan)
    scores[rows] = unseen.crps(y[rows])
    order = rng.permutation(150)
    there, again = model.predict_out_of_fold(X[order], y[order])
    np.testing.assert_allclose(again.crps(y[order][there]), scores[order][there], rtol=1e-6)
    assert np.nanmean(scores) > 2.4


def test_a_gp_informed_network_takes_the_gp_that_it_is_given() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(60, 2))
    y = np.sin(5 * X[:, 0]) + 0.1 * rng.standard_normal(60)
    base = StationaryGP(random_state=0).fit(X, y)
    assert GPInformedSurrogate(**QUICK).fit_on(base, X, y).gp_ is base.gp_
    assert GPInformedSurrogate(**QUICK).fit_on(base, X[:50], y[:50]).gp_ is not base.gp_  # of other runs


def test_without_noise_held_out_rows_score_as_new_rows_do() -> None:
    """Members differ by more at new inputs than where they have seen a run: by the latter alone this was 1.064."""
    ratios = []
    for seed in (3, 4):
        rng = np.random.default_rng(seed)
        X, X_new = rng.uniform(size=(250, 3)), rng.uniform(size=(2_000, 3))
        y, y_new = (np.sin(6 * x[:, 0]) * np.cos(5 * x[:, 1]) + 2 * np.abs(x[:, 2] - 0.5) for x in (X, X_new))
        model = QuantileSurrogate(random_state=0).fit(X, y)
        rows, unseen = model.predict_out_of_fold(X, y)
        ratios.append(unseen.crps(y[rows]).mean() / model.predict_distribution(X_new).crps(y_new).mean())
    assert 0.96 < np.mean(ratios) < 1.045
