"""The page of a comparison: which surrogate to trust with these runs, by scores on rows that none had seen."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from genbayes.auto import SelectionReport
from genbayes.diagnostics import expected_coverage
from genbayes.models.protocols import Predicts
from genbayes.plotting import plot_scores
from genbayes.plotting.style import default_settings, new_axes
from genbayes.report.figures import (
    SMALL,
    Examination,
    calibration_figure,
    effects_figure,
    fan_figure,
    observed_figure,
    pit_figure,
    reliability_figure,
)
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
    grid,
    paragraph,
    table,
    tiles,
    write_page,
)
from genbayes.writing import check_writable

JOINED = {"single": "alone", "average": "quantiles averaged", "pool": "distributions pooled"}
WIDTH, ROW = 8.2, 0.34  # inches of the picture of scores, and of each model in it


def write_comparison(
    path: str | os.PathLike[str],
    report: SelectionReport,
    model: Predicts | None = None,
    X: ArrayLike | None = None,
    y: ArrayLike | None = None,
    *,
    title: str,
    target: str = "y",
    n_rows: int = 0,
    everywhere: ArrayLike | None = None,
) -> Path:
    """Write one self-contained HTML page about a comparison, whole or not at all.

    Args:
        path: The file to write or replace.
        report: What AutoSurrogate tried and chose.
        model: The choice, fitted without the rows below; None to show scores alone.
        X: Inputs that it has not seen, shape (h, d).
        y: Their responses, shape (h,).
        title: Headline of the page.
        target: Name of the response with its unit.
        n_rows: Rows of the table; 0 for not known.
        everywhere: Inputs that main effects and slices range over, such as those of all rows; None for X.

    Returns:
        The file.
    """
    path = check_writable(path)
    with default_settings():
        blocks = [
            paragraph(report.reason, kind="verdict"),
            paragraph(report.tally),
            bullets([report.trust, *_thin(report)], kind="notes"),
            tiles(_tiles(report, target)),
            scores_figure(report, target),
            table_of_scores(report),
            columns(
                pit_figure(report.diagnostics),
                reliability_figure(report.diagnostics, SMALL),
                calibration_figure(report.diagnostics, SMALL),
            ),
        ]
        if model is not None and X is not None and y is not None:
            blocks += _chosen(Examination.of(model, X, y, everywhere), target)
    rows = f"{n_rows:,} rows, " if n_rows else ""
    return write_page(path, title, f"{rows}{_scored(report)} in {report.seconds:.0f} s.", blocks)


def _scored(report: SelectionReport) -> str:
    """How many surrogates there were, and how many of them have a score."""
    n, n_scored = len(report.entries), sum(entry.crps is not None for entry in report.entries)
    if n_scored == n:
        return f"{n} surrogates, each scored on rows it had not seen,"
    return f"{n} surrogates, {n_scored} of them scored on rows they had not seen,"


def _chosen(seen: Examination, target: str) -> list[Html]:
    """The chosen model itself: predicted against observed, slices, main effects."""
    a = seen.assessment
    low, high = expected_coverage(a.n, 0.9)
    facts = {
        "CRPS of these rows": format_with_error(a.crps, a.crps_se),
        "if the inputs are ignored": format_number(a.crps_reference),
        "RMSE": format_number(a.rmse),
        "90% intervals hold": f"{format_share(a.coverage_90)}; {format_share(low)} to {format_share(high)} expected",
        "their width on average": format_number(a.width_90),
    }
    told = card(
        "The chosen model",
        paragraph(
            f"For these pictures the choice was made again without {a.n:,} rows drawn at random, which it then "
            "predicted. A model file holds a fit to all rows."
        ),
        table(facts.items()),
    )
    effects = [effects_figure(seen.effects, target)] if len(seen.effects) > 1 else []  # of an only input: the fan
    return [columns(told, observed_figure(a, target)), fan_figure(seen, target), *effects]


def _thin(report: SelectionReport) -> list[str]:
    if not report.thin:
        return ["The runs cover the range of every input up to its ends."]
    return [f"Few runs, so little is known there: {'; '.join(report.thin)}."]


def _tiles(report: SelectionReport, target: str) -> list[Tile]:
    chosen = [entry for entry in report.entries if entry.weight > 0]
    parts = report.diagnostics["crps_decomposition"]
    held = coverage_of(report.diagnostics, 0.9)
    return [
        Tile("Chosen", " + ".join(entry.name for entry in chosen), JOINED.get(report.kind, "")),
        Tile(
            "CRPS",
            format_number(report.crps, 3),
            f"± {format_number(report.crps_se, 2)}; average distance to the outcome, in the unit of {target}",
        ),
        Tile("90% intervals", f"hold {held:.0%}", "of rows that no model had seen"),
        Tile(
            "Miscalibration", format_number(parts["miscalibration"], 2), f"{parts['by_chance']:.2g} expected by chance"
        ),
    ]


def coverage_of(diagnostics: Mapping[str, Any], level: float) -> float:
    """The share of rows in intervals of about this level, from diagnostics as plain values."""
    curve = diagnostics["intervals"]
    gaps = [abs(nominal - level) for nominal in curve["nominal"]]
    return float(curve["share"][gaps.index(min(gaps))])


def scores_figure(report: SelectionReport, target: str) -> Html:
    """How far every surrogate is behind the best."""
    scored = sorted((e for e in report.entries if e.behind is not None), key=lambda e: e.behind or 0.0)
    best = next((e.crps for e in scored if e.lag == "best" and e.crps is not None), report.crps)
    ax = plot_scores(
        [entry.title for entry in scored],
        [best + entry.behind for entry in scored if entry.behind is not None],
        [entry.behind_se for entry in scored if entry.behind_se is not None],
        [entry.weight > 0 for entry in scored],
        ax=new_axes((WIDTH, 1.0 + ROW * len(scored))),
        xlabel="CRPS on unseen rows",
    )
    return figure(
        "Scores of the surrogates",
        [drawing(ax, "scores", "CRPS of each surrogate")],
        f"Dots are mean scores in the unit of {target}: that of the best, and how far the others are behind it on the "
        "same rows, with lines of one standard error of that difference. Smaller is better; orange ones make "
        "up the model.",
    )


def table_of_scores(report: SelectionReport) -> Html:
    """All candidates, a row each."""
    head = ("name", "surrogate", "CRPS", "± SE", "behind", "rows", "seconds", "weight", "")
    return card("Every surrogate", grid(head, report.cells(format_number)))
