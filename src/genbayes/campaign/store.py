"""The campaign in a database: every call is one transaction, committed before anyone hears of it.

The database is the state: whoever opens it after a crash, or from another machine, goes on exactly where others
stopped. What may happen to a trial is written in `ledger`, how transactions survive a broken line in `database`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any, TypeVar
from uuid import uuid4

from sqlalchemy import Connection, Row, insert, select

from genbayes.campaign.database import PATIENCE, Database
from genbayes.campaign.ledger import Ledger
from genbayes.campaign.schema import (
    CAMPAIGNS,
    LONGEST_NAME,
    SCHEMA_VERSION,
    count_lapses,
    count_repeats,
    prepare_schema,
    read_records,
    schema_version,
    summarise,
)
from genbayes.campaign.trial import Record, Settings, Status
from genbayes.data import Box
from genbayes.data.box import Point
from genbayes.errors import InvalidInput, UnreadableFile
from genbayes.validation import suggest

T = TypeVar("T")


class Store:
    """One campaign in a database.

    Attributes:
        name: The campaign.
        space: Its inputs.
        settings: What it was created with.
    """

    def __init__(self, database: Database, row: Row[Any]) -> None:
        self.database, self.campaign_id, self.name = database, int(row.id), str(row.name)
        self.space = Box(json.loads(row.space))
        self.settings = Settings(**json.loads(row.settings))

    @classmethod
    def create(
        cls,
        url: str,
        name: str,
        space: Box,
        settings: Settings,
        points: Sequence[Point],
        patience: float = PATIENCE,
    ) -> Store:
        """A new campaign whose first trials are at `points`."""
        if not isinstance(name, str) or not 0 < len(name.strip()) <= LONGEST_NAME:
            raise InvalidInput(f"name must be text of 1 to {LONGEST_NAME} characters, got {name!r}")
        database, request = Database(url, patience), uuid4().hex
        _check_folder(database)
        database.read(schema_version, once=True)
        database.use_wal()

        def work(connection: Connection) -> Row[Any]:
            now = database.now(connection)
            prepare_schema(connection, now)
            known = _find(connection, name)
            if known is not None and known.request == request:  # the commit happened, but the line broke
                return known
            if known is not None:
                raise InvalidInput(
                    f"name must be new to the database, got {name!r}, which it has; open that campaign instead"
                )
            row = {"name": name, "space": json.dumps(space.to_json()), "settings": json.dumps(asdict(settings))}
            connection.execute(insert(CAMPAIGNS).values(**row, request=request, created_at=now))
            made = _find(connection, name)
            assert made is not None
            Ledger(connection, made.id, now).add(points, "initial", request)
            return made

        return cls(database, database.write(work))

    @classmethod
    def open(cls, url: str, name: str, patience: float = PATIENCE) -> Store:
        """A campaign that is there; tables of an older version are brought up to date."""
        database = Database(url, patience)
        if database.file is not None and not database.file.exists():
            raise InvalidInput(
                f"url must name an existing database, got {database.shown_url!r}; create the campaign first"
            )
        version = database.read(schema_version, once=True)
        if version not in (0, SCHEMA_VERSION):
            database.write(lambda connection: prepare_schema(connection, database.now(connection)))
        names, row = database.read(lambda connection: _look_up(connection, name)) if version else ([], None)
        if row is None:
            known = suggest(name, names) or (
                f"; it has {', '.join(map(repr, names[:5]))}" if names else "; it has none"
            )
            raise InvalidInput(f"name must be a campaign of {database.shown_url!r}, got {name!r}{known}")
        try:
            return cls(database, row)
        except (ValueError, TypeError) as error:
            raise UnreadableFile(f"campaign {name!r} must have readable settings, got {error}") from error

    def write(self, work: Callable[[Ledger], T]) -> T:
        """What `work` returns, once what it did to the ledger is committed; it must be safe to repeat."""

        def locked(connection: Connection) -> T:
            # Writers of a campaign take turns; SQLite has one writer anyhow and ignores it.
            connection.execute(select(CAMPAIGNS.c.id).where(CAMPAIGNS.c.id == self.campaign_id).with_for_update())
            now = self.database.now(connection)  # read under the lock: time does not stand still in a queue
            return work(Ledger(connection, self.campaign_id, now, self.settings.max_attempts))

        return self.database.write(locked)

    def records(self) -> list[Record]:
        """Every trial, by number."""
        return self.database.read(
            lambda connection: read_records(connection, self.campaign_id, self.database.now(connection))
        )

    def status(self) -> Status:
        """Where the campaign stands."""

        def work(connection: Connection) -> Status:
            records = read_records(connection, self.campaign_id, self.database.now(connection))
            odd = count_lapses(connection, self.campaign_id), count_repeats(connection, self.campaign_id)
            return summarise(self.name, self.settings.budget, records, *odd)

        return self.database.read(work)


def _find(connection: Connection, name: str) -> Row[Any] | None:
    return connection.execute(select(CAMPAIGNS).where(CAMPAIGNS.c.name == name)).one_or_none()


def _look_up(connection: Connection, name: str) -> tuple[list[str], Row[Any] | None]:
    names = connection.scalars(select(CAMPAIGNS.c.name).order_by(CAMPAIGNS.c.id)).all()
    return list(names), _find(connection, name)


def _check_folder(database: Database) -> None:
    if database.file is not None and not database.file.parent.is_dir():
        raise InvalidInput(
            f"url must lie in an existing folder, got {database.shown_url!r}; "
            f"create {str(database.file.parent)!r} first"
        )
