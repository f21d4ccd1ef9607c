"""Split: one replicate of a problem, training and test runs with what is known of the truth."""

from __future__ import annotations

from dataclasses import dataclass, replace

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
        note: What a reader of the scores should know of the data; empty for nothing.
    """

    X_train: FloatArray
    y_train: FloatArray
    X_test: FloatArray
    y_test: FloatArray
    f_test: FloatArray | None = None
    noise_sd: float | None = None
    note: str = ""

    def first(self, n_train: int, n_test: int) -> Split:
        """The first runs of either part; rows must be in random order, so that these are a random part.

        Example:
            >>> import numpy as np
            >>> split = Split(np.zeros((9, 1)), np.arange(9.0), np.zeros((5, 1)), np.arange(5.0))
            >>> split.first(3, 2).y_train
            array([0., 1., 2.])
        """
        return replace(
            self,
            X_train=self.X_train[:n_train],
            y_train=self.y_train[:n_train],
            X_test=self.X_test[:n_test],
            y_test=self.y_test[:n_test],
            f_test=None if self.f_test is None else self.f_test[:n_test],
        )
