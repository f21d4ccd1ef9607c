"""Michalewicz's function with a step, paper section 6.2: 90,000 runs of four inputs, a jump along the flat part."""

from __future__ import annotations

import numpy as np

from genbayes.arrays import FloatArray
from genbayes_bench.problems.formula import draws_of
from genbayes_bench.problems.problem import Problem
from genbayes_bench.protocol import Protocol

__all__ = ["PROBLEM", "PROTOCOL", "michalewicz"]

D, STEEPNESS = 4, 10
FLAT = -0.01  # the paper does not say where the flat part ends; a fifth of the box lies above this
OFFSET = 0.5  # of the flat part, as in the paper
STREAM = 64


def michalewicz(X: FloatArray) -> FloatArray:
    """f(x) + 0.5 1{f(x) > -0.01}, f(x) = -sum_i sin(x_i) sin^20(i x_i^2 / pi), x in [0, pi]^4, (n, 4) -> (n,).

    Example:
        >>> michalewicz(np.array([[0.0, 0.0, 0.0, 0.0], [2.2, 1.57, 1.28, 1.92]])).round(2)
        array([ 0.5, -3.7])
    """
    i = np.arange(1, D + 1)
    f = -(np.sin(X) * np.sin(i * X**2 / np.pi) ** (2 * STEEPNESS)).sum(axis=1)
    return np.asarray(f + OFFSET * (f > FLAT))


PROBLEM = Problem(
    "michalewicz",
    "Michalewicz's function, its flat part raised",
    n_inputs=D,
    draw=draws_of(michalewicz, [0.0] * D, [np.pi] * D, stream=STREAM),
    source="paper section 6.2",
    standin="the paper does not say where the flat part ends; f > -0.01 here",
    jumps=True,
)
PROTOCOL = Protocol(
    "michalewicz",
    n_train=90_000,
    n_test=10_000,
    n_replicates=1,
    source="Table 5",
    paper_settings={"weights": "quantile-dominant", "n_epochs": 3_000},
    time_limit=1_800.0,  # the paper's time; choosing among ten models on 90,000 runs would take hours
)
