"""Prediction of 10,000 rows at 99 levels against the matrix products of f_1 alone, the least it could cost."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch

from genbayes import QuantileSurrogate
from genbayes_bench.problems import draw_friedman
from genbayes_bench.studies.speed.result import Result, timed

__all__ = ["measure_prediction"]

N_ROWS, N_LEVELS = 10_000, 99
N_ROUNDS = 5


def products_alone(hidden: torch.Tensor, weight: torch.Tensor, n_products: int) -> None:
    for _ in range(n_products):
        torch.mm(hidden, weight)


def measure_one(name: str, model: QuantileSurrogate, X: np.ndarray) -> Result:
    """Time of all quantiles over time of as many products, taken in turn."""
    tau, shape = np.arange(1, N_LEVELS + 1) / 100, model.settings_.shape
    # one product of chunks that stay in the cache, for every row, level and member
    hidden, weight = torch.rand(2_000, shape.n_merge), torch.rand(shape.n_merge, shape.n_merge)
    n_products = N_ROWS * N_LEVELS * shape.n_members // len(hidden)
    products_alone(hidden, weight, n_products // 10)
    model.predict_quantiles(X[:100], tau)
    least = min(timed(lambda: products_alone(hidden, weight, n_products))[1] for _ in range(N_ROUNDS))
    ours = min(timed(lambda: model.predict_quantiles(X, tau))[1] for _ in range(N_ROUNDS))
    what = f"10,000 rows x 99 levels over the products of f_1 alone ({name}: {shape.n_members} x {shape.n_merge} units)"
    met = ours / least <= 1.5
    return Result(what, f"{ours / least:.2f} times", "at most 1.5", met, f"{ours:.3f} s against {least:.3f} s")


def measure_prediction() -> Iterator[Result]:
    split = draw_friedman(0, 500, N_ROWS)
    for name, settings in {"paper": {"recipe": "paper"}, "fast, one member": {"n_members": 1}, "fast": {}}.items():
        model = QuantileSurrogate(n_epochs=2, random_state=0, **settings).fit(split.X_train, split.y_train)
        yield measure_one(name, model, split.X_test)
