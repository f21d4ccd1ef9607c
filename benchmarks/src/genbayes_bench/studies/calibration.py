"""How often intervals hold on fresh runs: GPs, networks and the automatic choice, over sizes, with standard errors.

A share held in one fit is known to about 0.02, but fits differ by far more; so a line is the mean over draws of random
functions, and its standard error that of the draws. 90% intervals say most; 50% ones show whether the middle is right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from genbayes import AutoSurrogate, GPInformedSurrogate, QuantileSurrogate
from genbayes.distribution import PredictiveDistribution
from genbayes.metrics import coverage
from genbayes.models import HeteroskedasticGP, StationaryGP
from genbayes_bench.problems import Split
from genbayes_bench.problems.calibration import draw_random, draw_replicated
from genbayes_bench.problems.kriging import KRIGING_CASES
from genbayes_bench.studies.lines import Line, Part, mean_text

SIZES = ((20, 2), (40, 2), (40, 10), (100, 10), (100, 50))  # runs and inputs
FEW_SIZES = ((40, 2), (100, 10))  # of a model that takes seconds
MEAN_SIZES = ((60, 1), (120, 2), (120, 4), (300, 6))
# Draws of each part unless told
QUICK = {"gp": 100, "het-gp": 10, "gp-iqn": 5, "noise-free": 1, "replicates": 6, "mean": 3, "network": 4, "auto": 4}
Fit = Callable[[Split, int], PredictiveDistribution]


@dataclass(frozen=True)
class Held:
    """Shares of fresh runs within 50% and 90% intervals, and CRPS, of one fit."""

    half: float
    nine_tenths: float
    crps: float


def measure_sizes(fit: Fit, name: str, sizes: Sequence[tuple[int, int]], n_draws: int) -> Iterator[Line]:
    """One model at several numbers of runs and inputs."""
    for n, d in sizes:
        found = [_held(fit(split, seed), split.y_test) for seed, split in _draws(n, d, n_draws)]
        yield _line(f"{name}, n = {n}, d = {d}", found, 0.86, 0.94)


def measure_noise_free(n_draws: int) -> Iterator[Line]:
    """Deterministic functions: 50% intervals of the stationary GP, each function's own mean among the details."""
    shares, nine = [], []
    for case in KRIGING_CASES.values():
        splits = [case.draw(100, False, seed) for seed in range(n_draws)]
        found = [_held(_by_gp(split, seed), split.y_test) for seed, split in enumerate(splits)]
        shares.append(float(np.mean([each.half for each in found])))
        nine.append(float(np.mean([each.nine_tenths for each in found])))
    within = np.mean([0.4 <= share <= 0.65 for share in shares])
    detail = f"{within:.0%} of {len(shares)} functions within, from {min(shares):.2f} to {max(shares):.2f}"
    detail += f"; 90%: {mean_text(nine)}"
    met = 0.4 <= float(np.mean(shares)) <= 0.65
    yield Line("stationary GP, no noise, n = 100: 50% intervals hold", mean_text(shares), "0.40 to 0.65", met, detail)


def measure_replicates(n_draws: int) -> Iterator[Line]:
    """30 inputs of ten runs each, asked at new inputs."""
    found = []
    for seed in range(n_draws):
        split = draw_replicated(30, 10, seed)
        found.append(_held(_by_network(split, seed), split.y_test))
    yield _line("network, 30 inputs x 10 runs, new inputs", found, 0.85, 0.95)


def measure_mean(n_draws: int) -> Iterator[Line]:
    """How often intervals of `of="mean"` hold the true E[y | x]."""
    for name, model in (("network", QuantileSurrogate), ("stationary GP", StationaryGP)):
        found = []
        for n, d in MEAN_SIZES:
            for seed, split in _draws(n, d, n_draws):
                assert split.f_test is not None
                known = model(random_state=seed).fit(split.X_train, split.y_train)
                found.append(_held(known.predict_distribution(split.X_test, of="mean"), split.f_test))
        yield _line(f"{name}, n = 60 to 300: E[y | x]", found, 0.85, 0.95)


def make_parts(n_draws: int | None = None) -> Mapping[str, Part]:
    """The parts; draws of each by `QUICK` unless told."""
    draws = {name: n_draws or quick for name, quick in QUICK.items()}
    return {
        "gp": partial(measure_sizes, _by_gp, "stationary GP", SIZES, draws["gp"]),
        "het-gp": partial(measure_sizes, _by_uneven_gp, "heteroskedastic GP", SIZES[:4], draws["het-gp"]),
        "gp-iqn": partial(measure_sizes, _by_informed, "GP-informed network", SIZES, draws["gp-iqn"]),
        "noise-free": partial(measure_noise_free, min(draws["noise-free"], 3)),
        "replicates": partial(measure_replicates, draws["replicates"]),
        "mean": partial(measure_mean, QUICK["mean"] if n_draws is None else -(-n_draws // len(MEAN_SIZES))),
        "network": partial(measure_sizes, _by_network, "network", FEW_SIZES, draws["network"]),
        "auto": partial(measure_sizes, _by_choice, "AutoSurrogate", SIZES, draws["auto"]),
    }


def _draws(n: int, d: int, n_draws: int) -> Iterator[tuple[int, Split]]:
    return ((seed, draw_random(n, d, seed)) for seed in range(n_draws))


def _by_gp(split: Split, seed: int) -> PredictiveDistribution:
    return StationaryGP(random_state=seed).fit(split.X_train, split.y_train).predict_distribution(split.X_test)


def _by_uneven_gp(split: Split, seed: int) -> PredictiveDistribution:
    return HeteroskedasticGP(random_state=seed).fit(split.X_train, split.y_train).predict_distribution(split.X_test)


def _by_informed(split: Split, seed: int) -> PredictiveDistribution:
    return GPInformedSurrogate(random_state=seed).fit(split.X_train, split.y_train).predict_distribution(split.X_test)


def _by_network(split: Split, seed: int) -> PredictiveDistribution:
    return QuantileSurrogate(random_state=seed).fit(split.X_train, split.y_train).predict_distribution(split.X_test)


def _by_choice(split: Split, seed: int) -> PredictiveDistribution:
    return AutoSurrogate(random_state=seed).fit(split.X_train, split.y_train).predict_distribution(split.X_test)


def _held(predicted: PredictiveDistribution, y: np.ndarray) -> Held:
    half, nine_tenths = (coverage(*predicted.interval(level), y) for level in (0.5, 0.9))
    return Held(half, nine_tenths, float(predicted.crps(y).mean()))


def _line(what: str, found: Sequence[Held], least: float, most: float) -> Line:
    shares = [each.nine_tenths for each in found]
    detail = f"{len(found)} draws; 50%: {mean_text([each.half for each in found])}; "
    detail += f"CRPS {mean_text([each.crps for each in found], 4)}"
    met = bool(least <= np.mean(shares) <= most)
    return Line(f"{what}: 90% intervals hold", mean_text(shares), f"{least:.2f} to {most:.2f}", met, detail)
