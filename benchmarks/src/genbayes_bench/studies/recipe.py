"""Why the recipe "fast" is as it is: each choice undone in turn, on draws that are used for nothing else.

python -m genbayes_bench.studies.recipe                       every variant, about a quarter of an hour on two cores
python -m genbayes_bench.studies.recipe --replicates 5        more draws
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from unittest.mock import patch

import numpy as np
import torch
from rich.console import Console
from rich.table import Table

from genbayes import QuantileSurrogate
from genbayes.metrics import coverage
from genbayes_bench.problems import Split, draw_bgp, draw_friedman, split_motorcycle
from genbayes_bench.studies.speed.result import timed

DEVELOPMENT = 1_000  # replicates from here on are for choosing; those that are reported elsewhere start at 0

PROBLEMS: dict[str, Callable[[int], Split]] = {
    "BGP d=2": lambda replicate: draw_bgp(2, DEVELOPMENT + replicate),
    "BGP d=4": lambda replicate: draw_bgp(4, DEVELOPMENT + replicate),
    "Friedman": lambda replicate: draw_friedman(DEVELOPMENT + replicate),
    "motorcycle": lambda replicate: split_motorcycle(DEVELOPMENT + replicate),
}

VARIANTS: dict[str, dict[str, object]] = {
    "as it is": {},
    "one hidden layer in f_x": {"n_layers": 1},
    "three hidden layers": {"n_layers": 3},
    "no dropout": {"dropout": 0.0},
    "dropout 0.15": {"dropout": 0.15},
    "one member": {"n_members": 1},
    "quantile-dominant weights": {"weights": "quantile-dominant"},
    "inert inputs not dimmed": {
        "patched": "genbayes.models.network.trials.dim_inert_inputs",
        "by": lambda r: torch.ones(len(r)),
    },
    "spread not learnt": {"patched": "genbayes.models.network.trials.choose_spread", "by": lambda *_: 1.0},
    "no stopping, no averaging": {"patched": "genbayes.models.network.recipes.PATIENCE", "by": None},
}


def fit(settings: dict[str, object], split: Split, seed: int) -> QuantileSurrogate:
    settings = dict(settings)
    place, replacement = settings.pop("patched", None), settings.pop("by", None)
    model = QuantileSurrogate(random_state=seed, **settings)
    if place is None:
        return model.fit(split.X_train, split.y_train)
    with patch(str(place), replacement):
        if str(place).endswith("PATIENCE"):
            with patch("genbayes.models.network.recipes.AVERAGING", 0.0):
                return model.fit(split.X_train, split.y_train)
        return model.fit(split.X_train, split.y_train)


def score(settings: dict[str, object], draw: Callable[[int], Split], n_replicates: int) -> tuple[float, float, float]:
    """Mean CRPS, 90% coverage and seconds over the replicates."""
    rows = []
    for replicate in range(n_replicates):
        split = draw(replicate)
        model, seconds = timed(lambda split=split, replicate=replicate: fit(settings, split, replicate))
        law = model.predict_distribution(split.X_test)
        rows.append([law.crps(split.y_test).mean(), coverage(*law.interval(0.9), split.y_test), seconds])
    crps, covered, took = np.mean(rows, axis=0)
    return float(crps), float(covered), float(took)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replicates", type=int, default=3)
    parser.add_argument("--problems", nargs="*", default=list(PROBLEMS), choices=list(PROBLEMS))
    arguments = parser.parse_args()
    table = Table("variant", *(f"{name}: CRPS (coverage, s)" for name in arguments.problems))
    for variant, settings in VARIANTS.items():
        cells = []
        for name in arguments.problems:
            crps, covered, seconds = score(settings, PROBLEMS[name], arguments.replicates)
            cells.append(f"{crps:.4f} ({covered:.2f}, {seconds:.1f})")
        print(f"| {variant} | {' | '.join(cells)} |", flush=True)
        table.add_row(variant, *cells)
    Console(width=170).print(table)


if __name__ == "__main__":
    main()
