"""The problems that AutoSurrogate is measured on, each a function from a replicate's number to a split.

Those that need the shared data folder are absent without it. How runs are drawn is told in
`genbayes_bench.problems`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from genbayes_bench.problems import (
    Split,
    draw_bgp,
    draw_exp2d,
    draw_friedman,
    draw_grace,
    draw_phantom,
    draw_standin,
    draw_star,
    draw_uci,
)
from genbayes_bench.studies.baselines.data import REFERENCE, motorcycle_splits

__all__ = ["PROBLEMS", "Problem"]

DATA = Path(__file__).parents[6] / "shared" / "data"


@dataclass(frozen=True)
class Problem:
    """A problem and who is to be beaten on it.

    Attributes:
        draw: Replicate's number to a split.
        rivals: Models that AutoSurrogate must tie with or beat, by name.
        n_replicates: Replicates of the full measurement.
        needs: Folder without which it cannot be run, or None.
    """

    draw: Callable[[int], Split]
    rivals: tuple[str, ...]
    n_replicates: int = 10
    needs: Path | None = None


@cache
def all_motorcycle_splits() -> list[Split]:
    """The splits that R's hetGP was scored on."""
    return list(motorcycle_splits())


SPECIALISTS = ("StationaryGP", "HeteroskedasticGP", "BoostedQuantiles", "QuantileSurrogate")
JUMPS = ("ModularJumpGP", "GBC-Aug")
PROBLEMS: dict[str, Problem] = {
    "bgp2": Problem(lambda r: draw_bgp(2, r), ("StationaryGP",)),
    "bgp3": Problem(lambda r: draw_bgp(3, r), ("StationaryGP",)),
    "bgp4": Problem(lambda r: draw_bgp(4, r), ("StationaryGP",)),
    "friedman": Problem(draw_friedman, ("StationaryGP",)),
    "motorcycle": Problem(lambda r: all_motorcycle_splits()[r], ("HeteroskedasticGP",), 50, REFERENCE),
    "exp2d": Problem(draw_exp2d, ("StationaryGP",)),
    "grace": Problem(draw_grace, ("StationaryGP",), needs=DATA),
    "phantom": Problem(draw_phantom, JUMPS, 3),
    "star": Problem(draw_star, JUMPS, 3),
    "phantom-standin": Problem(draw_standin("phantom"), JUMPS, 3, DATA),
    "star-standin": Problem(draw_standin("star"), JUMPS, 3, DATA),
    "concrete": Problem(draw_uci("concrete"), SPECIALISTS, needs=DATA),
    "energy": Problem(draw_uci("energy"), SPECIALISTS, needs=DATA),
    "yacht": Problem(draw_uci("yacht"), SPECIALISTS, needs=DATA),
    "power-plant": Problem(draw_uci("power-plant"), SPECIALISTS, needs=DATA),
}
