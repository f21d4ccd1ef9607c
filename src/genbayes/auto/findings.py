"""What was measured of the response on the way: regimes, noise, whether the noise is even. Nothing else is said of it.

Standardised residuals of a GP, each without its own run, tell whether noise depends on the inputs: their sizes are
regressed on inputs and prediction. Ranks make the test robust against tails.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import fdtrc
from scipy.stats import rankdata

from genbayes.arrays import FloatArray
from genbayes.auto.stacking import LEVELS
from genbayes.data.dataset import Dataset

UNEVEN = 0.01  # chance, if the noise were even, of residuals that depend on the inputs as much; below, it is uneven
NOTHING_LEFT = 0.05  # chance above which residuals are taken to be even, and normal
QUIET = 1e-3  # noise of less than this share of the response's spread is none that runs could show


@dataclass(frozen=True)
class Findings:
    """What is known of the response.

    Attributes:
        n_regimes: Regimes of its marginal distribution.
        noise: Standard deviation of the noise that a GP found, as a share of that of y; None if there was no GP.
        unevenness: How many times larger the noise is where it is large (90% of runs below) than where it is small
            (10%); None if it was not asked.
        chance: Chance of such an unevenness in even noise; None if it was not asked.
        normality: Chance of residuals of such a shape if they were normal; None if it was not asked.
    """

    n_regimes: int = 1
    noise: float | None = None
    unevenness: float | None = None
    chance: float | None = None
    normality: float | None = None

    @property
    def leaves_nothing(self) -> bool:
        """Whether a GP's residuals look even and normal, so that nothing is left to be learnt from them."""
        asked = (self.chance, self.normality)
        return all(chance is not None and chance > NOTHING_LEFT for chance in asked)

    @property
    def is_uneven(self) -> bool:
        """Whether even noise is ruled out."""
        return self.chance is not None and self.chance < UNEVEN

    def sentences(self) -> list[str]:
        """Each finding with its number."""
        told = []
        if self.n_regimes > 1:
            told.append(f"The response has {COUNTS[self.n_regimes]} regimes.")
        if self.noise is not None and self.noise < QUIET:
            told.append("No noise was found.")
        elif self.is_uneven and self.unevenness is not None and self.chance is not None:
            chance = "under 0.1%" if self.chance < 0.001 else f"{self.chance:.1%}"
            told.append(
                f"The noise is uneven: about {self.unevenness:.2g} times larger in some runs than in others "
                f"(even noise would look so {chance} of the time)."
            )
        return told


COUNTS = {2: "two", 3: "three", 4: "four", 5: "five"}


def measure_normality(q: FloatArray, y: FloatArray) -> float:
    """Chance of such skewness and tails of standardised residuals if they were normal (Jarque & Bera 1980).

    Args:
        q: Out-of-fold quantiles of a GP at `LEVELS`, shape (n, m).
        y: Responses, shape (n,).
    """
    z = (y - _median(q)) / np.maximum(_spread(q), np.finfo(np.float64).tiny)
    z = (z - z.mean()) / max(float(z.std()), float(np.finfo(np.float64).tiny))
    n, skewness, tails = len(z), float(np.mean(z**3)), float(np.mean(z**4)) - 3
    return float(np.exp(-0.5 * n * (skewness**2 / 6 + tails**2 / 24)))  # chi-squared with two degrees of freedom


def _median(q: FloatArray) -> FloatArray:
    middle = len(LEVELS) // 2  # levels are even in number, so the median lies between two of them
    return np.asarray(q[:, middle - 1 : middle + 1].mean(axis=1))


def _spread(q: FloatArray) -> FloatArray:
    flank = len(LEVELS) // 6
    return np.asarray(q[:, -flank] - q[:, flank - 1])


def measure_unevenness(q: FloatArray, data: Dataset, categorical: Sequence[int] = ()) -> tuple[float, float] | None:
    """How uneven the noise is, and the chance of that in even noise.

    F-test of a regression of the ranks of |y - median| / spread on inputs, their squares, and the prediction.

    Args:
        q: Out-of-fold quantiles of a GP at `LEVELS`, shape (n, m).
        data: The runs.
        categorical: Columns that are categories, which are left out.

    Returns:
        Ratio of the spread that the regression expects in nine of ten runs to that in one of ten, and the chance;
        None where rows are too few to ask.
    """
    median = _median(q)
    size = np.abs(data.y - median) / np.maximum(_spread(q), np.finfo(np.float64).tiny)
    numeric = [j for j in range(data.X.shape[1]) if j not in categorical]
    Z = np.column_stack([data.X[:, numeric], median])
    Z = (Z - Z.mean(axis=0)) / np.maximum(Z.std(axis=0), np.finfo(np.float64).tiny)
    A = np.column_stack([np.ones(len(Z)), Z, Z**2])
    n, k = A.shape
    if n < 3 * k:
        return None
    rank = rankdata(size) / n
    basis, _ = np.linalg.qr(A)
    explained = float(np.sum((basis[:, 1:].T @ rank) ** 2))
    left = float(np.sum((rank - basis @ (basis.T @ rank)) ** 2))
    chance = float(fdtrc(k - 1, n - k, explained / (k - 1) / (left / (n - k))))
    expected = basis @ (basis.T @ size)
    low, high = np.quantile(np.maximum(expected, 0.1 * size.mean()), [0.1, 0.9])
    return float(high / low), chance
