"""How much sooner `fast` reaches the test CRPS of `paper`: wall time, same threads, same rows, one run.

One network against one network: `paper` trains one with one hidden layer in f_x, so the race is run by one such
network of `fast`, with larger batches and steps than an ensemble would use, since a single small network leaves the
processor idle. The default of `fast`, five members and a choice of depth, is then timed for comparison.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from genbayes import QuantileSurrogate
from genbayes_bench.problems import Split, draw_bgp, draw_friedman
from genbayes_bench.studies.speed.result import Result, timed

__all__ = ["measure_race"]

PROBLEMS: dict[str, Callable[[int], Split]] = {
    "BGP d=2, n=1600": lambda seed: draw_bgp(2, 100 + seed),
    "Friedman d=10, n=2000": lambda seed: draw_friedman(100 + seed),
}
ONE_NETWORK = {"n_members": 1, "n_layers": 1, "batch_size": 256, "learning_rate": 0.01}
# epochs of `fast`, tried in turn
LENGTHS: Sequence[int] = (20, 40, 60, 80, 100, 120, 140, 160, 200, 240, 300)


def run(splits: list[Split], **settings: object) -> tuple[float, float]:
    """Mean test CRPS and mean wall time of a fit over the seeds."""
    crps, seconds = [], []
    for seed, split in enumerate(splits):
        make = lambda seed=seed, split=split: QuantileSurrogate(random_state=seed, **settings).fit(  # noqa: E731
            split.X_train, split.y_train
        )
        model, took = timed(make)
        crps.append(model.predict_distribution(split.X_test).crps(split.y_test).mean())
        seconds.append(took)
    return float(np.mean(crps)), float(np.mean(seconds))


def measure_race(n_seeds: int = 5, n_epochs: int = 3000) -> Iterator[Result]:
    for name, draw in PROBLEMS.items():
        splits = [draw(seed) for seed in range(n_seeds)]
        run(splits[:1], n_epochs=1)  # warm up
        goal, slow = run(splits, recipe="paper", n_epochs=n_epochs)
        what = f"{name}: time of paper ({n_epochs} epochs) over time of fast to reach its CRPS ({n_seeds} seeds)"
        for length in LENGTHS:
            crps, quick = run(splits, n_epochs=length, **ONE_NETWORK)
            if crps <= goal or length == LENGTHS[-1]:
                told = f"paper {goal:.4f} in {slow:.1f} s; fast {crps:.4f} in {quick:.2f} s ({length} epochs)"
                met = crps <= goal and slow / quick >= 10
                yield Result(what, f"{slow / quick:.1f} times", "at least 10 times", met, told)
                break
        crps, quick = run(splits)
        told = f"paper {goal:.4f} in {slow:.1f} s; default fast {crps:.4f} in {quick:.1f} s"
        yield Result(
            f"{name}: the same for the default of fast, run to its end", f"{slow / quick:.1f} times", "", None, told
        )
