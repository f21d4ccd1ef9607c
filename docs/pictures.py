"""The picture of the README, made anew: python docs/pictures.py."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from genbayes import AutoSurrogate
from genbayes.data import load_motorcycle
from genbayes.plotting import plot_fan

IMAGES = Path(__file__).parent / "images"


def draw_motorcycle() -> Path:
    """Fan chart of the surrogate fitted to all 133 motorcycle runs."""
    runs = load_motorcycle()
    times, accel = runs["times"].to_numpy(), runs["accel"].to_numpy()
    model = AutoSurrogate(random_state=0).fit(times[:, None], accel)
    grid = np.linspace(times.min(), times.max(), 400)
    law = model.predict_distribution(grid[:, None])
    figure = Figure(figsize=(7.2, 3.6), dpi=160, layout="constrained")
    plot_fan(
        grid,
        law.median(),
        [(level, *law.interval(level)) for level in (0.9, 0.5)],
        x_observed=times,
        y_observed=accel,
        ax=figure.subplots(),
        xlabel="time after impact (ms)",
        ylabel="head acceleration (g)",
    )
    path = IMAGES / "motorcycle.png"
    figure.savefig(path)
    return path


if __name__ == "__main__":
    print(draw_motorcycle())
