"""The figures of an assessment page, each with how to read it; drawing itself is done by `plotting`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from genbayes.analysis import Assessment, MainEffect, Slice
from genbayes.arrays import FloatArray
from genbayes.plotting import (
    plot_decomposition,
    plot_fan,
    plot_fan_by_category,
    plot_main_effect,
    plot_observed,
    plot_shares,
    plot_training,
)
from genbayes.plotting.observed import MOST_WHISKERS
from genbayes.plotting.style import new_axes, shorten
from genbayes.reports.numbers import format_number
from genbayes.reports.page import Html, drawing, figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from genbayes.training import History

__all__ = [
    "calibration_figure",
    "decomposition_figure",
    "effects_figure",
    "fan_figure",
    "observed_figure",
    "pit_figure",
    "reliability_figure",
    "training_figures",
]

WIDE, MEDIUM, SMALL, PANEL = (9.6, 3.7), (4.6, 3.1), (3.4, 3.1), (3.3, 2.5)  # inches
MOST_PANELS = 6
MOST_CURVES = 5  # beside the bars: six drawings in all
MOST_BARS = 11
MOST_CONSTANT = 5  # names of constant columns listed


def fan_figure(slices: Sequence[Slice], y: FloatArray, x: FloatArray | None, target: str) -> Html:
    """The predictive law along the inputs: with the data if there is one input, as slices if there are more."""
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
        "On the diagonal, intervals hold exactly as often as promised; below it they are too narrow, above "
        "it too wide. A calibrated model stays within this band and that of the quantiles with 95% chance.",
    )


def decomposition_figure(assessment: Assessment, target: str) -> Html:
    """Where the CRPS comes from."""
    d = assessment.diagnostics.decomposition
    ax = new_axes(SMALL)
    plot_decomposition(d.miscalibration, d.discrimination, d.uncertainty, d.by_luck, ax=ax, xlabel=f"unit of {target}")
    return figure(
        "Where the CRPS comes from",
        [drawing(ax, "decomposition", "CRPS as uncertainty less discrimination plus miscalibration")],
        f"Uncertainty ({format_number(d.uncertainty, 3)}): the score of one forecast for all rows. Discrimination "
        f"({format_number(d.discrimination, 3)}): what is gained by telling rows apart. Miscalibration "
        f"({format_number(d.miscalibration, 3)}): what recalibrating the probabilities would save on these rows; a "
        f"calibrated model would show about {format_number(d.by_luck, 3)} of it by luck.",
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
