"""Where the regimes of a response lie: their probabilities over one or two inputs, the boundary, and the runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np

from genbayes.arrays import FloatArray, IntArray
from genbayes.plotting.style import BLUE, INK, ORANGE, axes_for, label_axes, place_legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = (BLUE, ORANGE, "#009e73", "#cc79a7", "#e69f00")  # Okabe and Ito (2008), one for each of five regimes
PALE = 0.55  # share of white where a regime is certain; more the less it is
MOST_POINTS = 600


class RegimeMapLike(Protocol):
    """Probabilities of k regimes over a grid of one input or two, and runs with their regimes."""

    @property
    def names(self) -> Sequence[str]:
        """Names of the inputs, one or two."""

    @property
    def axes(self) -> Sequence[FloatArray]:
        """Values of each input on the grid, (g,) each."""

    @property
    def probability(self) -> FloatArray:
        """Probability of each regime, (k, g) or (k, g, g): first input, then second."""

    @property
    def points(self) -> FloatArray:
        """The runs' values of these inputs, (n, 1) or (n, 2)."""

    @property
    def regime(self) -> IntArray:
        """The regime of each run, (n,)."""


def plot_regimes(regimes: RegimeMapLike, *, ax: Axes | None = None) -> Axes:
    """Draw where each regime lies: colours fade where it is in doubt; the line is the boundary.

    Args:
        regimes: What to draw.
        ax: Axis to draw on; a new figure if left out.

    Returns:
        The axis.
    """
    ax = axes_for(ax)
    if len(regimes.names) == 1:
        _draw_curves(ax, regimes)
        label_axes(ax, regimes.names[0], "probability")
    else:
        _draw_map(ax, regimes)
        label_axes(ax, regimes.names[0], regimes.names[1])
    place_legend(ax)
    return ax


def _draw_curves(ax: Axes, regimes: RegimeMapLike) -> None:
    """Probability of each regime along the only input, and the runs as marks at the edges."""
    for c, p in enumerate(regimes.probability):
        ax.plot(regimes.axes[0], p, color=COLOURS[c], label=f"regime {c + 1}")
        own = _some(regimes.points[regimes.regime == c])
        ax.plot(own[:, 0], np.full(len(own), 1.03 + 0.03 * c), "|", color=COLOURS[c], markersize=4)
    ax.set_ylim(-0.03, 1.06 + 0.03 * len(regimes.probability))


def _draw_map(ax: Axes, regimes: RegimeMapLike) -> None:
    """Probabilities as colours, the boundary where one is even, 10% and 90% as dashes, and the runs."""
    from matplotlib.colors import to_rgb

    u, v = regimes.axes
    colours = np.array([to_rgb(colour) for colour in COLOURS[: len(regimes.probability)]])
    pale = 1 - (1 - PALE) * (1 - colours)
    image = np.einsum("kuv,kc->vuc", regimes.probability, pale)
    doubt = 1 - regimes.probability.max(axis=0).T[..., None]
    image = image + (1 - image) * np.clip(2 * doubt, 0, 1) * 0.8  # white where it is in doubt
    ax.imshow(image, origin="lower", extent=(u[0], u[-1], v[0], v[-1]), aspect="auto", interpolation="nearest")
    ax.grid(False)
    for p in regimes.probability[1:]:
        if p.min() < 0.5 < p.max():
            ax.contour(u, v, p.T, levels=[0.5], colors=INK, linewidths=1.3)
        if p.min() < 0.9 and p.max() > 0.1:
            ax.contour(u, v, p.T, levels=[0.1, 0.9], colors=INK, linewidths=0.6, linestyles="dashed")
    for c in range(len(regimes.probability)):
        own = _some(regimes.points[regimes.regime == c])
        ax.plot(own[:, 0], own[:, 1], ".", color=COLOURS[c], markersize=3, label=f"regime {c + 1}")
    ax.set(xlim=(u[0], u[-1]), ylim=(v[0], v[-1]))


def _some(points: FloatArray) -> FloatArray:
    """Evenly spaced rows, at most so many."""
    return points[np.linspace(0, len(points) - 1, min(len(points), MOST_POINTS)).astype(np.int64)]
