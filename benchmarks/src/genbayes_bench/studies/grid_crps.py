"""What the paper's estimate of the CRPS makes of a forecast: quantiles at m / (M + 1) leave the tails out.

The paper (section 5.1) does not say how large M was. On noise-free responses, which reward forecasts that are too
narrow, a forecast without its tails scores better than it should.

python -m genbayes_bench.studies.grid_crps                  the paper's network on Friedman's function, two replicates
python -m genbayes_bench.studies.grid_crps --replicates 5
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np

from genbayes import QuantileSurrogate
from genbayes.arrays import FloatArray
from genbayes.distribution import PredictiveDistribution
from genbayes_bench.problems import draw_friedman

__all__ = ["crps_on_grid", "main"]

SIZES = (9, 19, 99, 200, 999)


def crps_on_grid(law: PredictiveDistribution, y: FloatArray, size: int) -> FloatArray:
    """The mean of |q_m - y| less half that of |q_m - q_m'|, with q_m the quantiles at m / (M + 1), (n,) -> (n,).

    Args:
        law: The forecasts.
        y: Responses.
        size: M.
    """
    m = np.arange(1, size + 1)
    q = np.asarray(law.ppf(m / (size + 1)))
    return np.asarray(np.abs(q - y[:, None]).mean(axis=1) - q @ (2 * m - size - 1) / size**2)


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replicates", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=3_000, help="the paper's 3,000 unless given")
    given = parser.parse_args(words)
    print("| replicate | responses | exact | " + " | ".join(f"M = {size}" for size in SIZES) + " |")
    print("|" + "---|" * (3 + len(SIZES)))
    for replicate in range(given.replicates):
        split = draw_friedman(replicate)
        model = QuantileSurrogate(recipe="paper", n_epochs=given.epochs, random_state=replicate)
        law = model.fit(split.X_train, split.y_train).predict_distribution(split.X_test)
        for name, y in (("noise-free", split.f_test), ("noisy", split.y_test)):
            exact = law.crps(y).mean()
            cells = [f"{crps_on_grid(law, y, size).mean() / exact - 1:+.1%}" for size in SIZES]
            print(f"| {replicate} | {name} | {exact:.4f} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
