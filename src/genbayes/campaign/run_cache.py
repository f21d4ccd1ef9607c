"""What a proposer is shown: every trial as rows of arrays, read from the database once, then only what has changed.

Inputs are kept as points of the unit cube, so that asking again costs what is new and not what there is.
"""

from __future__ import annotations

import json
import threading
from typing import Any

import numpy as np
from sqlalchemy import Connection, select

from genbayes.arrays import BoolArray
from genbayes.campaign.proposer_registry import Shown
from genbayes.campaign.schema import TRIALS
from genbayes.data import Box

# In this order: those that have ended last
STATES = ("open", "running", "failed", "done")
FIRST_ENDED = STATES.index("failed")
COLUMNS = (TRIALS.c.number, TRIALS.c.state, TRIALS.c.x, TRIALS.c.y, TRIALS.c.finished_at, TRIALS.c.revision)


class Runs:
    """The trials of one campaign as they were when last looked at; threads may share it.

    Args:
        campaign_id: The campaign.
        space: Its inputs.
    """

    def __init__(self, campaign_id: int, space: Box) -> None:
        self._mine = TRIALS.c.campaign_id == campaign_id
        self._space = space
        self._lock = threading.Lock()
        self._forget()

    def _forget(self) -> None:
        self._revision = -1  # the last change that is known
        self._U = np.empty((0, self._space.d))
        self._state, self._y, self._finished = np.empty(0, dtype=np.int8), np.empty(0), np.empty(0)

    def look(self, connection: Connection) -> Shown:
        """The trials as they are now; only those are read that have changed since the last look."""
        with self._lock:
            self._take(self._changed(connection))
            last = connection.scalar(
                select(TRIALS.c.number).where(self._mine).order_by(TRIALS.c.number.desc()).limit(1)
            )
            if (last or 0) > len(self._state):  # added by a version of genbayes that counts no revisions
                self._forget()
                self._take(self._changed(connection))
            return self._show()

    def _changed(self, connection: Connection) -> list[Any]:
        new = select(*COLUMNS).where(self._mine, TRIALS.c.revision > self._revision)
        return list(connection.execute(new))

    def _take(self, rows: list[Any]) -> None:
        if not rows:
            return
        at = np.array([row.number - 1 for row in rows])
        self._grow(int(at.max()) + 1)
        is_new = np.isnan(self._U[at, 0])  # the inputs of a trial never change
        self._U[at[is_new]] = self._space.to_unit(
            json.loads(row.x) for row, new in zip(rows, is_new, strict=True) if new
        )
        self._state[at] = [STATES.index(row.state) for row in rows]
        self._y[at] = [np.nan if row.y is None or row.state != "done" else row.y for row in rows]
        self._finished[at] = [row.finished_at or 0.0 for row in rows]
        self._revision = max(self._revision, *(row.revision for row in rows))

    def _grow(self, n: int) -> None:
        """Make room for n trials."""
        n_new = n - len(self._state)
        if n_new > 0:
            self._U = np.concatenate([self._U, np.full((n_new, self._space.d), np.nan)])
            self._state = np.concatenate([self._state, np.zeros(n_new, dtype=np.int8)])
            self._y, self._finished = (
                np.concatenate([each, np.full(n_new, np.nan)]) for each in (self._y, self._finished)
            )

    def _show(self) -> Shown:
        has_ended: BoolArray = self._state >= FIRST_ENDED
        ended = np.flatnonzero(has_ended)
        ended = ended[np.argsort(self._finished[ended], kind="stable")]  # of one moment, by number
        return Shown(len(self._state), self._U[ended], self._y[ended], self._U[~has_ended])
