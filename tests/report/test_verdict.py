import re
from collections.abc import Callable
from html import unescape
from typing import Any

import numpy as np
import pytest

from genbayes.analysis import MainEffect
from genbayes.diagnostics import assess
from genbayes.report.assessment import score_tiles, verdict

Maker = Callable[..., Any]


def effect(name: str, share: float) -> MainEffect:
    return MainEffect(name, 0, np.array([0.0, 1.0]), np.array([0.0, 1.0]), share, False)


def words(make_model: Maker, scale: float, *effects: MainEffect, n: int) -> str:
    y = np.random.default_rng(0).normal(size=n)
    result = assess(make_model(lambda X: np.zeros(len(X)), scale=scale), np.zeros((n, 1)), y)
    return unescape(re.sub("<[^>]+>", "", verdict(result, effects))).strip()


X_ONLY = effect("x", 1.0)
THREE = effect("mach", 0.6), effect("<alpha>", 0.2), effect("beta", 0.06), effect("no", 0.01)


@pytest.mark.parametrize(
    ("scale", "effects", "n", "said"),
    [
        (1.0, [X_ONLY], 400, "No sign of miscalibration in"),
        (0.5, [X_ONLY], 400, "The intervals are too narrow: intervals meant to hold 90%"),
        (2.0, [X_ONLY], 400, "The intervals are too wide: intervals meant to hold 90%"),
        (1.04, [X_ONLY], 20_000, "The intervals are slightly too wide"),  # significant but small
        (1.0, [X_ONLY], 400, r"hold \d+ of 400 observations \(\d+(\.\d+)?%\)"),
        (1.0, [X_ONLY], 400, ", about that of a forecast that ignores the inputs\\."),
        (9.0, [X_ONLY], 400, "worse than a forecast that ignores the inputs"),
        (1.0, THREE, 400, r"are mach \(60% of the predicted variation\), <alpha> \(20%\) and beta \(6%\)\.$"),
        (1.0, THREE[::3], 400, r"The input that matters most is mach \(60% of the predicted variation\)\.$"),
        (1.0, THREE[3:] * 2, 400, r"No input explains much of the predicted variation on its own\.$"),
    ],
)
def test_the_verdict_says_what_was_found_and_no_more(
    make_model: Maker, scale: float, effects: Any, n: int, said: str
) -> None:
    assert re.search(said, words(make_model, scale, *effects, n=n))


@pytest.mark.parametrize(
    ("scale", "kind", "bold", "marked"),
    [
        (1.0, "verdict", "No sign of miscalibration in 400 rows", []),
        (0.5, "verdict attention", "The intervals are too narrow", ["50% intervals hold", "90% intervals hold"]),
    ],
)
def test_what_speaks_against_calibration_is_coloured_and_the_claim_alone_is_bold(
    make_model: Maker, scale: float, kind: str, bold: str, marked: list[str]
) -> None:
    y = np.random.default_rng(0).normal(size=400)
    result = assess(make_model(lambda X: np.zeros(len(X)), scale=scale), np.zeros((400, 1)), y)
    told = verdict(result, [X_ONLY])
    assert told.startswith(f'<p class="{kind}">')
    assert f"<strong>{bold}</strong>" in told
    assert [tile.label for tile in score_tiles(result) if tile.attention] == marked
