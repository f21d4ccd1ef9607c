"""Problems that are tables: the motorcycle data (paper section 5.2), GRACE (6.4), four of UCI, stand-ins for jump data.

All but the motorcycle data lie in the shared folder, and their splits are random.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pandas as pd

from genbayes.arrays import BoolArray, FloatArray
from genbayes.data.tables import load_motorcycle
from genbayes_bench.problems.design import Sequential, start_table
from genbayes_bench.problems.jumps import FLOWERS
from genbayes_bench.problems.problem import MAIN, SLOW, Problem, Protocol, Split
from genbayes_bench.problems.sampling import cut, split_rows
from genbayes_bench.problems.shared import read_shared, shared_path

STREAM_MOTORCYCLE = 52  # paper section 5.2
SPLITS = "reference/mcycle_splits.csv"  # those that R's hetGP was scored on
N_SPLITS = 50
SATELLITE = "data/satellite_grace/grace_tpm_1000x6.csv"
# ranges of the seven inputs: speed, two temperatures, two accommodation coefficients, yaw, pitch
GRACE_LOWER, GRACE_UPPER = (5500, 100, 200, 0, 0, 0, -0.07), (9500, 500, 2000, 1, 1, 0.07, 0.07)
OHT = "data/oht_amhv/oht_train.csv", "data/oht_amhv/oht_test.csv"


def split_motorcycle(replicate: int, is_train: BoolArray | None = None) -> Split:
    """A random 80:20 split, or the one that `is_train`, shape (133,), gives.

    Example:
        >>> len(split_motorcycle(0).y_train)
        106
    """
    frame = load_motorcycle()
    X, y = frame[["times"]].to_numpy(np.float64), frame["accel"].to_numpy(np.float64)
    if is_train is None:
        order = np.random.default_rng([STREAM_MOTORCYCLE, replicate]).permutation(len(y))
        is_train = np.isin(np.arange(len(y)), order[: round(0.8 * len(y))])
    return Split(X[is_train], y[is_train], X[~is_train], y[~is_train])


def draw_motorcycle(replicate: int) -> Split:
    """The split that R's hetGP was scored on, replicate 0 its split 1, or where there is none a random one."""
    if replicate >= N_SPLITS or shared_path(SPLITS) is None:
        note = "seeded splits, since those that R's hetGP was scored on are absent"
        return replace(split_motorcycle(replicate), note=note)
    table = read_shared(SPLITS)
    own = table[table["split"] == replicate + 1].sort_values("row")
    return split_motorcycle(replicate, np.asarray(own["set"] == "train", dtype=bool))


def read_grace() -> FloatArray:
    """Drag in pure helium: seven inputs and the response, shape (1000, 8)."""
    table = read_shared(SATELLITE)
    return table[table["species"] == "He"].drop(columns="species").to_numpy(dtype=np.float64)


def draw_grace(replicate: int, n_train: int = 500, n_test: int = 500) -> Split:
    """Random rows to learn from, of the rest of the 1,000 some to test on."""
    return split_rows(read_grace(), n_train, replicate).first(n_train, n_test)


def draw_uci(name: str) -> Callable[[int], Split]:
    """Random 90:10 splits of a table of the UCI repository, by the name of its file."""

    def draw(replicate: int) -> Split:
        rows = read_shared(f"data/uci/{name}.csv").to_numpy(dtype=np.float64)
        return split_rows(rows, round(0.9 * len(rows)), replicate)

    return draw


def draw_standin(name: str) -> Callable[[int], Split]:
    """Random 90:10 splits of GP surfaces parted by a picture, "phantom" or "star"; 10,201 runs, noise 0.45."""

    def draw(replicate: int) -> Split:
        table = read_shared(f"data/phantom_star/{name}_standin.csv")
        rows = table[["x1", "x2", "y"]].to_numpy(dtype=np.float64)
        return split_rows(rows, FLOWERS.n_train, replicate, table["f"].to_numpy(dtype=np.float64), 0.45)

    return draw


def draw_amhv(replicate: int) -> Split:
    """A random 90:10 split of 2,199 runs of an overhead hoist transport, everything scaled to [0, 1]."""
    rows = pd.concat([read_shared(name) for name in OHT]).to_numpy(dtype=np.float64)
    low, high = rows.min(axis=0), rows.max(axis=0)
    return split_rows((rows - low) / (high - low), round(0.9 * len(rows)), replicate)


MOTORCYCLE = Problem(
    "motorcycle",
    "head acceleration after a crash, 133 runs",
    n_inputs=1,
    draw=cut(draw_motorcycle),
    source="R package MASS, data set mcycle; paper section 5.2",
)
MOTORCYCLE_PROTOCOL = Protocol(
    "motorcycle",
    n_train=106,
    n_test=27,
    n_replicates=N_SPLITS,
    source="Table 1",
    methods=(*MAIN, *SLOW),
    paper_settings={"n_members": 5, "n_epochs": 5_000},
)

DRAG = Sequential(
    start_table(read_grace, GRACE_LOWER, GRACE_UPPER, n_initial=110, stream=4),
    n_runs=500,
    n_random=500,
    n_deep=150,
    checkpoints=(110, 150, 200, 300, 400, 500),
    metric="rmspe",
    noise="estimated",
)
GRACE = Problem(
    "grace",
    "drag of the GRACE satellite",
    n_inputs=7,
    draw=draw_grace,
    source="Los Alamos response surface modelling tool suite, helium; paper section 6.4",
    kind="design",
    needs=SATELLITE,
    sequential=DRAG,
)
SATELLITES = (
    GRACE,
    replace(
        GRACE,
        name="satmini",
        title="drag of the GRACE satellite, few runs",
        standin="runs of GRACE in helium in place of SatMini, which the paper does not define",
        sequential=replace(
            DRAG,
            start=start_table(read_grace, GRACE_LOWER, GRACE_UPPER, n_initial=20, stream=5),
            n_runs=60,
            n_random=120,
            n_deep=60,
            checkpoints=(20, 30, 40, 50, 60, 90, 120),
        ),
    ),
)
GRACE_PROTOCOL = Protocol("grace", 500, 500, 10, source="Table 6", metrics=("rmspe", "crps", "coverage"))
SATELLITE_PROTOCOLS = (GRACE_PROTOCOL, replace(GRACE_PROTOCOL, problem="satmini", n_train=60, n_test=940))


def _uci(name: str, title: str, n_inputs: int, n: int) -> tuple[Problem, Protocol]:
    """A table of the UCI repository: `n` rows in the file of that name."""
    file, n_train = f"data/uci/{name}.csv", round(0.9 * n)
    problem = Problem(name.replace("-", "_"), title, n_inputs, cut(draw_uci(name)), source="UCI repository", needs=file)
    return problem, Protocol(problem.name, n_train=n_train, n_test=n - n_train, n_replicates=10)


def _picture(name: str) -> tuple[Problem, Protocol]:
    """GP surfaces parted by the picture that gave the data of Flowers et al. their name."""
    problem = Problem(
        f"{name}_standin",
        f"two GP surfaces parted by a picture ({name})",
        n_inputs=2,
        draw=cut(draw_standin(name)),
        source="boundary picture of Park's jump-GP code, surfaces drawn by us",
        standin="pictures in place of the data of Flowers et al. (2026), which are not public; other units",
        jumps=True,
        needs=f"data/phantom_star/{name}_standin.csv",
    )
    return problem, replace(FLOWERS, problem=problem.name)


AMHV = Problem(
    "amhv",
    "transport time of hoists in a wafer plant",
    n_inputs=4,
    draw=cut(draw_amhv),
    source="OHTDataset of Park's group; paper section 6.1",
    standin="2,199 runs of the same kind in place of the 9,503 of the paper, which are not public",
    jumps=True,
    needs=OHT[0],
)
TABLES = (
    (AMHV, Protocol("amhv", n_train=1_979, n_test=220, n_replicates=20, source="Table 5")),
    _uci("concrete", "strength of concrete", n_inputs=8, n=1_030),
    _uci("energy", "heating load of buildings", n_inputs=8, n=768),
    _uci("yacht", "resistance of yachts", n_inputs=6, n=308),
    _uci("power-plant", "output of a power plant", n_inputs=4, n=9_568),
    _picture("phantom"),
    _picture("star"),
)
