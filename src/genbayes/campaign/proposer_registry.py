"""Proposers by name, so that a database can say who proposes; what a proposer is shown, and what it must return.

A proposer of your own is given to a campaign as an object, or registered under a name, which the database keeps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np

from genbayes.arrays import FloatArray
from genbayes.data import Box
from genbayes.data.box import Point
from genbayes.errors import InvalidInput
from genbayes.models.registry import load_class_of
from genbayes.validation import check_choice

if TYPE_CHECKING:
    from genbayes.design import Proposer

Home = str | Callable[[], "Proposer"]

# Ours, imported when one is first asked: some stand on torch.
OURS: dict[str, Home] = {
    "random": "genbayes.design.proposers:RandomProposer",
    "model": "genbayes.design.proposers:ModelProposer",
}
DEFAULT_PROPOSER = "model"
CUSTOM = "custom"  # what a database says of an object
PLUG_INS = "genbayes.proposers"  # the group of entry points
_own: dict[str, Home] = {}


@runtime_checkable
class Ignores(Protocol):
    """A proposer that can say that it looks at no runs."""

    ignores_runs: bool


def ignores_runs(proposer: Proposer | None) -> bool:
    """Whether a proposer need not be shown the runs, so that asking it costs the same at any size."""
    return isinstance(proposer, Ignores) and proposer.ignores_runs


def register_proposer(name: str, make: Home) -> None:
    """Give a proposer a name that `Campaign.create(proposer=name)` and the database know.

    A worker started from the shell does not run your code: for it, an installed package names the class in the entry
    point group `genbayes.proposers`.

    Args:
        name: What to call it; new, or the same class again.
        make: The class or a function, called without arguments; or "module:Class", imported when it is needed.

    Example:
        >>> from genbayes.design import ModelProposer
        >>> register_proposer("paper", lambda: ModelProposer("ensemble", "disagreement"))
        >>> "paper" in registered_proposers()
        True
        >>> forget = _own.pop("paper")
    """
    if not isinstance(name, str) or not name.strip():
        raise InvalidInput(f"name must be text, got {name!r}")
    if name in OURS or name == CUSTOM:
        raise InvalidInput(f"name must be new, got {name!r}, which genbayes uses; choose another")
    if not (":" in make if isinstance(make, str) else callable(make)):
        raise InvalidInput(f"make must be a class, a function or 'module:Class', got {make!r}")
    _own[name] = make


def registered_proposers() -> dict[str, Home]:
    """All proposers by name: ours, those of plug-ins, your own."""
    return {**OURS, **{point.name: point.load for point in _entry_points()}, **_own}


@cache
def _entry_points() -> tuple[metadata.EntryPoint, ...]:
    return tuple(metadata.entry_points(group=PLUG_INS))


def check_proposer(proposer: str | Proposer) -> str:
    """What the database calls a proposer: a name that is known, or "custom" for an object with `propose`."""
    if isinstance(proposer, str):
        return check_choice(proposer, "proposer", registered_proposers())
    if not callable(getattr(proposer, "propose", None)) or isinstance(proposer, type):
        raise InvalidInput(f"proposer must be a name or an object with a method propose, got {proposer!r:.60}")
    return CUSTOM


def make_proposer(name: str, campaign: str) -> Proposer:
    """The proposer that a campaign was created with, by what its database says."""
    if name == CUSTOM:
        raise InvalidInput(
            f"proposer must be given when campaign {campaign!r} is opened, since it was created with an object of "
            "yours, got none; or give it a name with register_proposer before the campaign is created"
        )
    known = registered_proposers()
    if name not in known:
        raise InvalidInput(
            f"proposer of campaign {campaign!r} must be known here, got {name!r}; register it with register_proposer "
            f"before it is asked, or name it in the entry point group {PLUG_INS!r} of an installed package"
        )
    home = known[name]
    made = (load_class_of(home) if isinstance(home, str) else home)()
    proposer: Proposer = made() if isinstance(made, type) else made  # an entry point gives the class
    return proposer


@dataclass(frozen=True)
class Shown:
    """The trials of a campaign at one moment, as a proposer is shown them.

    Attributes:
        n_trials: How many there are, in any state.
        X_done, y_done, X_running: What has ended and what has not; see `Proposer.propose`.
    """

    n_trials: int
    X_done: FloatArray
    y_done: FloatArray
    X_running: FloatArray


def propose_points(proposer: Proposer, space: Box, shown: Shown, n: int, rng: np.random.Generator) -> list[Point]:
    """The inputs of the next n trials, if they are what a proposer promises; see `Proposer.propose`."""
    proposed = proposer.propose(space, shown.X_done, shown.y_done, shown.X_running, n, rng)
    U = np.asarray(proposed, dtype=np.float64)
    if U.shape != (n, space.d) or not np.isfinite(U).all():
        shape = (n, space.d)
        raise InvalidInput(f"proposer must return finite points of shape {shape}, got {U.tolist()!r:.60}")
    return list(space.from_unit(np.clip(U, 0.0, 1.0)))
