"""Which order statistics of n scores make an interval, what it promises, and which levels n rows can support.

A new score is equally likely to fall into each of the n + 1 gaps between n exchangeable ones, so [t_(i), t_(j)] holds
it with probability (j - i) / (n + 1): Vovk, Gammerman and Shafer (2005); Romano, Patterson and Candes (2019).
"""

from __future__ import annotations

import math

from genbayes.errors import InvalidInput

__all__ = ["cross_bound", "highest_level", "interval_ranks", "require_support", "rows_needed"]

ROUNDING = 1e-9  # 0.9 * 20 may come out above 18 by its last bit


def interval_ranks(n: int, level: float) -> tuple[int, int]:
    """Ranks i < j of the scores that bound the central interval, from 0 (none below) to n + 1 (none above).

    j - i = ceil((n + 1) level), so the interval covers with probability (j - i) / (n + 1), which lies in
    [level, level + 1 / (n + 1)). What is left out is halved, the odd one above.

    Example:
        >>> interval_ranks(19, 0.9), interval_ranks(6, 0.7), interval_ranks(5, 0.9)
        ((1, 19), (1, 6), (0, 6))
    """
    left_out = n + 1 - math.ceil((n + 1) * level - ROUNDING)
    return left_out // 2, n + 1 - (left_out - left_out // 2)


def highest_level(n: int) -> float:
    """The highest level with two finite ends, (n - 1) / (n + 1): from the smallest of n scores to the largest.

    Example:
        >>> highest_level(19)
        0.9
    """
    return max(n - 1, 0) / (n + 1)


def rows_needed(level: float) -> int:
    """The least n with highest_level(n) >= level.

    Example:
        >>> rows_needed(0.9), rows_needed(0.7), rows_needed(0.99)
        (19, 6, 199)
    """
    return max(2, math.ceil((1 + level) / (1 - level) - ROUNDING / (1 - level)))


def require_support(n: int, level: float, whose: str = "") -> None:
    """Refuse a level that n calibration rows cannot support; `whose` says more about the rows.

    Example:
        >>> require_support(6, 0.9)
        Traceback (most recent call last):
        ...
        genbayes.errors.InvalidInput: level must be at most 0.7142 with 6 calibration rows, got 0.9; give at least 19
    """
    if n < rows_needed(level):
        most = math.floor(1e4 * highest_level(n)) / 1e4
        raise InvalidInput(
            f"level must be at most {most:g} with {n} calibration rows{whose}, got {level!r}; "
            f"give at least {rows_needed(level)}"
        )


def cross_bound(n: int, n_folds: int, level: float) -> float:
    """Least coverage of the cross-conformal interval with n rows in folds of equal size.

    1 - 2 alpha - 2 min{2 (1 - 1/K) / (n/K + 1), (1 - K/n) / (K + 1)} with 1 - alpha = (j - i) / (n + 1): theorem 4 of
    Barber, Candes, Ramdas and Tibshirani (2021) on CV+, applied to either end and added up. With K = n the last term
    is zero (jackknife+). Typical coverage is near 1 - alpha.

    Example:
        >>> round(cross_bound(1000, 10, 0.9), 3), round(cross_bound(99, 99, 0.9), 3)
        (0.765, 0.8)
    """
    i, j = interval_ranks(n, level)
    alpha = 1 - (j - i) / (n + 1)
    K = min(n_folds, n)
    slack = min(2 * (1 - 1 / K) / (n / K + 1), (1 - K / n) / (K + 1))
    return max(1 - 2 * alpha - 2 * slack, 0.0)
