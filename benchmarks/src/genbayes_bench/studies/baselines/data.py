"""The reference files: data that the R packages were run on, and what they scored; absent folder, absent parts."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from genbayes_bench.problems import Split, split_motorcycle

__all__ = ["REFERENCE", "motorcycle_splits", "read_bgp", "read_deepgp", "reference_scores"]

REFERENCE = Path(__file__).parents[6] / "shared" / "reference"


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def read_split(path: Path, noise_sd: float | None) -> Split:
    """A file with columns of inputs x..., noise-free f, response y and set ("train" or "test")."""
    rows = rows_of(path)
    names = [name for name in rows[0] if name.lower().startswith("x")]
    X = np.array([[float(row[name]) for name in names] for row in rows])
    f = np.array([float(row["f"]) for row in rows])
    y = np.array([float(row["y"]) if row["y"] not in ("", "NA") else np.nan for row in rows])
    train = np.array([row["set"] == "train" for row in rows])
    return Split(X[train], y[train], X[~train], y[~train], f_test=f[~train], noise_sd=noise_sd)


def read_bgp(d: int, replicate: int) -> Split:
    return read_split(REFERENCE / "bgp" / f"bgp_d{d}_rep{replicate}.csv", noise_sd=2.0)


def read_deepgp(name: str) -> Split:
    return read_split(REFERENCE / "deepgp" / f"{name}.csv", noise_sd=None)


def reference_scores(path: str) -> list[dict[str, str]]:
    """Rows of a file of scores in the reference folder."""
    return rows_of(REFERENCE / path)


def motorcycle_splits() -> Iterator[Split]:
    """The 50 splits that R's hetGP was scored on."""
    rows = rows_of(REFERENCE / "mcycle_splits.csv")
    for number in sorted({int(row["split"]) for row in rows}):
        own = [row for row in rows if int(row["split"]) == number]
        is_train = np.zeros(len(own), dtype=bool)
        for row in own:
            is_train[int(row["row"]) - 1] = row["set"] == "train"
        yield split_motorcycle(number, is_train)
