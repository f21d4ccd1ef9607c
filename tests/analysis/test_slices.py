from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from genbayes.analysis import slice_inputs
from genbayes.errors import InvalidInput

Maker = Callable[..., Any]


def test_other_inputs_stay_at_their_median(make_model: Maker) -> None:
    X = np.c_[np.random.default_rng(0).uniform(size=21), np.arange(21.0)]
    (cut,) = slice_inputs(make_model(lambda X: X[:, 0] + 100 * X[:, 1]), X, [0])
    assert cut.median == pytest.approx(cut.values + 1_000)


def test_bands_are_central_intervals(make_model: Maker) -> None:
    X = np.random.default_rng(0).uniform(size=(20, 1))
    (cut,) = slice_inputs(make_model(lambda X: X[:, 0], scale=2.0), X, [0], levels=(0.5, 0.9))
    for level, lower, upper in cut.bands:
        assert upper - cut.median == pytest.approx(2 * norm.ppf((1 + level) / 2))
        assert cut.median - lower == pytest.approx(2 * norm.ppf((1 + level) / 2))


def test_a_category_is_sliced_at_each_of_its_values(make_model: Maker) -> None:
    X = pd.DataFrame({"x": [0.1, 0.2, 0.3], "gas": ["He", "O2", "He"]})
    model = make_model(lambda X: X["gas"].map({"He": 1.0, "O2": 5.0}).astype(float))
    (cut,) = slice_inputs(model, X, [1])
    assert (cut.name, cut.values.tolist(), cut.median.tolist()) == ("gas", ["He", "O2"], [1.0, 5.0])


def test_levels_in_percent_are_refused(make_model: Maker) -> None:
    with pytest.raises(InvalidInput, match=r"pass 0\.9 for 90%"):
        slice_inputs(make_model(lambda X: X[:, 0]), np.ones((3, 1)), [0], levels=[90])
