"""SQLite or PostgreSQL with patience: transactions wait for their turn and are repeated when the line breaks.

Every transaction has a connection of its own, so that nothing is shared across forks and threads and nothing goes
stale. What a transaction does must be safe to repeat: when the line breaks during a commit, nobody knows whether it
happened. What databases say when they fail is put into our words by `explain`.
"""

from __future__ import annotations

import random
import re
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar, cast

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url, text
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import ArgumentError, DBAPIError
from sqlalchemy.pool import ConnectionPoolEntry, NullPool

from genbayes.campaign.trial import PATIENCE
from genbayes.errors import (
    GenBayesError,
    InvalidInput,
    MissingExtra,
    StoreRefused,
    StoreUnavailable,
    UnreadableFile,
    UnwritableFile,
)
from genbayes.validation import suggest

T = TypeVar("T")

FIRST_PAUSE, LONGEST_PAUSE = 0.05, 2.0  # seconds between two tries; doubled each time
CONNECT_SECONDS = 10  # libpq's own time limit
TURN_PAUSE = 0.001, 0.006  # seconds between two tries to be the one who writes to SQLite, drawn anew each time
WRITE = "BEGIN IMMEDIATE"
BEGIN = "genbayes_begin"  # the option of a connection that says how its transaction begins

# Both count seconds since 1970. clock_timestamp, not now(): the latter stands still while a transaction waits.
NOW = {
    "sqlite": text("SELECT (julianday('now') - 2440587.5) * 86400.0"),
    "postgresql": text("SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) AS double precision)"),
}
BACKENDS = {"sqlite": "sqlite", "postgresql": "postgresql+psycopg", "postgres": "postgresql+psycopg"}

# Classes of SQLSTATE that pass: 08 connection, 40 serialisation and deadlock, 53 resources, 55 lock not to be had,
# 57 operator intervention (shutdown, restart). Without a code the line broke before the server could say anything.
PASSING_STATES = ("08", "40", "53", "55", "57")


# What waiting does not mend: 28 authorisation, 3D no such database, 42501 no right to a table. While a connection is
# being made, PostgreSQL says it in words only; those of other languages are waited for.
REFUSED_STATES = ("28", "3D", "42501")
REFUSED = re.compile(
    r"(database|role) \".*\" does not exist|authentication failed|no password supplied|no pg_hba.conf entry"
    r"|not permitted to log in|permission denied for database|is not currently accepting connections"
)


class Database:
    """A database that campaigns live in.

    Args:
        url: `sqlite:///file.db`, or `postgresql://user@host/name`.
        patience: Seconds to wait for it when it is locked or out of reach.
    """

    def __init__(self, url: str, patience: float = PATIENCE) -> None:
        self.url: URL = parse_url(url)
        self.patience = patience
        self.engine = _make_engine(self.url, patience)

    @property
    def shown_url(self) -> str:
        """The URL as it may be printed: without a password."""
        return show_url(self.url)

    @property
    def file(self) -> Path | None:
        """The file of an SQLite database; None for PostgreSQL, and for SQLite's own `file:` addresses."""
        named = self.url.database or ""
        return Path(named) if self.engine.dialect.name == "sqlite" and not named.startswith("file:") else None

    def now(self, connection: Connection) -> float:
        """The database's time, in seconds since 1970: one clock for all workers, whatever theirs say."""
        return float(connection.execute(NOW[self.engine.dialect.name]).scalar_one())

    def read(self, work: Callable[[Connection], T], *, once: bool = False) -> T:
        """What `work` finds in a transaction that does not write.

        Args:
            work: What to look up.
            once: Whether to give up when the line breaks: on first contact the address may be wrong.

        Returns:
            What `work` returned.
        """
        return self._transact(work, "BEGIN", 0.0 if once else self.patience)

    def write(self, work: Callable[[Connection], T]) -> T:
        """What `work` returns after its transaction is committed; repeated when the line breaks.

        Args:
            work: What to do within the transaction; safe to repeat.

        Returns:
            What `work` returned.

        Raises:
            StoreUnavailable: The database was locked or out of reach for too long.
        """
        # A writer takes its place at once: one that has begun by reading may find no way to go on.
        return self._transact(work, WRITE, self.patience)

    def use_wal(self) -> None:
        """Let readers and a writer of an SQLite file work at once; the file remembers it."""
        if self.file is not None:  # the mode cannot be changed within a transaction
            self._transact(lambda connection: connection.exec_driver_sql("PRAGMA journal_mode=WAL").all(), "", 0.0)

    def _transact(self, work: Callable[[Connection], T], begin: str, patience: float) -> T:
        started, pause = time.monotonic(), FIRST_PAUSE
        while True:
            try:
                with self.engine.connect().execution_options(**{BEGIN: begin}) as connection, connection.begin():
                    return work(connection)
            except Exception as error:
                if not isinstance(error, (DBAPIError, self.engine.dialect.loaded_dbapi.Error)):
                    raise
                if not is_passing(error) or time.monotonic() + pause - started > patience:
                    raise explain(error, self.url) from error
            time.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)


def _make_engine(url: URL, patience: float) -> Engine:
    if url.get_backend_name() == "sqlite":
        engine = create_engine(url, poolclass=NullPool, connect_args={"timeout": patience})
        event.listen(engine, "connect", _set_up_sqlite)
        event.listen(engine, "begin", lambda connection: _begin_sqlite(connection, patience))
    else:
        limits = {"connect_timeout": CONNECT_SECONDS, "keepalives_idle": 30, "tcp_user_timeout": 30_000}
        try:
            engine = create_engine(url, poolclass=NullPool, connect_args=limits)
        except ImportError as error:
            raise MissingExtra(
                "psycopg must be installed for PostgreSQL, got none; pip install 'genbayes[postgres]'"
            ) from error
        event.listen(engine, "connect", lambda connection, _: _set_up_postgres(connection, patience))
    return engine


def _set_up_sqlite(connection: sqlite3.Connection, _: ConnectionPoolEntry) -> None:
    connection.isolation_level = None  # sqlite3 begins no transactions of its own; see _begin_sqlite
    connection.execute("PRAGMA foreign_keys=ON")
    connection.execute("PRAGMA synchronous=FULL")  # what is committed survives a loss of power, too


def _begin_sqlite(connection: Connection, patience: float) -> None:
    begin = connection.get_execution_options().get(BEGIN, WRITE)
    if begin == WRITE:
        _take_turn(cast(sqlite3.Connection, connection.connection.dbapi_connection), patience)
    elif begin:
        connection.exec_driver_sql(begin)


def _take_turn(connection: sqlite3.Connection, patience: float) -> None:
    """Begin to write as soon as nobody else does.

    SQLite's own wait sleeps longer and longer, up to a tenth of a second, and who has just written comes first again
    and again. Short waits of random length let anybody have the next turn.
    """
    started = time.monotonic()
    connection.execute("PRAGMA busy_timeout=0")
    while True:
        try:
            connection.execute(WRITE)
            break
        except sqlite3.OperationalError as error:
            if not is_passing(error) or time.monotonic() - started > patience:
                raise
        time.sleep(random.uniform(*TURN_PAUSE))
    connection.execute(f"PRAGMA busy_timeout={round(1000 * patience)}")


def _set_up_postgres(connection: DBAPIConnection, patience: float) -> None:
    milliseconds = max(1, round(1000 * patience))
    # A worker that was stopped or cut off within a transaction must not keep the others waiting for ever.
    limits = f"SET lock_timeout = {milliseconds}; SET idle_in_transaction_session_timeout = 60000"
    no_compiler = "SET jit = off"  # takes longer than any of our queries
    connection.autocommit = True  # one round trip instead of four
    cursor = connection.cursor()
    cursor.execute(f"{limits}; {no_compiler}")
    cursor.close()
    connection.autocommit = False


def parse_url(url: str) -> URL:
    """The address of a database, if it is one that campaigns can live in.

    Example:
        >>> parse_url("postgresql://me@host/runs").drivername
        'postgresql+psycopg'
    """
    rule = "url must name a database such as sqlite:///rocket.db or postgresql://user@host/database"
    try:
        parsed = make_url(url)
    except (ArgumentError, AttributeError, ValueError) as error:
        raise InvalidInput(f"{rule}, got {url!r}") from error
    backend = parsed.get_backend_name()
    if backend not in BACKENDS:
        raise InvalidInput(f"{rule}, got the kind {backend!r}{suggest(backend, BACKENDS)}")
    if backend == "sqlite" and (parsed.database or "") in ("", ":memory:"):
        raise InvalidInput(f"url must name a file, got {url!r}; try sqlite:///rocket.db")
    return parsed.set(drivername=BACKENDS[backend])


def show_url(url: URL) -> str:
    """An address as it may be printed and was typed: without a password, without the driver.

    Example:
        >>> show_url(parse_url("postgresql://me:secret@host/runs"))
        'postgresql://me:***@host/runs'
    """
    return url.set(drivername=url.get_backend_name()).render_as_string(hide_password=True)


def is_passing(error: Exception) -> bool:
    """Whether the same transaction may succeed a moment later."""
    cause = error.orig if isinstance(error, DBAPIError) else error
    sentence = str(cause)
    if type(cause).__module__.startswith("sqlite3"):
        return "locked" in sentence or "busy" in sentence
    if isinstance(error, DBAPIError) and error.connection_invalidated:
        return True
    state = getattr(cause, "sqlstate", None)
    if state is None:
        return type(cause).__name__ in ("OperationalError", "InterfaceError", "ConnectionTimeout")
    return str(state).startswith(PASSING_STATES)


def is_refused(cause: object) -> bool:
    """Whether a database has answered that there is no way in, as opposed to not yet or not any more."""
    state = getattr(cause, "sqlstate", None)
    return REFUSED.search(str(cause)) is not None if state is None else str(state).startswith(REFUSED_STATES)


def explain(error: Exception, url: URL) -> GenBayesError:
    """The error that a user should see, with what to do."""
    cause = error.orig if isinstance(error, DBAPIError) else error
    said = " ".join(str(cause).split()).rstrip(".")
    place = repr(show_url(url))
    if url.get_backend_name() != "sqlite" and is_refused(cause):
        return StoreRefused(
            f"The database {place} refuses ({said}); check its name, the user, the password and the user's rights"
        )
    if url.get_backend_name() != "sqlite":
        return StoreUnavailable(f"No answer from the database {place} ({said})")
    if "locked" in said or "busy" in said:
        return StoreUnavailable(
            f"The database {place} is locked by another process; wait, or end that process, then try again"
        )
    if "readonly" in said:
        return UnwritableFile(f"The database {place} is read-only; check the permissions of the file and its folder")
    if "unable to open" in said:
        return UnwritableFile(f"The database {place} cannot be opened; its folder must exist and be writable")
    if "not a database" in said or "malformed" in said:
        return UnreadableFile(f"{place} is not an SQLite database, or it is damaged")
    return StoreUnavailable(f"The database {place} cannot be used ({said})")
