"""Split: one replicate of a problem, training and test runs with what is known of the truth."""

from __future__ import annotations

from dataclasses import dataclass

from genbayes.arrays import FloatArray

__all__ = ["Split"]


@dataclass(frozen=True)
class Split:
    """Training and test runs of one replicate.

    Attributes:
        X_train: Training inputs, shape (n, d).
        y_train: Training responses, shape (n,).
        X_test: Test inputs, shape (m, d).
        y_test: Noisy test responses, shape (m,).
        f_test: Noise-free test responses, shape (m,), where the truth is known.
        noise_sd: Standard deviation of the noise, where it is known and constant.
    """

    X_train: FloatArray
    y_train: FloatArray
    X_test: FloatArray
    y_test: FloatArray
    f_test: FloatArray | None = None
    noise_sd: float | None = None
