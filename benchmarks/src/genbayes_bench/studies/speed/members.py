"""Five members trained together against five fits one after another."""

from __future__ import annotations

from collections.abc import Iterator

from genbayes import QuantileSurrogate
from genbayes_bench.problems import draw_friedman
from genbayes_bench.studies.speed.result import Result, timed

__all__ = ["measure_members"]


def measure_members(n_epochs: int = 100) -> Iterator[Result]:
    split = draw_friedman(0, 1_000, 10)

    def fit(n_members: int, seed: int) -> None:
        QuantileSurrogate(n_members=n_members, n_epochs=n_epochs, random_state=seed).fit(split.X_train, split.y_train)

    fit(1, 9)  # warm up
    _, apart = timed(lambda: [fit(1, seed) for seed in range(5)])
    _, together = timed(lambda: fit(5, 0))
    yield Result(
        "five members together over five fits one after another, n = 1,000", f"{together / apart:.2f}",
        "at most 0.9", together / apart <= 0.9, f"{together:.1f} s against {apart:.1f} s",
    )  # fmt: skip
