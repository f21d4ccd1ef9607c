"""One campaign in a database: every call is one transaction, committed before anyone hears of it.

The database is the state: whoever opens it after a crash, or from another machine, goes on exactly where others
stopped. What may happen to a trial is written in `ledger`, how transactions survive a broken line in `database`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any, TypeVar
from uuid import uuid4

from sqlalchemy import ColumnElement, Connection, Row, Table, func, insert, select

from genbayes.campaign.database import PATIENCE, Database
from genbayes.campaign.ledger import Ledger
from genbayes.campaign.schema import (
    CAMPAIGNS,
    LEASES,
    LONGEST_NAME,
    RAN_OUT,
    RESULTS,
    SCHEMA_VERSION,
    TRIALS,
    prepare_schema,
    schema_version,
)
from genbayes.campaign.trial import Record, Settings, Status
from genbayes.data import Box
from genbayes.data.box import Point
from genbayes.errors import InvalidInput, UnreadableFile
from genbayes.validation import suggest

T = TypeVar("T")

SHOWN_FAILURES = 5  # of a status


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
        self.settings = Settings.from_dict(json.loads(row.settings))

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
        if database.file is not None and not database.file.parent.is_dir():
            raise InvalidInput(
                f"url must lie in an existing folder, got {database.shown_url!r}; "
                f"create {str(database.file.parent)!r} first"
            )
        database.read(schema_version, once=True)
        database.use_wal()

        def work(connection: Connection) -> Row[Any]:
            now = database.now(connection)
            prepare_schema(connection, now)
            known = _find(connection, name)
            if known is not None and known.request == request:  # the commit happened, but the line broke
                return known
            if known is not None:
                raise InvalidInput(f"Campaign {name!r} already exists; open it, or choose another name")
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
        row = database.read(lambda connection: _find(connection, name)) if version else None
        if row is None:
            every = select(CAMPAIGNS.c.name).order_by(CAMPAIGNS.c.id)
            names = database.read(lambda connection: list(connection.scalars(every))) if version else []
            known = suggest(name, names) or (
                f"; it has {', '.join(map(repr, names[:5]))}" if names else "; it has none"
            )
            raise InvalidInput(f"name must be a campaign of {database.shown_url!r}, got {name!r}{known}")
        try:
            return cls(database, row)
        except (ValueError, TypeError) as error:
            raise UnreadableFile(f"The settings of campaign {name!r} cannot be read: {error}") from error

    def write(self, work: Callable[[Ledger], T]) -> T:
        """What `work` returns, once what it did to the ledger is committed; it must be safe to repeat."""

        def locked(connection: Connection) -> T:
            # Writers of a campaign take turns; SQLite has one writer anyhow and ignores it.
            connection.execute(select(CAMPAIGNS.c.id).where(CAMPAIGNS.c.id == self.campaign_id).with_for_update())
            now = self.database.now(connection)  # read under the lock: time does not stand still in a queue
            return work(Ledger(connection, self.campaign_id, now, self.settings.max_attempts))

        return self.database.write(locked)

    def records(self) -> list[Record]:
        """Every trial, by number; one whose lease has run out is open."""
        return self.database.read(self._records)

    def status(self) -> Status:
        """Where the campaign stands."""

        def count(connection: Connection, table: Table, which: ColumnElement[bool]) -> int:
            of_trials = table.join(TRIALS, table.c.trial_id == TRIALS.c.id)
            mine = select(func.count()).select_from(of_trials).where(TRIALS.c.campaign_id == self.campaign_id, which)
            return int(connection.scalar(mine) or 0)

        def work(connection: Connection) -> tuple[list[Record], int, int]:
            n_lapses = count(connection, LEASES, RAN_OUT)  # noticed: offered again, or ended later than they should
            return self._records(connection), n_lapses, count(connection, RESULTS, RESULTS.c.counted.is_(False))

        records, n_lapses, n_repeats = self.database.read(work)
        states = [record.state for record in records]
        failed = sorted((r for r in records if r.state == "failed"), key=lambda record: record.finished_at or 0.0)
        holders = [record.worker or "" for record in records if record.state == "running"]
        n_lapsed = sum(record.has_lapsed for record in records)
        return Status(
            name=self.name,
            n_done=states.count("done"),
            n_running=states.count("running"),
            n_failed=states.count("failed"),
            n_open=states.count("open"),
            n_lapsed=n_lapsed,
            n_out=sum(record.n_leases > 0 and record.state in ("open", "running") for record in records),
            n_lapses=n_lapses + n_lapsed,  # those that nobody has noticed yet included
            n_repeats=n_repeats,
            budget=self.settings.budget,
            failures=tuple((record.number, record.reason or "") for record in failed[-SHOWN_FAILURES:]),
            workers={holder: holders.count(holder) for holder in sorted(set(holders))},
        )

    def _records(self, connection: Connection) -> list[Record]:
        now, found = self.database.now(connection), []
        mine = select(TRIALS).where(TRIALS.c.campaign_id == self.campaign_id).order_by(TRIALS.c.number)
        for row in connection.execute(mine):
            has_lapsed = row.state == "running" and row.expires_at <= now
            found.append(
                Record(
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
                    further=tuple(json.loads(row.further)) if row.further else (),
                )
            )
        return found


def _find(connection: Connection, name: str) -> Row[Any] | None:
    return connection.execute(select(CAMPAIGNS).where(CAMPAIGNS.c.name == name)).one_or_none()
