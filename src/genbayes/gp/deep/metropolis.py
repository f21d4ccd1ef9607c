"""Metropolis-Hastings moves of positive parameters by a window that slides with the current value.

As in Sauer, Gramacy & Higdon (2023): v* ~ U(v / 2, 2 v).
"""

from __future__ import annotations

import math

import numpy as np

__all__ = ["accept_slide", "propose_slide"]

WINDOW = 2.0  # u / l of the paper, where l = 1 and u = 2


def propose_slide(value: float, rng: np.random.Generator) -> float:
    """A proposal v* ~ U(v / 2, 2 v) for a positive value v.

    Example:
        >>> 0.5 <= propose_slide(1.0, np.random.default_rng(0)) <= 2.0
        True
    """
    return float(rng.uniform(value / WINDOW, WINDOW * value))


def accept_slide(value: float, proposal: float, gain: float, rng: np.random.Generator) -> bool:
    """Whether to move from v to v*, with probability min(1, exp(gain) v / v*).

    The window's width is proportional to v, so q(v | v*) / q(v* | v) = v / v*.

    Args:
        value: Current value v.
        proposal: Proposed value v*.
        gain: log posterior(v*) - log posterior(v); minus infinity is never accepted.
        rng: Source of the decision.

    Example:
        >>> accept_slide(1.0, 1.5, -np.inf, np.random.default_rng(0))
        False
    """
    threshold = -rng.standard_exponential()
    return bool(gain + math.log(value / proposal) > threshold)
