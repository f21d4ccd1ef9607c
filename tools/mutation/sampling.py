"""Which mutants are tried: a seeded sample over the folders whose tests are judged, every kind of change in it."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

from mutation.sites import Mutant, Site, sites_under

SHARES = {"models": 0.45, "auto": 0.15, "calibration": 0.15, "campaign": 0.25}
FOLDERS = {  # of src/genbayes
    "models": ("models", "gp", "network", "surrogate", "baselines", "features", "training", "tabular"),
    "auto": ("auto", "selection"),
    "calibration": ("conformal", "diagnostics", "calibration"),
    "campaign": ("design", "campaign"),
}
RIVALS = {"forest", "natural", "r", "ngboost_normal", "leaves", "bootstrap", "sngp", "anchored", "lastlayer", "head"}
OPERATORS = {
    "comparison": 22,
    "arithmetic": 25,
    "constant": 20,
    "negated condition": 13,
    "and, or": 7,
    "min, max": 6,
    "minus dropped": 4,
    "returned value": 3,
}
LONGEST_STATEMENT = 300  # characters, beyond which it is a table
MOST_IN_A_FUNCTION = 3


def draw_sample(root: Path, seed: int, count: int) -> list[Mutant]:
    """Mutants of every area by its share, at most one for a statement, in the order in which they are to be tried."""
    rng = random.Random(seed)
    sites = [site for site in sites_under(root) if len(site.mutant.statement) <= LONGEST_STATEMENT]
    chosen: list[Mutant] = []
    for area, share in SHARES.items():
        inside = [site for site in sites if _area(site.mutant.file) == area]
        chosen += _draw(inside, round(share * count), rng)
    rng.shuffle(chosen)
    return chosen


def _area(file: str) -> str | None:
    parts = Path(file).with_suffix("").parts[2:]
    if RIVALS.intersection(parts):
        return None
    return next((area for area, folders in FOLDERS.items() if parts and parts[0] in folders), None)


def _draw(sites: Sequence[Site], count: int, rng: random.Random) -> list[Mutant]:
    pools = {name: [site.mutant for site in sites if site.mutant.operator == name] for name in OPERATORS}
    for pool in pools.values():
        rng.shuffle(pool)
    chosen: list[Mutant] = []
    while len(chosen) < count and any(pools.values()):
        names = [name for name, pool in pools.items() if pool]
        mutant = pools[rng.choices(names, [OPERATORS[name] for name in names])[0]].pop()
        fellows = [each for each in chosen if (each.file, each.function) == (mutant.file, mutant.function)]
        if len(fellows) < MOST_IN_A_FUNCTION and mutant.statement not in [each.statement for each in fellows]:
            chosen.append(mutant)
    return chosen
