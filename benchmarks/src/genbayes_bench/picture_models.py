"""Pictures of what models predict: bands along one input and surfaces over two, paper Figures 1 to 3."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from genbayes.plotting.fan import plot_fan
from genbayes_bench.exhibits import exhibits_of
from genbayes_bench.labels import method_title
from genbayes_bench.picture import Picture, share_legend
from genbayes_bench.plotting.panels import PAGE, name_panel, new_panels
from genbayes_bench.plotting.surface import add_colour_bar, plot_points, plot_surface
from genbayes_bench.summary import Results

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_jump", "draw_motorcycle", "draw_surface"]

JUMP_PANELS = ("gp", "gbc-paper", "gbc")
MOTORCYCLE_PANELS = ("gp", "het-gp", "gbc-paper", "gbc")
SURFACE_PANELS = ("gp", "gbc-paper", "gbc")


def draw_jump(results: Results) -> Picture:
    """Figure 1: bands along the one input of the jump, the process and the networks side by side."""
    picture = Picture(
        "figure1-jump",
        "Figure 1: a jump in one dimension",
        "Medians with 50% and 90% bands after 100 noise-free runs (dots). The process has one length scale for all of "
        "the curve; the network may be sharp in one place and smooth in another.",
        "Figure 1 is not there yet: no record of jump1d holds its curves; genbayes bench run jump1d makes them.",
    )
    return _fans(picture, results, "jump1d", JUMP_PANELS, 1, 2.5, "x", "y")


def draw_motorcycle(results: Results) -> Picture:
    """Figure 2: motorcycle data, four panels."""
    picture = Picture(
        "figure2-motorcycle",
        "Figure 2: motorcycle crash data",
        "Medians with 50% and 90% bands; dots are the runs of the first split that were learnt from. The stationary "
        "process has one spread everywhere; the others follow the data.",
        "Figure 2 is not there yet: no record of motorcycle holds curves; genbayes bench run motorcycle makes them.",
    )
    return _fans(picture, results, "motorcycle", MOTORCYCLE_PANELS, 2, 4.4, "time (ms)", "acceleration (g)")


def draw_surface(results: Results) -> Picture:
    """Figure 3: mean surfaces of BGP in two dimensions beside the truth."""
    picture = Picture(
        "figure3-bgp",
        "Figure 3: two surfaces parted by a line (BGP, d = 2)",
        "Predicted means of the first replicate, one scale of colours; left, the noise-free truth at the test inputs. "
        "The dashed line is where the truth jumps.",
        "Figure 3 is not there yet: no record of bgp2 holds its surface; genbayes bench run bgp2 makes them.",
    )
    found = exhibits_of(results.records, "bgp2")
    shown = [method for method in SURFACE_PANELS if method in found]
    if not shown:
        return picture
    first = found[shown[0]]
    limits = float(min(first["f_test"])), float(max(first["f_test"]))
    axes = new_panels(1, len(shown) + 1, (PAGE, 2.3), shared=True)
    plot_points(np.transpose(first["X_test"]), first["f_test"], limits, boundary=first["normal"], ax=axes[0])
    name_panel(axes[0], "Truth")
    for ax, method in zip(axes[1:], shown, strict=True):
        own = found[method]
        plot_surface(own["x1"], own["x2"], own["mean"], limits, boundary=own["normal"], ax=ax)
        name_panel(ax, method_title(method))
        ax.set_ylabel("")
    add_colour_bar(axes, limits, "y")
    return picture.drawn_on(axes[0])


def _fans(
    picture: Picture,
    results: Results,
    problem: str,
    panels: Sequence[str],
    n_rows: int,
    height: float,
    xlabel: str,
    ylabel: str,
) -> Picture:
    """Bands of several methods in panels of one scale."""
    found = exhibits_of(results.records, problem)
    shown = [method for method in panels if method in found]
    if not shown:
        return picture
    rows = n_rows if len(shown) > n_rows else 1
    n_columns = -(-len(shown) // rows)
    axes = new_panels(rows, n_columns, (PAGE, height), shared=True, legend=0.3 / height)
    for place, (ax, method) in enumerate(zip(axes, shown, strict=False)):
        _fan(ax, found[method], xlabel if place >= len(shown) - n_columns else "", "" if place % n_columns else ylabel)
        name_panel(ax, method_title(method))
    for ax in axes[len(shown) :]:
        ax.set_axis_off()
    _limit(axes[0], found[shown[0]]["y_train"])
    share_legend(axes[:1])
    return picture.drawn_on(axes[0])


def _fan(ax: Axes, own: Mapping[str, Any], xlabel: str, ylabel: str) -> None:
    bands = [(level, lower, upper) for level, lower, upper in own["bands"]]
    plot_fan(
        own["x"],
        own["median"],
        bands,
        x_observed=own["x_train"],
        y_observed=own["y_train"],
        ax=ax,
        xlabel=xlabel,
        ylabel=ylabel,
        legend=False,
    )


def _limit(ax: Axes, y: Sequence[float]) -> None:
    """Limits that hold the runs and a third of their range beyond, so that one wild band does not squeeze the rest."""
    low, high = min(y), max(y)
    below, above = ax.get_ylim()
    room = (high - low) / 3
    ax.set_ylim(max(below, low - room), min(above, high + room))
