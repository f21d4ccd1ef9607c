"""A fit with the default setting while another process keeps one core busy, against a fit with one thread."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterator

import torch

from genbayes import QuantileSurrogate
from genbayes_bench.problems import draw_friedman
from genbayes_bench.studies.speed.result import Result, timed

__all__ = ["measure_threads"]

TOLERANCE = 1.05  # two timings of the same work differ by this much


def keep_busy(core: int) -> None:
    os.sched_setaffinity(0, {core})
    while True:
        pass


def measure_threads(n_epochs: int = 60) -> Iterator[Result]:
    split = draw_friedman(0, 2_000, 10)
    cores = sorted(os.sched_getaffinity(0))
    before = torch.get_num_threads()

    def fit() -> None:
        QuantileSurrogate(n_epochs=n_epochs, random_state=0).fit(split.X_train, split.y_train)

    fit()
    busy = [multiprocessing.Process(target=keep_busy, args=(core,), daemon=True) for core in cores[: len(cores) // 2]]
    for process in busy:
        process.start()
    try:
        default = min(timed(fit)[1] for _ in range(3))
        kept = torch.get_num_threads() == before
        torch.set_num_threads(1)
        single = min(timed(fit)[1] for _ in range(3))
    finally:
        torch.set_num_threads(before)
        for process in busy:
            process.terminate()
    yield Result(
        "fit beside a busy core, default threads over one thread", f"{default / single:.2f}", "no slower (1.05)",
        default / single <= TOLERANCE and kept, f"{default:.1f} s against {single:.1f} s; setting restored: {kept}",
    )  # fmt: skip
