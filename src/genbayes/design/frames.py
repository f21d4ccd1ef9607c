"""Trials as a table, one row each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from genbayes.data.space import Box
from genbayes.design.trial import Record

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["FIRST_COLUMNS", "LAST_COLUMNS", "to_frame"]

# The inputs stand between them, so none may have one of these names.
FIRST_COLUMNS = ("number", "state")
LAST_COLUMNS = ("y", "worker", "source", "n_leases", "created", "started", "finished", "reason")


def to_frame(records: Sequence[Record], space: Box) -> pd.DataFrame:
    """A table of trials: number, state, inputs, response, who ran it and when.

    Args:
        records: The trials.
        space: The inputs.

    Returns:
        One row a trial; times are in UTC.
    """
    import pandas as pd

    rows = []
    for r in records:
        inputs = [r.x[name] for name in space.names]
        times = [r.created_at, r.started_at, r.finished_at]
        rows.append([r.number, r.state, *inputs, r.y, r.worker, r.source, r.n_leases, *times, r.reason])
    frame = pd.DataFrame(rows, columns=[*FIRST_COLUMNS, *space.names, *LAST_COLUMNS])
    for column in ("created", "started", "finished"):
        frame[column] = pd.to_datetime(frame[column].astype(float), unit="s", utc=True)
    return frame.astype({"y": float})
