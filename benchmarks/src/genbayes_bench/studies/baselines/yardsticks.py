"""Each baseline against its yardstick: the original R package on the same rows, or the stationary GP."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from genbayes.metrics import coverage, rmse
from genbayes.models import DeepGP, HeteroskedasticGP, ModularJumpGP, StationaryGP
from genbayes_bench.problems import Split, draw_friedman, draw_phantom, draw_star
from genbayes_bench.studies.baselines.data import motorcycle_splits, read_bgp, read_deepgp, reference_scores
from genbayes_bench.studies.speed.result import Result, timed

__all__ = ["measure_bgp", "measure_deep", "measure_friedman", "measure_jump", "measure_motorcycle"]

DIMENSIONS, REPLICATES = (2, 3, 4), (1, 2, 3)
DEEP_SEEDS = range(5)
DEEP_FILES = {"exp2d": "dgp2_matern", "fri7": "dgp2_matern", "fri10": "dgp2_matern"}


def told(values: np.ndarray, digits: int = 3) -> str:
    """Mean and standard error."""
    return f"{values.mean():.{digits}f} ± {values.std(ddof=1) / np.sqrt(len(values)):.{digits}f}"


def measure_bgp() -> Iterator[Result]:
    """StationaryGP on the BGP files, CRPS over that of R's mleHomGP, file by file."""
    homgp = {
        (int(row["d"]), int(row["rep"])): float(row["crps"]) for row in reference_scores("bgp/homgp_per_replicate.csv")
    }
    for d in DIMENSIONS:
        ratios, seconds = [], []
        for replicate in REPLICATES:
            split = read_bgp(d, replicate)
            model, took = timed(lambda split=split: StationaryGP(random_state=0).fit(split.X_train, split.y_train))
            ratios.append(model.predict_distribution(split.X_test).crps(split.y_test).mean() / homgp[d, replicate])
            seconds.append(took)
        met = max(ratios) <= 1.01
        course = ", ".join(f"{ratio:.4f}" for ratio in ratios)
        what = f"StationaryGP, BGP d={d}: largest CRPS over R's mleHomGP of three files"
        yield Result(what, f"{max(ratios):.4f}", "at most 1.01", met, f"{course}; {np.mean(seconds):.1f} s a fit")


def measure_friedman(n_replicates: int = 5) -> Iterator[Result]:
    """StationaryGP on Friedman, d = 10, n = 2,000: error to the noise-free function."""
    errors, seconds = [], []
    for replicate in range(n_replicates):
        split = draw_friedman(replicate)
        model, took = timed(lambda split=split: StationaryGP(random_state=0).fit(split.X_train, split.y_train))
        assert split.f_test is not None
        errors.append(rmse(model.predict(split.X_test), split.f_test))
        seconds.append(took)
    found = np.array(errors)
    detail = f"{np.mean(seconds):.1f} s a fit"
    yield Result("StationaryGP, Friedman n=2,000: RMSE to f", told(found), "at most 0.16", found.mean() <= 0.16, detail)


def measure_motorcycle() -> Iterator[Result]:
    """HeteroskedasticGP on the 50 splits of R's hetGP."""
    theirs = np.array(
        [
            float(row["crps"])
            for row in reference_scores("mcycle_hetgp_per_split.csv")
            if row["method"] == "hetGP_default"
        ]
    )
    scores, hits, seconds = [], [], []
    for split in motorcycle_splits():
        model, took = timed(lambda split=split: HeteroskedasticGP(random_state=0).fit(split.X_train, split.y_train))
        law = model.predict_distribution(split.X_test)
        scores.append(law.crps(split.y_test).mean())
        hits.append(coverage(*law.interval(0.9), split.y_test))
        seconds.append(took)
    ours, covered = np.array(scores), float(np.mean(hits))
    detail = f"R's {told(theirs, 2)}, paired difference {told(ours - theirs, 2)}; {np.mean(seconds):.2f} s a fit"
    met = ours.mean() <= 1.02 * theirs.mean()
    yield Result(
        "HeteroskedasticGP, motorcycle: CRPS over 50 splits", told(ours, 2), "at most 1.02 of R's", met, detail
    )
    within = 0.85 <= covered <= 0.93
    yield Result("HeteroskedasticGP, motorcycle: coverage of 90% intervals", f"{covered:.3f}", "0.85 to 0.93", within)


def measure_jump() -> Iterator[Result]:
    """ModularJumpGP against StationaryGP on the BGP files, and on Phantom and Star by formula, n = 9,181."""
    for d in DIMENSIONS:
        ratios = [over_stationary(read_bgp(d, replicate))[0] for replicate in REPLICATES]
        course = ", ".join(f"{ratio:.3f}" for ratio in ratios)
        what = f"ModularJumpGP, BGP d={d}: CRPS over StationaryGP's, three files"
        yield Result(what, f"{np.mean(ratios):.3f}", "below 1", max(ratios) < 1, course)
    for name, draw in {"Phantom": draw_phantom, "Star": draw_star}.items():
        ratio, seconds = over_stationary(draw(0))
        what = f"ModularJumpGP, {name}: CRPS over StationaryGP's, one split"
        yield Result(what, f"{ratio:.3f}", "below 1", ratio < 1, f"fitted in {seconds:.0f} s")


def over_stationary(split: Split) -> tuple[float, float]:
    """CRPS of ModularJumpGP over that of StationaryGP, and seconds of the former's fit."""
    scores, seconds = [], []
    for make in (ModularJumpGP, StationaryGP):
        model, took = timed(lambda make=make: make(random_state=0).fit(split.X_train, split.y_train))
        scores.append(float(model.predict_distribution(split.X_test).crps(split.y_test).mean()))
        seconds.append(took)
    return scores[0] / scores[1], seconds[0]


def measure_deep() -> Iterator[Result]:
    """DeepGP on the files of R's deepgp, over five seeds."""
    rows = reference_scores("deepgp/two_layer_results.csv")
    for name in DEEP_FILES:
        theirs = {row["method"]: float(row["rmse"]) for row in rows if row["problem"] == name}
        best = min(value for method, value in theirs.items() if method.startswith("dgp2"))
        split, errors, hits, seconds = read_deepgp(name), [], [], []
        assert split.f_test is not None
        for seed in DEEP_SEEDS:
            model, took = timed(
                lambda split=split, seed=seed: DeepGP(random_state=seed).fit(split.X_train, split.y_train)
            )
            law = model.predict_distribution(split.X_test, of="mean")
            errors.append(rmse(law.mean(), split.f_test))
            hits.append(coverage(*law.interval(0.9), split.f_test))
            seconds.append(took)
        ratio = float(np.mean(errors)) / best
        detail = (
            f"RMSE {told(np.array(errors), 4)}, R's best {best:.4f}; coverage of f {np.mean(hits):.2f}; "
            f"{np.mean(seconds):.0f} s a fit"
        )
        yield Result(f"DeepGP, {name}: RMSE over R's deepgp", f"{ratio:.2f}", "at most 1.5", ratio <= 1.5, detail)
