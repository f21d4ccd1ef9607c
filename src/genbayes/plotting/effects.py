"""Main effects: how the predictive mean moves with one input, averaged over the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np

from genbayes.arrays import FloatArray
from genbayes.errors import InvalidInput
from genbayes.plotting.style import (
    BLUE,
    FONT_SIZE,
    INK,
    RULE,
    axes_for,
    dress,
    label_axes,
    set_category_ticks,
    shorten,
    spans_decades,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


PANEL_SIZE = (3.2, 2.5)  # inches
N_COLUMNS = 3
BAR_HEIGHT = 0.22  # inches
MOST_CATEGORIES = 12


class EffectCurve(Protocol):
    """What a main effect must say to be drawn; g is the number of values tried."""

    @property
    def name(self) -> str:
        """The input."""

    @property
    def values(self) -> np.ndarray[tuple[int], np.dtype[np.generic]]:
        """Values tried, numbers increasing or category labels, shape (g,)."""

    @property
    def mean(self) -> FloatArray:
        """Average predictive mean at each value, shape (g,)."""

    @property
    def share(self) -> float:
        """Share of the variance of the predictive mean that the effect explains."""

    @property
    def categorical(self) -> bool:
        """Whether the values are categories."""


def plot_main_effect(effect: EffectCurve, *, ax: Axes | None = None, ylabel: str = "mean of y") -> Axes:
    """One main effect: a line over numbers, dots over categories; the title gives its share of variance.

    Args:
        effect: What to draw.
        ax: Axis to draw on; None for a new figure.
        ylabel: Name of the averaged prediction.

    Returns:
        The axis.

    Example:
        >>> from types import SimpleNamespace
        >>> gas = SimpleNamespace(name="gas", values=["He"], mean=np.array([3.0]), share=0.25, categorical=True)
        >>> plot_main_effect(gas).get_title(loc="left")
        '25% of variance'
    """
    ax = axes_for(ax, PANEL_SIZE)
    if effect.categorical:
        labels = [str(value) for value in effect.values[:MOST_CATEGORIES]]
        mean = effect.mean[:MOST_CATEGORIES]
        ax.vlines(range(len(mean)), mean.mean(), mean, color=BLUE, linewidth=1.4, alpha=0.6)
        ax.scatter(range(len(mean)), mean, s=22, color=BLUE, linewidths=0, zorder=3)
        set_category_ticks(ax, labels)
    else:
        values = np.asarray(effect.values, dtype=np.float64)
        ax.plot(values, effect.mean, color=BLUE, linewidth=1.6, marker="o" if len(values) < 10 else None, markersize=4)
        if spans_decades(values):
            ax.set_xscale("log")
    label_axes(ax, effect.name, ylabel)
    ax.set_title(f"{percent(effect.share)} of variance", fontsize=FONT_SIZE, color=INK, loc="left")
    return ax


def plot_main_effects(
    effects: Sequence[EffectCurve], *, ylabel: str = "mean of y", n_columns: int = N_COLUMNS
) -> list[Axes]:
    """Small multiples of main effects on one vertical scale, in the order given.

    Args:
        effects: One or more main effects.
        ylabel: Name of the averaged prediction.
        n_columns: Panels in a row.

    Returns:
        One axis an effect, all of one new figure.

    Example:
        >>> from types import SimpleNamespace
        >>> one = SimpleNamespace(name="mach", values=[1, 2], mean=np.array([3.0, 4.0]), share=0.8, categorical=False)
        >>> [ax.get_xlabel() for ax in plot_main_effects([one, one])]
        ['mach', 'mach']
    """
    from matplotlib.figure import Figure

    if not effects:
        raise InvalidInput("effects must hold at least one main effect, got none")
    n_columns = min(n_columns, len(effects))
    n_rows = -(-len(effects) // n_columns)
    figure = Figure(figsize=(PANEL_SIZE[0] * n_columns, PANEL_SIZE[1] * n_rows), layout="constrained")
    axes: list[Axes] = []
    for place, effect in enumerate(effects, start=1):
        ax = figure.add_subplot(n_rows, n_columns, place, sharey=axes[0] if axes else None)
        dress(ax)
        axes.append(plot_main_effect(effect, ax=ax, ylabel=ylabel))
    return axes


def plot_shares(names: Sequence[str], shares: Sequence[float], *, ax: Axes | None = None) -> Axes:
    """Share of variance explained by each input alone, as bars from the top in the order given.

    Args:
        names: The inputs.
        shares: Their shares, 0.5 for half.
        ax: Axis to draw on; None for a new figure as high as the bars need.

    Returns:
        The axis.

    Example:
        >>> [text.get_text() for text in plot_shares(["mach", "alpha"], [0.7, 0.004]).texts]
        ['70%', '0.4%']
    """
    ax = axes_for(ax, (3.2, 0.2 + BAR_HEIGHT * len(names)))
    place = np.arange(len(names))
    ax.barh(place, shares, 0.62, color=BLUE, alpha=0.75, linewidth=0)
    for at, share in zip(place, shares, strict=True):
        ax.annotate(
            percent(share), (share, at), (4, 0), textcoords="offset points", va="center", fontsize=FONT_SIZE, color=INK
        )
    ax.set_yticks(place, [shorten(name, 20) for name in names])
    for tick in ax.get_yticklabels():
        tick.set_parse_math(False)
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.set_xlim(0, 1.2 * max([*shares, 0.1]))
    ax.xaxis.set_visible(False)
    ax.spines["bottom"].set_visible(False)
    ax.grid(visible=False)
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_color(RULE)
    return ax


def percent(share: float) -> str:
    """A share of variance, with a decimal only where it is small.

    Example:
        >>> percent(0.704), percent(0.004), percent(1e-5)
        ('70%', '0.4%', '0%')
    """
    return f"{100 * share:.{1 if 0.0005 <= share < 0.0095 else 0}f}%"
