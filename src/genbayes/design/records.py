"""What the database says about a campaign: its trials one by one, and a summary."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row, Select, Table, and_, func, or_, select

from genbayes.design.schema import LEASES, RESULTS, TRIALS
from genbayes.design.trial import Record, Status

__all__ = ["ABANDONED", "RAN_OUT", "count_lapses", "count_repeats", "read_records", "summarise"]

SHOWN_FAILURES = 5

# A lease of the past that ran out; whoever comes back with a late failure does not make it undone.
RAN_OUT = or_(LEASES.c.ending == "lapsed", LEASES.c.ended_at >= LEASES.c.expires_at)
# One that nobody came back from; who hands a trial back, however late, was not killed by it.
ABANDONED = and_(RAN_OUT, LEASES.c.ending != "released")


def read_records(connection: Connection, campaign_id: int, now: float) -> list[Record]:
    """Every trial, by number; one whose lease has run out by `now` is open."""
    mine = select(TRIALS).where(TRIALS.c.campaign_id == campaign_id).order_by(TRIALS.c.number)
    return [_as_record(row, now) for row in connection.execute(mine)]


def _as_record(row: Row[Any], now: float) -> Record:
    has_lapsed = row.state == "running" and row.expires_at <= now
    return Record(
        number=row.number,
        state="open" if has_lapsed else row.state,
        x=json.loads(row.x),
        y=row.y,
        reason=row.reason,
        source=row.source,
        worker=row.worker,
        n_leases=row.n_leases,
        has_lapsed=has_lapsed,
        created_at=row.created_at,
        started_at=row.started_at,
        finished_at=row.finished_at,
    )


def count_lapses(connection: Connection, campaign_id: int) -> int:
    """Leases that ran out and were noticed: offered again, or ended later than they should have."""
    return int(connection.scalar(_count(LEASES, campaign_id).where(RAN_OUT)) or 0)


def count_repeats(connection: Connection, campaign_id: int) -> int:
    """Results that are kept and do not count."""
    return int(connection.scalar(_count(RESULTS, campaign_id).where(RESULTS.c.counted.is_(False))) or 0)


def _count(table: Table, campaign_id: int) -> Select[int]:
    of_trials = table.join(TRIALS, table.c.trial_id == TRIALS.c.id)
    return select(func.count()).select_from(of_trials).where(TRIALS.c.campaign_id == campaign_id)


def summarise(name: str, budget: int | None, records: Sequence[Record], n_lapses: int, n_repeats: int) -> Status:
    """Where a campaign stands, from its trials.

    Args:
        name: The campaign.
        budget: Its budget.
        records: Its trials.
        n_lapses: Leases that ran out and were noticed.
        n_repeats: Results that do not count.

    Returns:
        The summary; leases that have run out unnoticed are added to the lapses.
    """
    states = [record.state for record in records]
    failed = sorted((r for r in records if r.state == "failed"), key=lambda record: record.finished_at or 0.0)
    holders = [record.worker or "" for record in records if record.state == "running"]
    n_lapsed = sum(record.has_lapsed for record in records)
    return Status(
        name=name,
        n_done=states.count("done"),
        n_running=states.count("running"),
        n_failed=states.count("failed"),
        n_open=states.count("open"),
        n_lapsed=n_lapsed,
        n_out=sum(record.n_leases > 0 and record.state in ("open", "running") for record in records),
        n_lapses=n_lapses + n_lapsed,
        n_repeats=n_repeats,
        budget=budget,
        failures=tuple((record.number, record.reason or "") for record in failed[-SHOWN_FAILURES:]),
        workers={holder: holders.count(holder) for holder in sorted(set(holders))},
    )
