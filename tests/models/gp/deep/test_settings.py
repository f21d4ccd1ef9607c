"""Settings are checked where they are made."""

from typing import Any

import pytest
from scipy.stats import gamma

from genbayes.errors import InvalidInput
from genbayes.models.gp.deep.layers import NOISE_FREE, DeepGPSettings, GammaPrior, ScalePrior


def test_priors_are_those_of_the_paper_s_package() -> None:
    # documentation of deepgp's fit_two_layer: shape 1.5; rates 3.9 / 6, 3.9 / 4 and 3.9
    settings = DeepGPSettings()
    assert settings.theta_y == GammaPrior(1.5, 0.65)
    assert settings.theta_w == GammaPrior(1.5, 0.975)
    assert settings.nugget_prior == GammaPrior(1.5, 3.9)
    assert settings.scale_prior == ScalePrior(0.0, 0.0)


def test_log_density_is_that_of_a_gamma_law() -> None:
    ours = GammaPrior(1.5, 3.9).log_density(0.2) - GammaPrior(1.5, 3.9).log_density(1.1)
    law = gamma(1.5, scale=1 / 3.9)
    assert ours == pytest.approx(law.logpdf(0.2) - law.logpdf(1.1))


def test_the_chain_has_burn_in_and_thinned_draws() -> None:
    assert DeepGPSettings(n_samples=20, n_burn_in=5, thinning=3).n_iterations == 65


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"kernel": "matern"}, "kernel must be one of .* did you mean 'matern52'"),
        ({"n_samples": 0}, "n_samples must be a whole number of at least 1"),
        ({"n_burn_in": -1}, "n_burn_in must be a whole number of at least 0"),
        ({"thinning": 0}, "thinning must be a whole number of at least 1"),
        ({"n_hidden": 0}, "n_hidden must be a whole number of at least 1"),
        ({"nugget": -1.0}, "nugget must be zero or positive"),
        ({"nugget": 0.0}, f"nugget must be at least 1e-10, got 0.0; pass {NOISE_FREE}"),
    ],
)
def test_wrong_settings_are_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        DeepGPSettings(**wrong)


def test_wrong_priors_are_refused() -> None:
    with pytest.raises(InvalidInput, match="rate must be positive"):
        GammaPrior(1.5, 0.0)
    with pytest.raises(InvalidInput, match="shape must be zero or positive"):
        ScalePrior(-1.0, 0.0)
