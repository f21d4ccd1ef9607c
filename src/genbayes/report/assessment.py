"""The page of one fit or evaluation: a verdict in words, then the pictures behind it, then the settings."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from genbayes.analysis import MainEffect, Slice, main_effects, slice_inputs
from genbayes.analysis.input_table import InputTable
from genbayes.arrays import FloatArray
from genbayes.diagnostics import Assessment, Diagnostics, assess, expected_coverage
from genbayes.models.protocols import HasSummary, Predicts
from genbayes.plotting import (
    plot_decomposition,
    plot_fan,
    plot_fan_by_category,
    plot_main_effect,
    plot_observed,
    plot_shares,
    plot_training,
)
from genbayes.plotting.scores import MOST_WHISKERS
from genbayes.plotting.style import default_settings, new_axes, shorten
from genbayes.report.page import (
    Html,
    Tile,
    bullets,
    card,
    columns,
    drawing,
    figure,
    format_number,
    format_share,
    format_with_error,
    join,
    page,
    paragraph,
    strong,
    table,
    tiles,
)
from genbayes.writing import check_writable, write_atomically

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from genbayes.training import History

WIDE, MEDIUM, SMALL, PANEL = (9.6, 3.7), (4.6, 3.1), (3.4, 3.1), (3.3, 2.5)  # inches
MOST_PANELS = 6
MOST_CURVES = 5  # beside the bars: six drawings in all
MOST_BARS = 11
MOST_CONSTANT = 5  # names of constant columns listed
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
    claim, _, rest = diagnostics.sentence.partition(":")
    return join(strong(claim), ":", rest, " ")


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


def fan_figure(slices: Sequence[Slice], y: FloatArray, x: FloatArray | None, target: str) -> Html:
    """The predictive distribution along the inputs: with the data if there is one input, else as slices."""
    if len(slices) == 1 and x is not None:
        ax = new_axes(WIDE)
        _draw_slice(ax, slices[0], target, legend=True, data=(x, y))
        caption = (
            "The line is the predicted median. Half of all new observations should fall into the inner band, "
            "nine in ten into the outer one."
        )
        return figure("Prediction and data", [drawing(ax, "fan", f"{target} along {slices[0].name}")], caption)
    drawings = []
    ends = np.concatenate([end for cut in slices for _, *pair in cut.bands for end in pair])
    for place, cut in enumerate(slices):
        ax = new_axes(PANEL)
        _draw_slice(ax, cut, target, legend=False)
        ax.set_ylim(*_padded(ends))
        drawings.append(drawing(ax, f"slice-{place}", f"{target} along {cut.name}"))
    return figure(
        "Prediction along each input",
        drawings,
        "One input varies, the others stay at their median (numbers) or most frequent value (categories). "
        "The line is the predicted median; half of all new observations there should fall into the inner band, nine in "
        "ten into the outer one. All panels share one vertical scale, the most important input comes first.",
    )


def observed_figure(assessment: Assessment, target: str) -> Html:
    """Observed against predicted."""
    a = assessment
    ax = plot_observed(a.y, a.median, a.lower, a.upper, ax=new_axes(SMALL), target=target)
    if a.n <= MOST_WHISKERS:
        caption = "Each dot is a row, each whisker its 90% interval. Orange dots lie outside: one in ten should."
    else:
        caption = "Stronger colour means more rows. Nine in ten should lie between the orange lines."
    return figure(
        "Predicted against observed", [drawing(ax, "observed", f"observed against predicted {target}")], caption
    )


def pit_figure(assessment: Assessment) -> Html:
    """PIT histogram."""
    ax = assessment.diagnostics.plot_pit(new_axes(SMALL))
    return figure(
        "PIT histogram",
        [drawing(ax, "pit", "histogram of probability integral transforms")],
        "Flat is right. A bowl means intervals too narrow, a hill too wide, a slope a biased prediction. "
        "A calibrated model keeps all its bars within the grey band with 95% chance.",
    )


def reliability_figure(assessment: Assessment) -> Html:
    """Reliability of the quantiles."""
    ax = assessment.diagnostics.plot_quantiles(new_axes(MEDIUM))
    return figure(
        "Reliability of quantiles",
        [drawing(ax, "reliability", "share of rows below each predicted quantile, minus its level")],
        "How many rows fall below each predicted quantile, more or fewer than its level says. Zero is right. All above "
        "zero: predictions too high; all below: too low; above, then below: intervals too narrow; below, then above: "
        "too wide. A calibrated model stays within this band and that of the calibration curve with 95% chance.",
    )


def calibration_figure(assessment: Assessment) -> Html:
    """Calibration curve."""
    ax = assessment.diagnostics.plot_intervals(new_axes(MEDIUM))
    return figure(
        "Calibration curve",
        [drawing(ax, "calibration", "observed over nominal coverage of central intervals")],
        "On the diagonal, intervals hold as many observations as their level says; below it they are too narrow, above "
        "it too wide. A calibrated model stays within this band and that of the quantiles with 95% chance.",
    )


def decomposition_figure(assessment: Assessment, target: str) -> Html:
    """Where the CRPS comes from."""
    d = assessment.diagnostics.decomposition
    ax = new_axes(SMALL)
    plot_decomposition(
        d.miscalibration, d.discrimination, d.uncertainty, d.by_chance, ax=ax, xlabel=f"unit of {target}"
    )
    return figure(
        "Where the CRPS comes from",
        [drawing(ax, "decomposition", "CRPS as uncertainty less discrimination plus miscalibration")],
        f"Uncertainty ({format_number(d.uncertainty, 3)}): the score of one forecast for all rows. Discrimination "
        f"({format_number(d.discrimination, 3)}): how much of it the inputs explain. Miscalibration "
        f"({format_number(d.miscalibration, 3)}): what recalibrating the probabilities would save on these rows; a "
        f"calibrated model would show about {format_number(d.by_chance, 3)} of it by chance.",
    )


def effects_figure(effects: Sequence[MainEffect], target: str) -> Html:
    """Main effects, most important first: shares of all inputs, then curves of the first few."""
    varying = [effect for effect in effects if len(effect.values) > 1] or list(effects[:1])
    constant = [effect.name for effect in effects if len(effect.values) == 1]
    shown = varying[:MOST_CURVES]
    drawings = [_shares_svg(varying)] if len(varying) > 1 else []
    means = np.concatenate([effect.mean for effect in shown])
    for place, effect in enumerate(shown):
        ax = plot_main_effect(effect, ax=new_axes(PANEL), ylabel=f"mean of {target}")
        ax.set_ylim(*_padded(means))
        drawings.append(drawing(ax, f"effect-{place}", f"main effect of {effect.name}"))
    if len(effects) == 1:
        return figure("Main effect", drawings, "The predicted mean; with one input, nothing else moves it.")
    return figure(
        "Main effects",
        drawings,
        "The predicted mean with one input held at each value, averaged over the other inputs of the rows. The share "
        "says how much of the variance of the prediction the input explains on its own; what is missing to 100% is "
        "interaction between inputs.",
        _left_out(len(varying), constant),
    )


def training_figures(history: History) -> list[Html]:
    """Training loss and the score of held-out rows, as far as they were noted."""
    figures = []
    if len(history.loss):
        ax = plot_training(history.epoch, history.loss, ax=new_axes(PANEL), ylabel="training loss")
        caption = f"The curve should have flattened. Training took {format_number(history.seconds, 3)} seconds."
        figures.append(figure("Training loss", [drawing(ax, "training", "training loss by epoch")], caption))
    if len(history.held_out_crps):
        ax = new_axes(PANEL)
        plot_training(history.held_out_epoch, history.held_out_crps, ax=ax, ylabel="CRPS of held-out rows")
        caption = "Of rows not trained on, on the scale of the standardised response. Rising again means overfitting."
        figures.append(figure("Held-out score", [drawing(ax, "held-out", "CRPS of held-out rows by epoch")], caption))
    return figures


def _draw_slice(
    ax: Axes, cut: Slice, target: str, legend: bool, data: tuple[FloatArray | None, FloatArray | None] = (None, None)
) -> None:
    if cut.categorical:
        labels = [str(value) for value in cut.values]
        plot_fan_by_category(labels, cut.median, cut.bands, ax=ax, xlabel=cut.name, ylabel=target, legend=legend)
        return
    plot_fan(
        cut.values,
        cut.median,
        cut.bands,
        x_observed=data[0],
        y_observed=data[1],
        ax=ax,
        xlabel=cut.name,
        ylabel=target,
        legend=legend,
    )


def _shares_svg(varying: Sequence[MainEffect]) -> Html:
    first = varying[:MOST_BARS]
    ax = plot_shares([effect.name for effect in first], [effect.share for effect in first])
    return drawing(ax, "shares", "share of variance explained by each input")


def _left_out(n_varying: int, constant: Sequence[str]) -> str:
    """A sentence for inputs that are not drawn, if any."""
    sentences = []
    if n_varying > MOST_BARS:
        sentences.append(f" The {n_varying - MOST_BARS} inputs with smaller shares are not shown.")
    if constant:
        names = ", ".join(shorten(name) for name in constant[:MOST_CONSTANT])
        more = ", …" if len(constant) > MOST_CONSTANT else ""
        sentences.append(f" Constant in these rows, so without effect: {names}{more}.")
    return "".join(sentences)


def _padded(values: FloatArray) -> tuple[float, float]:
    """Limits a little beyond the values, never equal."""
    low, high = float(values.min()), float(values.max())
    pad = 0.06 * (high - low) or abs(low) * 0.06 or 1.0
    return low - pad, high + pad


def _most_important(effects: Sequence[MainEffect]) -> list[int]:
    """Columns to slice along: those that vary, by importance; one constant column is better than none."""
    varying = [effect.column for effect in effects if len(effect.values) > 1]
    return varying[:MOST_PANELS] or [0]


def settings_of(model: object) -> list[Html]:
    """A table of what the model says about itself, if it does."""
    if not isinstance(model, HasSummary):
        return []
    return [card("Settings", table((str(name), str(value)) for name, value in model.summary().items()))]
