"""What a calibrated model keeps in its file: scores, groups, and its models as parts of any kind that `load` knows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from sklearn.base import clone

from genbayes.calibration.groups import Groups
from genbayes.calibration.ranks import require_support
from genbayes.calibration.wrapped import unset_seeds
from genbayes.errors import UnreadableFile
from genbayes.models.registry import state_of
from genbayes.persistence import Restore, State
from genbayes.tabular.state import known_parameters, plain_parameters
from genbayes.validation import check_level

if TYPE_CHECKING:
    from genbayes.calibration.conformal import ConformalSurrogate

__all__ = ["restore_calibrated", "state_of_calibrated"]

C = TypeVar("C", bound="ConformalSurrogate")


def state_of_calibrated(calibrated: ConformalSurrogate) -> State:
    """The state of a calibrated model and, inside it, of the models it wraps."""
    values: dict[str, Any] = {
        "parameters": plain_parameters(calibrated, leave_out=("model",)),
        "level": calibrated.level_,
        "wraps_default": calibrated.model is None,
        "n_models": len(calibrated.models_),
        "least_slopes": calibrated.least_slopes_,
        "groups": list(calibrated.groups_.labels),
        "n_rows": calibrated.n_rows_,
        "n_features_in": getattr(calibrated, "n_features_in_", None),
        "feature_names_in": [str(name) for name in getattr(calibrated, "feature_names_in_", [])],
        "unseeded": unset_seeds(calibrated.model),
    }
    arrays = {"scores": calibrated.scores_, "folds": calibrated.folds_, "codes": calibrated.codes_}
    state = State("ConformalSurrogate", values, arrays)
    for k, model in enumerate(calibrated.models_):
        state = state.with_part(f"model{k}", state_of(model))
    return state


def restore_calibrated(cls: type[C], state: State, restore: Restore) -> C:
    """The calibrated model that a state describes; `restore` rebuilds the models inside it."""
    calibrated = cls(**known_parameters(cls, state.value("parameters")))
    calibrated.level_ = check_level(state.value("level"))
    n_models = int(state.value("n_models"))
    scores = state.array("scores", (None,)).astype(np.float64)
    folds, codes = (state.array(name, (len(scores),)).astype(np.int64) for name in ("folds", "codes"))
    calibrated.groups_ = Groups(tuple(state.value("groups")))
    _require_range(folds, n_models, "folds")
    _require_range(codes, len(calibrated.groups_), "codes")
    slopes = [float(slope) for slope in state.value("least_slopes")]
    if not np.isfinite(scores).all() or len(slopes) != n_models or min(slopes) <= 0:
        raise UnreadableFile("the scores in the model file must be finite and their scales positive, got others")
    for n in np.bincount(codes):
        require_support(int(n), calibrated.level_)
    calibrated.models_ = [restore(state.nested(f"model{k}")) for k in range(n_models)]
    calibrated.least_slopes_ = slopes
    calibrated.scores_, calibrated.folds_, calibrated.codes_ = scores, folds, codes
    calibrated.n_rows_ = int(state.value("n_rows"))
    _restore_columns(calibrated, state)
    if not state.value("wraps_default"):
        calibrated.model = _template(calibrated, state.value("unseeded"))
    return calibrated


def _template(calibrated: ConformalSurrogate, unseeded: list[str]) -> Any:
    """What the user passed as `model`: the fitted model itself, or an unfitted copy without the seeds of its own."""
    first = calibrated.models_[0]
    if calibrated.method == "prefit":
        return first
    return clone(first).set_params(**dict.fromkeys(unseeded))


def _restore_columns(calibrated: ConformalSurrogate, state: State) -> None:
    n_features, names = state.value("n_features_in"), state.value("feature_names_in")
    if n_features is not None:
        calibrated.n_features_in_ = int(n_features)
    if names:
        calibrated.feature_names_in_ = np.array([str(name) for name in names], dtype=object)


def _require_range(numbers: np.ndarray[Any, np.dtype[np.int64]], n: int, name: str) -> None:
    """Every number from 0 to n - 1 must occur, and no other."""
    if not np.array_equal(np.unique(numbers), np.arange(n)):
        raise UnreadableFile(f"the array {name!r} in the model file must number {n} parts, got other numbers")
