"""Figures of one model on rows it has not seen, each with how to read it; the pages choose among them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from genbayes.analysis import MainEffect, Slice, main_effects, slice_inputs
from genbayes.analysis.input_table import InputTable
from genbayes.arrays import FloatArray
from genbayes.diagnostics import Assessment, assess
from genbayes.models.protocols import MapsRegimes, Predicts
from genbayes.plotting import (
    plot_calibration,
    plot_decomposition,
    plot_fan,
    plot_fan_by_category,
    plot_main_effect,
    plot_observed,
    plot_pit,
    plot_regimes,
    plot_reliability,
    plot_shares,
    plot_training,
)
from genbayes.plotting.regimes import RegimeMapLike
from genbayes.plotting.scores import MOST_WHISKERS
from genbayes.plotting.style import new_axes, shorten
from genbayes.report.page import Html, drawing, figure, format_number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from genbayes.training import History

WIDE, MEDIUM, SMALL, PANEL = (9.6, 3.7), (4.6, 3.1), (3.4, 3.1), (3.3, 2.5)  # inches
MOST_PANELS = 6
MOST_CURVES = 5  # beside the bars: six drawings in all
MOST_BARS = 11
MOST_CONSTANT = 5  # names of constant columns listed


@dataclass(frozen=True)
class Examination:
    """What a model says of rows it has not seen, ready to be drawn.

    Attributes:
        assessment: Its scores there.
        effects: Main effects, most important first.
        slices: Distributions along the most important inputs.
        x: The only input, if it is one and a number, shape (n,); else None.
    """

    assessment: Assessment
    effects: Sequence[MainEffect]
    slices: Sequence[Slice]
    x: FloatArray | None

    @classmethod
    def of(cls, model: Predicts, X: ArrayLike, y: ArrayLike, everywhere: ArrayLike | None = None) -> Examination:
        """Ask a model about rows X, shape (n, d), with responses y, shape (n,), and what inputs do `everywhere`.

        Effects and slices need no response, so they may be those over the inputs of all runs, shape (n_all, d).
        """
        everywhere = X if everywhere is None else everywhere
        assessment, effects, inputs = assess(model, X, y), main_effects(model, everywhere), InputTable.of(X, model)
        varying = [effect.column for effect in effects if len(effect.values) > 1]
        slices = slice_inputs(model, everywhere, varying[:MOST_PANELS] or [0])  # a constant one is better than none
        x = inputs.column(0) if inputs.d == 1 and not inputs.categorical[0] else None
        return cls(assessment, effects, slices, x)


def find_history(model: object) -> History | None:
    """How a network was trained: the model itself or, in an automatic choice, the network of largest weight."""
    found = (getattr(part, "history_", None) for part in _parts(model))
    return next((history for history in found if history is not None), None)


def find_regime_map(model: object) -> RegimeMapLike | None:
    """Where regimes lie, if the model knows."""
    return model.map_regimes() if isinstance(model, MapsRegimes) else None


def _parts(model: object) -> Iterator[object]:
    """The model itself, or those that an automatic choice joined, the largest weight first."""
    joined = getattr(model, "combination_", None)
    if joined is None:
        yield model
    else:
        for k in np.argsort(-np.asarray(joined.weights), kind="stable"):
            yield from _parts(joined.models[k])


def regimes_figure(regimes: RegimeMapLike) -> Html:
    """Where regimes lie, over the inputs that matter most for them."""
    ax = plot_regimes(regimes, ax=new_axes(MEDIUM))
    along = " and ".join(regimes.names)
    count = len(regimes.probability)
    return figure(
        "Regimes",
        [drawing(ax, "regimes", f"probability of {count} regimes along {along}")],
        f"{count} regimes, found from inputs and responses together. Dots are runs, coloured by their regime. Colours "
        "fade where the regime of a new run is in doubt; the line is where two are equally probable, dashes where one "
        "has 10% and 90%. Other inputs are averaged over.",
    )


def fan_figure(seen: Examination, target: str) -> Html:
    """The predictive distribution along the inputs: with the data if there is one input, else as slices."""
    slices, x, y = seen.slices, seen.x, seen.assessment.y
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


def pit_figure(diagnostics: Mapping[str, Any]) -> Html:
    """PIT histogram, from diagnostics as plain values."""
    histogram = diagnostics["pit_histogram"]
    ax = plot_pit(histogram["counts"], tuple(histogram["band"]), ax=new_axes(SMALL))
    return figure(
        "PIT histogram",
        [drawing(ax, "pit", "histogram of probability integral transforms")],
        "Flat is right. A bowl means intervals too narrow, a hill too wide, a slope a biased prediction. "
        "A calibrated model keeps all its bars within the grey band with 95% chance.",
    )


def reliability_figure(diagnostics: Mapping[str, Any], size: tuple[float, float] = MEDIUM) -> Html:
    """Reliability of the quantiles, from diagnostics as plain values."""
    ax = plot_reliability(*_curve(diagnostics["quantiles"]), ax=new_axes(size))
    return figure(
        "Reliability of quantiles",
        [drawing(ax, "reliability", "share of rows below each predicted quantile, minus its level")],
        "How many rows fall below each predicted quantile, more or fewer than its level says. Zero is right. All above "
        "zero: predictions too high; all below: too low; above, then below: intervals too narrow; below, then above: "
        "too wide. A calibrated model stays within this band and that of the calibration curve with 95% chance.",
    )


def calibration_figure(diagnostics: Mapping[str, Any], size: tuple[float, float] = MEDIUM) -> Html:
    """Calibration curve, from diagnostics as plain values."""
    ax = plot_calibration(*_curve(diagnostics["intervals"]), ax=new_axes(size))
    return figure(
        "Calibration curve",
        [drawing(ax, "calibration", "observed over nominal coverage of central intervals")],
        "On the diagonal, intervals hold as many observations as their level says; below it they are too narrow, above "
        "it too wide. A calibrated model stays within this band and that of the quantiles with 95% chance.",
    )


def _curve(reliability: Mapping[str, list[float]]) -> list[list[float]]:
    """Levels, shares, and both ends of their band."""
    return [reliability[name] for name in ("nominal", "share", "lower", "upper")]


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
    return figure(
        "Main effects",
        drawings,
        "The predicted mean with one input held at each value, averaged over the other inputs of the runs. The share "
        "says how much of the variance of the prediction the input explains on its own. The shares add up to less than "
        "100% where inputs interact, and to less or more where they vary together, as by chance in few rows.",
        _left_out(len(varying), constant),
    )


def training_figures(history: History) -> list[Html]:
    """Training loss and the score of held-out rows, as far as they were noted, with the epoch that was kept."""
    figures = []
    kept = float(history.held_out_epoch[np.argmin(history.held_out_crps)]) if len(history.held_out_crps) else None
    if len(history.loss):
        ax = plot_training(history.epoch, history.loss, ax=new_axes(PANEL), ylabel="training loss", kept=kept)
        caption = f"The curve should have flattened. Training took {format_number(history.seconds, 3)} seconds."
        figures.append(figure("Training loss", [drawing(ax, "training", "training loss by epoch")], caption))
    if kept is not None:
        ax = new_axes(PANEL)
        plot_training(history.held_out_epoch, history.held_out_crps, ax=ax, ylabel="CRPS of held-out rows", kept=kept)
        caption = (
            "Of rows not trained on, on the scale of the standardised response. Rising again means overfitting; the "
            "weights of the marked epoch, where it was lowest, were kept."
        )
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
