"""The model inside a `ConformalSurrogate`: any object with `fit` and `predict_distribution`, ours or another's."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import has_fit_parameter

from genbayes.arrays import FloatArray
from genbayes.calibration.rows import Rows
from genbayes.calibration.scores import ScoreMap
from genbayes.data.dataset import Dataset
from genbayes.distribution import PredictiveDistribution, QuantileFunction
from genbayes.errors import InvalidInput
from genbayes.tabular import TabularRegressor, check_predict_data
from genbayes.validation import describe_rows

__all__ = [
    "check_model",
    "default_model",
    "fit_copy",
    "law_of",
    "require_unseen",
    "score_rows",
    "support_of",
    "unset_seeds",
]


def check_model(model: Any, *, learns: bool, weighted: bool) -> None:
    """Refuse what cannot be wrapped.

    Args:
        model: What the user passed.
        learns: Whether it will be fitted.
        weighted: Whether it will be given weights.
    """
    wanted = ["fit", "predict_distribution"] if learns else ["predict_distribution"]
    if isinstance(model, type) or any(not callable(getattr(model, name, None)) for name in wanted):
        raise InvalidInput(
            f"model must be an object with {' and '.join(wanted)}, got {model!r}; pass QuantileSurrogate()"
        )
    if weighted and not has_fit_parameter(model, "sample_weight"):
        raise InvalidInput(f"sample_weight must be left out, since {type(model).__name__}.fit takes none")


def default_model() -> Any:
    """What is calibrated if the user names no model."""
    from genbayes.surrogate import QuantileSurrogate  # torch loads only with the model that needs it

    return QuantileSurrogate()


def fit_copy(model: Any, rows: Rows, rng: np.random.Generator) -> Any:
    """A copy of the model fitted to rows; where it has no seed of its own it is given one."""
    copy = clone(model, safe=False)
    if seeds := unset_seeds(copy):
        copy.set_params(**{name: int(rng.integers(2**31)) for name in seeds})
    weight = {} if rows.weight is None else {"sample_weight": rows.weight}
    return copy.fit(rows.X, rows.y, **weight)


def unset_seeds(model: Any) -> list[str]:
    """Names of the parameters `random_state`, also of objects inside the model, that are None."""
    parameters = model.get_params() if hasattr(model, "get_params") else {}
    return sorted(
        name for name, value in parameters.items() if name.split("__")[-1] == "random_state" and value is None
    )


def require_unseen(model: Any, rows: Rows) -> None:
    """Refuse to calibrate a fitted model of this library on the very rows it was fitted to."""
    if isinstance(model, TabularRegressor) and hasattr(model, "fingerprint_"):
        X = check_predict_data(model, rows.X, model.coders_)
        if Dataset.merged(X, rows.y).fingerprint() == model.fingerprint_:
            raise InvalidInput(
                "X must hold rows that the model has not learnt from, got the very rows of its fit; "
                "keep some aside, or use method='split'"
            )


def score_rows(model: Any, least: float, rows: Rows) -> FloatArray:
    """Conformity scores of rows that the model has not seen, shape (n,)."""
    try:
        law = law_of(model, rows.X)
    except NotFittedError as error:
        raise InvalidInput(
            f"model must be fitted for method='prefit', got an unfitted {type(model).__name__}; "
            "fit it to other rows first, or use method='split'"
        ) from error
    lower, upper = support_of([law])
    outside = (rows.y < lower) | (rows.y > upper)
    if outside.any():
        i = int(np.flatnonzero(outside)[0])
        raise InvalidInput(
            f"y must lie within the bounds of the model, got {float(rows.y[i])!r} in row {rows.number[i]} "
            f"({describe_rows(outside)} that calibrate); widen y_bounds"
        )
    return ScoreMap.of(law, least).score(rows.y)


def law_of(model: Any, X: Any) -> PredictiveDistribution:
    """The model's law at each row of X."""
    law = model.predict_distribution(X)
    if not isinstance(law, PredictiveDistribution):
        raise InvalidInput(
            f"model must return a PredictiveDistribution from predict_distribution, got {type(law).__name__}"
        )
    return law


def support_of(laws: list[PredictiveDistribution]) -> tuple[float, float]:
    """Bounds that hold every law, infinite where there are none; only tables of quantiles know bounds."""
    bounds = [law.support if isinstance(law, QuantileFunction) else (-np.inf, np.inf) for law in laws]
    return min(lower for lower, _ in bounds), max(upper for _, upper in bounds)
