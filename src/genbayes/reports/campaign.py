"""The page of a campaign: how far it is, what its runs have bought, and where they went."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from genbayes.design.pictures import draw_curve, draw_order, draw_places
from genbayes.plotting.svg import default_settings
from genbayes.reports.page import Html, Tile, card, columns, drawing, figure, page, table, tiles
from genbayes.writing import write_atomically

if TYPE_CHECKING:
    from genbayes.design import Campaign, Status
    from genbayes.design.learning import LearningCurve
    from genbayes.design.trial import Record

__all__ = ["describe_status", "tell_worth", "write_campaign"]

FIRST_LINE = 90  # characters of why a run failed


def write_campaign(path: Path, campaign: Campaign, told: Status, learnt: LearningCurve) -> None:
    """Write the page of a campaign, whole or not at all.

    Args:
        path: Where to; an old page is replaced.
        campaign: The campaign.
        told: Where it stands.
        learnt: What its runs have bought.
    """
    numbers = [
        Tile("Done", str(told.n_done), f"of {told.budget}" if told.budget else "no end set"),
        Tile("Running", str(told.n_running), f"{told.n_open} wait"),
        Tile("Failed", str(told.n_failed), "gave nothing", attention=told.n_failed > 0),
        Tile("Lapsed", str(told.n_lapses), f"{told.n_lapsed} to be offered again"),
    ]
    with default_settings():
        figures = _figures(campaign, learnt)
    facts = card("Where it stands", table(describe_status(told).items()))
    footer = f"Written by genbayes on {datetime.now(UTC):%d %B %Y}."
    subtitle = f"A campaign over {', '.join(campaign.space.names)}, kept in {campaign.url}."
    write_atomically(path, page(told.name, subtitle, [tiles(numbers), *figures, facts], footer).encode())


def describe_status(told: Status) -> dict[str, str]:
    """Where a campaign stands, by name, in words."""
    facts = {"done": str(told.n_done), "running": str(told.n_running), "failed": str(told.n_failed)}
    facts |= {"open": f"{told.n_open}, of which {told.n_lapsed} lapsed" if told.n_lapsed else str(told.n_open)}
    facts |= {"lapsed leases": str(told.n_lapses), "repeats": str(told.n_repeats)}
    facts |= {"budget": f"{told.budget} trials" if told.budget else "no end"}
    facts |= {"workers": ", ".join(f"{each} ({n})" for each, n in told.workers.items()) or "none"}
    return facts | {f"trial {number} failed": _first_line(reason) for number, reason in told.failures}


def tell_worth(learnt: LearningCurve) -> str:
    """What a tenth more runs may be expected to buy, in one sentence."""
    n_more = max(1, round(learnt.n[-1] / 10))
    return (
        f"If it goes on like this, the next {n_more} runs lower the CRPS by about {learnt.expected_gain(n_more):.0%}."
    )


def _first_line(reason: str) -> str:
    line = " ".join(reason.split())
    return line if len(line) <= FIRST_LINE else line[:FIRST_LINE] + "..."


def _figures(campaign: Campaign, learnt: LearningCurve) -> list[Html]:
    records: Sequence[Record] = campaign.records()
    order = figure(
        "Responses in order",
        [drawing(draw_order(records), "order", "responses against trial numbers")],
        "A dot is a run, a cross a failed one; all are numbered in the order in which they were planned.",
    )
    places = draw_places(records, campaign.space)
    where = figure(
        "Where the runs went",
        [drawing(ax, f"places-{i}", f"runs over {pair}") for i, (pair, ax) in enumerate(places)],
        "Grey dots are the initial design, blue ones came later, orange crosses failed.",
    )
    if not len(learnt.n):
        return [order, where]
    told = (
        "Each dot is the CRPS of a Gaussian process on runs it had not seen, cross-validated on the first runs, with "
        f"one standard error. Lower is better, a flat end means that further runs buy little. {tell_worth(learnt)} "
        "Runs that were chosen where the response is difficult are scored there."
    )
    curve = drawing(draw_curve(learnt), "curve", "CRPS of unseen runs against the number of runs")
    return [columns(figure("Learning curve", [curve], told), order), where]
