"""Candidates: the surrogates that AutoSurrogate may choose from and join, and what speaks for trying each.

A candidate is a name and a way to make an unfitted model. What is known of the runs before any fit, `Facts`, says
whether it is worth its time: boundary features need regimes, a GP of the noise cannot take many runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from sklearn.base import clone

from genbayes.errors import InvalidInput
from genbayes.validation import suggest

__all__ = ["NAMES", "Candidate", "Facts", "choose_candidates"]

FEWEST_FOR_TREES = 300  # runs: a leaf holds ten or more, which leaves little to split of fewer
MOST_FOR_NOISE_PROCESS = 2_500  # distinct inputs that the heteroskedastic GP takes within a minute
MOST_FOR_SMOOTH = 3_000  # distinct inputs that the smoothest kernel takes at all
FEWEST_FOR_WAVES = 300  # runs: of fewer, waves are rather memorised
MOST_FOR_GP = 30_000  # beyond, a sparse GP is tried instead


@dataclass(frozen=True)
class Facts:
    """What is known of the runs before any fit.

    Attributes:
        n: Distinct runs.
        n_regimes: Regimes of the response.
        categorical: Columns that are categories.
        bounds: Bounds of the response.
    """

    n: int
    n_regimes: int
    categorical: tuple[int, ...] = ()
    bounds: tuple[float | None, float | None] = (None, None)


@dataclass(frozen=True)
class Candidate:
    """A surrogate that may be chosen.

    Attributes:
        name: Its key in `candidates=` and in reports.
        title: What it is, for people.
        make: Seed to an unfitted model.
        refines: Name of the candidate whose smooth mean it builds on; where a jump makes that one hopeless, so is
            this; empty for none, or where the response has one regime.
    """

    name: str
    title: str
    make: Callable[[int], Any]
    refines: str = ""


def _iqn(facts: Facts, **settings: Any) -> Callable[[int], Any]:
    def make(seed: int) -> Any:
        from genbayes.surrogate import QuantileSurrogate  # torch loads only with the model that needs it

        return QuantileSurrogate(
            categorical=facts.categorical or None, y_bounds=facts.bounds, random_state=seed, **settings
        )

    return make


def _with_boundary(facts: Facts) -> Callable[[int], Any]:
    def make(seed: int) -> Any:
        from genbayes.features import BoundaryFeatures

        return _iqn(facts, features=BoundaryFeatures(), n_layers=1)(seed)

    return make


def _with_waves(facts: Facts) -> Callable[[int], Any]:
    def make(seed: int) -> Any:
        from genbayes.surrogate.fast import N_WAVES

        return _iqn(facts, n_layers=3, n_waves=N_WAVES, dropout=0.0)(seed)

    return make


def _informed(facts: Facts) -> Callable[[int], Any]:
    def make(seed: int) -> Any:
        from genbayes.surrogate import GPInformedSurrogate

        return GPInformedSurrogate(categorical=facts.categorical or None, random_state=seed)

    return make


def _baseline(facts: Facts, name: str, **settings: Any) -> Callable[[int], Any]:
    def make(seed: int) -> Any:
        from genbayes import baselines

        return getattr(baselines, name)(categorical=facts.categorical or None, random_state=seed, **settings)

    return make


@dataclass(frozen=True)
class _Offer:
    title: str
    make: Callable[[Facts], Callable[[int], Any]]
    is_worth_trying: Callable[[Facts], bool]
    refines: str = ""


def _always(facts: Facts) -> bool:
    return True


# in the order in which they are tried, the quick ones first
OFFERS: dict[str, _Offer] = {
    "gp": _Offer("stationary GP", lambda f: _baseline(f, "StationaryGP"), lambda f: f.n <= MOST_FOR_GP),
    "gp-smooth": _Offer(
        "stationary GP, smoothest kernel",
        lambda f: _baseline(f, "StationaryGP", kernel="squared-exponential"),
        lambda f: f.n <= MOST_FOR_SMOOTH and f.n_regimes == 1,
    ),
    "sparse-gp": _Offer("sparse GP", lambda f: _baseline(f, "SparseGP"), lambda f: f.n > MOST_FOR_GP),
    "regime-gp": _Offer("GP of each regime", lambda f: _baseline(f, "RegimeGP"), lambda f: f.n_regimes > 1),
    "jump-gp": _Offer("modular jump GP", lambda f: _baseline(f, "ModularJumpGP"), lambda f: f.n_regimes > 1),
    "iqn-shallow": _Offer("quantile network, shallow", lambda f: _iqn(f, n_layers=1), _always),
    "iqn-deep": _Offer("quantile network, deep", lambda f: _iqn(f, n_layers=3), _always),
    "iqn-wavy": _Offer("quantile network with waves", _with_waves, lambda f: f.n >= FEWEST_FOR_WAVES),
    "het-gp": _Offer(
        "heteroskedastic GP",
        lambda f: _baseline(f, "HeteroskedasticGP"),
        lambda f: f.n <= MOST_FOR_NOISE_PROCESS,
        refines="gp",
    ),
    "gp-iqn": _Offer("GP-informed quantile network", _informed, lambda f: f.n <= MOST_FOR_GP, refines="gp"),
    "iqn-boundary": _Offer("quantile network with boundary features", _with_boundary, lambda f: f.n_regimes > 1),
    "boosted": _Offer(
        "gradient-boosted quantiles",
        lambda f: _baseline(f, "BoostedQuantiles"),
        lambda f: f.n >= FEWEST_FOR_TREES and find_spec("lightgbm") is not None,
    ),
}
NAMES = tuple(OFFERS)


def choose_candidates(wanted: Sequence[str] | Mapping[str, Any] | None, facts: Facts) -> list[Candidate]:
    """The candidates to try.

    Args:
        wanted: None for those that are worth trying; names; or a mapping from names to models of the user's own, in
            which a name of ours may stand for itself with None.
        facts: What is known of the runs.

    Example:
        >>> [candidate.name for candidate in choose_candidates(["gp", "iqn-deep"], Facts(n=100, n_regimes=1))]
        ['gp', 'iqn-deep']
    """
    if wanted is None:
        return [_offered(name, facts) for name, offer in OFFERS.items() if offer.is_worth_trying(facts)]
    if isinstance(wanted, str) or not isinstance(wanted, (Mapping, Sequence)) or not wanted:
        raise InvalidInput(f"candidates must be names ({', '.join(NAMES)}) or a mapping of models, got {wanted!r}")
    models = wanted if isinstance(wanted, Mapping) else dict.fromkeys(wanted)
    return [_offered(name, facts) if model is None else _own(name, model) for name, model in models.items()]


def _offered(name: Any, facts: Facts) -> Candidate:
    if name not in OFFERS:
        hint = suggest(name, NAMES) if isinstance(name, str) else ""
        raise InvalidInput(f"candidates must be among {', '.join(NAMES)}, got {name!r}{hint}")
    offer = OFFERS[name]
    return Candidate(name, offer.title, offer.make(facts), offer.refines if facts.n_regimes > 1 else "")


def _own(name: Any, model: Any) -> Candidate:
    if isinstance(model, type) or not (hasattr(model, "fit") and hasattr(model, "predict_distribution")):
        raise InvalidInput(f"candidates must be models with fit and predict_distribution, got {model!r} for {name!r}")

    def make(seed: int) -> Any:
        copy = clone(model)
        if copy.get_params().get("random_state", 0) is None:
            copy.set_params(random_state=seed)
        return copy

    return Candidate(str(name), type(model).__name__, make)
