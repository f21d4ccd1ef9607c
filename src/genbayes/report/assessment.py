"""The page of one fit or evaluation: a verdict in words, then the pictures behind it, then the settings."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

from numpy.typing import ArrayLike

from genbayes.analysis import MainEffect
from genbayes.auto import AutoSurrogate
from genbayes.diagnostics import Assessment, Diagnostics, expected_coverage
from genbayes.models.protocols import HasSummary, Predicts
from genbayes.plotting.style import default_settings
from genbayes.report.comparison import scores_figure, table_of_scores
from genbayes.report.figures import (
    Examination,
    calibration_figure,
    decomposition_figure,
    effects_figure,
    fan_figure,
    find_history,
    find_regime_map,
    observed_figure,
    pit_figure,
    regimes_figure,
    reliability_figure,
    training_figures,
)
from genbayes.report.page import (
    Html,
    Tile,
    bullets,
    card,
    columns,
    format_number,
    format_share,
    format_with_error,
    join,
    paragraph,
    strong,
    table,
    tiles,
    write_page,
)
from genbayes.writing import check_writable

NOTABLE = 0.05  # an input that explains less is not named in the verdict
MOST_NAMED = 3
USELESS = 0.005  # a smaller skill rounds to nothing


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
    everywhere: ArrayLike | None = None,
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
        everywhere: Inputs that main effects and slices range over, such as those of all runs; None for X.

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
    seen = Examination.of(model, X, y, everywhere)
    with default_settings():
        pictures = [*draw_pictures(seen, model, target), *draw_choice(model, target)]
    a = seen.assessment
    blocks = [verdict(a, seen.effects), tiles(score_tiles(a)), *pictures, *settings_of(model)]
    if notes:
        blocks.insert(1, bullets(notes, kind="notes"))
    write_page(path, title, f"Scored on {scored_on}.", blocks)
    return a


def draw_pictures(seen: Examination, model: object, target: str) -> list[Html]:
    """All figures in reading order: prediction, checks of calibration, main effects, training of a network."""
    a, history = seen.assessment, find_history(model)
    checks = a.diagnostics.to_dict()
    scores = columns(observed_figure(a, target), pit_figure(checks), decomposition_figure(a, target))
    promises = columns(reliability_figure(checks), calibration_figure(checks))  # one test, so side by side
    first = [fan_figure(seen, target), scores, promises]
    regimes = find_regime_map(model)
    if regimes is not None:
        first.insert(1, regimes_figure(regimes))
    if len(seen.effects) > 1:  # the effect of an only input is the fan
        first.append(effects_figure(seen.effects, target))
    curves = [] if history is None else training_figures(history)
    return [*first, columns(*curves)] if curves else first


def draw_choice(model: object, target: str) -> list[Html]:
    """What an automatic choice was made among; nothing for other models."""
    if not isinstance(model, AutoSurrogate):
        return []
    return [scores_figure(model.report_, target), table_of_scores(model.report_)]


def verdict(assessment: Assessment, effects: Sequence[MainEffect]) -> Html:
    """What the numbers say: how good, whether the distributions are calibrated, which inputs matter."""
    kind = "verdict" if assessment.diagnostics.calibrated else "verdict attention"
    parts = [_accuracy(assessment), _coverage(assessment), _calibration(assessment.diagnostics), _inputs(effects)]
    return paragraph(*parts, kind=kind)


def _accuracy(assessment: Assessment) -> Html:
    score = format_with_error(assessment.crps, assessment.crps_se)
    meaning = ", the average distance between prediction and outcome in the unit of the response"
    start = join(f"Over {assessment.n:,} rows the CRPS is ", strong(score), meaning)
    skill = assessment.skill
    if skill is None:
        return join(start, ". ")
    amount = f"{abs(skill):.0%} {'better' if skill > 0 else 'worse'} than" if abs(skill) >= USELESS else "about that of"
    return join(start, f", {amount} a forecast that ignores the inputs. ")


def _coverage(assessment: Assessment) -> Html:
    n, share = assessment.n, assessment.coverage_90
    low, high = expected_coverage(n, 0.9)
    held = f"{round(share * n):,} of {n:,} observations ({format_share(share)})"
    expected = f"; {round(low * n):,} to {round(high * n):,} are expected of a calibrated model. "
    return join("The 90% intervals hold ", strong(held), expected)


def _calibration(diagnostics: Diagnostics) -> Html:
    """The verdict over all levels: its first clause stands out."""
    claim = re.split(r"[:.](?=\s|$)", diagnostics.sentence)[0]
    return join(strong(claim), diagnostics.sentence[len(claim) :], " ")


def _inputs(effects: Sequence[MainEffect]) -> Html:
    if len(effects) == 1:
        return join("The only input is ", strong(effects[0].name), ".")
    named = [effect for effect in effects if effect.share >= NOTABLE][:MOST_NAMED]
    if not named:
        return join("No input explains much of the predicted variation on its own.")
    start = "The input that matters most is " if len(named) == 1 else "The inputs that matter most are "
    unit = [" of the predicted variation", "", ""]
    listed = [join(strong(e.name), f" ({e.share:.0%}{what})") for e, what in zip(named, unit, strict=False)]
    between = ["", *[", "] * (len(listed) - 2), " and "][: len(listed)]
    return join(start, *(join(link, name) for link, name in zip(between, listed, strict=True)), ".")


def score_tiles(assessment: Assessment) -> list[Tile]:
    """The scores, each with a few words on how to judge it."""
    a = assessment
    skill = "–" if a.skill is None else format_share(a.skill)
    return [
        Tile("CRPS", format_number(a.crps), f"standard error {format_number(a.crps_se, 2)}; smaller is better"),
        Tile("Skill", skill, f"gain over ignoring the inputs (CRPS {format_number(a.crps_reference, 3)})"),
        Tile("RMSE", format_number(a.rmse), "error of the predicted mean"),
        _coverage_tile(a.n, 0.5, a.coverage_50),
        _coverage_tile(a.n, 0.9, a.coverage_90),
        Tile("90% interval width", format_number(a.width_90), "on average; narrow is good if calibrated"),
    ]


def _coverage_tile(n: int, level: float, share: float) -> Tile:
    low, high = expected_coverage(n, level)
    hint = f"{format_share(low)} to {format_share(high)} expected"
    return Tile(f"{level:.0%} intervals hold", format_share(share), hint, attention=not low <= share <= high)


def settings_of(model: object) -> list[Html]:
    """A table of what the model says about itself, if it does."""
    if not isinstance(model, HasSummary):
        return []
    return [card("Settings", table((str(name), str(value)) for name, value in model.summary().items()))]
