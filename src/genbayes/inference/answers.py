"""What people do with a posterior once they have it: regions, pictures, predictions, other libraries.

`PosteriorAnswers` is the part of `Posterior` that needs no more than its draws, densities and margins.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

from genbayes.arrays import FloatArray
from genbayes.errors import InvalidInput
from genbayes.inference.prior import Prior
from genbayes.inference.regions import MarginRegion, Region, conformal_region
from genbayes.seeding import RandomState
from genbayes.validation import check_count

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from genbayes.inference.checks import CheckedEstimator

N_PLOTTED = 10_000


class PosteriorAnswers:
    """Questions that a posterior answers from its draws, densities and margins."""

    estimator: CheckedEstimator
    prior: Prior
    names: tuple[str, ...]
    is_single: bool

    def sample(self, n: int, random_state: RandomState = None) -> FloatArray:
        """Independent draws, (n, k); for many observations (o, n, k)."""
        raise NotImplementedError

    def log_prob(self, theta: ArrayLike) -> FloatArray:
        """Log density at points."""
        raise NotImplementedError

    def cdf(self, theta: ArrayLike) -> FloatArray:
        """Levels of points in the margins."""
        raise NotImplementedError

    def ppf(self, tau: ArrayLike) -> FloatArray:
        """Quantiles of the margins."""
        raise NotImplementedError

    def region(self, level: float = 0.9, margin: str | int | None = None) -> Region | MarginRegion:
        """A conformal credible region: it holds theta as often as it says, on average over the prior predictive.

        Thresholds come from pairs that the fit has not seen, so the promise holds for finite samples and whatever the
        network got wrong; not for each y separately.

        Args:
            level: Nominal coverage, 0.9 for 90%.
            margin: Name or number of a parameter, for an interval of it; None for all parameters jointly.

        Returns:
            A region with `contains(theta)`; that of a margin also has its ends, `lower` and `upper`.
        """
        return conformal_region(self, self.estimator.conformal_scores_, level, margin)

    def plot(self, truth: ArrayLike | None = None, n: int = N_PLOTTED, random_state: RandomState = 0) -> Figure:
        """Corner plot: margins on the diagonal, regions of 50% and 90% of pairs of parameters below it.

        Args:
            truth: A point to mark, shape (k,); None for none.
            n: Number of draws.
            random_state: Seed of the draws.

        Returns:
            A new Matplotlib figure.
        """
        from genbayes.plotting import plot_corner

        draws = self._draws_of_one(n, random_state, "plot")
        return plot_corner(draws, self.names, truth=truth, support=(self.prior.lower, self.prior.upper))

    def _draws_of_one(self, n: int, random_state: RandomState, what: str) -> FloatArray:
        if not self.is_single:
            raise InvalidInput(f"{what} must be of one observation, got several; condition on one row of y")
        return self.sample(check_count(n, "n", 2), random_state)
