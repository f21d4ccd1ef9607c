"""Small runs and a small surrogate that trains in a fraction of a second."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from genbayes import QuantileSurrogate

SMALL = {"n_hidden": 8, "n_epochs": 20, "n_members": 2, "dropout": 0.0, "random_state": 0, "device": "cpu"}


@pytest.fixture(scope="session")
def make() -> Callable[..., QuantileSurrogate]:
    def make_surrogate(**settings: Any) -> QuantileSurrogate:
        return QuantileSurrogate(**{**SMALL, **settings})

    return make_surrogate


@pytest.fixture(scope="session")
def runs() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (60, 2))
    return X, X[:, 0] + 0.1 * rng.standard_normal(60)


@pytest.fixture(scope="session")
def fitted(make, runs) -> QuantileSurrogate:
    return make().fit(*runs)
