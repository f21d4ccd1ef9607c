"""Two regimes or one: EM against known mixtures, and the rule for loss weights."""

import numpy as np
import pytest

from genbayes.models.regimes.mixture import (
    GaussianMixture,
    condense,
    evidence_of,
    find_regimes,
    fit_gaussians,
    measure_bimodality,
)


def draw(rng: np.random.Generator, gap: float, share: float = 0.5, n: int = 4_000) -> np.ndarray:
    return rng.standard_normal(n) + gap * (rng.uniform(size=n) < share)


def test_em_recovers_a_known_mixture() -> None:
    y = draw(np.random.default_rng(0), gap=6.0, share=0.3)
    found = fit_gaussians(y, np.ones(len(y)), 2)
    np.testing.assert_allclose(found.share, [0.7, 0.3], atol=0.03)
    np.testing.assert_allclose(found.mean, [0.0, 6.0], atol=0.1)
    np.testing.assert_allclose(found.sd, [1.0, 1.0], atol=0.1)


@pytest.mark.parametrize(("seed", "unit"), [(0, 1.0), (1, 1e-12), (2, 1e12), (3, 1.0), (4, 1.0)])
def test_two_peaks_are_found_where_there_are_two_in_any_unit(seed: int, unit: float) -> None:
    rng = np.random.default_rng(seed)
    peaks = {gap: draw(rng, gap) for gap in (0.0, 1.0, 4.0, 8.0)}
    others = {"skewed": rng.exponential(size=2_000), "uniform": rng.uniform(size=2_000)}
    found = {name: measure_bimodality(unit * y, np.ones(len(y))).is_bimodal for name, y in (peaks | others).items()}
    assert [name for name, is_bimodal in found.items() if is_bimodal] == [4.0, 8.0]


def test_many_responses_are_judged_by_means_of_neighbours() -> None:
    y = draw(np.random.default_rng(5), 4.0, n=50_000)
    found, condensed = (measure_bimodality(*runs) for runs in ((y, np.ones(len(y))), condense(y, np.ones(len(y)))))
    assert (found.bic_gain, found.valley) == (condensed.bic_gain, condensed.valley)


def test_a_weight_equals_repeating_the_row() -> None:
    rng = np.random.default_rng(0)
    y, count = draw(rng, 4.0, n=200), rng.integers(1, 4, 200)
    weighted = measure_bimodality(y, count.astype(float))
    repeated = measure_bimodality(np.repeat(y, count), np.ones(count.sum()))
    assert weighted.bic_gain == pytest.approx(repeated.bic_gain, rel=1e-6)
    assert weighted.valley == pytest.approx(repeated.valley, rel=1e-6)


@pytest.mark.parametrize("n_regimes", [1, 2, 3, 4, 5])
def test_as_many_regimes_are_found_as_there_are(n_regimes: int) -> None:
    rng = np.random.default_rng(n_regimes)
    y = rng.standard_normal(600) + 12 * rng.integers(0, n_regimes, 600)
    assert len(find_regimes(y, np.ones(600))) == n_regimes


@pytest.mark.parametrize("n", [15, 30, 100, 400])
def test_flat_and_skewed_responses_are_one_regime(n: int) -> None:
    rng = np.random.default_rng(n)
    draws = [rng.uniform(size=(10, n)), rng.exponential(size=(10, n)), rng.standard_normal((10, n))]
    assert sum(len(find_regimes(y, np.ones(n))) > 1 for y in np.vstack(draws)) <= 1


@pytest.mark.parametrize(
    ("y", "given", "found"),
    [
        (np.random.default_rng(0).standard_normal(30) + 12 * (np.arange(30) % 2), None, 2),  # few rows, a wide gap
        (np.append(np.random.default_rng(0).standard_normal(300), [40.0, 41.0, 42.0]), None, 1),  # a few outliers
        (np.random.default_rng(0).standard_normal(200), 3, 3),
    ],
)
def test_gaps_outliers_and_a_given_number_are_respected(y: np.ndarray, given: int | None, found: int) -> None:
    assert len(find_regimes(y, np.ones(len(y)), given)) == found


def test_the_wider_regime_does_not_claim_the_far_side_nor_the_larger_one_the_middle() -> None:
    mixture = GaussianMixture(np.array([0.5, 0.5]), np.array([0.0, 10.0]), np.array([0.1, 3.0]))
    assert evidence_of(mixture, np.array([-30.0, 30.0])).argmax(axis=1).tolist() == [0, 1]
    unequal = GaussianMixture(np.array([0.9, 0.1]), np.array([0.0, 10.0]), np.ones(2))
    np.testing.assert_allclose(evidence_of(unequal, np.array([5.0])), [[0.0, 0.0]], atol=1e-12)


def test_condensing_keeps_weight_and_mean() -> None:
    rng = np.random.default_rng(0)
    y, weight = rng.standard_normal(9_001), rng.uniform(1, 2, 9_001)
    short, mass = condense(y, weight)
    assert len(short) <= 4_000
    assert mass.sum() == pytest.approx(weight.sum())
    assert mass @ short == pytest.approx(weight @ y)
