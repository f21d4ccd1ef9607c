"""Methods as values: how each model is made for a case, and where it does not apply.

Models are imported when they are made, so that listing methods loads neither torch nor an engine. Models of the
registry of genbayes that have no entry here, a stranger's among them, are methods under their own names. Methods that
choose their runs one by one are in `designs`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Literal

from genbayes.models.registry import Facts, find_model, registered_models
from genbayes_bench.problems.problem import Case, Split

Make = Callable[[int, Case], Any]  # seed and case to an unfitted model
WhyNot = Callable[[Case], str | None]

MOST_FOR_NOISE_PROCESS = 2_500  # runs that the heteroskedastic GP takes within a minute
MOST_FOR_JUMP_GP = 30_000  # beyond, hours
MOST_FOR_DEEP_GP = 300  # a step of its chain costs n^3
# AutoGluon by its time limit: 180 s, and about what AutoSurrogate takes, rounded up
AUTOGLUON = {"autogluon": 180, "autogluon-60": 60, "autogluon-30": 30, "autogluon-10": 10}
LEAST_FOR_FOLDS = 120  # seconds; with fewer its best preset ends before its first model is there
PAPER_REPLICATES = 5  # the paper's recipe takes minutes to an hour a fit; more on request


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
        more_scores: Fitted model and split to further scores; None for none.

    Example:
        >>> METHODS["gp"].make(0, None)
        StationaryGP(random_state=0)
    """

    name: str
    title: str
    make: Make
    family: Literal["ours", "paper", "baseline"] = "baseline"
    why_not: WhyNot = lambda case: None
    most_replicates: int | None = None
    more_scores: Callable[[Any, Split], dict[str, float]] | None = None

    def sizes(self, case: Case) -> tuple[int, ...]:
        """Numbers of runs to learn from."""
        return case.protocol.sizes


def _network(**settings: Any) -> Make:
    def make(seed: int, case: Case) -> Any:
        from genbayes import BoundaryFeatures, QuantileSurrogate

        features = BoundaryFeatures() if settings.get("augmented") else None
        return QuantileSurrogate(features=features, n_epochs=case.protocol.n_epochs, random_state=seed)

    return make


def _paper(**settings: Any) -> Make:
    def make(seed: int, case: Case) -> Any:
        from genbayes import QuantileSurrogate

        return QuantileSurrogate(recipe="paper", **{**case.protocol.paper_settings, **settings}, random_state=seed)

    return make


def _auto(seed: int, case: Case) -> Any:
    from genbayes import AutoSurrogate

    return AutoSurrogate(time_limit=case.protocol.time_limit, random_state=seed)


def _registered(name: str) -> Make:
    """A model of the registry of genbayes."""
    return lambda seed, case: find_model(name).make(Facts(n=0, n_regimes=1), seed)


def _at_most(most: int) -> WhyNot:
    return lambda case: f"more than {most:,} runs would take too long" if case.n_train > most else None


def _needs_engine(name: str, requirement: str = "genbayes-bench[rivals]") -> WhyNot:
    return lambda case: None if find_spec(name) else f"{name} is not installed; pip install '{requirement}'"


def _autogluon(seconds: int) -> Make:
    def make(seed: int, case: Case) -> Any:
        from genbayes_bench.rivals.autogluon import AutoGluon

        preset = "best_quality" if seconds >= LEAST_FOR_FOLDS else "medium_quality"
        return AutoGluon(seconds, preset, random_state=seed)

    return make


def _why_no_autogluon(case: Case) -> str | None:
    from genbayes_bench.rivals.environment import why_missing

    return why_missing("autogluon")


def _why_no_jumps(case: Case) -> str | None:
    return None if case.problem.jumps else "the response does not jump"


def _why_no_jump_gp(case: Case) -> str | None:
    return _why_no_jumps(case) or _at_most(MOST_FOR_JUMP_GP)(case)


def _why_no_paper(case: Case) -> str | None:
    most = case.protocol.n_paper
    return None if most is None or case.n_train <= most else f"the paper learnt from at most {most:,} runs here"


def _why_no_single(case: Case) -> str | None:
    alone = case.protocol.paper_settings.get("n_members", 1) == 1
    return "the paper's recipe has one member here anyway" if alone else _why_no_paper(case)


_ALL = (
    Method("gbc", "QuantileSurrogate", _network(), "ours"),
    Method("gbc-aug", "QuantileSurrogate with BoundaryFeatures", _network(augmented=True), "ours", _why_no_jumps),
    Method("auto", "AutoSurrogate", _auto, "ours"),
    Method("gbc-paper", "GBC to the letter of the paper", _paper(), "paper", _why_no_paper, PAPER_REPLICATES),
    Method(
        "gbc-paper-single", "the same with one member", _paper(n_members=1), "paper", _why_no_single, PAPER_REPLICATES
    ),
    Method("gp", "StationaryGP", _registered("gp")),
    Method("het-gp", "HeteroskedasticGP", _registered("het-gp"), why_not=_at_most(MOST_FOR_NOISE_PROCESS)),
    Method("jump-gp", "ModularJumpGP", _registered("jump-gp"), why_not=_why_no_jump_gp),
    Method(
        "boosted",
        "BoostedQuantiles",
        _registered("boosted"),
        why_not=_needs_engine("lightgbm", "genbayes[baselines]"),
    ),
    Method("sparse-gp", "SparseGP", _registered("sparse-gp")),
    Method("regime-gp", "RegimeGP", _registered("regime-gp"), why_not=_why_no_jump_gp),
    Method("deep-gp", "DeepGP", _registered("deep-gp"), why_not=_at_most(MOST_FOR_DEEP_GP)),
    Method("forest", "QuantileForest", _registered("forest"), why_not=_needs_engine("quantile_forest")),
    Method(
        "ngboost",
        "NaturalGradientBoosting",
        _registered("ngboost"),
        why_not=_needs_engine("ngboost"),
    ),
    *(
        Method(
            name,
            f"AutoGluon, {seconds} s",
            _autogluon(seconds),
            why_not=_why_no_autogluon,
            more_scores=lambda model, split: {"cpu_seconds": model.facts_["fit_seconds"]},
        )
        for name, seconds in AUTOGLUON.items()
    ),
)
METHODS: Mapping[str, Method] = {method.name: method for method in _ALL}


def registered_methods() -> dict[str, Method]:
    """Every model that is registered and has no entry here; what wraps another model is left out.

    Example:
        >>> registered_methods()["gp-smooth"].title
        'stationary GP, smoothest kernel'
    """
    known = {*METHODS, "network", "conformal"}  # the network is called gbc here
    models = [model for name, model in registered_models().items() if name not in known]
    return {model.name: Method(model.name, model.title, _registered(model.name)) for model in models}
