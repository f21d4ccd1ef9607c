"""What is checked and drawn before a campaign is created or opened, and where it is kept."""

from __future__ import annotations

import os
import socket
from typing import TYPE_CHECKING

import numpy as np

from genbayes.data.space import Box, Point
from genbayes.design.frames import FIRST_COLUMNS, LAST_COLUMNS
from genbayes.design.trial import Settings
from genbayes.errors import InvalidInput, MissingExtra
from genbayes.seeding import RandomState, as_generator

if TYPE_CHECKING:
    from genbayes.design.store import Store

__all__ = ["check_same_space", "check_space", "default_worker", "draw_initial", "draw_seed", "store_class"]


def default_worker() -> str:
    """Host and process."""
    return f"{socket.gethostname()}:{os.getpid()}"


def store_class() -> type[Store]:
    """Where campaigns are kept, or what must be installed first."""
    try:
        from genbayes.design.store import Store
    except ModuleNotFoundError as error:
        if error.name != "sqlalchemy":
            raise
        raise MissingExtra(
            "sqlalchemy must be installed for campaigns, got none; pip install 'genbayes[design]'"
        ) from error
    return Store


def check_space(space: Box) -> Box:
    """The space, if none of its inputs is called like a column of a campaign's frame."""
    taken = set(space.names) & {*FIRST_COLUMNS, *LAST_COLUMNS}
    if taken:
        raise InvalidInput(f"inputs must not be called like columns of a campaign, got {sorted(taken)[0]!r}; rename it")
    return space


def check_same_space(given: Box, kept: Box, name: str) -> None:
    """Refuse a space that is not the one a campaign was created with; the order of the inputs does not matter."""
    for which in dict.fromkeys([*given.names, *kept.names]):
        ours, theirs = given.inputs.get(which), kept.inputs.get(which)
        if ours != theirs:
            raise InvalidInput(
                f"space must be the one that campaign {name!r} was created with, got {ours!r} for {which!r}, "
                f"which is {theirs!r} there; create another campaign for another space"
            )


def draw_seed(random_state: RandomState) -> int:
    """The seed that a campaign keeps: an integer as it is, one drawn from anything else."""
    if isinstance(random_state, (int, np.integer)):
        return int(random_state)
    return int(as_generator(random_state).integers(2**31))


def draw_initial(space: Box, settings: Settings) -> list[Point]:
    """The inputs of the initial design, spread as the settings say."""
    spread = {"latin": space.latin_hypercube, "sobol": space.sobol}[settings.initial]
    return list(space.from_unit(spread(settings.n_initial, as_generator(settings.seed))))
