"""The registry: one value for each model, which `load`, `AutoSurrogate`, the command line, benchmarks and docs read.

Nothing else lists models, and nothing is imported before it is used. A model file holds a disk name, never a module:
opening a file imports no class that is not registered. A model of anybody's joins by `register_model` or, so that
worker processes know it too, by an entry point of the group `genbayes.models`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module, metadata
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from genbayes.errors import GenBayesWarning, InvalidInput
from genbayes.validation import suggest

if TYPE_CHECKING:
    from genbayes.models.protocols import Fits

MOST_RUNS_FOR_GP = 30_000  # beyond, a sparse GP is tried instead


@dataclass(frozen=True)
class Facts:
    """What is known of the runs before any fit.

    Attributes:
        n: Distinct runs.
        n_regimes: Peaks of the response.
        categorical: Columns that are categories.
        bounds: Bounds of the response.
    """

    n: int
    n_regimes: int
    categorical: tuple[int, ...] = ()
    bounds: tuple[float | None, float | None] = (None, None)


@dataclass(frozen=True)
class New:
    """A setting that is an object of its own, made when the model is: the class, "module:Class", without arguments."""

    home: str


@dataclass(frozen=True)
class RegisteredModel:
    """All that is said about a model, once.

    Attributes:
        name: Its key in `candidates=`, on the command line and in benchmarks.
        title: What it is, for people.
        title_of_one: What it is where it has found a single regime; empty for the same.
        home: Its class, or where the class is imported from when it is needed: "module:Class".
        disk_name: What files call the class; once there are files it is never changed.
        settings: Constructor arguments that make it this model and no other of its class.
        assumes: What it takes for granted of the response, for people.
        suits: When to choose it, for people.
        worth_trying: Whether `AutoSurrogate` should try it on runs of which these facts are known; None for never,
            unless it is named.
        refines: Name of the model whose smooth mean it builds on; where a jump makes that one hopeless, so is this.
        family: Kind of model; where time is short, one of each family is tried quickly before any is fitted in full.
        probe: Constructor arguments that make it that quick version; empty for none.
        asks: What residuals of the model that it refines must show before it is fitted unasked: "uneven" noise, or
            "shape": anything but even, normal noise; or "regimes": that it found more than one; empty for nothing.
    """

    name: str
    title: str
    home: str | type
    disk_name: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    assumes: str = ""
    suits: str = ""
    worth_trying: Callable[[Facts], bool] | None = None
    refines: str = ""
    family: str = ""
    probe: Mapping[str, Any] = field(default_factory=dict)
    asks: str = ""
    title_of_one: str = ""

    def load_class(self) -> Any:
        """The class, imported if it has not been."""
        return load_class_of(self.home)

    def make(self, facts: Facts, seed: int) -> Fits:
        """An unfitted model; of categories, bounds and seed it is told what its constructor takes.

        Example:
            >>> find_model("gp-smooth").make(Facts(n=50, n_regimes=1), seed=3)
            StationaryGP(kernel='squared-exponential', random_state=3)
        """
        settings = {k: load_class_of(v.home)() if isinstance(v, New) else v for k, v in self.settings.items()}
        model = self.load_class()(**settings)
        given = {"categorical": facts.categorical or None, "y_bounds": facts.bounds, "random_state": seed}
        takes = model.get_params(deep=False)
        made: Fits = model.set_params(**{name: value for name, value in given.items() if name in takes})
        return made


# Models in the order in which they are tried, the quick ones first.
OURS = (
    RegisteredModel(
        name="gp",
        title="stationary GP",
        home="genbayes.models.gp.stationary:StationaryGP",
        disk_name="StationaryGP",
        assumes="a smooth function, the same everywhere, plus normal noise of constant size",
        suits="few runs, smooth response: the first thing to try",
        worth_trying=lambda facts: facts.n <= MOST_RUNS_FOR_GP,
        family="gp",
        probe={"kernel": "matern52", "n_starts": 1},
    ),
    RegisteredModel(
        name="gp-smooth",
        title="stationary GP, smoothest kernel",
        home="genbayes.models.gp.stationary:StationaryGP",
        disk_name="StationaryGP",
        settings={"kernel": "squared-exponential"},
        assumes="a function with derivatives of every order, plus normal noise of constant size",
        suits="few runs, a response without kinks",
        worth_trying=None,  # `gp` takes this kernel where the runs ask for it
    ),
    RegisteredModel(
        name="sparse-gp",
        title="sparse GP",
        home="genbayes.models.gp.sparse:SparseGP",
        disk_name="SparseGP",
        assumes="as the stationary GP, seen through some hundred points",
        suits="many runs, smooth response",
        worth_trying=lambda facts: facts.n > MOST_RUNS_FOR_GP,
        family="gp",
    ),
    RegisteredModel(
        name="regime-gp",
        title="GP of each regime",
        home="genbayes.models.jump_gp:RegimeGP",
        disk_name="RegimeGP",
        assumes="one to five regimes, smooth within each, that say nothing about each other; noise of any shape",
        suits="a response that jumps, with runs enough in each regime",
        worth_trying=lambda facts: facts.n <= MOST_RUNS_FOR_GP,
        refines="gp",
        family="jumps",
        title_of_one="GP with noise of any shape",
    ),
    RegisteredModel(
        name="jump-gp",
        title="modular jump GP",
        home="genbayes.models.jump_gp:ModularJumpGP",
        disk_name="ModularJumpGP",
        assumes="regimes that differ in level, smooth within each, with length scales that they share",
        suits="a response that jumps between levels",
        worth_trying=lambda facts: facts.n <= MOST_RUNS_FOR_GP,
        refines="regime-gp",
        family="jumps",
        asks="regimes",
    ),
    RegisteredModel(
        name="iqn-shallow",
        title="quantile network, shallow",
        home="genbayes.models.network.surrogate:QuantileSurrogate",
        disk_name="QuantileSurrogate",
        settings={"n_layers": 1},
        assumes="quantiles that vary smoothly with x; distributions of any shape",
        suits="noise that is not normal",
    ),
    RegisteredModel(
        name="iqn-deep",
        title="quantile network, deep",
        home="genbayes.models.network.surrogate:QuantileSurrogate",
        disk_name="QuantileSurrogate",
        settings={"n_layers": 3},
        assumes="quantiles that may change abruptly with x; distributions of any shape",
        suits="a response that changes abruptly, noise that is not normal",
    ),
    RegisteredModel(
        name="iqn-fourier",
        title="quantile network with Fourier features",
        home="genbayes.models.network.surrogate:QuantileSurrogate",
        disk_name="QuantileSurrogate",
        settings={"n_layers": 3, "n_fourier": 64, "dropout": 0.0},
        assumes="quantiles that may oscillate with x; distributions of any shape",
        suits="a response that changes quickly along some input",
    ),
    RegisteredModel(
        name="het-gp",
        title="heteroskedastic GP",
        home="genbayes.models.gp.heteroskedastic:HeteroskedasticGP",
        disk_name="HeteroskedasticGP",
        assumes="as the stationary GP, the log noise another smooth function",
        suits="noise that depends on x, replicates",
        worth_trying=lambda facts: facts.n <= 2_500,  # distinct inputs that it takes within a minute
        refines="gp",
        asks="uneven",
    ),
    RegisteredModel(
        name="gp-iqn",
        title="GP-informed quantile network",
        home="genbayes.models.gp_informed:GPInformedSurrogate",
        disk_name="GPInformedSurrogate",
        assumes="the mean of a stationary GP; residuals of any shape",
        suits="a smooth mean with noise that is not normal",
        worth_trying=lambda facts: facts.n <= MOST_RUNS_FOR_GP,
        refines="gp",
        asks="shape",
    ),
    RegisteredModel(
        name="iqn-boundary",
        title="quantile network with boundary features",
        home="genbayes.models.network.surrogate:QuantileSurrogate",
        disk_name="QuantileSurrogate",
        settings={"features": New("genbayes.models.regimes.features:BoundaryFeatures"), "n_layers": 1},
        assumes="regimes; distributions of any shape within each",
        suits="a response that jumps, noise that is not normal",
        worth_trying=lambda facts: facts.n <= MOST_RUNS_FOR_GP or facts.n_regimes > 1,
        refines="regime-gp",
        family="jumps",
        asks="regimes",
    ),
    RegisteredModel(
        name="boosted",
        title="gradient-boosted quantiles",
        home="genbayes.models.trees.boosted:BoostedQuantiles",
        disk_name="BoostedQuantiles",
        assumes="quantiles constant in pieces",
        suits="many runs, thresholds, distributions of any shape",
        # a leaf holds ten runs or more, which leaves little to split of fewer
        worth_trying=lambda facts: facts.n >= 300 and find_spec("lightgbm") is not None,
        family="trees",
        probe={"n_trees": 40, "n_leaves": 8, "learning_rate": 0.3},
    ),
    RegisteredModel(
        name="network",
        title="quantile network",
        home="genbayes.models.network.surrogate:QuantileSurrogate",
        disk_name="QuantileSurrogate",
        assumes="quantiles that a network of a size it chooses can follow; distributions of any shape",
        suits="the paper's method alone, without the choice among others",
        worth_trying=lambda facts: True,
        family="network",
        probe={"n_layers": 1, "n_members": 2, "n_epochs": 30},
    ),
    RegisteredModel(
        name="deep-gp",
        title="deep GP",
        home="genbayes.models.gp.deep.estimator:DeepGP",
        disk_name="DeepGP",
        assumes="a smooth function of smoothly bent inputs",
        suits="few runs, a response whose pace changes; choosing new runs",
    ),
    RegisteredModel(
        name="auto",
        title="automatic choice",
        home="genbayes.auto.surrogate:AutoSurrogate",
        disk_name="AutoSurrogate",
        assumes="what the models assume that it chooses by out-of-fold CRPS",
        suits="whenever you do not know which",
    ),
    RegisteredModel(
        name="conformal",
        title="conformal calibration of another model",
        home="genbayes.conformal.surrogate:ConformalSurrogate",
        disk_name="ConformalSurrogate",
        assumes="runs and new runs that could be exchanged, whatever the model inside assumes",
        suits="intervals whose coverage is guaranteed",
    ),
)
# Parts of models that a file may name, by disk name.
OUR_PARTS: dict[str, str | type] = {
    "BoundaryFeatures": "genbayes.models.regimes.features:BoundaryFeatures",
    "Identity": "genbayes.models.regimes.features:Identity",
}
# Fitted objects that are saved and loaded like models and predict no response: never chosen, by disk name.
OUR_ESTIMATORS = {"PosteriorEstimator": "genbayes.inference.estimator:PosteriorEstimator"}
_models = {model.name: model for model in OURS}
_parts = dict(OUR_PARTS)
_own: dict[str, RegisteredModel] = {}  # those that the user's own code registered, which other processes do not know
_seen_plugins: set[metadata.EntryPoint] = set()


def register_model(
    name: str,
    cls: str | type,
    *,
    title: str = "",
    disk_name: str | None = None,
    settings: Mapping[str, Any] | None = None,
    assumes: str = "",
    suits: str = "",
    worth_trying: Callable[[Facts], bool] | None = None,
    refines: str = "",
    family: str = "",
    probe: Mapping[str, Any] | None = None,
    asks: str = "",
) -> RegisteredModel:
    """Make a model known: to `AutoSurrogate(candidates=[name])`, `save` and `load`, comparisons and benchmarks.

    Args:
        name: Its key, new.
        cls: The class, a `Surrogate` or anything with its methods; or "module:Class", imported when it is needed.
        title: What it is, for people; the name of the class unless given.
        disk_name: What files call the class; the name of the class unless given.
        settings: Constructor arguments that make it this model and no other of its class.
        assumes: What it takes for granted of the response, for people.
        suits: When to choose it, for people.
        worth_trying: `Facts` of the runs to whether `AutoSurrogate` should try it unasked; None for never.
        refines: Name of the model whose smooth mean it builds on.
        family: Kind of model; where time is short, one of each family is tried quickly first.
        probe: Constructor arguments that make it that quick version.
        asks: What residuals of the model that it refines must show before it is fitted unasked: "uneven" or "shape".

    Returns:
        The entry, which an entry point of the group `genbayes.models` may also refer to.

    Example:
        >>> from genbayes.models import StationaryGP
        >>> register_model("gp-rough", StationaryGP, disk_name="StationaryGP", settings={"kernel": "matern-3/2"}).title
        'StationaryGP'
        >>> forget = _models.pop("gp-rough"), _own.pop("gp-rough")
    """
    if not isinstance(name, str) or not name:
        raise InvalidInput(f"name must be text, got {name!r}")
    needed = ("fit", "predict_distribution", "get_params")
    is_model = ":" in cls if isinstance(cls, str) else isinstance(cls, type) and all(hasattr(cls, n) for n in needed)
    if not is_model:
        raise InvalidInput(f"cls must be a class with {', '.join(needed)}, or 'module:Class', got {cls!r}")
    class_name = cls.rpartition(":")[2] if isinstance(cls, str) else cls.__name__
    entry = RegisteredModel(
        name=name,
        title=title or class_name,
        home=cls,
        disk_name=disk_name or class_name,
        settings=dict(settings or {}),
        assumes=assumes,
        suits=suits,
        worth_trying=worth_trying,
        refines=refines,
        family=family,
        probe=dict(probe or {}),
        asks=asks,
    )
    _add(entry)
    _own[name] = entry
    return entry


def register_part(cls: type, disk_name: str | None = None) -> None:
    """Let files name a class that is a part of a model, such as a feature map; `cls.from_state` rebuilds it."""
    disk_name = disk_name or cls.__name__
    if disk_name in _parts and _place(_parts[disk_name]) != _place(cls):
        raise InvalidInput(f"disk_name must be new, got {disk_name!r}, which names {_place(_parts[disk_name])}")
    _parts[disk_name] = cls


def registered_parts() -> dict[str, str | type]:
    """Classes, or where they are imported from, that a file may name as parts of models, by disk name."""
    return dict(_parts)


def registered_models() -> dict[str, RegisteredModel]:
    """All models by name, in the order in which they are tried: ours, those of plug-ins, your own.

    Example:
        >>> registered_models()["het-gp"].assumes
        'as the stationary GP, the log noise another smooth function'
    """
    _find_plugins()
    return dict(_models)


def registered_here() -> tuple[RegisteredModel, ...]:
    """What `register_model` added in this process, no plug-ins; `AutoSurrogate` takes them along to workers."""
    return tuple(_own.values())


def adopt_models(models: Iterable[RegisteredModel]) -> None:
    """Register what `registered_here` told in another process; what is known already stays."""
    for model in models:
        if model.name not in _models:
            _add(model)
            _own[model.name] = model


def find_model(name: str, argument: str = "name") -> RegisteredModel:
    """The model of a name; an unknown one is refused with the nearest."""
    known = registered_models()
    if not isinstance(name, str) or name not in known:
        hint = suggest(name, known) if isinstance(name, str) else ""
        raise InvalidInput(f"{argument} must be among {', '.join(known)}, got {name!r}{hint}")
    return known[name]


def _add(entry: RegisteredModel) -> None:
    """Add a model whose names are new, or register the same class again, as a notebook does that is run twice."""
    known = _models.get(entry.name)
    if known is not None and (known.name in (m.name for m in OURS) or _place(known.home) != _place(entry.home)):
        raise InvalidInput(f"name must be new, got {entry.name!r}, which names {_place(known.home)}")
    for other in _models.values():
        if other.disk_name == entry.disk_name and _place(other.home) != _place(entry.home):
            raise InvalidInput(
                f"disk_name must be new, got {entry.disk_name!r}, which names {_place(other.home)}; pass disk_name="
            )
    _models[entry.name] = entry


def _find_plugins() -> None:
    """Register what entry points refer to: an entry, or a function that registers; each once."""
    for point in _entry_points():
        if point in _seen_plugins:
            continue
        _seen_plugins.add(point)  # before it registers, for it may ask for the list itself
        before = set(_own)
        try:
            found = point.load()
            if isinstance(found, RegisteredModel):
                _add(found)
            else:
                found()
        except Exception as error:  # shown, and the rest go on
            warnings.warn(
                f"the plug-in {point.value!r} could not be loaded, its models are left out: {error}",
                GenBayesWarning,
                stacklevel=3,
            )
        for name in set(_own) - before:  # other processes find the plug-in themselves
            del _own[name]


@cache
def _entry_points() -> tuple[metadata.EntryPoint, ...]:
    return tuple(metadata.entry_points(group="genbayes.models"))


def load_class_of(home: str | type) -> Any:
    """The class at a home, imported if it has not been."""
    return home if isinstance(home, type) else getattr(import_module(home.partition(":")[0]), home.partition(":")[2])


def is_class(home: str | type, cls: type) -> bool:
    """Whether a home is that of a class; it is imported only if the names agree."""
    return _place(home).endswith(f":{cls.__qualname__}") and load_class_of(home) is cls


def _place(home: str | type) -> str:
    return home if isinstance(home, str) else f"{home.__module__}:{home.__qualname__}"
