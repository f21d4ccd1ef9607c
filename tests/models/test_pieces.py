"""Many rows are read piece by piece: the same answers, and messages that name the rows of the whole table."""

import numpy as np
import pandas as pd
import pytest

from genbayes import ConformalSurrogate
from genbayes.errors import InvalidInput
from genbayes.models import StationaryGP, base


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
