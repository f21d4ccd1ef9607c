"""The problems that AutoSurrogate is measured on, each a function from a replicate's number to a split.

Those that need the shared data folder are absent without it. GRACE and the tables of the UCI repository are split at
random, the seed being the replicate's number.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from scipy.stats import qmc

from benchmarks.baselines.data import REFERENCE, motorcycle_splits
from genbayes.arrays import FloatArray
from genbayes.benchmarks.problems import Split, draw_bgp, draw_friedman, draw_phantom, draw_star
from genbayes.data import read_table

__all__ = ["PROBLEMS", "Problem"]

DATA = Path(__file__).parents[3] / "shared" / "data"
EXP2D_NOISE = 0.1


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


def draw_exp2d(replicate: int) -> Split:
    """10 x1 exp(-x1^2 - x2^2) on [-2, 2]^2, 100 Latin hypercube points, noise 0.1."""
    rng = np.random.default_rng([7, replicate])
    X = 4 * qmc.LatinHypercube(2, rng=rng).random(100) - 2
    X_test = rng.uniform(-2, 2, (1000, 2))
    f, f_test = (10 * Z[:, 0] * np.exp(-(Z**2).sum(axis=1)) for Z in (X, X_test))
    y, y_test = (mean + EXP2D_NOISE * rng.standard_normal(len(mean)) for mean in (f, f_test))
    return Split(X, y, X_test, y_test, f_test=f_test, noise_sd=EXP2D_NOISE)


@cache
def table_of(path: Path) -> FloatArray:
    """A file of numbers, responses in the last column."""
    return read_table(path).to_numpy(dtype=np.float64)


@cache
def grace() -> FloatArray:
    """Drag of the GRACE satellite in helium: seven inputs and Cd."""
    table = read_table(DATA / "satellite_grace" / "grace_tpm_1000x6.csv")
    return table[table["species"] == "He"].drop(columns="species").to_numpy(dtype=np.float64)


def split_rows(rows: FloatArray, n_train: int, replicate: int) -> Split:
    """A random split of a table whose last column is the response."""
    order = np.random.default_rng([11, replicate]).permutation(len(rows))
    train, test = rows[order[:n_train]], rows[order[n_train:]]
    return Split(train[:, :-1], train[:, -1], test[:, :-1], test[:, -1])


def draw_grace(replicate: int) -> Split:
    """500 random rows to learn from, the other 500 to test on."""
    return split_rows(grace(), 500, replicate)


def draw_uci(name: str) -> Callable[[int], Split]:
    """Random 90:10 splits of a table of the UCI repository."""

    def draw(replicate: int) -> Split:
        rows = table_of(DATA / "uci" / f"{name}.csv")
        return split_rows(rows, round(0.9 * len(rows)), replicate)

    return draw


def draw_standin(name: str) -> Callable[[int], Split]:
    """Random 90:10 splits of the stand-ins for the jump data."""

    def draw(replicate: int) -> Split:
        table = read_table(DATA / "phantom_star" / f"{name}_standin.csv")
        return split_rows(table[["x1", "x2", "y"]].to_numpy(dtype=np.float64), 9181, replicate)

    return draw


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
