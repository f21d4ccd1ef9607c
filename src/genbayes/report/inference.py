"""The page of a posterior: what the observation says of the parameters, and how far that can be trusted."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from genbayes.arrays import FloatArray
from genbayes.errors import InvalidInput
from genbayes.inference.calibration import LEVELS, CalibrationReport
from genbayes.inference.regions import MarginRegion
from genbayes.plotting import plot_corner, plot_predictive, plot_reliability
from genbayes.plotting.style import default_settings, label_axes, new_axes
from genbayes.report.page import (
    Html,
    Tile,
    bullets,
    card,
    drawing,
    figure,
    format_number,
    grid,
    join,
    paragraph,
    strong,
    tiles,
    write_page,
)
from genbayes.writing import check_writable

if TYPE_CHECKING:
    from genbayes.inference import Posterior, PosteriorEstimator

N_DRAWS = 10_000
PANEL = (3.4, 2.7)  # inches
MOST_PLOTTED = 12  # parameters of a corner plot
LEVEL = 0.9


def write_inference(
    path: str | os.PathLike[str],
    estimator: PosteriorEstimator,
    y: ArrayLike,
    *,
    title: str,
    predictive: ArrayLike | None = None,
    draws: ArrayLike | None = None,
) -> CalibrationReport:
    """Write one self-contained HTML page about the posterior given an observation, whole or not at all.

    Args:
        path: The file to write or replace.
        estimator: A fitted estimator.
        y: The observation, shape (p,).
        title: Headline of the page.
        predictive: Responses simulated with draws from the posterior, shape (n, p); None to weigh the simulations that
            the estimator keeps, where enough of them lie in the posterior.
        draws: Draws from the posterior, shape (n, k); None for fresh ones.

    Returns:
        The calibration shown on the page.
    """
    path = check_writable(path)
    posterior, report = estimator.condition(y), estimator.report_
    theta = posterior.sample(N_DRAWS, random_state=0) if draws is None else np.asarray(draws, dtype=np.float64)
    outside = bool(posterior.outside.any())
    with default_settings():
        blocks = [
            _verdict(report, outside),
            *([bullets(estimator.notes_, kind="notes")] if estimator.notes_ else []),
            tiles(_tiles(estimator, report, outside)),
            card("Parameters", _margins(posterior, estimator)),
            _corner(theta, posterior),
            _predictive(posterior, np.asarray(y, dtype=np.float64).ravel(), predictive),
            _calibration(report),
            card("Coverage on held-out pairs", _coverage(report)),
        ]
    subtitle = f"The posterior of {', '.join(posterior.names)} given {', '.join(estimator.response_names_)}."
    write_page(path, title, subtitle, blocks)
    return report


def _verdict(report: CalibrationReport, outside: bool) -> Html:
    warning = "The observation lies outside what was simulated: its posterior is extrapolated. " if outside else ""
    attention = outside or not report.calibrated
    said = " ".join(report.sentences)
    return paragraph(strong(warning) if warning else "", said, kind="verdict attention" if attention else "verdict")


def _tiles(estimator: PosteriorEstimator, report: CalibrationReport, outside: bool) -> list[Tile]:
    smallest = min(report.p_values.values())
    return [
        Tile("Simulations", f"{estimator.n_pairs_:,}", f"{report.n_pairs:,} of them held out for the checks"),
        Tile("Observation", "outside" if outside else "inside", "what was simulated", attention=outside),
        Tile(
            "Smallest p-value",
            format_number(smallest, 2) if smallest >= 0.001 else "< 0.001",
            f"of {len(report.checks)} calibration checks, after Holm",
            attention=not report.calibrated,
        ),
        Tile("Joint 90% regions", f"{100 * _joint(report):.3g}%", "of held-out parameters lie inside"),
    ]


def _joint(report: CalibrationReport) -> float:
    joint = [check for check in report.checks if not check.is_margin]
    return joint[0].coverage(LEVEL)


def _margins(posterior: Posterior, estimator: PosteriorEstimator) -> Html:
    mean, sd = posterior.mean(), np.sqrt(np.diag(np.atleast_2d(posterior.cov())))
    lower, upper = posterior.interval(LEVEL)
    rows = []
    for j, name in enumerate(posterior.names):
        rows.append(
            (name, format_number(float(mean[j]), 4), format_number(float(sd[j]), 3),
             _interval(float(lower[j]), float(upper[j])), _conformal(posterior, j))
        )  # fmt: skip
    return grid(["parameter", "mean", "sd", "90% interval", "conformal 90% interval"], rows)


def _conformal(posterior: Posterior, j: int) -> str:
    """The conformal interval, or why there is none."""
    try:
        region = posterior.region(LEVEL, j)
    except InvalidInput:
        return "too few held-out pairs"
    assert isinstance(region, MarginRegion)
    return _interval(float(region.lower), float(region.upper))


def _interval(lower: float, upper: float) -> str:
    return f"{format_number(lower, 4)} to {format_number(upper, 4)}"


def _corner(theta: FloatArray, posterior: Posterior) -> Html:
    names = posterior.names[:MOST_PLOTTED]
    k = len(names)
    support = posterior.prior.lower[:k], posterior.prior.upper[:k]
    plotted = plot_corner(theta[:, :k], names, support=support)
    left_out = f" The first {k} of {len(posterior.names)} parameters are shown." if k < len(posterior.names) else ""
    return figure(
        "Posterior",
        [drawing(plotted.axes[0], "corner", f"margins and pairs of {', '.join(names)}")],
        "On the diagonal the distribution of each parameter: the dashed line is its median, the dark part its central "
        "90% interval. Below it pairs of parameters: the contours hold 50% and 90% of the draws. Panels end where "
        f"nearly all draws lie, or at the end of the prior's support.{left_out}",
    )


def _predictive(posterior: Posterior, observed: FloatArray, given: ArrayLike | None) -> Html:
    names = list(posterior.estimator.response_names_)
    simulated, how = _replicates(posterior, given)
    if simulated is None:
        return card("Posterior predictive check", paragraph(how))
    low, high = np.quantile(simulated, [0.05, 0.95], axis=0)
    n_out = int(((observed < low) | (observed > high)).sum())
    plotted = plot_predictive(simulated, observed, names)
    return figure(
        "Posterior predictive check",
        [drawing(plotted.axes[0], "predictive", "observed responses against those simulated with the posterior")],
        "Lines are responses simulated with parameters from the posterior: thin ones hold 90% of them, thick ones "
        "half; dots are what was observed, each in half widths of its thin line. "
        f"{n_out} of {len(observed)} lie outside the 90% (orange); about {0.1 * len(observed):.1g} are expected. ",
        how,
    )


def _replicates(posterior: Posterior, given: ArrayLike | None) -> tuple[FloatArray | None, str]:
    """Responses under the posterior (n, p), and where they come from; or None and why not."""
    if given is not None:
        simulated = np.asarray(given, dtype=np.float64)
        return simulated, f"From {len(simulated):,} simulations with draws from the posterior."
    found = posterior.replicates()
    if found is None:
        return None, (
            "Too few of the simulations lie within this posterior to stand for it. Run the simulator with the draws "
            "that were written, and pass its responses with --predictive."
        )
    return (
        found.y,
        f"From the simulations of the fit, weighted by this posterior (effective number {found.effective:.0f}).",
    )


def _calibration(report: CalibrationReport) -> Html:
    drawings = []
    for place, check in enumerate(report.checks):
        curve, ax = check.curve, new_axes(PANEL)
        plot_reliability(curve.nominal, curve.share, curve.lower, curve.upper, ax=ax)
        label_axes(ax, f"rank by {check.name}", "share of pairs below − rank")
        drawings.append(drawing(ax, f"ranks-{place}", f"ranks of held-out parameters by {check.name}"))
    return figure(
        "Calibration",
        drawings,
        f"Each of {report.n_pairs:,} held-out pairs asks for the posterior given its y and ranks its own parameters "
        f"among {report.n_draws} draws: by each parameter, by the density, by the distance to a reference point. Ranks "
        "of a calibrated estimator are uniform, a curve at zero, and stay within the grey band. Above, then below "
        "zero: posteriors too narrow; below, then above: too wide.",
    )


def _coverage(report: CalibrationReport) -> Html:
    head = ["regions ordered by", *(f"{100 * level:g}% hold" for level in LEVELS), "p-value after Holm"]
    adjusted = report.p_values
    rows: list[Sequence[str]] = [
        (check.name, *(f"{100 * check.coverage(level):.1f}%" for level in LEVELS), f"{adjusted[check.name]:.2g}")
        for check in report.checks
    ]
    note = paragraph(
        "Shares of held-out parameters that the posterior's own regions hold. posterior.region(level) gives regions "
        "corrected for the difference."
    )
    return join(grid(head, rows), note)
