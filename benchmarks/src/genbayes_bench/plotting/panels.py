"""Several panels in one figure, the looks that tell series apart, and pictures written to files.

Sizes are those of a two-column paper: 3.4 inches for one column, 7 inches for both, lettering of 8 to 9 points as it
will be printed. A series has a colour of Okabe and Ito (2008), a marker and a dash of its own, so that it can be told
apart without colour.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from genbayes.errors import InvalidInput
from genbayes.plotting.style import BLUE, FONT_SIZE, INK, ORANGE, dress
from genbayes.writing import check_writable, write_atomically

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["COLUMN", "LOOKS", "PAGE", "Look", "name_panel", "new_panels", "save_picture"]

COLUMN, PAGE = 3.4, 7.0  # inches: one column, both columns
DPI = 200
GREEN, PINK, AMBER, SKY = "#009e73", "#cc79a7", "#e69f00", "#56b4e9"
WINE = "#882255"  # of Tol (2021): dark where the others are light
LONGEST_DASH = (0, (6, 2))


@dataclass(frozen=True)
class Look:
    """How a series is drawn: colour, marker and dash."""

    colour: str
    marker: str
    dash: str | tuple[int, tuple[int, ...]]


LOOKS = (
    Look(BLUE, "o", "-"),
    Look(ORANGE, "s", "-"),
    Look(GREEN, "^", LONGEST_DASH),
    Look(PINK, "D", (0, (4, 2))),
    Look(AMBER, "v", (0, (5, 1, 1, 1))),
    Look(SKY, "P", (0, (3, 1))),
    Look(INK, "X", (0, (1, 1))),
    Look(WINE, "p", (0, (2, 2))),
)


def new_panels(
    n_rows: int, n_columns: int, size: tuple[float, float], *, shared: bool = False, legend: float = 0.0
) -> list[Axes]:
    """Dressed axes of one new figure, row by row.

    Args:
        n_rows: Rows of panels.
        n_columns: Columns of panels.
        size: Width and height of the figure in inches.
        shared: Whether all panels have the same limits, with labels at the left and the bottom only.
        legend: Share of the height that is left free above the panels.

    Returns:
        n_rows * n_columns axes.

    Example:
        >>> len(new_panels(2, 2, (7.0, 5.0), shared=True))
        4
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    if legend:
        engine = figure.get_layout_engine()
        assert engine is not None
        engine.set(rect=(0.0, 0.0, 1.0, 1.0 - legend))  # type: ignore[call-arg]
    axes = figure.subplots(n_rows, n_columns, sharex=shared, sharey=shared, squeeze=False)
    for ax in axes.flat:
        dress(ax)
    return list(axes.flat)


def name_panel(ax: Axes, name: str) -> None:
    """A short name above the left end of a panel, taken literally."""
    ax.set_title(name, loc="left", fontsize=FONT_SIZE, color=INK, parse_math=False)


def save_picture(figure: Figure, path: str | os.PathLike[str]) -> Path:
    """Write a figure as PNG or SVG, by the ending of the name, whole or not at all.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     save_picture(new_panels(1, 1, (2.0, 2.0))[0].get_figure(), Path(folder) / "a.png").name
        'a.png'
    """
    import io

    target = check_writable(path)
    kind = target.suffix.lower().removeprefix(".")
    if kind not in ("png", "svg"):
        raise InvalidInput(f"path must end in .png or .svg, got {str(target)!r}")
    content = io.BytesIO()
    metadata = {"Date": None} if kind == "svg" else {}  # the same figure, the same file
    figure.savefig(content, format=kind, dpi=DPI, facecolor="white", metadata=metadata)
    return write_atomically(target, content.getvalue())
