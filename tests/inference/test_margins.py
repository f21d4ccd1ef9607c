"""Quantiles of margins: the same as by halving a bracket, from few evaluations, wherever the search begins."""

import numpy as np
import pytest
import torch
from scipy.stats import norm

from genbayes.arrays import FloatArray
from genbayes.inference.chain import Mixtures
from genbayes.inference.margins import Margins, invert

TAU = np.array([0.001, 0.05, 0.5, 0.95, 0.999])


def two_modes(t: FloatArray) -> FloatArray:
    return np.asarray(0.5 * norm.cdf(t, -3, 0.1) + 0.5 * norm.cdf(t, 3, 0.1))


def halved(cdf: object, low: float, high: float) -> FloatArray:
    a, b = np.full(len(TAU), low), np.full(len(TAU), high)
    for _ in range(60):
        is_low = cdf((a + b) / 2) < TAU  # type: ignore[operator]
        a, b = np.where(is_low, (a + b) / 2, a), np.where(is_low, b, (a + b) / 2)
    return b


@pytest.mark.parametrize("begin", [(-1.0, 1.0), (7.0, 8.0), (-9.0, -9.0), (-9.0, 9.0)], ids=str)
@pytest.mark.parametrize("cdf", [norm.cdf, two_modes], ids=["normal", "two modes"])
def test_levels_are_met_wherever_the_search_begins(cdf: object, begin: tuple[float, float]) -> None:
    near = np.tile(np.array(begin)[:, None], (1, len(TAU)))
    found = invert(cdf, TAU, np.float64(-9), np.float64(9), near)  # type: ignore[arg-type]
    away = np.array([True, True, cdf is norm.cdf, True, True])  # any point between two modes is a median
    np.testing.assert_allclose(found[away], halved(cdf, -9, 9)[away], atol=1e-4)  # 2.4e-7 / density


LEVELS = np.array([0.001, 0.02, 0.05, 0.3, 0.49, 0.5, 0.51, 0.7, 0.95, 0.98, 0.999])
NARROW_BESIDE_WIDE = 0.5, (-3.0, 0.01), (3.0, 1.0)


def require_levels_met(
    weight: float, first: tuple[float, float], second: tuple[float, float], near: FloatArray, case: object = ""
) -> None:
    """Quantiles of a mixture of two normal distributions ascend, and meet their levels within 1e-5 or rounding of t."""

    def cdf(t: FloatArray) -> FloatArray:
        t = t.astype(np.float32).astype(np.float64)
        return np.asarray(weight * norm.cdf(t, *first) + (1 - weight) * norm.cdf(t, *second))

    q = invert(cdf, LEVELS, np.float64(-9), np.float64(9), near)
    density = weight * norm.pdf(q, *first) + (1 - weight) * norm.pdf(q, *second)
    assert (np.abs(cdf(q) - LEVELS) <= 1e-5 + 4 * 2**-23 * np.abs(q) * density).all(), case
    assert (np.diff(q) >= 0).all(), case


def near_from_draws(
    weight: float, first: tuple[float, float], second: tuple[float, float], n: int, rng: np.random.Generator
) -> FloatArray:
    draws = np.where(rng.random(n) < weight, rng.normal(*first, n), rng.normal(*second, n))
    away = np.minimum(0.05, np.minimum(LEVELS, 1 - LEVELS) / 2)
    return np.quantile(draws, np.stack([LEVELS - away, LEVELS + away]))


def test_levels_are_met_in_a_narrow_mode_beside_a_wide_one_wherever_the_search_begins() -> None:
    rng = np.random.default_rng(0)
    for n in (3, 6, 16, 64) * 5:
        require_levels_met(*NARROW_BESIDE_WIDE, near_from_draws(*NARROW_BESIDE_WIDE, n, rng))
    around = np.tile([[-1.0], [1.0]], len(LEVELS))
    for weight in (0.5, 1.0):
        require_levels_met(weight, (0.01, 1e-4), (3.0, 1.0), around)


def test_levels_are_met_in_every_mixture_of_two_modes() -> None:
    # searches that 60 steps could leave open missed a level in 13 of these 500 by up to 0.06
    rng = np.random.default_rng(1)
    for i in range(500):
        (a, b), (sd_a, sd_b), weight = rng.uniform(-5, 5, 2), 10 ** rng.uniform(-4, 0, 2), rng.uniform(0.02, 0.98)
        mixture = weight, (a, sd_a), (b, sd_b)
        require_levels_met(*mixture, near_from_draws(*mixture, int(rng.integers(3, 40)), rng), i)


def test_a_level_is_found_from_few_evaluations_whichever_others_are_asked_for() -> None:
    generator = torch.Generator().manual_seed(0)
    k, o, n = 2, 20, 128
    draws = torch.randn(o, n, k, generator=generator)
    mu = draws.permute(2, 0, 1)[..., None] + 0.3 * torch.randn(k, o, n, 3, generator=generator)
    far = torch.full((k, 1, 1, 1), 4.0)
    margins = Margins(Mixtures(torch.zeros_like(mu), mu, torch.full_like(mu, -1.0), -far, far, torch.zeros(1)), draws)
    calls: list[int] = []
    cdf = margins.cdf

    def count(t: FloatArray) -> FloatArray:
        calls.append(t.shape[-1])
        return cdf(t)

    margins.cdf = count  # type: ignore[method-assign]
    q = margins.ppf(TAU)
    assert len(calls) <= 20  # halving took 45
    np.testing.assert_allclose(cdf(q), np.broadcast_to(TAU, q.shape), atol=1e-6)
    np.testing.assert_array_equal(q[..., 1:2], margins.ppf(TAU[1:2]))
