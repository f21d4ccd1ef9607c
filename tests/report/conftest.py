from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from genbayes.distribution import Normal


@pytest.fixture(scope="session")
def make_model() -> Callable[..., Any]:
    """A fitted model with law N(f(X), scale^2) and any further attributes."""

    def make(f: Callable[[Any], Any], scale: float = 1.0, **attributes: Any) -> Any:
        def predict_distribution(X: Any) -> Normal:
            return Normal(loc=np.asarray(f(X), dtype=float), scale=np.full(len(X), scale))

        return SimpleNamespace(predict_distribution=predict_distribution, **attributes)

    return make
