"""StationaryGP against the emulators that lead the field: RobustGaSP and scaled Vecchia, on the very same rows.

Functions of `problems.kriging`, those to develop on and those that only judge; and four functions whose scores by the R
packages are files of the shared folder. R joins where it has the package; the GP of Matern-5/2 alone and those of a
linear trend always do.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from genbayes.arrays import FloatArray
from genbayes.distribution import PredictiveDistribution
from genbayes.metrics import coverage
from genbayes.models import StationaryGP
from genbayes_bench.problems import Split
from genbayes_bench.problems.kriging import KRIGING_CASES, NOISE_SHARE
from genbayes_bench.problems.shared import read_shared, shared_path
from genbayes_bench.rivals.r_bridge import RRobustGaSP, RScaledVecchia, available, run_r
from genbayes_bench.studies.lines import Line, Part, timed

N_DRAWS = {100: 3, 500: 1}  # by runs; RobustGaSP takes half a minute for 500
LARGE_N = 20_000
A_TIE = 1e-4  # CRPS in units of sd(y), below which all are as good as exact
REFERENCE = "reference/kriging/scores.csv"
OURS: Mapping[str, Callable[..., StationaryGP]] = {  # the default first, then what it is compared with of its own
    "StationaryGP": StationaryGP,
    "Matern-5/2": partial(StationaryGP, kernel="matern52"),
    "a trend where it is more probable": partial(StationaryGP, trend="auto"),
    "a linear trend": partial(StationaryGP, trend="linear"),
}
Predict = Callable[[Split], PredictiveDistribution]


@dataclass(frozen=True)
class Score:
    """What one method reached on one case: CRPS over sd(y), coverage of 90% intervals, seconds by the clock."""

    crps: float
    covered: float
    seconds: float


def measure_group(is_untouched: bool, n: int, is_noisy: bool) -> Iterator[Line]:
    """One group of functions at one number of runs."""
    methods = _methods(is_noisy)
    cases = [case for case in KRIGING_CASES.values() if case.is_untouched == is_untouched]
    scores: dict[str, list[Score]] = {name: [] for name in methods}
    for case in cases:
        for seed in range(N_DRAWS[n]):
            split = case.draw(n, is_noisy, seed)
            for name, predict in methods.items():
                scores[name].append(_score(predict, split))
    ours, *rivals = scores
    what = f"{'untouched' if is_untouched else 'to develop on'}, n = {n}, {'noise' if is_noisy else 'no noise'}"
    for rival in rivals:
        target = (1.0 if is_noisy else 0.8) if rival not in OURS else None
        yield _compare(what, scores[ours], rival, scores[rival], target)
    ratios = [s.crps / min(all_.crps for all_ in one) for s, one in _matched(scores, ours) if not _is_tie(one)]
    met = bool(np.mean(np.array(ratios) < 1.5) >= 0.95 and max(ratios) < 3)
    detail = f"largest {max(ratios):.2f}, of {len(ratios)} that are no tie"
    yield Line(
        f"{what}: CRPS over the best of all below 1.5",
        f"{np.mean(np.array(ratios) < 1.5):.0%}",
        "95%, none above 3",
        met,
        detail,
    )
    covered = float(np.mean([s.covered for s in scores[ours]]))
    seconds = ", ".join(f"{name} {np.mean([s.seconds for s in found]):.2f}" for name, found in scores.items())
    detail = f"seconds a fit and 1,000 predictions: {seconds}"
    yield Line(f"{what}: coverage of 90% intervals", f"{covered:.3f}", "0.86 to 0.94", 0.86 <= covered <= 0.94, detail)


def _compare(what: str, ours: list[Score], rival: str, theirs: list[Score], target: float | None) -> Line:
    logs = [math.log(a.crps / b.crps) for a, b in zip(ours, theirs, strict=True) if not _is_tie([a, b])]
    mean, n_ties = math.exp(np.mean(logs)), len(ours) - len(logs)
    detail = f"{len(logs)} cases from {math.exp(min(logs)):.3f} to {math.exp(max(logs)):.3f}; {n_ties} ties left out"
    goal, met = ("", None) if target is None else (f"at most {target}", mean <= target)
    return Line(f"{what}: geometric mean CRPS over that of {rival}", f"{mean:.3f}", goal, met, detail)


def measure_reference() -> Iterator[Line]:
    """The four functions whose rows and scores by R are at hand, case by case."""
    table = read_shared(REFERENCE)
    for name, rows in table.groupby("case", sort=False):
        split = _read_case(str(name))
        ours = _score(_predict_by(StationaryGP(random_state=0)), split)
        scale = float(np.std(split.y_test))
        theirs = {str(row["method"]): float(row["crps"]) / scale for _, row in rows.iterrows()}
        best = min(theirs, key=lambda method: theirs[method])
        detail = ", ".join(f"{method} {value:.5f}" for method, value in theirs.items()) + f"; {ours.seconds:.2f} s"
        yield Line(
            f"{name}: CRPS over sd(y), and over R's best, {best}",
            f"{ours.crps:.5f}, {ours.crps / theirs[best]:.2f}",
            detail=detail,
        )


def measure_large() -> Iterator[Line]:
    """20,000 noisy runs: the approximation for many runs against scaled Vecchia."""
    for name, respond in _LARGE.items():
        rng = np.random.default_rng(18)
        X = rng.uniform(size=(LARGE_N + 1_000, 10))
        f = respond(X)
        y = f + math.sqrt(NOISE_SHARE / (1 - NOISE_SHARE)) * f.std() * rng.standard_normal(len(f))
        split = Split(X[:LARGE_N], y[:LARGE_N], X[LARGE_N:], y[LARGE_N:], f_test=f[LARGE_N:])
        begun = time.process_time()
        ours = _score(_predict_by(StationaryGP(random_state=0)), split)
        spent = f"{time.process_time() - begun:.0f} s of processor time"
        yield Line(f"{name}, n = 20,000: seconds", f"{ours.seconds:.0f}", "at most 60", ours.seconds <= 60, spent)
        if "GpGp" in available():
            theirs = _score(partial(_predict_in_r, RScaledVecchia()), split)
            ratio = ours.crps / theirs.crps
            detail = f"{ours.crps:.5f} and {theirs.crps:.5f} of sd(y); scaled Vecchia took {theirs.seconds:.0f} s"
            yield Line(
                f"{name}, n = 20,000: CRPS over scaled Vecchia's", f"{ratio:.3f}", "at most 1.05", ratio <= 1.05, detail
            )


def _methods(is_noisy: bool) -> dict[str, Predict]:
    """Ours first; R is told whether there is noise."""
    found = {name: _predict_by(make(random_state=0)) for name, make in OURS.items()}
    if "RobustGaSP" in available():
        found["RobustGaSP"] = partial(_predict_in_r, RRobustGaSP(noise="estimated" if is_noisy else "none"))
    return found


def _predict_by(model: StationaryGP) -> Predict:
    return lambda split: model.fit(split.X_train, split.y_train).predict_distribution(split.X_test)


def _predict_in_r(model: RRobustGaSP | RScaledVecchia, split: Split) -> PredictiveDistribution:
    return run_r(model, split.X_train, split.y_train, split.X_test, random_state=0).distribution()


def _score(predict: Predict, split: Split) -> Score:
    there, seconds = timed(partial(predict, split))
    lower, upper = there.interval(0.9)
    scale = float(np.std(split.y_test))
    return Score(float(there.crps(split.y_test).mean()) / scale, coverage(lower, upper, split.y_test), seconds)


def _matched(scores: Mapping[str, list[Score]], ours: str) -> list[tuple[Score, list[Score]]]:
    return list(zip(scores[ours], map(list, zip(*scores.values(), strict=True)), strict=True))


def _is_tie(scores: list[Score]) -> bool:
    return all(score.crps < A_TIE for score in scores)


def _read_case(name: str) -> Split:
    """A file of the reference folder; test rows are noise-free where the training rows are."""
    table = read_shared(f"reference/kriging/{name}.csv")
    X = table[[column for column in table.columns if str(column).startswith("x")]].to_numpy(np.float64)
    y, train = table["y"].to_numpy(np.float64), np.asarray(table["set"] == "train")
    return Split(X[train], y[train], X[~train], y[~train])


def _friedman(X: FloatArray) -> FloatArray:
    bend = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2
    return np.asarray(bend + 10 * X[:, 3] + 5 * X[:, 4])


def _borehole(X: FloatArray) -> FloatArray:
    """Flow through a borehole (Harper and Gupta 1983), eight inputs, two inert ones beside them."""
    lower = np.array([0.05, 100.0, 63_070.0, 990.0, 63.1, 700.0, 1_120.0, 9_855.0])
    upper = np.array([0.15, 50_000.0, 115_600.0, 1_110.0, 116.0, 820.0, 1_680.0, 12_045.0])
    rw, r, tu, hu, tl, hl, length, kw = (lower + X[:, :8] * (upper - lower)).T
    ratio = np.log(r / rw)
    return np.asarray(2 * np.pi * tu * (hu - hl) / (ratio * (1 + 2 * length * tu / (ratio * rw**2 * kw) + tu / tl)))


def _rough(X: FloatArray) -> FloatArray:
    return np.asarray(np.abs(np.sin(9 * X[:, 0])) + np.abs(X[:, 1] - X[:, 2]) + 0.5 * np.sin(25 * X[:, 3] * X[:, 0]))


_LARGE: Mapping[str, Callable[[FloatArray], FloatArray]] = {
    "Friedman": _friedman,
    "borehole": _borehole,
    "rough": _rough,
}
PARTS: Mapping[str, Part] = {
    **({"reference": measure_reference} if shared_path(REFERENCE) is not None else {}),
    **{
        f"{'untouched' if is_untouched else 'develop'}-{n}-{'noise' if is_noisy else 'exact'}": partial(
            measure_group, is_untouched, n, is_noisy
        )
        for is_untouched in (False, True)
        for n in N_DRAWS
        for is_noisy in (False, True)
    },
    "large": measure_large,
}
