"""Who proposes the next inputs of a campaign: the interface, and one that looks at no response.

Everything happens in the unit cube of the space, one axis an input, where distances mean something. Runs that failed
are told too, with y NaN, so that a proposer may keep away from them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from genbayes.arrays import FloatArray
from genbayes.data.space import Box
from genbayes.design.trial import Record
from genbayes.errors import InvalidInput

__all__ = ["Proposer", "RandomProposer", "propose_points"]


class Proposer(Protocol):
    """What a campaign asks for its next inputs; it may remember things from one call to the next.

    The contract stands here, once: implementations say only how they choose. To inherit from it is not needed.
    """

    def propose(
        self,
        space: Box,
        X_done: FloatArray,
        y_done: FloatArray,
        X_running: FloatArray,
        n: int,
        rng: np.random.Generator,
    ) -> FloatArray:
        """The inputs of the next n trials.

        Args:
            space: The inputs.
            X_done: Where runs have ended, in the unit cube, in the order of their ends, shape (n_done, d).
            y_done: Their responses, NaN for a run that failed, shape (n_done,).
            X_running: Where runs are out or waiting, in the unit cube, shape (n_running, d).
            n: How many to propose.
            rng: The source of all randomness.

        Returns:
            Points of the unit cube, shape (n, d); the campaign snaps them to whole numbers and categories.
        """
        ...


class RandomProposer(Proposer):
    """Independent uniform points: the yardstick for those that look.

    Example:
        >>> nothing = np.empty((0, 2))
        >>> rng = np.random.default_rng(0)
        >>> RandomProposer().propose(Box.unit(2), nothing, np.empty(0), nothing, 3, rng).shape
        (3, 2)
    """

    def propose(
        self,
        space: Box,
        X_done: FloatArray,
        y_done: FloatArray,
        X_running: FloatArray,
        n: int,
        rng: np.random.Generator,
    ) -> FloatArray:
        """Points drawn uniformly, shape (n, d)."""
        return space.uniform(n, rng)


def propose_points(
    proposer: Proposer, space: Box, records: Sequence[Record], n: int, rng: np.random.Generator
) -> list[dict[str, Any]]:
    """The inputs of the next n trials, given all trials so far.

    Args:
        proposer: Whom to ask.
        space: The inputs.
        records: The trials so far.
        n: How many.
        rng: The source of all randomness.

    Returns:
        n inputs.
    """
    ended = sorted(
        (r for r in records if r.state in ("done", "failed")), key=lambda r: (r.finished_at or 0.0, r.number)
    )
    X_done = space.to_unit(record.x for record in ended)
    y_done = np.array([np.nan if record.y is None else record.y for record in ended], dtype=np.float64)
    X_running = space.to_unit(record.x for record in records if record.state in ("open", "running"))
    U = np.asarray(proposer.propose(space, X_done, y_done, X_running, n, rng), dtype=np.float64)
    if U.shape != (n, space.d) or not np.isfinite(U).all():
        raise InvalidInput(f"proposer must return finite points of shape {(n, space.d)}, got {U.tolist()!r:.60}")
    return list(space.from_unit(np.clip(U, 0.0, 1.0)))
