"""Locked, read-only, corrupt and unreachable databases, and lines that break in the middle of a commit."""

import shutil
import sqlite3
import sys
import threading
import time
from contextlib import nullcontext
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import Column, Integer, Table, func, insert, inspect, select, text

from genbayes import Box, Campaign
from genbayes.campaign import schema
from genbayes.campaign.database import Database
from genbayes.campaign.schema import CAMPAIGNS, LEASES, RESULTS, TRIALS
from genbayes.data import Choice, Log
from genbayes.data import Integer as Whole
from genbayes.errors import InvalidInput, MissingExtra, StoreUnavailable, UnreadableFile, UnwritableFile


def count(campaign: Campaign, table) -> int:
    return campaign._store.database.read(lambda c: c.scalar(select(func.count()).select_from(table)))


def end_backend(connection: psycopg.Connection) -> None:
    """Let the server close a connection, as it does when it is shut down."""
    with psycopg.connect(connection.info.dsn, autocommit=True) as other:
        other.execute("SELECT pg_terminate_backend(%s, 5000)", [connection.info.backend_pid])


def break_line(campaign: Campaign, when: str) -> list[str]:
    """Let the line break before or after the next commit; returns a list that grows with the break."""
    dialect, broken = campaign._store.database.engine.dialect, []
    commit = dialect.do_commit

    def breaking(connection) -> None:
        if broken:
            return commit(connection)
        broken.append(when)
        if when == "after":
            commit(connection)
        if dialect.name == "sqlite":
            raise sqlite3.OperationalError("database is locked")
        end_backend(connection.dbapi_connection)
        if when == "after":
            raise psycopg.OperationalError("server closed the connection unexpectedly")
        return commit(connection)  # finds no line

    dialect.do_commit = breaking
    return broken


@pytest.fixture
def campaign(make_campaign, url: str) -> Campaign:
    return make_campaign(url=url, n_initial=3, patience=10.0)


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_line_lost_in_the_middle_of_a_call_is_taken_up_again_and_what_was_done_is_done_once(campaign, when) -> None:
    broken = [break_line(campaign, when)]
    trial = campaign.ask()
    assert (trial.number, count(campaign, LEASES)) == (1, 1)
    broken.append(break_line(campaign, when))
    assert campaign.tell(trial, 2.5) == ("counted" if when == "before" else "again")
    assert count(campaign, RESULTS) == 1
    assert campaign.to_frame()["y"].tolist()[0] == 2.5
    broken.append(break_line(campaign, when))
    assert (campaign.add([{"x": 0.5}]), count(campaign, TRIALS)) == ([4], 4)
    assert broken == [[when]] * 3


def test_a_line_lost_in_the_middle_of_create_makes_one_campaign(campaign, make_campaign, url, monkeypatch) -> None:
    made = Database.__init__

    def fragile(self, *arguments) -> None:
        made(self, *arguments)
        commits = []
        commit = self.engine.dialect.do_commit

        def breaking(connection) -> None:
            commits.append(1)
            commit(connection)
            if len(commits) == (3 if self.file else 2):  # the first one only looks, an SQLite file sets its mode
                raise self.engine.dialect.dbapi.OperationalError("database is locked")

        self.engine.dialect.do_commit = breaking

    with monkeypatch.context() as patched:
        patched.setattr(Database, "__init__", fragile)
        again = make_campaign(url=url, name="b", n_initial=3)
    assert again.status().n_trials == 3
    assert count(campaign, CAMPAIGNS) == 2


def test_a_server_that_restarts_in_the_middle_of_a_campaign_is_waited_for(server, postgres_url, make_campaign) -> None:
    campaign = make_campaign(url=postgres_url, patience=60.0)
    trial = campaign.ask()
    server.stop("fast")
    later = threading.Timer(0.5, server.start)
    later.start()
    try:
        assert campaign.tell(trial, 1.0) == "counted"
    finally:
        later.join()


def test_a_database_out_of_reach_is_told_at_once_and_a_password_is_never_shown() -> None:
    started = time.monotonic()
    with pytest.raises(StoreUnavailable, match="No answer from the database 'postgresql://me:") as caught:
        Campaign.open("postgresql://me:secret@127.0.0.1:1/runs", "a")
    assert "secret" not in str(caught.value)
    assert time.monotonic() - started < 10


@pytest.fixture
def file(make_campaign, sqlite_url: str) -> Path:
    make_campaign(n_initial=3)
    return Path(sqlite_url.removeprefix("sqlite:///"))


def test_readers_keep_nobody_waiting_and_a_lock_is_waited_for_or_told_with_what_to_do(file: Path) -> None:
    campaign = Campaign.open(f"sqlite:///{file}", "small", patience=0.2)
    holder = sqlite3.connect(file, isolation_level=None, check_same_thread=False)
    holder.execute("BEGIN")
    holder.execute("SELECT * FROM genbayes_trials").fetchall()
    assert campaign.ask().number == 1
    holder.execute("ROLLBACK")
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreUnavailable, match="The database .* is locked by another process; wait, or end"):
        campaign.ask()
    assert campaign.status().n_open == 2  # who only looks need not wait
    threading.Timer(0.3, lambda: (holder.execute("ROLLBACK"), holder.close())).start()
    assert Campaign.open(f"sqlite:///{file}", "small").ask().number == 2


def test_who_waits_for_a_turn_to_write_looks_often_and_at_random_moments(file: Path, monkeypatch) -> None:
    """SQLite's own wait grows to a tenth of a second, and of many workers one may wait for ever."""
    campaign, pauses, sleep = Campaign.open(f"sqlite:///{file}", "small"), [], time.sleep
    holder = sqlite3.connect(file, isolation_level=None, check_same_thread=False)
    holder.execute("BEGIN IMMEDIATE")

    def note(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 20:
            holder.execute("ROLLBACK")
        sleep(seconds)

    monkeypatch.setattr("genbayes.campaign.database.time.sleep", note)
    assert campaign.ask().number == 1
    holder.close()
    assert len(pauses) == len(set(pauses)) == 20
    assert max(pauses) < 0.01


def test_a_read_only_database_can_be_looked_at_but_not_written_to(file: Path) -> None:
    campaign = Campaign.open(f"sqlite:///file:{file}?mode=ro&uri=true", "small")
    assert campaign.status().n_open == 3
    with pytest.raises(UnwritableFile, match="The database .* is read-only; check the permissions"):
        campaign.ask()


@pytest.mark.parametrize(
    "kept", [0, 16, 4096]
)  # bytes of its own: none, its first words, the page that says what is in it
@pytest.mark.parametrize("call", [Campaign.open, Campaign.create])
def test_a_foreign_or_damaged_file_is_refused(file: Path, kept: int, call) -> None:
    content = file.read_bytes()[:kept] + b"\xff" * (8192 - kept)
    file.write_bytes(content)
    with pytest.raises(UnreadableFile, match="is not an SQLite database, or it is damaged"):
        call(f"sqlite:///{file}", "small", {"x": (0.0, 1.0)})
    assert file.read_bytes() == content


@pytest.mark.parametrize(
    ("address", "error", "sentence"),
    [
        ("rocket.db", InvalidInput, "url must name a database such as sqlite:///rocket.db"),
        ("mysql://me@host/runs", InvalidInput, "got the kind 'mysql'"),
        ("sqllite:///a.db", InvalidInput, "got the kind 'sqllite'; did you mean 'sqlite'"),
        ("sqlite://", InvalidInput, "url must name a file"),
        ("sqlite:///:memory:", InvalidInput, "url must name a file"),
        (None, InvalidInput, "url must name a database"),
        (
            "postgresql://me@host/runs", MissingExtra,
            "psycopg must be installed for PostgreSQL, got none; pip install 'genbayes",
        ),
    ],
)  # fmt: skip
def test_an_address_that_is_none_and_a_missing_driver_are_refused(monkeypatch, address, error, sentence: str) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(error, match=sentence):
        Database(address)


def test_the_clock_is_the_databases(url: str) -> None:
    database = Database(url)
    assert abs(database.read(database.now) - time.time()) < 5  # here it runs on the same machine


FIXTURE, FIXTURE_2 = (Path(__file__).parents[1] / "data" / f"campaign_format_{version}.db" for version in (1, 2))


@pytest.fixture
def old(tmp_path: Path) -> str:
    shutil.copy(FIXTURE, tmp_path / "old.db")
    return f"sqlite:///{tmp_path}/old.db"


def test_a_read_only_database_of_version_1_is_refused_with_what_to_do(old: str) -> None:
    sentence = "is of version 1 and must be brought up to version 2 .* open it once where it may, or open a copy"
    with pytest.raises(UnwritableFile, match=sentence):
        Campaign.open(f"{old.replace('///', '///file:')}?mode=ro&uri=true", "rocket")


def test_a_campaign_of_version_1_is_read_as_it_was_and_goes_on(old: str, clock) -> None:
    campaign = Campaign.open(old, "rocket")
    inputs = {"mach": (0.2, 6.0), "rate": Log(1e-3, 1.0), "stages": Whole(1, 8), "gas": Choice("He", "O2")}
    assert campaign.space == Box(inputs)
    assert (campaign.settings.seed, campaign.settings.budget, campaign.settings.lease_seconds) == (7, 12, 86400.0)
    assert campaign.settings.max_attempts is None  # came later: such a campaign goes on as it began, without a limit
    status = campaign.status()
    assert (status.n_done, status.n_failed, status.n_repeats, status.n_trials) == (2, 1, 1, 7)
    assert status.failures == ((3, "diverged"),)
    frame = campaign.to_frame()
    assert frame["y"].dropna().tolist() == [0.25, -1.5]
    assert frame["source"].tolist() == ["initial"] * 6 + ["added"]
    clock.time = 4e9  # long after: every lease has lapsed
    assert clock.govern(campaign).run(lambda x: x["mach"]).n_done == 9  # a budget of 12, of which 3 had ended
    assert campaign.status().n_trials == 12


@pytest.mark.parametrize("fails", [False, True])
def test_an_older_database_is_brought_up_to_date_when_opened_or_left_as_it_was(old: str, monkeypatch, fails) -> None:
    def lift(connection) -> None:
        connection.execute(text("ALTER TABLE genbayes_trials ADD COLUMN cost INTEGER"))
        if fails:
            raise RuntimeError("no")

    with monkeypatch.context() as patched:
        patched.setattr(schema, "SCHEMA_VERSION", 3)
        patched.setattr("genbayes.campaign.store.SCHEMA_VERSION", 3)
        patched.setitem(schema.MIGRATIONS, 2, lift)
        for _ in range(2):  # a second time there is nothing to do; the column would be there twice
            with pytest.raises(RuntimeError, match="no") if fails else nullcontext():
                Campaign.open(old, "rocket")
    database = Database(old)
    columns = database.read(lambda connection: [c["name"] for c in inspect(connection).get_columns("genbayes_trials")])
    assert ("cost" in columns, database.read(schema.schema_version)) == ((False, 1) if fails else (True, 3))
    assert database.read(lambda connection: connection.scalar(text("SELECT count(*) FROM genbayes_trials"))) == 7


def test_a_database_of_a_newer_version_is_refused(old: str) -> None:
    Database(old).write(lambda connection: connection.execute(text("INSERT INTO genbayes_schema VALUES (99, 0)")))
    with pytest.raises(UnreadableFile, match="has version 99, and this genbayes reads up to version 2; update"):
        Campaign.open(old, "rocket")


def describe_tables(url: str) -> dict[str, object]:
    """Columns and indices, whatever the order in which they were added."""

    def look(connection) -> dict[str, object]:
        found = inspect(connection)
        return {
            name: (
                sorted((c["name"], str(c["type"]), c["nullable"]) for c in found.get_columns(name)),
                sorted((i["name"], tuple(i["column_names"]), bool(i["unique"])) for i in found.get_indexes(name)),
            )
            for name in schema.METADATA.tables
        }

    return Database(url).read(look)


def test_old_tables_become_those_of_today_and_those_of_today_are_in_the_fixture(old, make_campaign, sqlite_url) -> None:
    """Whoever changes a table must raise the version, write a migration and add a fixture."""
    Campaign.open(old, "rocket")
    make_campaign()
    today = describe_tables(sqlite_url)
    assert describe_tables(old) == today == describe_tables(f"sqlite:///{FIXTURE_2}")
    assert schema.SCHEMA_VERSION == 2


def test_a_campaign_of_version_2_is_read_as_it_was(tmp_path: Path) -> None:
    shutil.copy(FIXTURE_2, tmp_path / "old.db")
    campaign = Campaign.open(f"sqlite:///{tmp_path}/old.db", "rocket")
    assert campaign.settings.responses == ("drag", "lift")
    frame = campaign.to_frame()
    assert frame[["drag", "lift"]].dropna().values.tolist() == [[0.25, 3.0], [-1.5, 0.1 + 0.2]]
    assert (campaign.status().n_repeats, campaign.status().failures) == (1, ((3, "diverged"),))


@pytest.fixture
def old_postgres(postgres_url: str) -> str:
    """The campaign of version 1 in PostgreSQL, in the tables that version 1 made there."""
    with sqlite3.connect(FIXTURE) as kept:
        kept.row_factory = sqlite3.Row
        rows = {name: [dict(row) for row in kept.execute(f"SELECT * FROM {name}")] for name in schema.METADATA.tables}
    kept.close()

    def fill(connection) -> None:
        schema.METADATA.create_all(connection)
        for index in schema.INDICES_OF_2:
            index.drop(connection)
        for column in ("genbayes_trials.further", "genbayes_trials.leased_at", "genbayes_trials.revision",
                       "genbayes_results.further"):  # fmt: skip
            connection.execute(text("ALTER TABLE {} DROP COLUMN {}".format(*column.split("."))))
        by_state = "CREATE INDEX genbayes_trials_by_state ON genbayes_trials (campaign_id, state, number)"
        connection.execute(text(by_state))
        for name, table in schema.METADATA.tables.items():
            for row in rows[name]:
                connection.execute(
                    insert(table).values(row | ({"counted": bool(row["counted"])} if "counted" in row else {}))
                )
            if "id" in table.c:
                connection.execute(text(f"SELECT setval('{name}_id_seq', 100)"))

    Database(postgres_url).write(fill)
    return postgres_url


def test_a_postgresql_database_of_version_1_is_brought_up_to_date_and_goes_on(old_postgres: str, make_campaign) -> None:
    campaign = Campaign.open(old_postgres, "rocket")
    make_campaign(url=old_postgres)
    assert campaign.to_frame()["y"].dropna().tolist() == [0.25, -1.5]
    assert (
        campaign.run(lambda x: x["mach"]).n_done == 9
    )  # of a budget of 12: 3 had ended, every lease has lapsed by now


def test_a_table_of_someone_else_is_left_alone(make_campaign, sqlite_url: str) -> None:
    database = Database(sqlite_url)
    database.write(Table("runs", schema.MetaData(), Column("id", Integer, primary_key=True)).create)
    make_campaign()
    names = set(database.read(lambda connection: inspect(connection).get_table_names()))
    assert {name for name in names if not name.startswith("genbayes_")} - {"sqlite_sequence"} == {"runs"}
