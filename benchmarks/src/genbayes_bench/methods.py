"""Methods as data: how each model is made for a case, and where it does not apply.

Models are imported when they are made, so that listing methods loads neither torch nor an engine.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Literal

from genbayes_bench.problems.problem import Case

__all__ = ["METHODS", "Make", "Method"]

Make = Callable[[int, Case], Any]  # seed and case to an unfitted model

MOST_FOR_NOISE_PROCESS = 2_500  # runs that the heteroskedastic GP takes within a minute
MOST_FOR_JUMP_GP = 30_000  # beyond, hours
MOST_FOR_DEEP_GP = 300  # a step of its chain costs n^3
RIVALS, ENGINES = "genbayes_bench.rivals", "genbayes-bench[rivals]"
PAPER_REPLICATES = 5  # the paper's recipe takes minutes to an hour a fit; more on request


def _everywhere(case: Case) -> str | None:
    return None


@dataclass(frozen=True)
class Method:
    """A model that is measured.

    Attributes:
        name: Its key in records and on the command line.
        title: What it is, for people.
        make: Seed and case to an unfitted model with `fit`, `predict_distribution` and `get_params`.
        family: "ours", "paper" (the paper to the letter) or "baseline".
        why_not: Case to the reason why it does not apply there, or None if it does.
        most_replicates: Replicates to run unless told otherwise; None for all.

    Example:
        >>> METHODS["gp"].make(0, None)
        StationaryGP(random_state=0)
    """

    name: str
    title: str
    make: Make
    family: Literal["ours", "paper", "baseline"] = "baseline"
    why_not: Callable[[Case], str | None] = _everywhere
    most_replicates: int | None = None


def _fast(seed: int, case: Case) -> Any:
    from genbayes import QuantileSurrogate

    return QuantileSurrogate(n_epochs=case.protocol.n_epochs, random_state=seed)


def _augmented(seed: int, case: Case) -> Any:
    from genbayes import BoundaryFeatures, QuantileSurrogate

    return QuantileSurrogate(features=BoundaryFeatures(), n_epochs=case.protocol.n_epochs, random_state=seed)


def _paper(**settings: Any) -> Make:
    def make(seed: int, case: Case) -> Any:
        from genbayes import QuantileSurrogate

        return QuantileSurrogate(recipe="paper", **{**case.protocol.paper_settings, **settings}, random_state=seed)

    return make


def _auto(seed: int, case: Case) -> Any:
    from genbayes import AutoSurrogate

    return AutoSurrogate(time_limit=case.protocol.time_limit, random_state=seed)


def _baseline(name: str, package: str = "genbayes.baselines") -> Make:
    def make(seed: int, case: Case) -> Any:
        return getattr(import_module(package), name)(random_state=seed)

    return make


def _at_most(most: int) -> Callable[[Case], str | None]:
    def why_not(case: Case) -> str | None:
        return f"more than {most:,} runs would take too long" if case.n_train > most else None

    return why_not


def _needs_engine(name: str, requirement: str) -> Callable[[Case], str | None]:
    def why_not(case: Case) -> str | None:
        return None if find_spec(name) else f"{name} is not installed; pip install '{requirement}'"

    return why_not


def _needs_jumps(case: Case) -> str | None:
    return None if case.problem.jumps else "the response does not jump"


def _why_no_jump_gp(case: Case) -> str | None:
    return _needs_jumps(case) or _at_most(MOST_FOR_JUMP_GP)(case)


def _why_no_paper(case: Case) -> str | None:
    most = case.protocol.n_paper
    return None if most is None or case.n_train <= most else f"the paper learnt from at most {most:,} runs here"


def _why_no_single(case: Case) -> str | None:
    alone = case.protocol.paper_settings.get("n_members", 1) == 1
    return "the paper's recipe has one member here anyway" if alone else _why_no_paper(case)


_ALL = (
    Method("gbc", "QuantileSurrogate", _fast, "ours"),
    Method("gbc-aug", "QuantileSurrogate with BoundaryFeatures", _augmented, "ours", _needs_jumps),
    Method("auto", "AutoSurrogate", _auto, "ours"),
    Method("gbc-paper", "GBC to the letter of the paper", _paper(), "paper", _why_no_paper, PAPER_REPLICATES),
    Method(
        "gbc-paper-single",
        "the same with one member",
        _paper(n_members=1),
        "paper",
        _why_no_single,
        PAPER_REPLICATES,
    ),
    Method("gp", "StationaryGP", _baseline("StationaryGP")),
    Method("het-gp", "HeteroskedasticGP", _baseline("HeteroskedasticGP"), why_not=_at_most(MOST_FOR_NOISE_PROCESS)),
    Method("jump-gp", "ModularJumpGP", _baseline("ModularJumpGP"), why_not=_why_no_jump_gp),
    Method(
        "boosted",
        "BoostedQuantiles",
        _baseline("BoostedQuantiles"),
        why_not=_needs_engine("lightgbm", "genbayes[baselines]"),
    ),
    Method("sparse-gp", "SparseGP", _baseline("SparseGP")),
    Method("regime-gp", "RegimeGP", _baseline("RegimeGP"), why_not=_why_no_jump_gp),
    Method("deep-gp", "DeepGP", _baseline("DeepGP"), why_not=_at_most(MOST_FOR_DEEP_GP)),
    Method(
        "forest",
        "QuantileForest",
        _baseline("QuantileForest", RIVALS),
        why_not=_needs_engine("quantile_forest", ENGINES),
    ),
    Method(
        "ngboost",
        "NaturalGradientBoosting",
        _baseline("NaturalGradientBoosting", RIVALS),
        why_not=_needs_engine("ngboost", ENGINES),
    ),
)
METHODS: Mapping[str, Method] = {method.name: method for method in _ALL}
