"""What a two-layer deep GP assumes and how long its chain runs: kernel, priors, nugget, MCMC lengths.

The priors are those of Sauer, Gramacy & Higdon (2023) and of their R package deepgp: Gamma laws meant
for inputs in [0, 1] and responses of mean 0 and variance 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from genbayes.errors import InvalidInput
from genbayes.validation import check_choice, check_count, check_nonnegative

__all__ = ["KERNELS", "NOISE_FREE", "DeepGPSettings", "GammaPrior", "Kernel", "ScalePrior"]

Kernel = Literal["matern52", "squared-exponential"]
KERNELS: tuple[Kernel, ...] = ("matern52", "squared-exponential")
NOISE_FREE = 1e-8  # nugget of a deterministic simulator: far below any signal, far above rounding in a Cholesky factor
SMALLEST_NUGGET = 1e-10  # n^2 times the machine precision at n = 700; below it factorisations start to fail


@dataclass(frozen=True)
class GammaPrior:
    """Gamma law of a positive parameter, density proportional to v^(shape - 1) exp(-rate v).

    Example:
        >>> prior = GammaPrior(shape=1.5, rate=3.9)
        >>> round(prior.log_density(1.0) - prior.log_density(2.0), 3)
        3.553
    """

    shape: float
    rate: float

    def __post_init__(self) -> None:
        check_nonnegative(self.shape, "shape", strictly=True)
        check_nonnegative(self.rate, "rate", strictly=True)

    def log_density(self, value: float) -> float:
        """Log density up to a constant, of a positive value."""
        return (self.shape - 1) * math.log(value) - self.rate * value


@dataclass(frozen=True)
class ScalePrior:
    """Inverse-gamma prior of the outer variance tau2, density proportional to tau2^(-shape - 1) exp(-rate / tau2).

    shape = rate = 0 is the reference prior 1 / tau2. It is improper, but the posterior is not as soon as n >= 1.
    """

    shape: float = 0.0
    rate: float = 0.0

    def __post_init__(self) -> None:
        check_nonnegative(self.shape, "shape")
        check_nonnegative(self.rate, "rate")


@dataclass(frozen=True)
class DeepGPSettings:
    """Model and chain of a two-layer deep GP.

    Attributes:
        kernel: Correlation of both layers.
        n_samples: Draws kept.
        n_burn_in: Iterations before the first kept draw.
        thinning: Iterations per kept draw.
        nugget: Noise variance in units of tau2, fixed; None to sample it, `NOISE_FREE` for a deterministic simulator.
        n_hidden: Width of the hidden layer; None for as many columns as inputs.
        theta_y: Prior of the outer squared length scale.
        theta_w: Prior of each inner squared length scale.
        nugget_prior: Prior of the nugget when it is sampled.
        scale_prior: Prior of tau2.
    """

    kernel: Kernel = "matern52"
    n_samples: int = 200
    n_burn_in: int = 1000
    thinning: int = 10
    nugget: float | None = None
    n_hidden: int | None = None
    theta_y: GammaPrior = GammaPrior(1.5, 3.9 / 6)
    theta_w: GammaPrior = GammaPrior(1.5, 3.9 / 4)
    nugget_prior: GammaPrior = GammaPrior(1.5, 3.9)
    scale_prior: ScalePrior = ScalePrior()

    def __post_init__(self) -> None:
        check_choice(self.kernel, "kernel", KERNELS)
        check_count(self.n_samples, "n_samples")
        check_count(self.n_burn_in, "n_burn_in", at_least=0)
        check_count(self.thinning, "thinning")
        if self.n_hidden is not None:
            check_count(self.n_hidden, "n_hidden")
        if self.nugget is not None and check_nonnegative(self.nugget, "nugget") < SMALLEST_NUGGET:
            raise InvalidInput(
                f"nugget must be at least {SMALLEST_NUGGET}, got {self.nugget!r}; "
                f"pass {NOISE_FREE} for a deterministic simulator"
            )

    @property
    def n_iterations(self) -> int:
        """Length of the whole chain."""
        return self.n_burn_in + self.n_samples * self.thinning
