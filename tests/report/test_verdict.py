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


def words(make_model: Maker, scale: float, *effects: MainEffect, n: int = 400) -> str:
    y = np.random.default_rng(0).normal(size=n)
    result = assess(make_model(lambda X: np.zeros(len(X)), scale=scale), np.zeros((n, 1)), y)
    return unescape(re.sub("<[^>]+>", "", verdict(result, effects or [effect("x", 1.0)]))).strip()


@pytest.mark.parametrize(
    ("scale", "judgement"),
    [
        (1.0, "No sign of miscalibration in"),
        (0.5, "The intervals are too narrow: intervals meant to hold 90%"),
        (2.0, "The intervals are too wide: intervals meant to hold 90%"),
    ],
)
def test_calibration_is_judged_against_luck(make_model: Maker, scale: float, judgement: str) -> None:
    assert judgement in words(make_model, scale)


def test_a_significant_but_small_deviation_is_called_slight(make_model: Maker) -> None:
    assert "The intervals are slightly too wide" in words(make_model, 1.04, n=20_000)


@pytest.mark.parametrize(("scale", "kind"), [(1.0, "verdict"), (0.5, "verdict attention")])
def test_what_speaks_against_calibration_is_coloured(make_model: Maker, scale: float, kind: str) -> None:
    y = np.random.default_rng(0).normal(size=400)
    result = assess(make_model(lambda X: np.zeros(len(X)), scale=scale), np.zeros((400, 1)), y)
    assert verdict(result, [effect("x", 1.0)]).startswith(f'<p class="{kind}">')


def test_the_number_of_rows_held_is_given(make_model: Maker) -> None:
    assert re.search(r"hold \d+ of 400 observations \(\d+(\.\d+)?%\)", words(make_model, 1.0))


def test_the_most_important_inputs_are_named_with_their_shares(make_model: Maker) -> None:
    text = words(make_model, 1.0, effect("mach", 0.6), effect("<alpha>", 0.2), effect("beta", 0.06), effect("no", 0.01))
    assert text.endswith("are mach (60% of the predicted variation), <alpha> (20%) and beta (6%).")


def test_one_important_input_stands_alone(make_model: Maker) -> None:
    text = words(make_model, 1.0, effect("mach", 0.6), effect("no", 0.01))
    assert text.endswith("The input that matters most is mach (60% of the predicted variation).")


def test_inputs_without_effect_are_not_praised(make_model: Maker) -> None:
    text = words(make_model, 1.0, effect("a", 0.01), effect("b", 0.0))
    assert text.endswith("No input explains much of the predicted variation on its own.")


def test_a_forecast_without_skill_is_not_called_better(make_model: Maker) -> None:
    assert ", about that of a forecast that ignores the inputs." in words(make_model, 1.0)


def test_a_bad_forecast_is_called_worse(make_model: Maker) -> None:
    assert "worse than a forecast that ignores the inputs" in words(make_model, 9.0)


def test_tiles_mark_coverage_that_luck_does_not_explain(make_model: Maker) -> None:
    y = np.random.default_rng(0).normal(size=400)
    result = assess(make_model(lambda X: np.zeros(len(X)), scale=0.5), np.zeros((400, 1)), y)
    assert [tile.label for tile in score_tiles(result) if tile.attention] == [
        "50% intervals hold",
        "90% intervals hold",
    ]
