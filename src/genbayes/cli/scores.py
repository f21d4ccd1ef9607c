"""How an assessment is shown in a terminal: each score with its meaning."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from genbayes.cli.console import print_table

if TYPE_CHECKING:
    from genbayes.analysis import Assessment

__all__ = ["print_scores"]

BARS = "▁▂▃▄▅▆▇█"


def print_scores(assessment: Assessment, title: str) -> None:
    """The scores of a model on rows it has not seen."""
    s = assessment.to_dict()
    low, high = s["coverage_90_expected"]
    parts = s["diagnostics"]["crps_decomposition"]
    rows = [
        (
            "CRPS",
            f"{s['crps']:.4g} ± {s['crps_se']:.2g}",
            f"less is better; {s['crps_reference']:.4g} without any input",
        ),
        (
            "miscalibration",
            f"{parts['miscalibration']:.4g}",
            f"part of the CRPS; about {parts['by_luck']:.2g} is luck",
        ),
        (
            "discrimination",
            f"{parts['discrimination']:.4g}",
            f"gained on {parts['uncertainty']:.4g} by telling rows apart",
        ),
        ("RMSE", f"{s['rmse']:.4g}", "of the mean"),
        ("50% intervals", f"{s['coverage_50']:.0%} held", f"{s['width_50']:.4g} wide"),
        (
            "90% intervals",
            f"{s['coverage_90']:.0%} held",
            f"{s['width_90']:.4g} wide; {low:.0%} to {high:.0%} expected",
        ),
        ("PIT", draw_bars(s["pit_counts"]), "flat when calibrated"),
    ]
    print_table(title, ["", f"{s['n']:,} rows", ""], rows, note=s["diagnostics"]["sentence"])


def draw_bars(counts: Sequence[float]) -> str:
    """A histogram one character high.

    Example:
        >>> draw_bars([0, 2, 4])
        '▁▅█'
    """
    most = max(counts)
    return "".join(BARS[round(count / most * (len(BARS) - 1))] if most else BARS[0] for count in counts)
