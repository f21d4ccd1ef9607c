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

from sqlalchemy import ColumnElement, Connection, Row, Select, Table, func, insert, not_, or_, select

from genbayes.campaign.database import Database
from genbayes.campaign.ledger import HANDED_BACK, Ledger
from genbayes.campaign.proposer_registry import Shown
from genbayes.campaign.run_cache import Runs
from genbayes.campaign.schema import (
    CAMPAIGNS,
    HAS_FAILED,
    IS_REPEAT,
    LEASES,
    LONGEST_NAME,
    RAN_OUT,
    RESULTS,
    SCHEMA_VERSION,
    TRIALS,
    has_lapsed,
    prepare_schema,
    schema_version,
)
from genbayes.campaign.trial import PATIENCE, Record, Settings, Status
from genbayes.data import Box
from genbayes.data.box import Point
from genbayes.errors import InvalidInput, StoreRefused, UnreadableFile, UnwritableFile
from genbayes.validation import list_some, suggest

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
        self._runs = Runs(self.campaign_id, self.space)

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
            _bring_up_to_date(database, version)
        row = database.read(lambda connection: _find(connection, name)) if version else None
        if row is None:
            every = select(CAMPAIGNS.c.name).order_by(CAMPAIGNS.c.id)
            names = database.read(lambda connection: list(connection.scalars(every))) if version else []
            known = suggest(name, names) or f"; it has {list_some(names, most=5) or 'none'}"
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

    def count(self) -> int:
        """How many trials there are, in any state."""
        return self.database.read(lambda connection: Ledger(connection, self.campaign_id, 0.0).count())

    def runs(self) -> Shown:
        """What a proposer is shown; only what has changed since the last call is read."""
        return self.database.read(self._runs.look)

    def status(self) -> Status:
        """Where the campaign stands."""
        return self.database.read(self._status)

    def _status(self, connection: Connection) -> Status:
        lapsed = has_lapsed(self.database.now(connection))
        counts = {
            "trials": select(func.coalesce(func.max(TRIALS.c.number), 0)).where(self._mine),  # from 1, without a gap
            "running": self._counting(TRIALS.c.state == "running"),
            "failed": self._counting(HAS_FAILED),
            "open": self._counting(TRIALS.c.state == "open"),
            "lapsed": self._counting(lapsed),
            "handed_back": self._counting(HANDED_BACK),
            "lapses": self._counting(RAN_OUT, of=LEASES),
            "repeats": self._counting(IS_REPEAT, of=RESULTS),
        }
        # One statement sees one moment.
        n = connection.execute(select(*(each.scalar_subquery().label(name) for name, each in counts.items()))).one()
        last = select(TRIALS.c.number, TRIALS.c.reason).where(self._mine, HAS_FAILED)
        # By the index alone; with a second column, PostgreSQL would sort all failures to find a few.
        failures = connection.execute(last.order_by(TRIALS.c.finished_at.desc()).limit(SHOWN_FAILURES)).all()
        holding = select(TRIALS.c.worker, func.count()).where(self._mine, TRIALS.c.state == "running", not_(lapsed))
        workers = connection.execute(holding.group_by(TRIALS.c.worker)).all()
        return Status(
            name=self.name,
            n_done=n.trials - n.running - n.failed - n.open,  # most of them by far: counting the others is quicker
            n_running=n.running - n.lapsed,
            n_failed=n.failed,
            n_open=n.open + n.lapsed,
            n_lapsed=n.lapsed,
            n_out=n.running + n.handed_back,
            n_lapses=n.lapses + n.lapsed,  # noticed: offered again, or ended too late; and those not noticed yet
            n_repeats=n.repeats,
            budget=self.settings.budget,
            failures=tuple((number, reason or "") for number, reason in reversed(failures)),
            workers={worker: int(n) for worker, n in sorted((str(worker or ""), n) for worker, n in workers)},
        )

    @property
    def _mine(self) -> ColumnElement[bool]:
        return TRIALS.c.campaign_id == self.campaign_id

    def _counting(self, which: ColumnElement[bool], of: Table = TRIALS) -> Select[Any]:
        """How many trials of this campaign, or their leases or results, are such."""
        if of is TRIALS:
            return select(func.count()).select_from(TRIALS).where(self._mine, which)
        # Of the few such rows the trial is looked up; a join might go through all trials to find the few. Where there
        # is one campaign only, they are its own.
        owner = select(TRIALS.c.campaign_id).where(TRIALS.c.id == of.c.trial_id).scalar_subquery()
        n_campaigns = select(func.count()).select_from(CAMPAIGNS).scalar_subquery()
        is_mine = or_(n_campaigns == 1, owner == self.campaign_id)
        return select(func.count()).select_from(of).where(which, is_mine)

    def _records(self, connection: Connection) -> list[Record]:
        lapsed, found = has_lapsed(self.database.now(connection)).label("has_lapsed"), []
        for row in connection.execute(select(TRIALS, lapsed).where(self._mine).order_by(TRIALS.c.number)):
            found.append(
                Record(
                    number=row.number,
                    state="open" if row.has_lapsed else row.state,
                    x=json.loads(row.x),
                    y=row.y,
                    reason=row.reason,
                    source=row.source,
                    worker=row.worker,
                    n_leases=row.n_leases,
                    has_lapsed=bool(row.has_lapsed),
                    created_at=row.created_at,
                    started_at=row.started_at,
                    finished_at=row.finished_at,
                    further=tuple(json.loads(row.further)) if row.further else (),
                )
            )
        return found


def _bring_up_to_date(database: Database, version: int) -> None:
    """Migrate the tables of an older version; one that may not be written cannot be read either."""
    try:
        database.write(lambda connection: prepare_schema(connection, database.now(connection)))
    except (UnwritableFile, StoreRefused) as error:
        raise UnwritableFile(
            f"The database {database.shown_url!r} is of version {version} and must be brought up to version "
            f"{SCHEMA_VERSION} before it is read, but may not be written; open it once where it may, or open a copy"
        ) from error


def _find(connection: Connection, name: str) -> Row[Any] | None:
    return connection.execute(select(CAMPAIGNS).where(CAMPAIGNS.c.name == name)).one_or_none()
