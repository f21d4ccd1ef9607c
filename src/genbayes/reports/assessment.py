"""The page of one fit or evaluation: a verdict in words, then the pictures behind it, then the settings."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

from genbayes.analysis import Assessment, MainEffect, Slice, assess, main_effects, slice_inputs
from genbayes.analysis.inputs import InputTable
from genbayes.arrays import FloatArray
from genbayes.models.protocols import HasSummary, Predicts
from genbayes.plotting.svg import default_settings
from genbayes.reports.figures import (
    MOST_PANELS,
    calibration_figure,
    decomposition_figure,
    effects_figure,
    fan_figure,
    observed_figure,
    pit_figure,
    reliability_figure,
    training_figures,
)
from genbayes.reports.page import Html, bullets, card, columns, page, table, tiles
from genbayes.reports.verdict import score_tiles, verdict
from genbayes.writing import check_writable, write_atomically

if TYPE_CHECKING:
    from genbayes.training import History

__all__ = ["write_assessment"]


def write_assessment(
    path: str | os.PathLike[str],
    model: Predicts,
    X: ArrayLike,
    y: ArrayLike,
    *,
    title: str,
    scored_on: str,
    target: str | None = None,
    notes: Sequence[str] = (),
) -> Assessment:
    """Score a model and write one self-contained HTML page about it, whole or not at all.

    Args:
        path: The file to write or replace.
        model: Any fitted model with `predict_distribution`; a `history_` and a `summary()` are shown if there.
        X: Inputs of the rows scored, a frame or an array, shape (n, d).
        y: Their responses, shape (n,).
        title: Headline of the page.
        scored_on: Which rows these are, to complete "Scored on ...".
        target: Name of the response with its unit; None for the name of y if it has one.
        notes: Further sentences a reader should know.

    Returns:
        The scores shown on the page.

    Example:
        >>> import tempfile, numpy as np
        >>> from pathlib import Path
        >>> from types import SimpleNamespace
        >>> from genbayes.distribution import Normal
        >>> bell = SimpleNamespace(predict_distribution=lambda X: Normal(loc=X[:, 0], scale=np.ones(len(X))))
        >>> X = np.linspace(0, 1, 20).reshape(-1, 1)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write_assessment(Path(folder) / "fit.html", bell, X, X[:, 0], title="A line", scored_on="itself").n
        20
    """
    path = check_writable(path)
    target = str(getattr(y, "name", None) or "y") if target is None else target
    assessment = assess(model, X, y)
    effects = main_effects(model, X)
    slices = slice_inputs(model, X, _most_important(effects))
    inputs = InputTable.of(X, model)
    x = inputs.column(0) if inputs.d == 1 and not inputs.categorical[0] else None
    with default_settings():
        pictures = draw_pictures(assessment, effects, slices, x, target, getattr(model, "history_", None))
    blocks = [verdict(assessment, effects), tiles(score_tiles(assessment)), *pictures, *settings_of(model)]
    if notes:
        blocks.insert(1, bullets(notes, kind="notes"))
    footer = f"Written by genbayes on {datetime.now(UTC):%d %B %Y}."
    write_atomically(path, page(title, f"Scored on {scored_on}.", blocks, footer).encode())
    return assessment


def draw_pictures(
    assessment: Assessment,
    effects: Sequence[MainEffect],
    slices: Sequence[Slice],
    x: FloatArray | None,
    target: str,
    history: History | None,
) -> list[Html]:
    """All figures in reading order: prediction, checks of calibration, main effects, training."""
    a = assessment
    scores = columns(observed_figure(a, target), pit_figure(a), decomposition_figure(a, target))
    promises = columns(reliability_figure(a), calibration_figure(a))  # one test, so side by side
    first = [fan_figure(slices, a.y, x, target), scores, promises]
    effect = effects_figure(effects, target)
    curves = [] if history is None else training_figures(history)
    if len(effects) == 1:  # one panel would look lost on a row of its own
        return [*first, columns(effect, *curves)]
    return [*first, effect, columns(*curves)] if curves else [*first, effect]


def _most_important(effects: Sequence[MainEffect]) -> list[int]:
    """Columns to slice along: those that vary, by importance; one constant column is better than none."""
    varying = [effect.column for effect in effects if len(effect.values) > 1]
    return varying[:MOST_PANELS] or [0]


def settings_of(model: object) -> list[Html]:
    """A table of what the model says about itself, if it does."""
    if not isinstance(model, HasSummary):
        return []
    return [card("Settings", table((str(name), str(value)) for name, value in model.summary().items()))]
