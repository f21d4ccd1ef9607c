"""The one place where a seed becomes a generator, NumPy's or torch's.

Randomness is handed down: each unit of work (a member, a split) gets a child of its own, so that adding a unit
leaves the others as they were.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from genbayes.errors import InvalidInput

if TYPE_CHECKING:
    import torch


RandomState = int | np.integer | np.random.Generator | np.random.RandomState | None


def as_generator(random_state: RandomState) -> np.random.Generator:
    """A NumPy generator from what users pass as `random_state`.

    `None` gives fresh entropy, a whole number always the same stream, a generator itself; a legacy `RandomState`
    lends one draw as the seed, so that it advances as scikit-learn users expect.

    Example:
        >>> bool(as_generator(0).integers(10) == as_generator(0).integers(10))
        True
    """
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31, size=4))
    legal = random_state is None or (isinstance(random_state, (int, np.integer)) and random_state >= 0)
    if not legal or isinstance(random_state, bool):
        raise InvalidInput(
            f"random_state must be None, a whole number of at least 0 or a NumPy generator, got {random_state!r}"
        )
    return np.random.default_rng(random_state)


def torch_generator(rng: np.random.Generator) -> torch.Generator:
    """A torch generator on the CPU seeded by one draw from `rng`.

    Example:
        >>> import torch
        >>> torch.rand(1, generator=torch_generator(as_generator(0))).shape
        torch.Size([1])
    """
    import torch

    return torch.Generator().manual_seed(int(rng.integers(2**63 - 1)))
