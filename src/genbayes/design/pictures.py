"""Pictures of a campaign: what the runs have bought, what they gave in their order, and where they went."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from genbayes.data.space import Box, Choice, Input, Integer, Log
from genbayes.design.learning import LearningCurve
from genbayes.design.trial import Record
from genbayes.plotting.style import BLUE, INK, MUTED, ORANGE, label_axes, new_axes, place_legend, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_curve", "draw_order", "draw_places"]

MEDIUM, PANEL = (4.6, 3.1), (3.3, 2.9)  # inches
MOST_PANELS = 6
LONGEST_TICK = 12
MOST_TICKS = 10  # whole numbers that are all named
# How each kind of run is drawn: name, colour, marker
KINDS = (("initial", MUTED, "o"), ("later", BLUE, "o"), ("failed", ORANGE, "x"))


def draw_curve(curve: LearningCurve) -> Axes:
    """Cross-validated CRPS against the number of runs, on a logarithmic scale, with one standard error."""
    ax = new_axes(MEDIUM)
    ax.set_xscale("log")
    ax.errorbar(curve.n, curve.crps, yerr=curve.standard_error, fmt="o-", color=BLUE, markersize=4, linewidth=1.4)
    ax.set_xticks(curve.n, [f"{n:.0f}" for n in curve.n])
    ax.minorticks_off()
    ax.set_ylim(bottom=0.0)
    label_axes(ax, "runs", "CRPS of unseen runs")
    return ax


def draw_order(records: Sequence[Record]) -> Axes:
    """Responses in the order of the trials; failed ones along the bottom."""
    ax = new_axes(MEDIUM)
    done = [record.y for record in records if record.y is not None]
    floor = min(done, default=0.0)
    for kind, colour, marker in KINDS:
        mine = [record for record in records if _kind(record) == kind]
        y = [floor if record.y is None else record.y for record in mine]
        if mine:
            ax.plot([r.number for r in mine], y, marker, color=colour, markersize=4, linestyle="none", label=kind)
    if ax.get_lines():
        place_legend(ax)
    label_axes(ax, "trial", "y")
    return ax


def draw_places(records: Sequence[Record], space: Box) -> list[tuple[str, Axes]]:
    """Where the runs went: a panel for each pair of the first inputs, or one along the only input."""
    pairs = list(combinations(space.names, 2))[:MOST_PANELS] or [(space.names[0], "y")]
    return [(f"{first} and {second}", _draw_pair(records, space, first, second)) for first, second in pairs]


def _draw_pair(records: Sequence[Record], space: Box, first: str, second: str) -> Axes:
    ax = new_axes(PANEL)
    for kind, colour, marker in KINDS:
        mine = [record for record in records if _kind(record) == kind]
        x, y = (_positions(mine, space, name) for name in (first, second))
        ax.plot(x, y, marker, color=colour, markersize=3.5, linestyle="none", alpha=0.8)
    for axis, name in (("x", first), ("y", second)):
        _scale(ax, axis, space.inputs.get(name))
    ax.tick_params(labelcolor=INK)
    label_axes(ax, first, second)
    return ax


def _kind(record: Record) -> str | None:
    if record.state == "failed":
        return "failed"
    if record.state != "done":
        return None
    return "initial" if record.source == "initial" else "later"


def _positions(records: Sequence[Record], space: Box, name: str) -> list[float]:
    kind = space.inputs.get(name)
    if kind is None:  # the response, beside an only input
        return [np.nan if record.y is None else record.y for record in records]
    values = [record.x[name] for record in records]
    return [kind.values.index(value) if isinstance(kind, Choice) else float(value) for value in values]


def _scale(ax: Axes, axis: str, kind: Input | None) -> None:
    if isinstance(kind, Log):
        ax.set_xscale("log") if axis == "x" else ax.set_yscale("log")
    if isinstance(kind, Integer) and kind.upper - kind.lower < MOST_TICKS:
        whole = range(kind.lower, kind.upper + 1)
        (ax.set_xticks if axis == "x" else ax.set_yticks)(whole, [str(value) for value in whole])
    if isinstance(kind, Choice):
        ticks = [shorten(str(value), LONGEST_TICK) for value in kind.values]
        (ax.set_xticks if axis == "x" else ax.set_yticks)(range(len(ticks)), ticks)
