"""An assessment in plain language: one paragraph, and one tile a number."""

from __future__ import annotations

from collections.abc import Sequence

from genbayes.analysis import Assessment, MainEffect, expected_coverage
from genbayes.calibration import Diagnostics
from genbayes.reports.numbers import format_number, format_share, format_with_error
from genbayes.reports.page import Html, Tile, join, paragraph, strong

__all__ = ["score_tiles", "verdict"]

NOTABLE = 0.05  # an input that explains less is not named in the verdict
MOST_NAMED = 3
USELESS = 0.005  # a smaller skill rounds to nothing


def verdict(assessment: Assessment, effects: Sequence[MainEffect]) -> Html:
    """What the numbers say: how good, whether the laws keep their promise, which inputs matter."""
    kind = "verdict" if assessment.diagnostics.calibrated else "verdict attention"
    parts = [_accuracy(assessment), _coverage(assessment), _calibration(assessment.diagnostics), _inputs(effects)]
    return paragraph(*parts, kind=kind)


def _accuracy(assessment: Assessment) -> Html:
    score = format_with_error(assessment.crps, assessment.crps_se)
    start = join(f"Over {assessment.n:,} rows the CRPS averages ", strong(score), " (standard error)")
    skill = assessment.skill
    if skill is None:
        return join(start, ". ")
    amount = f"{abs(skill):.0%} {'better' if skill > 0 else 'worse'} than" if abs(skill) >= USELESS else "about that of"
    return join(start, f", {amount} a forecast that ignores the inputs. ")


def _coverage(assessment: Assessment) -> Html:
    n, share = assessment.n, assessment.coverage_90
    low, high = expected_coverage(n, 0.9)
    held = f"{round(share * n):,} of {n:,} observations ({format_share(share)})"
    expected = f"; with this many rows calibrated intervals hold {round(low * n):,} to {round(high * n):,}. "
    return join("The 90% intervals held ", strong(held), expected)


def _calibration(diagnostics: Diagnostics) -> Html:
    """The verdict over all levels: its first clause stands out."""
    claim, _, rest = diagnostics.sentence.partition(":")
    return join(strong(claim), ":", rest, " ")


def _inputs(effects: Sequence[MainEffect]) -> Html:
    if len(effects) == 1:
        return join("The only input is ", strong(effects[0].name), ".")
    named = [effect for effect in effects if effect.share >= NOTABLE][:MOST_NAMED]
    if not named:
        return join("No input explains much of the predicted variation on its own.")
    start = "The input that matters most is " if len(named) == 1 else "The inputs that matter most are "
    unit = [" of the predicted variation", "", ""]
    listed = [join(strong(e.name), f" ({e.share:.0%}{what})") for e, what in zip(named, unit, strict=False)]
    between = ["", *[", "] * (len(listed) - 2), " and "][: len(listed)]
    return join(start, *(join(link, name) for link, name in zip(between, listed, strict=True)), ".")


def score_tiles(assessment: Assessment) -> list[Tile]:
    """The scores, each with a few words on how to judge it."""
    a = assessment
    skill = "–" if a.skill is None else format_share(a.skill)
    return [
        Tile("CRPS", format_number(a.crps), f"standard error {format_number(a.crps_se, 2)}; smaller is better"),
        Tile("Skill", skill, f"gained over ignoring the inputs (CRPS {format_number(a.crps_reference, 3)})"),
        Tile("RMSE", format_number(a.rmse), "error of the predicted mean"),
        _coverage_tile(a.n, 0.5, a.coverage_50),
        _coverage_tile(a.n, 0.9, a.coverage_90),
        Tile("90% interval width", format_number(a.width_90), "on average; narrow is good if they hold"),
    ]


def _coverage_tile(n: int, level: float, share: float) -> Tile:
    low, high = expected_coverage(n, level)
    hint = f"luck allows {format_share(low)} to {format_share(high)}"
    return Tile(f"{level:.0%} intervals hold", format_share(share), hint, attention=not low <= share <= high)
