"""The R models that can be run, as frozen descriptions: which package, which function, which settings.

The call itself is in `fit_predict.R`, which receives the settings as `name=value`.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import ClassVar

from genbayes.gp.deep import KERNELS, Kernel
from genbayes.validation import check_choice, check_count, check_nonnegative

__all__ = ["PACKAGES", "RDeepGP", "RHetGP", "RHomGP", "RLocalGP", "RModel"]

PACKAGES = ("hetGP", "deepgp", "laGP")
MIN_NEIGHBOURS = 7  # laGP begins with six neighbours and must add at least one


@dataclass(frozen=True)
class RModel:
    """A model of an R package; its fields are settings, and None leaves a setting to the package."""

    name: ClassVar[str]  # of the function in fit_predict.R
    package: ClassVar[str]
    knows_mean: ClassVar[bool] = True  # whether R tells what it knows of E[y | x] from the noise of a run

    def arguments(self) -> list[str]:
        """Model, package and settings as words for R; numbers keep all their digits.

        Example:
            >>> RDeepGP(n_samples=50, nugget=1e-8).arguments()[:5]
            ['deepgp', 'deepgp', 'kernel=matern52', 'n_samples=50', 'n_burn_in=1000']
        """
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        words = [f"{name}={_word(value)}" for name, value in values.items() if value is not None]
        return [self.name, self.package, *words]


@dataclass(frozen=True)
class RHomGP(RModel):
    """`hetGP::mleHomGP`: a stationary GP with one length scale per input and a nugget, by maximum likelihood.

    Source: Binois, Gramacy & Ludkovski (2018), JCGS 27. Check of `StationaryGP`.

    Args:
        kernel: "matern52" or "squared-exponential".
    """

    name: ClassVar[str] = "homgp"
    package: ClassVar[str] = "hetGP"
    kernel: Kernel = "matern52"

    def __post_init__(self) -> None:
        check_choice(self.kernel, "kernel", KERNELS)


@dataclass(frozen=True)
class RHetGP(RHomGP):
    """`hetGP::mleHetGP`: as `RHomGP`, with a second GP for the logarithm of the noise variance.

    Where the likelihood prefers constant noise, the package itself falls back to `mleHomGP`. Check of
    `HeteroskedasticGP`.

    Args:
        kernel: "matern52" or "squared-exponential".
    """

    name: ClassVar[str] = "hetgp"


@dataclass(frozen=True)
class RDeepGP(RModel):
    """`deepgp::fit_two_layer`, `trim` and `predict` on one core: a two-layer deep GP by MCMC, without Vecchia.

    Source: Sauer, Gramacy & Higdon (2023), Technometrics 65. Check of our own deep GP, whose names of settings these
    are; the chain has n_burn_in + n_samples * thinning iterations, each of order n^3.

    Args:
        kernel: "matern52" or "squared-exponential", of both layers.
        n_samples: Draws kept.
        n_burn_in: Iterations before the first kept draw.
        thinning: Iterations per kept draw.
        nugget: Noise variance in units of the process variance, fixed (`true_g`); None to sample it.
    """

    name: ClassVar[str] = "deepgp"
    package: ClassVar[str] = "deepgp"
    kernel: Kernel = "matern52"
    n_samples: int = 200
    n_burn_in: int = 1000
    thinning: int = 10
    nugget: float | None = None

    def __post_init__(self) -> None:
        check_choice(self.kernel, "kernel", KERNELS)
        check_count(self.n_samples, "n_samples", at_least=2)  # R takes the variance of the draws' means
        check_count(self.n_burn_in, "n_burn_in")
        check_count(self.thinning, "thinning")
        if self.nugget is not None:
            check_nonnegative(self.nugget, "nugget", strictly=True)


@dataclass(frozen=True)
class RLocalGP(RModel):
    """`laGP::aGPsep`: a small squared-exponential GP per new input, on runs near it chosen by ALC; nugget estimated.

    Source: Gramacy & Apley (2015), JCGS 24. It returns one variance, noise included, so `of="mean"` is refused. Its
    laws are Student-t; we take the normal law of the same mean and variance.

    Args:
        n_neighbours: Runs in each small GP; one fewer than there are runs where that is less.
    """

    name: ClassVar[str] = "lagp"
    package: ClassVar[str] = "laGP"
    knows_mean: ClassVar[bool] = False
    n_neighbours: int = 50

    def __post_init__(self) -> None:
        check_count(self.n_neighbours, "n_neighbours", at_least=MIN_NEIGHBOURS)


def _word(value: str | float) -> str:
    return value if isinstance(value, str) else f"{value:.17g}"
