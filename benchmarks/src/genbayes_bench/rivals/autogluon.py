"""AutoGluon's quantile predictor on tables, in the rivals' own environment (`make rivals`), on one thread.

Source: Erickson et al. 2020, "AutoGluon-Tabular". It is given seconds and a preset and left alone otherwise.
"""

from __future__ import annotations

import shutil
import tempfile
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from genbayes.arrays import FloatArray
from genbayes_bench.rivals.environment import call_rival

if TYPE_CHECKING:
    from genbayes.distribution import QuantileFunction

PACKAGE = "autogluon"
MOST_MORE = 600.0  # seconds that it may overrun its limit by, and needs to start


class AutoGluon:
    """Quantiles by AutoGluon at the levels of `BoostedQuantiles`, linear between them, exponential beyond.

    Args:
        seconds: Its time limit.
        preset: "best_quality", "medium_quality", ...
        random_state: Seed of what reads the global generators of its process.

    Attributes:
        facts_: Cpu seconds of the fit, names of the models it joined, versions.
    """

    def __init__(self, seconds: float = 180.0, preset: str = "best_quality", random_state: int = 0) -> None:
        self.seconds = seconds
        self.preset = preset
        self.random_state = random_state

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The settings, for the record."""
        return {"seconds": self.seconds, "preset": self.preset, "random_state": self.random_state}

    def fit(self, X: FloatArray, y: FloatArray) -> Self:
        """Learn; the predictor lies in a temporary folder as long as this object lives."""
        from genbayes.models.trees.boosted import LEVELS

        place = tempfile.mkdtemp(prefix="genbayes-autogluon-")
        self._remove = weakref.finalize(self, shutil.rmtree, place, ignore_errors=True)
        self._folder = str(Path(place) / "predictor")
        settings = {"seconds": self.seconds, "preset": self.preset, "seed": self.random_state, "folder": self._folder}
        arrays = {"X": X, "y": y, "levels": LEVELS}
        answer = call_rival("autogluon-fit", PACKAGE, arrays, settings, self.seconds + MOST_MORE)
        self.facts_ = dict(answer.facts)
        return self

    def predict_distribution(self, X: FloatArray) -> QuantileFunction:
        """What it predicts."""
        from genbayes.distribution import QuantileFunction
        from genbayes.models.trees.boosted import LEVELS

        answer = call_rival("autogluon-predict", PACKAGE, {"X_new": X}, {"folder": self._folder}, MOST_MORE)
        return QuantileFunction(LEVELS, answer.arrays["q"])
