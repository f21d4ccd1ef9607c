"""Many rows are read piece by piece: the same answers, and messages that name the rows of the whole table."""

import numpy as np
import pandas as pd
import pytest

from genbayes import ConformalSurrogate
from genbayes.distribution.concatenated import Concatenated
from genbayes.errors import InvalidInput
from genbayes.models import StationaryGP, base
from genbayes.models.registry import registered_models


@pytest.fixture
def table() -> tuple[pd.DataFrame, pd.Series]:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"size": rng.uniform(size=60), "gas": rng.choice(["He", "O2"], 60)})
    return X, X["size"] + (X["gas"] == "He") + 0.1 * rng.standard_normal(60)


@pytest.mark.parametrize("wrapped", [False, True])
def test_pieces_give_the_answers_of_the_whole(table, wrapped: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = table
    model = StationaryGP(categorical=["gas"], random_state=0)
    groups = {"groups": np.arange(60) % 2} if wrapped else {}
    if wrapped:
        model = ConformalSurrogate(model, level=0.6, method="cross", random_state=0)
    model.fit(X, y, **groups)

    def answers() -> list[np.ndarray]:
        pairs = *model.predict(X, return_std=True, **groups), *model.predict_interval(X, level=0.8, **groups)
        tables = model.predict_quantiles(X, [0.1, 0.9], **groups), model.sample_y(X, 3, random_state=0, **groups)
        return [model.predict(X, **groups), model.predict_quantiles(X, 0.3, **groups), *pairs, *tables]

    whole, seen, ask = answers(), [], type(model).predict_distribution
    monkeypatch.setattr(base, "ROWS_AT_ONCE", 7)
    monkeypatch.setattr(
        type(model), "predict_distribution", lambda self, X, **more: seen.append(len(X)) or ask(self, X, **more)
    )
    for part, again in zip(whole, answers(), strict=True):
        np.testing.assert_allclose(again, part, rtol=1e-9)
    assert max(seen) == 7
    with pytest.raises(InvalidInput, match=r"Input X contains NaN in 1 of 60 rows \(row 59\)|X\['size'\].*row 59"):
        model.predict(X.assign(size=np.r_[X["size"][:-1], np.nan]), **groups)


def test_one_distribution_is_made_of_pieces_of_any_kind(table, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = table
    model = StationaryGP(categorical=["gas"], random_state=0).fit(X, y)
    whole = model.predict_distribution(X)
    monkeypatch.setattr(base, "ROWS_AT_ONCE", 7)
    asked: list[int] = []
    scaled = StationaryGP._scaled
    monkeypatch.setattr(StationaryGP, "_scaled", lambda self, X: asked.append(len(X)) or scaled(self, X))
    joined = model.predict_distribution(X)
    assert max(asked) == 7
    at, levels = y.to_numpy(), [0.1, 0.5, 0.9]
    for ask in (
        lambda d: d.ppf(levels),
        lambda d: d.cdf(at),
        lambda d: d.cdf([[0.2, 0.4]]),
        lambda d: d.pdf(at),
        lambda d: d.pit(at),
        lambda d: d.crps(at),
        lambda d: np.stack([d.mean(), d.var(), d.std(), d.median(), *d.interval(0.8)]),
        lambda d: d[[40, 3, 3, 21]].ppf(levels),
        lambda d: d[::-1].mean(),
        lambda d: d[[]].ppf(levels),
    ):
        np.testing.assert_allclose(ask(joined), ask(whole), rtol=1e-9)
    assert joined.sample(3, random_state=0).shape == (60, 3)
    np.testing.assert_array_equal(joined.sample(3, random_state=0), joined.sample(3, random_state=0))


@pytest.mark.parametrize("name", ["network", "gp-iqn", "auto", "conformal", "boosted", "jump-gp", "deep-gp"])
def test_every_model_answers_in_pieces(table, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = table[0][["size"]].to_numpy(), table[1].to_numpy()
    cls = registered_models()[name].load_class()
    given = {"model": StationaryGP(random_state=0), "candidates": ["gp"], "n_epochs": 3, "n_members": 2, "n_trees": 3}
    given |= {"n_samples": 3, "n_burn_in": 3, "random_state": 0}
    model = cls(**{key: value for key, value in given.items() if key in cls().get_params(deep=False)}).fit(X, y)
    whole = model.predict_distribution(X)
    monkeypatch.setattr(base, "ROWS_AT_ONCE", 25)
    joined = model.predict_distribution(X)
    assert isinstance(joined, Concatenated)
    np.testing.assert_allclose(joined.ppf([0.1, 0.5, 0.9]), whole.ppf([0.1, 0.5, 0.9]), rtol=1e-4, atol=1e-6)
