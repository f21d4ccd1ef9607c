"""Formulas with regimes, and without: each model's CRPS over that of the true distribution.

Parts such as `curve-300` measure a formula on draws for development, `untouched-curve-300` on draws that chose nothing,
`untouched-curve-300-regime-gp` one model alone; `without-jumps-300` the formulas without jumps. Name the parts: all of
them together take hours.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any
from unittest.mock import patch

import numpy as np

from genbayes.metrics import coverage
from genbayes.models.registry import Facts, find_model, registered_models
from genbayes_bench.problems.regimes import FIRST_UNTOUCHED, WITH_JUMPS, WITHOUT_JUMPS, TrueDraw, TrueFormula
from genbayes_bench.studies.lines import Line, Part, mean_text

MODELS: Mapping[str, str] = {
    "StationaryGP": "gp",
    "RegimeGP": "regime-gp",
    "ModularJumpGP": "jump-gp",
    "AutoSurrogate": "auto",
}
ALONE: Mapping[str, str] = {"network with BoundaryFeatures": "iqn-boundary", "AutoGluon, 180 s": "autogluon"}
TOLD = "auto-told"  # AutoSurrogate that does not look for regimes
SIZES = (300, 1_000, 1_500, 3_000)
N_DEVELOP, N_UNTOUCHED = 3, 10  # draws of each, unless told


def measure_truth(name: str, n: int, seeds: range, models: Mapping[str, str] = MODELS) -> Iterator[Line]:
    """CRPS of each model over that of the true distribution, coverage of its 90% intervals, and cpu seconds."""
    for title, model in models.items():
        found = np.array([over_truth(model, WITH_JUMPS[name], n, seed) for seed in seeds])
        ratio, covered, seconds = found.T
        each = " ".join(f"{value:.3f}" for value in ratio)
        detail = f"90% intervals held {covered.mean():.3f}; {seconds.mean():.1f} cpu s a fit; {each}"
        yield Line(f"{name}, n = {n:,}: {title} over the truth", mean_text(ratio), detail=detail)


def measure_without_jumps(n: int, seeds: Sequence[int]) -> Iterator[Line]:
    """AutoSurrogate on formulas without jumps: the same with and without the search for regimes, in turns."""
    over_truth("auto", WITHOUT_JUMPS["waves, noise"], 100, seeds[0])  # whatever is loaded once is loaded now
    ratios, times = [], []
    for i, (name, formula) in enumerate(WITHOUT_JUMPS.items()):
        for seed in seeds:
            order = (TOLD, "auto") if (i + seed) % 2 else ("auto", TOLD)
            found = {model: over_truth(model, formula, n, seed) for model in order}
            told, free = found[TOLD], found["auto"]
            ratios.append(free[0] / told[0])
            times.append((told[2], free[2]))
            detail = f"over the truth {told[0]:.4f} and {free[0]:.4f}; {told[2]:.1f} and {free[2]:.1f} cpu s"
            yield Line(f"{name}, n = {n:,}: CRPS over that when told", f"{ratios[-1]:.4f}", detail=detail)
    met = bool(np.mean(ratios) <= 1.003)
    yield Line(f"n = {n:,}: mean CRPS over that when told of one regime", mean_text(ratios, 4), "at most 1.003", met)
    each = np.array([free / told for told, free in times])
    told_s, free_s = np.array(times).sum(axis=0)
    share, detail = float(free_s / told_s), f"mean of the ratios {mean_text(each, 2)}, the largest {each.max():.2f}"
    yield Line(f"n = {n:,}: cpu seconds over those when told", f"{share:.2f}", "at most 1.3", share <= 1.3, detail)


@contextmanager
def no_search() -> Iterator[None]:
    """AutoSurrogate neither looks for regimes nor tries what stands on them, and does all else as ever."""
    known = registered_models()
    finders = {model.refines for model in known.values() if model.asks == "regimes"}
    left = {
        name: replace(model, worth_trying=None) if name in finders or model.asks == "regimes" else model
        for name, model in known.items()
    }
    with patch("genbayes.auto.candidates.registered_models", lambda: left):
        yield


def over_truth(model: str, formula: TrueFormula, n: int, seed: int) -> tuple[float, float, float]:
    """CRPS over that of the truth, coverage of 90% intervals, cpu seconds of the fit."""
    drawn = formula.draw(n, seed)
    if model == TOLD:
        with no_search():
            return _judge(_make("auto", formula, seed), drawn)
    return _judge(_make(model, formula, seed), drawn)


def _make(model: str, formula: TrueFormula, seed: int) -> Any:
    if model == "autogluon":
        from genbayes_bench.rivals.autogluon import AutoGluon

        return AutoGluon(random_state=seed)
    return find_model(model).make(Facts(n=0, n_regimes=1, categorical=formula.categorical), seed)


def _judge(model: Any, drawn: TrueDraw) -> tuple[float, float, float]:
    split = drawn.split
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = model.fit(split.X_train, split.y_train)
    seconds = time.process_time() - start
    elsewhere = getattr(fitted, "facts_", {}).get("fit_seconds")  # of a rival in a process of its own
    there = fitted.predict_distribution(split.X_test)
    lower, upper = there.interval(0.9)
    ratio = float(there.crps(split.y_test).mean()) / drawn.best_crps
    return ratio, coverage(lower, upper, split.y_test), seconds if elsewhere is None else float(elsewhere)


def make_parts(n_draws: int | None = None) -> Mapping[str, Part]:
    """One part for each formula and number of runs, and one for each model of these, on either kind of draws."""
    draws = {
        "": range(n_draws or N_DEVELOP),
        "untouched-": range(FIRST_UNTOUCHED, FIRST_UNTOUCHED + (n_draws or N_UNTOUCHED)),
    }
    parts: dict[str, Part] = {}
    for kind, seeds in draws.items():
        for name in WITH_JUMPS:
            for n in SIZES:
                parts[f"{kind}{name}-{n}"] = partial(measure_truth, name, n, seeds)
                for title, model in {**MODELS, **ALONE}.items():
                    parts[f"{kind}{name}-{n}-{model}"] = partial(measure_truth, name, n, seeds, {title: model})
        some = seeds if n_draws else seeds[:1]
        parts |= {f"{kind}without-jumps-{n}": partial(measure_without_jumps, n, some) for n in SIZES}
    return parts
