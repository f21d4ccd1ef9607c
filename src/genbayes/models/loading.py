"""From a fitted model to the state that a file keeps, and back: `load`, and what models inside models use.

A file holds a disk name, never a module: opening one imports no class that is not registered.
"""

from __future__ import annotations

import os
from typing import Any

from genbayes.errors import InvalidInput, UnreadableFile
from genbayes.models.registry import OUR_ESTIMATORS, is_class, load_class_of, registered_models, registered_parts
from genbayes.persistence import Savable, State, read_state
from genbayes.threads import fitting_threads

RIVALS = ("NaturalGradientBoosting", "QuantileForest")  # models of our benchmarks, whose older files do not say so


def state_of(model: object) -> State:
    """The state of a fitted model, under its disk name; refused now rather than at `load` if it has none."""
    cls = type(model)
    if not isinstance(model, Savable):
        raise InvalidInput(f"a model must have to_state and from_state to be saved, got {cls.__name__} without")
    homes = [*OUR_ESTIMATORS.items(), *((entry.disk_name, entry.home) for entry in registered_models().values())]
    disk_name = next((name for name, home in homes if is_class(home, cls)), None)
    if disk_name is None:
        raise InvalidInput(
            f"a model must be registered to be saved, got {cls.__name__}; "
            f"call genbayes.register_model('{cls.__name__.lower()}', {cls.__name__})"
        )
    state, package = model.to_state(), cls.__module__.partition(".")[0]
    plugin = {} if package == "genbayes" else {"plugin": package}
    return State(disk_name, {**state.values, **plugin}, state.arrays)


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model that `save` wrote.

    Args:
        path: The model file.

    Returns:
        The fitted model, of the class that was saved.

    Raises:
        UnreadableFile: The file is missing, foreign, damaged, or of another version.

    Example:
        >>> load("no-such-file.gb")
        Traceback (most recent call last):
        ...
        genbayes.errors.UnreadableFile: path must name an existing model file, got 'no-such-file.gb'
    """
    return restore_model(read_state(path))


def restore_model(state: State) -> Any:
    """The model that a state describes; models inside it come through the same registry."""
    homes = {entry.disk_name: entry.home for entry in registered_models().values()} | OUR_ESTIMATORS
    if state.kind not in homes:
        raise _not_registered(state)
    model_class = load_class_of(homes[state.kind])
    known = (state.values.get(name) for name in ("n_rows", "n_features_in"))
    try:
        # what is computed again comes out as in the fit, to the bit
        with fitting_threads(*(size if isinstance(size, int) else 0 for size in known)):
            return model_class.from_state(state)
    except (UnreadableFile, MemoryError):
        raise
    except Exception as error:  # a crafted file met a rule that its loader did not state: the same to a user
        raise UnreadableFile(
            f"the model file must describe a complete {state.kind}, got one that does not: {error}"
        ) from error


def restore_part(state: State, base: type, what: str) -> Any:
    """The part of a model that a state describes, of a class that is registered and inherits from `base`."""
    home = registered_parts().get(state.kind)
    cls = None if home is None else load_class_of(home)
    if cls is None or not issubclass(cls, base):
        raise UnreadableFile(f"the model file must name a known {what}, got {state.kind!r}")
    return cls.from_state(state)


def state_of_part(part: Savable, what: str) -> State:
    """The state of a part, under its disk name; refused now rather than at `load` if it has none."""
    cls = type(part)
    name = next((name for name, home in registered_parts().items() if is_class(home, cls)), None)
    if name is None:
        raise InvalidInput(
            f"a {what} must be registered to be saved, got {cls.__name__}; "
            f"call genbayes.models.registry.register_part({cls.__name__})"
        )
    state = part.to_state()
    return State(name, state.values, state.arrays)


def _not_registered(state: State) -> UnreadableFile:
    """What is wrong with a file whose model is unknown; the package that it names is said, never imported."""
    if state.kind in RIVALS:
        package, how = "genbayes_bench", "in a clone of genbayes: pip install -e benchmarks"
    elif "plugin" in state.values:
        package, how = state.values["plugin"], f"install it, or import what registers {state.kind}"
    else:
        rule = f"the model file must hold a registered model, got {state.kind!r}"
        return UnreadableFile(f"{rule}; load it with the version of genbayes that wrote it")
    return UnreadableFile(f"{package} must be installed to load a {state.kind}, got none; {how}")
