"""The levels at which models that know a law only through its quantiles write it down."""

from __future__ import annotations

import numpy as np

from genbayes.arrays import FloatArray

__all__ = ["GRID", "N_TAIL"]

# Steps of 1/40 are finer than the fastest cosine of a quantile network's embedding of tau, cos(31 pi tau), whose half
# wave is 1/31; beyond the last of them, where quantiles bend, there are a few more. Between the levels a table is
# linear, beyond them its tails are exponential, so a quantile never depends on what else was asked.
TAIL_LEVELS = (0.001, 0.0025, 0.005, 0.01, 0.0175)
N_TAIL = len(TAIL_LEVELS)
GRID: FloatArray = np.concatenate([TAIL_LEVELS, np.arange(1, 40) / 40, 1 - np.array(TAIL_LEVELS[::-1])])
