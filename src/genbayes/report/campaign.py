"""The page of a campaign: how far it is, how its error fell with the runs, and where they went."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from genbayes.campaign.learning_curve import LearningCurve
from genbayes.campaign.trial import Record
from genbayes.data import Box, Choice, Integer, Log
from genbayes.data.box import Input
from genbayes.plotting.style import (
    BLUE,
    INK,
    MUTED,
    ORANGE,
    default_settings,
    label_axes,
    new_axes,
    place_legend,
    shorten,
)
from genbayes.report.page import Html, Tile, card, columns, drawing, figure, paragraph, table, tiles, write_page

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from genbayes.campaign import Campaign, Status

MEDIUM, PANEL = (4.6, 3.1), (3.3, 2.9)  # inches
MOST_PANELS = 6
LONGEST_TICK = 12
MOST_TICKS = 10  # whole numbers that are all named

# How each kind of run is drawn: name, colour, marker
KINDS = (("initial", MUTED, "o"), ("later", BLUE, "o"), ("failed", ORANGE, "x"))
FIRST_LINE = 90  # characters of why a run failed


@dataclass(frozen=True)
class ShownResponse:
    """Which response of a campaign a page shows.

    Args:
        name: Its name.
        names: All responses of the campaign.
    """

    name: str
    names: Sequence[str]

    def value(self, record: Record, without: float = np.nan) -> float:
        """The response of a trial, or what stands for one that is not done."""
        return record.responses[self.names.index(self.name)] if record.responses else without


ONE = ShownResponse("y", ["y"])


def write_campaign(
    path: Path, campaign: Campaign, status: Status, learnt: LearningCurve, *, response: str | None = None
) -> None:
    """Write the page of a campaign, whole or not at all.

    Args:
        path: Where to; an old page is replaced.
        campaign: The campaign.
        status: Where it stands.
        learnt: How its error fell with the runs, or the reason why there is no curve.
        response: Which response is drawn, by name; None for the first.
    """
    shown = ShownResponse(campaign.settings.responses[0] if response is None else response, campaign.settings.responses)
    numbers = [
        Tile("Done", str(status.n_done), f"of {status.budget}" if status.budget else "no limit set"),
        Tile("Running", str(status.n_running), f"{status.n_open} waiting"),
        Tile("Failed", str(status.n_failed), "no result", attention=status.n_failed > 0),
        Tile("Lapsed", str(status.n_lapses), f"{status.n_lapsed} to be offered again"),
    ]
    with default_settings():
        figures = _figures(campaign, learnt, shown)
    facts = card("Where it stands", table(describe_status(status).items()))
    of_several = f" Of {', '.join(shown.names)} it shows {shown.name}." if len(shown.names) > 1 else ""
    subtitle = f"A campaign over {', '.join(campaign.space.names)}, kept in {campaign.url}.{of_several}"
    write_page(path, status.name, subtitle, [tiles(numbers), *figures, facts])


def describe_status(status: Status) -> dict[str, str]:
    """Where a campaign stands, by name, in words."""
    facts = {"done": str(status.n_done), "running": str(status.n_running), "failed": str(status.n_failed)}
    facts |= {"open": f"{status.n_open}, of which {status.n_lapsed} lapsed" if status.n_lapsed else str(status.n_open)}
    facts |= {"lapsed leases": str(status.n_lapses), "repeats": str(status.n_repeats)}
    facts |= {"budget": f"{status.budget} trials" if status.budget else "no limit"}
    facts |= {"workers": ", ".join(f"{each} ({n})" for each, n in status.workers.items()) or "none"}
    return facts | {f"trial {number} failed": _first_line(reason) for number, reason in status.failures}


def tell_worth(learnt: LearningCurve) -> str:
    """How much a tenth more runs are expected to help, in one sentence."""
    n_more = max(1, round(learnt.n[-1] / 10))
    runs = f"{n_more} more run{'s' if n_more > 1 else ''}"
    gain, error = learnt.expected_gain(n_more), learnt.gain_error(n_more)
    return f"At this rate, {runs} would lower the CRPS by about {gain:.0%} ± {error:.0%}."


def _first_line(reason: str) -> str:
    line = " ".join(reason.split())
    return line if len(line) <= FIRST_LINE else line[:FIRST_LINE] + "..."


def _figures(campaign: Campaign, learnt: LearningCurve, shown: ShownResponse) -> list[Html]:
    records: Sequence[Record] = campaign.records()
    order = figure(
        "Responses in order",
        [drawing(draw_order(records, shown), "order", "responses against trial numbers")],
        "A dot is a run, a cross a failed one; all are numbered in the order in which they were planned.",
    )
    places = draw_places(records, campaign.space, shown)
    where = figure(
        "Where the runs went",
        [drawing(ax, f"places-{i}", f"runs over {pair}") for i, (pair, ax) in enumerate(places)],
        "Grey dots are the initial design, blue ones came later, orange crosses failed.",
    )
    if not len(learnt.n):
        return [paragraph(learnt.reason), order, where]
    caption = (
        f"Each dot is the CRPS of a {learnt.model} on runs it had not seen (the average distance between prediction "
        f"and outcome, in the unit of {shown.name}), cross-validated on the first runs, with one standard error. "
        f"A flat end means that further runs help little. {tell_worth(learnt)} "
        "Runs that were chosen where the response is difficult are scored there."
    )
    curve = drawing(draw_curve(learnt), "curve", "CRPS of unseen runs against the number of runs")
    return [columns(figure("Learning curve", [curve], caption), order), where]


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


def draw_order(records: Sequence[Record], shown: ShownResponse = ONE) -> Axes:
    """Responses in the order of the trials; failed ones along the bottom."""
    ax = new_axes(MEDIUM)
    ax.locator_params("x", integer=True)
    floor = min((shown.value(record) for record in records if record.responses), default=0.0)
    for kind, colour, marker in KINDS:
        mine = [record for record in records if _kind(record) == kind]
        y = [shown.value(record, floor) for record in mine]
        if mine:
            ax.plot([r.number for r in mine], y, marker, color=colour, markersize=4, linestyle="none", label=kind)
    if ax.get_lines():
        place_legend(ax)
    label_axes(ax, "trial", shown.name)
    return ax


def draw_places(records: Sequence[Record], space: Box, shown: ShownResponse = ONE) -> list[tuple[str, Axes]]:
    """Where the runs went: a panel for each pair of the first inputs, or one along the only input."""
    pairs = list(combinations(space.names, 2))[:MOST_PANELS] or [(space.names[0], shown.name)]
    return [(f"{first} and {second}", _draw_pair(records, space, first, second, shown)) for first, second in pairs]


def _draw_pair(records: Sequence[Record], space: Box, first: str, second: str, shown: ShownResponse) -> Axes:
    ax = new_axes(PANEL)
    for kind, colour, marker in KINDS:
        mine = [record for record in records if _kind(record) == kind]
        x, y = (_positions(mine, space, name, shown) for name in (first, second))
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


def _positions(records: Sequence[Record], space: Box, name: str, shown: ShownResponse) -> list[float]:
    kind = space.inputs.get(name)
    if kind is None:  # the response, beside an only input
        return [shown.value(record, np.nan) for record in records]
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
