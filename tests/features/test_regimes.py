"""Two regimes or one: EM against known mixtures, and the rule for loss weights."""

import numpy as np
import pytest

from genbayes.features.regimes import fit_two_gaussians, measure_bimodality


def draw(rng: np.random.Generator, gap: float, share: float = 0.5, n: int = 4_000) -> np.ndarray:
    return rng.standard_normal(n) + gap * (rng.uniform(size=n) < share)


def test_em_recovers_a_known_mixture() -> None:
    y = draw(np.random.default_rng(0), gap=6.0, share=0.3)
    found = fit_two_gaussians(y, np.ones(len(y)))
    np.testing.assert_allclose(found.share, [0.7, 0.3], atol=0.03)
    np.testing.assert_allclose(found.mean, [0.0, 6.0], atol=0.1)
    np.testing.assert_allclose(found.sd, [1.0, 1.0], atol=0.1)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("gap", "expected"), [(0.0, False), (1.0, False), (4.0, True), (8.0, True)])
def test_two_peaks_are_found_where_there_are_two(gap: float, expected: bool, seed: int) -> None:
    y = draw(np.random.default_rng(seed), gap)
    assert measure_bimodality(y, np.ones(len(y))).is_bimodal is expected


@pytest.mark.parametrize("seed", range(5))
def test_skewed_and_uniform_responses_are_not_bimodal(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for y in (rng.exponential(size=2_000), rng.uniform(size=2_000)):
        assert not measure_bimodality(y, np.ones(2_000)).is_bimodal


def test_a_weight_equals_repeating_the_row() -> None:
    rng = np.random.default_rng(0)
    y, count = draw(rng, 4.0, n=200), rng.integers(1, 4, 200)
    weighted = measure_bimodality(y, count.astype(float))
    repeated = measure_bimodality(np.repeat(y, count), np.ones(count.sum()))
    assert weighted.bic_gain == pytest.approx(repeated.bic_gain, rel=1e-6)
    assert weighted.valley == pytest.approx(repeated.valley, rel=1e-6)


@pytest.mark.parametrize("unit", [1e-12, 1.0, 1e12])
def test_the_verdict_does_not_depend_on_the_unit(unit: float) -> None:
    y = draw(np.random.default_rng(0), 5.0, n=500)
    assert measure_bimodality(unit * y, np.ones(500)).is_bimodal
