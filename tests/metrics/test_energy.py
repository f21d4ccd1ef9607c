import sys

import numpy as np
import pytest
import scoringrules as sr
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from genbayes.arrays import FloatArray
from genbayes.errors import InvalidInput
from genbayes.metrics import crps, energy_score

NUMBERS = st.floats(-1e3, 1e3)


@settings(max_examples=40, deadline=None)
@given(arrays(np.float64, (2, 6, 3), elements=NUMBERS), arrays(np.float64, (2, 3), elements=NUMBERS))
def test_it_is_that_of_scoringrules(samples: FloatArray, y: FloatArray) -> None:
    np.testing.assert_allclose(energy_score(samples, y), sr.es_ensemble(y, samples), rtol=1e-9, atol=1e-9)


def test_for_one_response_it_is_the_crps() -> None:
    draws = np.sort(np.random.default_rng(0).normal(size=(4, 30)), axis=1)
    y = np.array([0.0, 1.0, -2.0, 5.0])
    np.testing.assert_allclose(energy_score(draws[:, :, None], y[:, None]), crps(draws, y), rtol=1e-12)


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    samples, y = np.random.default_rng(0).normal(size=(2, 11, 3)), np.zeros((2, 3))
    whole = energy_score(samples, y)
    monkeypatch.setattr(sys.modules["genbayes.metrics.crps"], "BLOCK", 4)  # `metrics.crps` is the function
    np.testing.assert_allclose(energy_score(samples, y), whole, rtol=1e-13)


def test_the_true_law_scores_better_than_a_shifted_one() -> None:
    rng = np.random.default_rng(0)
    y, samples = rng.normal(size=(200, 2)), rng.normal(size=(200, 50, 2))
    assert energy_score(samples, y).mean() < energy_score(samples + 1.0, y).mean()


@pytest.mark.parametrize(
    ("samples", "y", "message"),
    [
        (np.zeros((2, 3)), np.zeros((2, 3)), r"samples must have shape \(n, S, q\), got \(2, 3\)"),
        (np.zeros((2, 5, 3)), np.zeros((2, 4)), r"y must have shape \(2, 3\), one vector per row of samples"),
        (np.full((1, 2, 1), np.nan), np.zeros((1, 1)), "samples must be finite"),
        (np.zeros((1, 2, 1)), np.full((1, 1), np.inf), "y must be finite"),
    ],
)
def test_bad_samples_are_refused(samples: FloatArray, y: FloatArray, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        energy_score(samples, y)
