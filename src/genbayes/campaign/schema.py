"""The tables of campaigns, their version, and how an older database becomes one of today.

A trial has many leases and may have many results, of which one counts; the database itself refuses a second. Names
begin with `genbayes_`, so that campaigns can live beside the tables of others.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy import (
    Boolean,
    Column,
    ColumnElement,
    Connection,
    Double,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    and_,
    false,
    func,
    insert,
    inspect,
    literal_column,
    or_,
    select,
    text,
    true,
    update,
)

from genbayes.errors import UnreadableFile

SCHEMA_VERSION = 2
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
    Column("further", Text),  # responses after the first, a JSON array; none where there is one
    Column("reason", Text),
    Column("lease_id", Integer),  # the last one granted
    Column("leased_at", Double),  # when it was granted or last renewed
    Column("expires_at", Double),
    Column("worker", Text),
    Column("n_leases", Integer, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("started_at", Double),
    Column("finished_at", Double),
    # Rises with every change of a trial of the campaign, so that a reader can ask for what is new since it last looked.
    Column("revision", Integer, nullable=False, server_default=text("0")),
    UniqueConstraint("campaign_id", "number"),
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
    Column("further", Text),
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

# A lease of the past that ran out; whoever comes back with a late failure does not make it undone.
# Words of conditions that an index has are written out: of a value that is bound, SQLite cannot tell that they agree.
RAN_OUT = or_(LEASES.c.ending == literal_column("'lapsed'"), LEASES.c.ended_at >= LEASES.c.expires_at)
# One that nobody came back from; who hands a trial back, however late, was not killed by it.
ABANDONED = and_(RAN_OUT, LEASES.c.ending != "released")
CLOCK_SLACK = 1.0  # seconds by which a clock may be set back without anybody losing a lease
HAS_FAILED = TRIALS.c.state == literal_column("'failed'")
IS_REPEAT = RESULTS.c.counted == false()

# Asks, counts and looks at what is new must not grow with the campaign.
INDICES_OF_2 = (
    Index("genbayes_trials_to_offer", TRIALS.c.campaign_id, TRIALS.c.state, TRIALS.c.n_leases, TRIALS.c.number),
    Index("genbayes_trials_by_revision", TRIALS.c.campaign_id, TRIALS.c.revision),
    Index(
        "genbayes_failures",
        TRIALS.c.campaign_id,
        TRIALS.c.finished_at,
        sqlite_where=HAS_FAILED,
        postgresql_where=HAS_FAILED,
    ),
    Index("genbayes_lapses", LEASES.c.trial_id, sqlite_where=RAN_OUT, postgresql_where=RAN_OUT),
    Index("genbayes_repeats", RESULTS.c.trial_id, sqlite_where=IS_REPEAT, postgresql_where=IS_REPEAT),
)


def has_lapsed(now: float) -> ColumnElement[bool]:
    """Whether a trial is to be offered again: its lease is over, or began in the future, before the clock was set back.

    Who still runs such a trial renews its lease soon, and then holds it by the clock of now.
    """
    is_over = or_(TRIALS.c.expires_at <= now, TRIALS.c.leased_at > now + CLOCK_SLACK)
    return and_(TRIALS.c.state == "running", is_over)


def _several_responses_and_revisions(connection: Connection) -> None:
    """Version 1 had one response, and no way to tell what is new."""
    types = {"sqlite": "DOUBLE", "postgresql": "DOUBLE PRECISION"}
    for table, column in (
        (TRIALS, "further TEXT"),
        (TRIALS, f"leased_at {types[connection.dialect.name]}"),
        (TRIALS, "revision INTEGER DEFAULT 0 NOT NULL"),
        (RESULTS, "further TEXT"),
    ):
        connection.execute(text(f"ALTER TABLE {table.name} ADD COLUMN {column}"))
    connection.execute(update(TRIALS).values(revision=TRIALS.c.number, leased_at=TRIALS.c.started_at))
    connection.execute(text("DROP INDEX genbayes_trials_by_state"))
    for index in INDICES_OF_2:
        index.create(connection)


# How a database of version v becomes one of version v + 1; each runs in one transaction with all that follow it.
MIGRATIONS: dict[int, Callable[[Connection], None]] = {1: _several_responses_and_revisions}


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
            f"The database has version {found}, and this genbayes reads up to version {SCHEMA_VERSION}; update genbayes"
        )
    if found == 0:
        METADATA.create_all(connection)
    for version in range(found, SCHEMA_VERSION) if found else ():
        MIGRATIONS[version](connection)
    if found < SCHEMA_VERSION:
        connection.execute(insert(SCHEMA).values(version=SCHEMA_VERSION, applied_at=now))
    return found
