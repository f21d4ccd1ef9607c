"""load: from a model file to a model, through a fixed table of class names; nothing else is ever imported."""

from __future__ import annotations

import os
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from genbayes.errors import UnreadableFile
from genbayes.persistence import Composite, State, read_state

__all__ = ["load"]

HOW_TO_GET_RIVALS = "pip install -e benchmarks"  # models that exist only to be compared with
# Class named in a manifest -> module that holds it. A name that is not here is refused, whatever the file says.
KNOWN = {
    "AutoSurrogate": "genbayes.selection.auto",
    "BoostedQuantiles": "genbayes.baselines.boosted",
    "ConformalSurrogate": "genbayes.calibration.conformal",
    "DeepGP": "genbayes.baselines.deep",
    "GPInformedSurrogate": "genbayes.surrogate.informed",
    "HeteroskedasticGP": "genbayes.baselines.heteroskedastic",
    "ModularJumpGP": "genbayes.baselines.jump",
    "NaturalGradientBoosting": "genbayes_bench.rivals.natural",
    "QuantileForest": "genbayes_bench.rivals.forest",
    "QuantileSurrogate": "genbayes.surrogate.estimator",
    "RegimeGP": "genbayes.baselines.regime",
    "SparseGP": "genbayes.baselines.sparse",
    "StationaryGP": "genbayes.baselines.stationary",
}


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model that `save` wrote.

    Args:
        path: The model file.

    Returns:
        The fitted model, of the class that was saved.

    Raises:
        UnreadableFile: The file is missing, foreign, damaged, or of another version.

    Example:
        >>> load("no-such-file.gb")
        Traceback (most recent call last):
        ...
        genbayes.errors.UnreadableFile: path must name an existing model file, got 'no-such-file.gb'
    """
    return _restore(read_state(path))


def _restore(state: State) -> Any:
    """The model that a state describes; models inside it come through the same table."""
    if state.kind not in KNOWN:
        raise UnreadableFile(
            f"the model file must hold a class this version knows ({', '.join(KNOWN)}), got {state.kind!r}; "
            "load it with the version of genbayes that wrote it"
        )
    package = KNOWN[state.kind].partition(".")[0]
    if find_spec(package) is None:
        raise UnreadableFile(
            f"{package} must be installed to load a {state.kind}, got none; in a clone of genbayes: {HOW_TO_GET_RIVALS}"
        )
    model_class = getattr(import_module(KNOWN[state.kind]), state.kind)
    try:
        if issubclass(model_class, Composite):
            return model_class.from_parts(state, _restore)
        return model_class.from_state(state)
    except UnreadableFile:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, RuntimeError) as error:  # a crafted or incomplete manifest
        raise UnreadableFile(
            f"the model file must describe a complete {state.kind}, got one that does not: {error}"
        ) from error
