"""What tables and pictures call methods, problems and scores, and in which order methods stand.

Records may name what this installation does not know (somebody's own method, a problem of a newer version); these
keep their plain names and count as baselines, so that no comparison becomes easier by them.
"""

from __future__ import annotations

from collections.abc import Iterable

from genbayes_bench.designs import DESIGNS
from genbayes_bench.inference import INFERRERS
from genbayes_bench.methods import METHODS
from genbayes_bench.problems import PROBLEMS, PROTOCOLS
from genbayes_bench.studies import VARIANTS

OURS = ("auto", "gbc", "gbc-aug", "gbc-paper")
ORDER = (*OURS, "gbc-paper-single", "gp", "het-gp", "jump-gp", "regime-gp", "boosted", *DESIGNS)
METHOD_TITLES = {  # short, for columns and legends; the models' own names are long
    "auto": "AutoSurrogate",
    "gbc": "GBC fast",
    "gbc-aug": "GBC-Aug fast",
    "gbc-paper": "GBC paper recipe",
    "gbc-paper-single": "GBC paper recipe, one member",
    "gp": "Stationary GP",
    "het-gp": "Heteroskedastic GP",
    "jump-gp": "Modular jump GP",
    "boosted": "Boosted quantiles",
    "regime-gp": "Regime GP",
    "sparse-gp": "Sparse GP",
    **{name: design.title for name, design in DESIGNS.items()},
}
PROBLEM_TITLES = {
    "bgp2": "BGP d = 2",
    "bgp3": "BGP d = 3",
    "bgp4": "BGP d = 4",
    "friedman_scaling": "Friedman, scaling",
    "amhv": "AMHV",
    "exp2d_gbc": "2D exponential (GBC)",
    "exp2d_sauer": "2D exponential (Sauer)",
    "rocket_hl20": "Rocket (HL-20)",
    "grace": "Satellite GRACE",
    "satmini": "SatMini",
    "proxy7": "7D proxy",
    "jump1d": "1-D jump",
    "phantom_standin": "Phantom (picture)",
    "star_standin": "Star (picture)",
    "slcp": "SLCP",
    "sir": "SIR",
    "lotka_volterra": "Lotka-Volterra",
}
SCORE_NAMES = {
    "crps": "CRPS",
    "rmse": "RMSE",
    "coverage": "90% coverage",
    "width": "90% width",
    "crps_f": "CRPS, noise-free y",
    "rmse_f": "RMSE to the truth",
    "coverage_f": "coverage, noise-free y",
    "rmspe": "RMSPE (%)",
    "ratio": "CRPS over the true distribution's",
    "seconds": "cpu seconds to fit",
    "memory": "peak memory (MB)",
    "c2st": "C2ST",
}
USUAL_METRICS = ("crps", "rmse", "coverage")


def method_title(name: str) -> str:
    """What people call a method.

    Example:
        >>> method_title("gp"), method_title("somebody-else")
        ('Stationary GP', 'somebody-else')
    """
    known = {**METHODS, **VARIANTS}
    title = known[name].title if name in known else INFERRERS[name].title if name in INFERRERS else name
    return METHOD_TITLES.get(name) or title


def problem_title(name: str) -> str:
    """What people call a problem.

    Example:
        >>> problem_title("bgp2"), problem_title("power_plant")
        ('BGP d = 2', 'Power plant')
    """
    return PROBLEM_TITLES.get(name) or name.replace("_", " ").capitalize()


def standin_of(name: str) -> str | None:
    """A sentence on what a problem stands in for; None for the real thing."""
    return PROBLEMS[name].standin if name in PROBLEMS else None


def metrics_of(name: str) -> tuple[str, ...]:
    """Scores that the table of a problem shows, the one that decides first.

    Example:
        >>> metrics_of("grace")
        ('rmspe', 'crps', 'coverage')
    """
    found = next((protocol.metrics for protocol in PROTOCOLS if protocol.problem == name), USUAL_METRICS)
    return tuple(metric for metric in found if metric in SCORE_NAMES)


def score_name(metric: str) -> str:
    """What people call a score.

    Example:
        >>> score_name("rmse_f"), score_name("other")
        ('RMSE to the truth', 'other')
    """
    return SCORE_NAMES.get(metric, metric)


def in_order(methods: Iterable[str]) -> list[str]:
    """Methods in the order of tables: ours first, then the baselines by fame, then the rest by name.

    Example:
        >>> in_order(["gp", "forest", "auto"])
        ['auto', 'gp', 'forest']
    """
    return sorted(methods, key=lambda name: (ORDER.index(name) if name in ORDER else len(ORDER), name))


def baselines_among(methods: Iterable[str]) -> list[str]:
    """The methods that are neither ours nor the paper's.

    Example:
        >>> baselines_among(["gbc", "gp", "somebody-else"])
        ['gp', 'somebody-else']
    """
    return [name for name in in_order(methods) if name not in METHODS or METHODS[name].family == "baseline"]
