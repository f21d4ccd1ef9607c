"""What databases say when they refuse, in our words: which failures pass by themselves, and what to do about others."""

from __future__ import annotations

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError

from genbayes.errors import GenBayesError, InvalidInput, StoreUnavailable, UnreadableFile, UnwritableFile
from genbayes.validation import suggest

__all__ = ["explain", "is_passing", "parse_url", "show_url"]

BACKENDS = {"sqlite": "sqlite", "postgresql": "postgresql+psycopg", "postgres": "postgresql+psycopg"}
EXAMPLES = "sqlite:///rocket.db or postgresql://user@host/database"
IN_MEMORY = ("", ":memory:")

# Classes of SQLSTATE that pass: 08 connection, 40 serialisation and deadlock, 53 resources, 55 lock not to be had,
# 57 operator intervention (shutdown, restart). Without a code the line broke before the server could say anything.
PASSING_STATES = ("08", "40", "53", "55", "57")


def parse_url(url: str) -> URL:
    """The address of a database, if it is one that campaigns can live in.

    Example:
        >>> parse_url("postgresql://me@host/runs").drivername
        'postgresql+psycopg'
    """
    rule = f"url must name a database such as {EXAMPLES}"
    try:
        parsed = make_url(url)
    except (ArgumentError, AttributeError, ValueError) as error:
        raise InvalidInput(f"{rule}, got {url!r}") from error
    backend = parsed.get_backend_name()
    if backend not in BACKENDS:
        raise InvalidInput(f"{rule}, got the kind {backend!r}{suggest(backend, BACKENDS)}")
    if backend == "sqlite" and (parsed.database or "") in IN_MEMORY:
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


def explain(error: Exception, url: URL) -> GenBayesError:
    """The error that a user should see, with what to do."""
    cause = error.orig if isinstance(error, DBAPIError) else error
    said = " ".join(str(cause).split()).rstrip(".")
    place = repr(show_url(url))
    if url.get_backend_name() != "sqlite":
        return StoreUnavailable(f"database must be within reach, got no answer from {place} ({said})")
    if "locked" in said or "busy" in said:
        return StoreUnavailable(
            f"database must be free to write to, got {place}, which another process keeps locked; "
            "end that process or wait, then try again"
        )
    if "readonly" in said:
        return UnwritableFile(f"database must be writable, got {place}; check the permissions of file and folder")
    if "unable to open" in said:
        return UnwritableFile(f"database must lie in an existing folder that you may write to, got {place}")
    if "not a database" in said or "malformed" in said:
        return UnreadableFile(f"database must be a whole SQLite file, got a damaged or foreign one in {place}")
    return StoreUnavailable(f"database must be usable, got {place} ({said})")
