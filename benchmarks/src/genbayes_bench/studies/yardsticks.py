"""Each model against its yardstick: the original R package on the very same rows, the stationary GP, the exact CRPS.

The rows and scores of the R packages are files of the shared folder; parts that need them are left out without.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

from genbayes import QuantileSurrogate
from genbayes.arrays import FloatArray
from genbayes.distribution import PredictiveDistribution
from genbayes.metrics import coverage, rmse
from genbayes.models import DeepGP, HeteroskedasticGP, ModularJumpGP, StationaryGP
from genbayes_bench.problems import PROBLEMS, Split, draw_friedman
from genbayes_bench.problems.shared import read_shared, shared_path
from genbayes_bench.studies.lines import Line, Part, mean_text, timed

FILES = [(d, replicate) for d in (2, 3, 4) for replicate in (1, 2, 3)]  # of BGP, by inputs and number


def read_split(name: str) -> Split:
    """A file of the reference folder: inputs x..., noise-free f, response y and set ("train" or "test")."""
    table = read_shared(f"reference/{name}.csv")
    X = table[[column for column in table.columns if str(column).lower().startswith("x")]].to_numpy(np.float64)
    f, y = table["f"].to_numpy(np.float64), table["y"].to_numpy(np.float64)
    train = np.asarray(table["set"] == "train")
    return Split(X[train], y[train], X[~train], y[~train], f_test=f[~train])


def measure_bgp() -> Iterator[Line]:
    """StationaryGP on the BGP files, CRPS over that of R's mleHomGP, file by file."""
    scores = read_shared("reference/bgp/homgp_per_replicate.csv")
    keys = zip(scores["d"].tolist(), scores["rep"].tolist(), strict=True)
    homgp = dict(zip(keys, scores["crps"].tolist(), strict=True))
    for d in (2, 3, 4):
        files = [file for file in FILES if file[0] == d]
        splits = [read_split(f"bgp/bgp_d{d}_rep{replicate}") for _, replicate in files]
        found = [_fit(StationaryGP(kernel="matern52", random_state=0), split) for split in splits]  # R's kernel
        ratios = [crps / homgp[file] for (crps, _, _), file in zip(found, files, strict=True)]
        course = ", ".join(f"{ratio:.4f}" for ratio in ratios)
        detail = f"{course}; {np.mean([seconds for _, _, seconds in found]):.1f} s a fit"
        what = f"StationaryGP, BGP d={d}: largest CRPS over R's mleHomGP of three files"
        yield Line(what, f"{max(ratios):.4f}", "at most 1.01", max(ratios) <= 1.01, detail)


def measure_friedman(n_replicates: int = 5) -> Iterator[Line]:
    """StationaryGP on Friedman, d = 10, n = 2,000: error to the noise-free function."""
    errors = []
    for replicate in range(n_replicates):
        split = draw_friedman(replicate)
        assert split.f_test is not None
        model = StationaryGP(random_state=0).fit(split.X_train, split.y_train)
        errors.append(rmse(model.predict(split.X_test), split.f_test))
    met = bool(np.mean(errors) <= 0.16)
    yield Line("StationaryGP, Friedman n=2,000: RMSE to f", mean_text(errors), "at most 0.16", met)


def measure_motorcycle() -> Iterator[Line]:
    """HeteroskedasticGP on the 50 splits of R's hetGP."""
    table = read_shared("reference/mcycle_hetgp_per_split.csv")
    theirs = table[table["method"] == "hetGP_default"]["crps"].to_numpy(np.float64)
    splits = [PROBLEMS["motorcycle"].draw(replicate, 106, 27) for replicate in range(50)]
    found = np.array([_fit(HeteroskedasticGP(random_state=0), split) for split in splits])
    ours, covered = found[:, 0], float(found[:, 1].mean())
    difference = mean_text(ours - theirs, 2)
    detail = f"R's {mean_text(theirs, 2)}, paired difference {difference}; {found[:, 2].mean():.2f} s a fit"
    met, what = bool(ours.mean() <= 1.02 * theirs.mean()), "HeteroskedasticGP, motorcycle: CRPS over 50 splits"
    yield Line(what, mean_text(ours, 2), "at most 1.02 of R's", met, detail)
    what = "HeteroskedasticGP, motorcycle: coverage of 90% intervals"
    yield Line(what, f"{covered:.3f}", "0.85 to 0.93", 0.85 <= covered <= 0.93)


def measure_jump() -> Iterator[Line]:
    """ModularJumpGP against StationaryGP on the BGP files, and on Phantom and Star by formula, n = 9,181."""
    splits = {
        f"BGP d={d}, file {replicate}": partial(read_split, f"bgp/bgp_d{d}_rep{replicate}") for d, replicate in FILES
    }
    splits |= {name.capitalize(): partial(PROBLEMS[name].draw, 0, 9_181, 1_020) for name in ("phantom", "star")}
    for name, draw in splits.items():
        split = draw()
        (jump, _, seconds), (plain, _, _) = (_fit(m(random_state=0), split) for m in (ModularJumpGP, StationaryGP))
        ratio, what = jump / plain, f"ModularJumpGP, {name}: CRPS over StationaryGP's"
        yield Line(what, f"{ratio:.3f}", "below 1", ratio < 1, f"fitted in {seconds:.0f} s")


def measure_deep() -> Iterator[Line]:
    """DeepGP on the files of R's deepgp, over five seeds: RMSE of the mean."""
    table = read_shared("reference/deepgp/two_layer_results.csv")
    for name in ("exp2d", "fri7", "fri10"):
        rows = table[(table["problem"] == name) & table["method"].str.startswith("dgp2")]
        best, split = float(rows["rmse"].min()), read_split(f"deepgp/{name}")
        assert split.f_test is not None
        errors, hits, seconds = [], [], []
        for seed in range(5):
            model, took = timed(partial(DeepGP(random_state=seed).fit, split.X_train, split.y_train))
            there = model.predict_distribution(split.X_test, of="mean")
            lower, upper = there.interval(0.9)
            errors.append(rmse(there.mean(), split.f_test))
            hits.append(coverage(lower, upper, split.f_test))
            seconds.append(took)
        ratio = float(np.mean(errors)) / best
        detail = (
            f"RMSE {mean_text(errors, 4)}, R's best {best:.4f}; coverage of f {np.mean(hits):.2f}; "
            f"{np.mean(seconds):.0f} s a fit"
        )
        yield Line(f"DeepGP, {name}: RMSE over R's deepgp", f"{ratio:.2f}", "at most 1.5", ratio <= 1.5, detail)


def measure_grid(n_replicates: int = 2, n_epochs: int = 3_000) -> Iterator[Line]:
    """What the paper's estimate of the CRPS makes of a forecast: quantiles at m / (M + 1) leave the tails out.

    The paper (section 5.1) does not say how large M was. On noise-free responses, which reward forecasts that are too
    narrow, a forecast without its tails scores better than it should. Its network on Friedman's function.
    """
    for replicate in range(n_replicates):
        split = draw_friedman(replicate)
        assert split.f_test is not None
        model = QuantileSurrogate(recipe="paper", n_epochs=n_epochs, random_state=replicate)
        there = model.fit(split.X_train, split.y_train).predict_distribution(split.X_test)
        for name, y in (("noise-free", split.f_test), ("noisy", split.y_test)):
            exact = float(there.crps(y).mean())
            course = {m: crps_on_grid(there, y, m).mean() / exact - 1 for m in (9, 19, 99, 200, 999)}
            detail = ", ".join(f"M = {m}: {gap:+.1%}" for m, gap in course.items())
            yield Line(
                f"replicate {replicate}, {name} responses: exact CRPS, and M quantiles", f"{exact:.4f}", detail=detail
            )


def crps_on_grid(distribution: PredictiveDistribution, y: FloatArray, size: int) -> FloatArray:
    """The mean of |q_m - y| less half that of |q_m - q_m'|, with q_m the quantiles at m / (M + 1), (n,) -> (n,).

    Args:
        distribution: The forecasts.
        y: Responses.
        size: M.
    """
    m = np.arange(1, size + 1)
    q = np.asarray(distribution.ppf(m / (size + 1)))
    return np.asarray(np.abs(q - y[:, None]).mean(axis=1) - q @ (2 * m - size - 1) / size**2)


def _fit(model: Any, split: Split) -> tuple[float, float, float]:
    """CRPS, coverage of 90% intervals and seconds of a fit."""
    _, seconds = timed(partial(model.fit, split.X_train, split.y_train))
    there = model.predict_distribution(split.X_test)
    lower, upper = there.interval(0.9)
    return float(there.crps(split.y_test).mean()), coverage(lower, upper, split.y_test), seconds


_NEEDED = "reference/bgp/homgp_per_replicate.csv"
_FREE: Mapping[str, Part] = {"friedman": measure_friedman}
PARTS: Mapping[str, Part] = (
    _FREE
    if shared_path(_NEEDED) is None
    else {**_FREE, "bgp": measure_bgp, "motorcycle": measure_motorcycle, "jump": measure_jump, "deep": measure_deep}
)
