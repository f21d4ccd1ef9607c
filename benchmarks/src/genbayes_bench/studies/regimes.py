"""Formulas with regimes, and without: each model's CRPS over that of the true distribution.

Parts such as `curve-300` measure a formula on draws for development, `untouched-curve-300` on draws that chose nothing,
`without-jumps-300` the formulas without jumps. Name the parts: all of them together take hours.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

from genbayes.metrics import coverage
from genbayes.models.registry import find_model
from genbayes_bench.problems.regimes import FIRST_UNTOUCHED, WITH_JUMPS, WITHOUT_JUMPS, TrueFormula
from genbayes_bench.studies.lines import Line, Part, mean_text

MODELS: Mapping[str, str] = {
    "StationaryGP": "gp",
    "RegimeGP": "regime-gp",
    "ModularJumpGP": "jump-gp",
    "AutoSurrogate": "auto",
}
TOLD = "auto-told"  # AutoSurrogate that is told of one regime
ONE_REGIME = ["gp", "het-gp", "gp-iqn", "boosted", "network"]  # its candidates
SIZES = (300, 1_000, 1_500, 3_000)
N_DEVELOP, N_UNTOUCHED = 3, 10  # draws of each


def measure_truth(name: str, n: int, seeds: range) -> Iterator[Line]:
    """CRPS of each model over that of the true distribution, coverage of its 90% intervals, and cpu seconds."""
    for title, model in MODELS.items():
        found = np.array([over_truth(model, WITH_JUMPS[name], n, seed) for seed in seeds])
        ratio, covered, seconds = found.T
        each = " ".join(f"{value:.3f}" for value in ratio)
        detail = f"90% intervals held {covered.mean():.3f}; {seconds.mean():.1f} cpu s a fit; {each}"
        yield Line(f"{name}, n = {n:,}: {title} over the truth", mean_text(ratio), detail=detail)


def measure_without_jumps(n: int, seed: int) -> Iterator[Line]:
    """AutoSurrogate on formulas without jumps: told that there is one regime, and left to look."""
    ratios, times = [], []
    for name, formula in WITHOUT_JUMPS.items():
        told, free = (over_truth(model, formula, n, seed) for model in (TOLD, "auto"))
        ratios.append(free[0] / told[0])
        times.append((told[2], free[2]))
        detail = f"over the truth {told[0]:.4f} and {free[0]:.4f}; {told[2]:.1f} and {free[2]:.1f} cpu s"
        yield Line(f"{name}, n = {n:,}: CRPS over that when told", f"{ratios[-1]:.4f}", detail=detail)
    told_s, free_s = np.array(times).sum(axis=0)
    met = bool(np.mean(ratios) <= 1.003)
    yield Line(f"n = {n:,}: mean CRPS over that when told of one regime", mean_text(ratios, 4), "at most 1.003", met)
    share = float(free_s / told_s)
    yield Line(f"n = {n:,}: cpu seconds over those when told", f"{share:.2f}", "at most 1.3", share <= 1.3)


def over_truth(model: str, formula: TrueFormula, n: int, seed: int) -> tuple[float, float, float]:
    """CRPS over that of the truth, coverage of 90% intervals, cpu seconds of the fit."""
    drawn = formula.draw(n, seed)
    split, categorical = drawn.split, list(formula.categorical) or None
    name = "auto" if model == TOLD else model
    fresh: Any = find_model(name).load_class()(random_state=seed, categorical=categorical)
    if model == TOLD:
        fresh.set_params(candidates=ONE_REGIME)
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = fresh.fit(split.X_train, split.y_train)
    seconds = time.process_time() - start
    there = fitted.predict_distribution(split.X_test)
    lower, upper = there.interval(0.9)
    ratio = float(there.crps(split.y_test).mean()) / drawn.best_crps
    return ratio, coverage(lower, upper, split.y_test), seconds


def _parts() -> dict[str, Part]:
    """One part for each formula and number of runs, on either kind of draws."""
    draws = {"": range(N_DEVELOP), "untouched-": range(FIRST_UNTOUCHED, FIRST_UNTOUCHED + N_UNTOUCHED)}
    parts: dict[str, Part] = {
        f"{kind}{name}-{n}": partial(measure_truth, name, n, seeds)
        for kind, seeds in draws.items()
        for name in WITH_JUMPS
        for n in SIZES
    }
    for kind, seeds in draws.items():
        parts |= {f"{kind}without-jumps-{n}": partial(measure_without_jumps, n, seeds[0]) for n in SIZES}
    return parts


PARTS: Mapping[str, Part] = _parts()
