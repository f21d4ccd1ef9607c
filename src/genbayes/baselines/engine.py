"""Engines: libraries that only some baselines need, imported when one of these is fitted and not before."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Literal

from genbayes.errors import MissingExtra

__all__ = ["Engine", "load_engine"]

Engine = Literal["lightgbm", "ngboost", "quantile_forest"]


def load_engine(name: Engine, requirement: str, wanted_by: str) -> Any:
    """Import an optional library, or say how to get it.

    Args:
        name: The module, one of a fixed few.
        requirement: What to install, as pip takes it: "genbayes[baselines]".
        wanted_by: The class that needs it.

    Returns:
        The module.

    Raises:
        MissingExtra: The library is not installed, or does not load.

    Example:
        >>> load_engine("lightgbm", "genbayes[baselines]", "BoostedQuantiles").__name__
        'lightgbm'
    """
    try:
        return import_module(name)
    except (ImportError, OSError) as error:  # an OSError is a shared library that the system lacks
        is_absent = isinstance(error, ModuleNotFoundError) and error.name == name
        found = "none" if is_absent else f"one that does not load ({error})"
        library = name.replace("_", "-")
        raise MissingExtra(
            f"{library} must be installed for {wanted_by}, got {found}; pip install '{requirement}'"
        ) from error
