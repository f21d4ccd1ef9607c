"""The motorcycle data, bundled for the demonstration, tests and documentation.

Head acceleration in simulated motorcycle crashes: one input, strong curvature and a spread that changes with it.
Source: B. W. Silverman (1985), *Some aspects of the spline smoothing approach to non-parametric regression curve
fitting*, JRSS B 47, 1-52; as data set `mcycle` of the R package MASS 7.3 (Venables & Ripley; GPL-2 or GPL-3).
"""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING

from genbayes.data.delimited import parse_delimited

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["load_motorcycle"]

FILE_NAME = "mcycle.csv"


def load_motorcycle() -> pd.DataFrame:
    """The 133 rows of `mcycle`: `times` in milliseconds after impact, `accel` in g.

    Example:
        >>> load_motorcycle().shape
        (133, 2)
    """
    return parse_delimited(files("genbayes.data").joinpath(FILE_NAME).read_bytes(), FILE_NAME)
