"""Every model on the same splits, scored by CRPS on noisy responses: no targets, a picture of where each stands."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator

import numpy as np

from genbayes.metrics import coverage
from genbayes_bench.problems import Split, draw_bgp, draw_friedman, split_motorcycle
from genbayes_bench.studies.speed.models import MODELS
from genbayes_bench.studies.speed.result import Result, timed

__all__ = ["measure_side_by_side"]

N_REPLICATES = 3
SLOW = {"DeepGP": 500}  # training rows at most
PROBLEMS: dict[str, Callable[[int], Split]] = {
    "motorcycle": split_motorcycle,
    "BGP d=2": lambda replicate: draw_bgp(2, replicate),
    "Friedman n=500": lambda replicate: draw_friedman(replicate, 500, 500),
}


def measure_side_by_side() -> Iterator[Result]:
    for problem, draw in PROBLEMS.items():
        splits = [draw(replicate) for replicate in range(N_REPLICATES)]
        for name, home in MODELS.items():
            if len(splits[0].y_train) > SLOW.get(name, len(splits[0].y_train)):
                continue
            make = getattr(importlib.import_module(home), name)
            scores, hits, seconds = [], [], []
            for split in splits:
                model, took = timed(
                    lambda split=split, make=make: make(random_state=0).fit(split.X_train, split.y_train)
                )
                law = model.predict_distribution(split.X_test)
                scores.append(law.crps(split.y_test).mean())
                hits.append(coverage(*law.interval(0.9), split.y_test))
                seconds.append(took)
            score = np.array(scores)
            error = score.std(ddof=1) / np.sqrt(len(score))
            detail = f"coverage {np.mean(hits):.3f}, {np.mean(seconds):.2g} s a fit"
            yield Result(f"{problem}: {name}", f"{score.mean():.4g} ± {error:.2g}", "reported", None, detail)
