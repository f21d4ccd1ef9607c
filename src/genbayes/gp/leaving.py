"""What a fitted GP would have said of its training inputs had it not seen their runs, in closed form."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from genbayes.arrays import FloatArray, IntArray

if TYPE_CHECKING:
    from genbayes.gp.stationary import FittedGP

__all__ = ["leave_out", "match_rows"]


def match_rows(known: FloatArray, Z: FloatArray) -> IntArray:
    """Row of `known` that each row of Z equals, or -1, (u, p) and (n, p) -> (n,).

    Example:
        >>> match_rows(np.array([[1.0], [2.0]]), np.array([[2.0], [5.0], [1.0]]))
        array([ 1, -1,  0])
    """
    _, group = np.unique(np.vstack([known, Z]), axis=0, return_inverse=True)
    group = group.reshape(-1)
    row_of_group = np.full(group.max() + 1, -1)
    row_of_group[group[: len(known)]] = np.arange(len(known))
    return row_of_group[group[len(known) :]]


def leave_out(gp: FittedGP, Z: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """As `gp.predict`, but at an input that it was fitted to without the runs there, (n, p) -> (n,) each.

    Length scales, nugget and process variance stay those of all runs (Dubrule 1983).

    Example:
        >>> from genbayes.gp import Replicates, fit_gp
        >>> Z = np.linspace(-1.5, 1.5, 20)[:, None]
        >>> gp = fit_gp(Replicates.collect(Z, np.sin(2 * Z[:, 0]), np.ones(20)), np.random.default_rng(0))
        >>> bool(leave_out(gp, Z)[1].min() > gp.predict(Z)[1].max())
        True
    """
    row = match_rows(gp.runs.Z, Z)
    moments = gp.predict(Z)
    if (row < 0).all() or len(gp.runs) < 2:
        return moments
    mean, latent, noise = (
        np.where(row >= 0, left[row], given) for left, given in zip(gp.leave_one_out(), moments, strict=True)
    )
    return mean, latent, noise
