"""The paper's estimate of the CRPS: exact with many quantiles, too kind to noise-free responses with few."""

import numpy as np
import pytest

from genbayes.distribution import Normal
from genbayes_bench.studies.grid_crps import crps_on_grid, main

LAW = Normal(loc=np.zeros(3), scale=np.ones(3))
CENTRE = (np.sqrt(2) - 1) / np.sqrt(np.pi)  # CRPS of a standard Gaussian at its mean


def test_many_quantiles_give_the_crps() -> None:
    y = np.array([-1.0, 0.0, 2.5])
    np.testing.assert_allclose(crps_on_grid(LAW, y, 9_999), LAW.crps(y), rtol=1e-3)


@pytest.mark.parametrize(("size", "share"), [(1, 0.0), (2, 0.922)])
def test_few_quantiles_flatter_a_forecast_at_its_centre(size: int, share: float) -> None:
    """One quantile is the median itself; two lie at -+0.431, so that |q| - |q - q'| / 4 is half of that."""
    np.testing.assert_allclose(crps_on_grid(LAW, np.zeros(3), size) / CENTRE, share, atol=0.01)


def test_it_is_the_papers_double_sum() -> None:
    y, q = np.array([-1.0, 0.0, 2.5]), LAW.ppf(np.arange(1, 10) / 10)
    between = np.abs(q[:, :, None] - q[:, None, :]).sum(axis=(1, 2))
    np.testing.assert_allclose(crps_on_grid(LAW, y, 9), np.abs(q - y[:, None]).sum(axis=1) / 9 - between / (2 * 81))


def test_the_command_prints_a_row_for_noisy_and_noise_free_responses(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--replicates", "1", "--epochs", "3"])
    rows = capsys.readouterr().out.splitlines()
    assert [row.split(" | ")[1] for row in rows[2:]] == ["noise-free", "noisy"]
