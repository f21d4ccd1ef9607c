"""Posteriors seen: margins and pairs of parameters (corner plot), ranks of calibration checks, predictive checks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import ArrayLike

from genbayes.arrays import FloatArray
from genbayes.errors import InvalidInput
from genbayes.plotting.calibration import plot_reliability
from genbayes.plotting.style import BLUE, FONT_SIZE, INK, ORANGE, dress, label_axes, shorten
from genbayes.validation import check_array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PANEL, LARGE_PANEL = 1.7, 2.4  # inches of a panel of a corner plot, of many and of up to three parameters
MOST_PARAMETERS = 12
N_BINS = 40  # along an axis of a panel
SMOOTHING = 1.2  # sd of the Gaussian filter of a pair's histogram, in bins
REGIONS = (0.9, 0.5)  # shares of the draws inside the contours
OUTERMOST = 0.001  # share of the draws left out of a panel at either end
RANKS_PANEL = (3.4, 2.6)
N_COLUMNS = 3


class Curve(Protocol):
    """Shares at levels with the band of a calibrated estimator, each (m,)."""

    @property
    def nominal(self) -> FloatArray:
        """Levels."""

    @property
    def share(self) -> FloatArray:
        """Observed shares."""

    @property
    def lower(self) -> FloatArray:
        """Lower end of the band."""

    @property
    def upper(self) -> FloatArray:
        """Upper end of the band."""


def plot_corner(
    draws: ArrayLike,
    names: Sequence[str],
    *,
    truth: ArrayLike | None = None,
    support: tuple[FloatArray, FloatArray] | None = None,
) -> Figure:
    """Margins on the diagonal, pairs of parameters below it.

    The shaded part of a margin is its central 90% interval, the line its median. Contours of a pair hold 50% and 90% of
    the draws, as regions of highest density of a smoothed histogram.

    Args:
        draws: Draws from the posterior, shape (n, k).
        names: The parameters, k of them.
        truth: A point to mark in orange, shape (k,); None for none.
        support: Ends of the prior's support, each (k,); panels do not reach beyond.

    Returns:
        A new figure.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> figure = plot_corner(rng.normal(size=(500, 2)), ["rate", "shift"])
        >>> [ax.get_xlabel() for ax in figure.axes]
        ['', 'rate', 'shift']
    """
    from matplotlib.figure import Figure

    theta = check_array(draws, "draws", "(n, k)")
    k = len(names)
    if theta.shape[1] != k or len(theta) < 2:
        raise InvalidInput(f"draws must have at least 2 rows and {k} columns, one per name, got shape {theta.shape}")
    if k > MOST_PARAMETERS:
        raise InvalidInput(f"names must be at most {MOST_PARAMETERS} to be readable, got {k}; choose some of them")
    point = None if truth is None else check_array(truth, "truth", "(k,)")
    if point is not None and len(point) != k:
        raise InvalidInput(f"truth must have {k} values, one per parameter, got {len(point)}")
    limits = [_limits(theta[:, j], None if support is None else (support[0][j], support[1][j])) for j in range(k)]
    side = max((PANEL if k > 3 else LARGE_PANEL) * k, 3.2)
    figure = Figure(figsize=(side, side), layout="constrained")
    for i in range(k):
        for j in range(i + 1):
            ax = figure.add_subplot(k, k, i * k + j + 1)
            dress(ax)
            if i == j:
                _draw_margin(ax, theta[:, i], limits[i])
            else:
                _draw_pair(ax, theta[:, [j, i]], limits[j], limits[i])
            if point is not None:
                _mark(ax, point[j], None if i == j else point[i])
            _label_panel(ax, names, i, j, k)
    return figure


def _draw_margin(ax: Axes, values: FloatArray, limits: tuple[float, float]) -> None:
    counts, edges = np.histogram(values, N_BINS, limits)
    low, middle, high = np.quantile(values, [0.05, 0.5, 0.95])
    height = counts / max(counts.max(), 1)
    ax.stairs(height, edges, fill=True, color=BLUE, alpha=0.18, linewidth=0)
    fine = np.linspace(*limits, 12 * N_BINS + 1)
    level = height[np.clip(np.searchsorted(edges, fine, side="right") - 1, 0, N_BINS - 1)]
    ax.fill_between(fine, level, where=((fine >= low) & (fine <= high)).tolist(), color=BLUE, alpha=0.3, linewidth=0)
    ax.stairs(height, edges, color=BLUE, linewidth=1.1)
    ax.axvline(middle, color=INK, linewidth=0.9, linestyle=(0, (4, 3)))
    ax.set(xlim=limits, ylim=(0, 1.08))
    ax.set_yticks([])
    ax.spines["left"].set_visible(False)
    ax.grid(visible=False)


def _draw_pair(ax: Axes, pair: FloatArray, across: tuple[float, float], up: tuple[float, float]) -> None:
    from matplotlib.colors import to_rgba
    from scipy.ndimage import gaussian_filter

    counts, x_edges, y_edges = np.histogram2d(pair[:, 0], pair[:, 1], N_BINS, (across, up))
    density = gaussian_filter(counts, SMOOTHING, mode="nearest")
    x, y = (x_edges[1:] + x_edges[:-1]) / 2, (y_edges[1:] + y_edges[:-1]) / 2
    heights = density_levels(density, REGIONS)
    ax.set(xlim=across, ylim=up)
    ax.grid(visible=False)
    if not 0 < heights[0] < heights[1] < density.max():
        ax.scatter(pair[:, 0], pair[:, 1], s=2, color=BLUE, alpha=0.3, linewidths=0)
        return
    shades = [to_rgba(BLUE, 0.16), to_rgba(BLUE, 0.42)]
    ax.contourf(x, y, density.T, levels=[*heights, density.max()], colors=shades)
    ax.contour(x, y, density.T, levels=heights, colors=[BLUE], linewidths=[0.7, 1.0])


def density_levels(density: FloatArray, shares: Sequence[float]) -> list[float]:
    """Heights above which the given shares of a histogram's mass lie, in the order of the shares.

    Example:
        >>> density_levels(np.array([4.0, 3.0, 2.0, 1.0]), [0.9, 0.4])
        [2.0, 4.0]
    """
    ordered = np.sort(density.ravel())[::-1]
    mass = np.cumsum(ordered) / max(ordered.sum(), 1e-300)
    places = np.minimum(np.searchsorted(mass, np.asarray(shares) - 1e-12), len(ordered) - 1)
    return [float(height) for height in ordered[places]]


def _mark(ax: Axes, x: float, y: float | None) -> None:
    ax.axvline(x, color=ORANGE, linewidth=1.0)
    if y is not None:
        ax.plot([x], [y], marker="o", markersize=4, color=ORANGE, markeredgewidth=0)
        ax.axhline(y, color=ORANGE, linewidth=1.0)


def _label_panel(ax: Axes, names: Sequence[str], i: int, j: int, k: int) -> None:
    from matplotlib.ticker import MaxNLocator

    ax.xaxis.set_major_locator(MaxNLocator(3))
    if i != j:
        ax.yaxis.set_major_locator(MaxNLocator(3))
    if i < k - 1:
        ax.set_xticklabels([])
    if j > 0 and i != j:
        ax.set_yticklabels([])
    left = shorten(names[i], 20) if j == 0 and i > 0 else ""
    label_axes(ax, shorten(names[j], 20) if i == k - 1 else "", left)


def _limits(values: FloatArray, support: tuple[float, float] | None) -> tuple[float, float]:
    """Ends of an axis: where nearly all draws lie, a little beyond, but not beyond the support."""
    low, high = np.quantile(values, [OUTERMOST, 1 - OUTERMOST])
    pad = 0.06 * (high - low) or abs(low) * 0.06 or 1.0
    ends = (-np.inf, np.inf) if support is None else support
    return float(max(low - pad, ends[0])), float(min(high + pad, ends[1]))


def plot_ranks(curves: Mapping[str, Curve]) -> Figure:
    """Ranks of calibration checks: share below each level minus the level, with its band; a panel a check.

    Args:
        curves: Shares at levels, by the name of the check.

    Returns:
        A new figure.
    """
    from matplotlib.figure import Figure

    n_columns = min(N_COLUMNS, len(curves))
    n_rows = -(-len(curves) // n_columns)
    figure = Figure(figsize=(RANKS_PANEL[0] * n_columns, RANKS_PANEL[1] * n_rows), layout="constrained")
    for place, (name, curve) in enumerate(curves.items(), start=1):
        ax = figure.add_subplot(n_rows, n_columns, place)
        dress(ax)
        plot_reliability(curve.nominal, curve.share, curve.lower, curve.upper, ax=ax)
        label_axes(ax, f"rank by {name}", "share of pairs below − rank")
        ax.yaxis.label.set_fontsize(FONT_SIZE - 1)
    return figure


def plot_predictive(draws: ArrayLike, observed: ArrayLike, names: Sequence[str]) -> Figure:
    """Posterior predictive check: responses simulated with draws from the posterior, and what was observed.

    Each response is drawn on a scale of its own, from the 5% to the 95% quantile of the simulations (thin line), from
    the 25% to the 75% one (thick line); observations outside the thin line are orange.

    Args:
        draws: Simulated responses, shape (n, p).
        observed: The observation, shape (p,).
        names: The responses, p of them.

    Returns:
        A new figure.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> len(plot_predictive(rng.normal(size=(200, 3)), [0.0, 1.0, 9.0], ["a", "b", "c"]).axes)
        1
    """
    from genbayes.plotting.style import new_axes

    y, seen = check_array(draws, "draws", "(n, p)"), check_array(observed, "observed", "(p,)")
    if y.shape[1] != len(seen) or len(names) != len(seen):
        raise InvalidInput(
            f"draws and names must have {len(seen)} responses as observed, got {y.shape[1]}, {len(names)}"
        )
    low, q1, middle, q3, high = np.quantile(y, [0.05, 0.25, 0.5, 0.75, 0.95], axis=0)
    scale = np.where(high > low, (high - low) / 2, 1.0)
    z = [(values - middle) / scale for values in (low, q1, q3, high, seen)]
    place = np.arange(len(seen))
    shown = np.clip(z[4], -3.0, 3.0)
    outside = (seen < low) | (seen > high)
    ax = new_axes((5.6, 0.9 + 0.26 * len(seen)))
    ax.hlines(place, z[0], z[3], color=BLUE, linewidth=1.2)
    ax.hlines(place, z[1], z[2], color=BLUE, linewidth=5, alpha=0.45)
    ax.scatter(shown, place, s=24, color=[ORANGE if out else INK for out in outside], linewidths=0, zorder=3)
    for at, value in zip(place[np.abs(z[4]) > 3], shown[np.abs(z[4]) > 3], strict=True):
        ax.annotate("→" if value > 0 else "←", (value, at), (6 if value > 0 else -14, -3), textcoords="offset points")
    ax.set_yticks(place, [shorten(name, 20) for name in names])
    for tick in ax.get_yticklabels():
        tick.set_parse_math(False)
    ax.set(ylim=(len(seen) - 0.4, -0.6), xlim=(-3.4, 3.4))
    label_axes(ax, "half widths of the 90% interval", "")
    figure = ax.get_figure(root=True)
    assert figure is not None  # new axes have one
    return figure
