"""The tables of campaigns, their version, and how an older database becomes one of today.

A trial has many leases and may have many results, of which one counts; the database itself refuses a second. Names
begin with `genbayes_`, so that campaigns can live beside the tables of others.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from sqlalchemy import (
    Boolean,
    Column,
    Connection,
    Double,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    Row,
    Select,
    String,
    Table,
    Text,
    UniqueConstraint,
    and_,
    func,
    insert,
    inspect,
    or_,
    select,
    true,
)

from genbayes.campaign.trial import Record, Status
from genbayes.errors import UnreadableFile

SCHEMA_VERSION = 1
LONGEST_NAME = 200  # characters of a campaign's name
ADVISORY_LOCK = 0x67656E62  # "genb": two processes that prepare one PostgreSQL database take turns

METADATA = MetaData()

SCHEMA = Table(
    "genbayes_schema",
    METADATA,
    Column("version", Integer, primary_key=True, autoincrement=False),
    Column("applied_at", Double, nullable=False),
)
CAMPAIGNS = Table(
    "genbayes_campaigns",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("name", String(LONGEST_NAME), nullable=False, unique=True),
    Column("space", Text, nullable=False),
    Column("settings", Text, nullable=False),
    Column("request", String(32), nullable=False),  # what created it
    Column("created_at", Double, nullable=False),
    sqlite_autoincrement=True,
)
TRIALS = Table(
    "genbayes_trials",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("campaign_id", ForeignKey(CAMPAIGNS.c.id), nullable=False),
    Column("number", Integer, nullable=False),
    Column("x", Text, nullable=False),
    Column("source", String(16), nullable=False),
    Column("request", String(32), nullable=False, index=True),  # what added it, so that a repeated one finds its own
    Column("state", String(16), nullable=False),
    Column("y", Double),
    Column("reason", Text),
    Column("lease_id", Integer),  # the last one granted
    Column("expires_at", Double),
    Column("worker", Text),
    Column("n_leases", Integer, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("started_at", Double),
    Column("finished_at", Double),
    UniqueConstraint("campaign_id", "number"),
    Index("genbayes_trials_by_state", "campaign_id", "state", "number"),
    sqlite_autoincrement=True,
)
LEASES = Table(
    "genbayes_leases",
    METADATA,
    Column("id", Integer, primary_key=True),  # the fencing token: rises with every grant
    Column("trial_id", ForeignKey(TRIALS.c.id), nullable=False, index=True),
    Column("request", String(32), nullable=False, index=True),  # the ask it answers
    Column("worker", Text, nullable=False),
    Column("seconds", Double, nullable=False),
    Column("granted_at", Double, nullable=False),
    Column("expires_at", Double, nullable=False),
    Column("ended_at", Double),
    Column("ending", String(16)),  # told, failed, released, lapsed
    Column("reason", Text),
    sqlite_autoincrement=True,  # a token is never used again
)
RESULTS = Table(
    "genbayes_results",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("trial_id", ForeignKey(TRIALS.c.id), nullable=False, index=True),
    Column("lease_id", ForeignKey(LEASES.c.id)),
    Column("y", Double, nullable=False),
    Column("counted", Boolean, nullable=False),
    Column("worker", Text, nullable=False),
    Column("told_at", Double, nullable=False),
    sqlite_autoincrement=True,
)
Index(
    "genbayes_one_result_counts",
    RESULTS.c.trial_id,
    unique=True,
    sqlite_where=RESULTS.c.counted == true(),
    postgresql_where=RESULTS.c.counted == true(),
)

# How a database of version v becomes one of version v + 1; each runs in one transaction with all that follow it.
MIGRATIONS: dict[int, Callable[[Connection], None]] = {}


def schema_version(connection: Connection) -> int:
    """The version of the tables in a database; 0 where there are none."""
    if not inspect(connection).has_table(SCHEMA.name):
        return 0
    return int(connection.scalar(select(func.max(SCHEMA.c.version))) or 0)


def prepare_schema(connection: Connection, now: float) -> int:
    """Make the tables, or bring those of an older version up to date, within the caller's transaction.

    Args:
        connection: A connection in a transaction that may write.
        now: The database's time.

    Returns:
        The version that was found, 0 for none.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(select(func.pg_advisory_xact_lock(ADVISORY_LOCK)))
    found = schema_version(connection)
    if found > SCHEMA_VERSION:
        raise UnreadableFile(
            f"database must be of version {SCHEMA_VERSION} or older, got version {found}; "
            "it was written by a newer genbayes: update this one"
        )
    if found == 0:
        METADATA.create_all(connection)
    for version in range(found, SCHEMA_VERSION) if found else ():
        MIGRATIONS[version](connection)
    if found < SCHEMA_VERSION:
        connection.execute(insert(SCHEMA).values(version=SCHEMA_VERSION, applied_at=now))
    return found


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
