"""Small data: smooth with growing noise, two regimes, a category."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np


def smooth(n: int, d: int = 2, seed: int = 0) -> tuple[Any, Any]:
    """Noise that grows with the first input."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, d))
    return X, np.sin(5 * X[:, 0]) + X[:, -1] ** 2 + (0.05 + 0.2 * X[:, 0]) * rng.standard_normal(n)


def jumping(n: int, seed: int = 1) -> tuple[Any, Any]:
    """Two regimes with a curved boundary."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 2))
    inside = (X[:, 0] - 0.5) ** 2 + (X[:, 1] - 0.4) ** 2 < 0.1
    return X, np.where(inside, 5.0, 0.0) + X[:, 0] + 0.2 * rng.standard_normal(n)


def coded(n: int, seed: int = 2, growth: float = 0.0) -> tuple[Any, Any]:
    """A frame with one category; the noise may grow."""
    import pandas as pd

    rng = np.random.default_rng(seed)
    gas = rng.choice(["air", "argon", "neon"], size=n)
    x = rng.uniform(size=n)
    level = pd.Series(gas).map({"air": 0.0, "argon": 1.5, "neon": -1.0}).to_numpy()
    return pd.DataFrame({"x": x, "gas": gas}), level + np.cos(4 * x) + (0.1 + growth * x) * rng.standard_normal(n)


def write_table(path: Path, X: Any, y: Any) -> None:
    """Runs as CSV."""
    import pandas as pd

    frame = X if isinstance(X, pd.DataFrame) else pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    frame.assign(y=y).to_csv(path, index=False)
