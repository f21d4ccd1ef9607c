"""Locked, read-only, corrupt and unreachable databases, and lines that break in the middle of a commit."""

import shutil
import sqlite3
import sys
import threading
import time
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import Column, Integer, Table, func, inspect, select, text

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


def break_line(campaign_or_dialect, when: str, times: int = 1) -> list[str]:
    """Let the line break before or after the next commits; returns a list that grows with each break."""
    dialect = getattr(campaign_or_dialect, "_store", None)
    dialect = dialect.database.engine.dialect if dialect else campaign_or_dialect
    commit, broken = dialect.do_commit, []

    def breaking(connection) -> None:
        if len(broken) >= times:
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
def campaign(url: str) -> Campaign:
    return Campaign.create(url, "a", {"x": (0, 1)}, n_initial=3, random_state=0, patience=10.0, proposer="random")


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_line_lost_in_the_middle_of_tell_is_taken_up_again_and_the_result_counts_once(campaign, when) -> None:
    trial = campaign.ask()
    broken = break_line(campaign, when)
    assert campaign.tell(trial, 2.5) == ("counted" if when == "before" else "again")
    assert broken == [when]
    assert count(campaign, RESULTS) == 1
    assert campaign.to_frame()["y"].tolist()[0] == 2.5


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_line_lost_in_the_middle_of_ask_costs_no_trial(campaign, when) -> None:
    broken = break_line(campaign, when)
    assert campaign.ask().number == 1
    assert broken == [when]
    assert count(campaign, LEASES) == 1


def test_a_line_lost_in_the_middle_of_add_adds_once(campaign) -> None:
    break_line(campaign, "after")
    assert campaign.add([{"x": 0.5}]) == [4]
    assert count(campaign, TRIALS) == 4


def test_a_line_lost_in_the_middle_of_create_makes_one_campaign(campaign, url, monkeypatch) -> None:
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

    monkeypatch.setattr(Database, "__init__", fragile)
    again = Campaign.create(url, "b", {"x": (0, 1)}, n_initial=3, random_state=0, proposer="random")
    monkeypatch.undo()
    assert again.status().n_trials == 3
    assert count(campaign, CAMPAIGNS) == 2


def test_a_server_that_restarts_in_the_middle_of_a_campaign_is_waited_for(server, postgres_url) -> None:
    campaign = Campaign.create(postgres_url, "a", {"x": (0, 1)}, n_initial=3, random_state=0, proposer="random")
    trial = campaign.ask()
    server._run("pg_ctl", "-w", "-m", "fast", "stop")
    options = f"-p {server.port} -h 127.0.0.1 -k {server.folder} -c fsync=off -c max_connections=60"
    start = ("pg_ctl", "-w", "-l", str(server.folder / "log"), "-o", options, "start")
    later = threading.Timer(0.5, server._run, start)
    later.start()
    try:
        assert campaign.tell(trial, 1.0) == "counted"
    finally:
        later.join()


def test_a_database_out_of_reach_is_told_at_once_when_a_campaign_is_opened() -> None:
    started = time.monotonic()
    with pytest.raises(StoreUnavailable, match="No answer from the database 'postgresql://me:"):
        Campaign.open("postgresql://me:secret@127.0.0.1:1/runs", "a")
    assert time.monotonic() - started < 10


def test_a_password_is_never_shown() -> None:
    with pytest.raises(StoreUnavailable, match="me:") as caught:
        Campaign.open("postgresql://me:secret@127.0.0.1:1/runs", "a")
    assert "secret" not in str(caught.value)


@pytest.fixture
def file(sqlite_url: str) -> Path:
    Campaign.create(sqlite_url, "a", {"x": (0, 1)}, n_initial=3, random_state=0, proposer="random")
    return Path(sqlite_url.removeprefix("sqlite:///"))


def test_a_locked_database_is_waited_for(file: Path) -> None:
    campaign = Campaign.open(f"sqlite:///{file}", "a")
    holder = sqlite3.connect(file, isolation_level=None, check_same_thread=False)
    holder.execute("BEGIN IMMEDIATE")
    threading.Timer(0.3, lambda: (holder.execute("ROLLBACK"), holder.close())).start()
    assert campaign.ask().number == 1


def test_a_database_that_stays_locked_is_told_with_what_to_do(file: Path) -> None:
    campaign = Campaign.open(f"sqlite:///{file}", "a", patience=0.2)
    holder = sqlite3.connect(file, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    try:
        with pytest.raises(StoreUnavailable, match="The database .* is locked by another process; wait, or end"):
            campaign.ask()
        assert campaign.status().n_open == 3  # who only looks need not wait
    finally:
        holder.close()


def test_a_read_only_database_can_be_looked_at_but_not_written_to(file: Path) -> None:
    campaign = Campaign.open(f"sqlite:///file:{file}?mode=ro&uri=true", "a")
    assert campaign.status().n_open == 3
    with pytest.raises(UnwritableFile, match="The database .* is read-only; check the permissions"):
        campaign.ask()


@pytest.mark.parametrize("content", [b"this is no database" * 100, b"SQLite format 3\0" + bytes(range(256)) * 16])
def test_a_foreign_or_damaged_file_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.db").write_bytes(content)
    with pytest.raises(UnreadableFile, match="is not an SQLite database, or it is damaged"):
        Campaign.open(f"sqlite:///{tmp_path}/a.db", "a")
    with pytest.raises(UnreadableFile, match="is not an SQLite database, or it is damaged"):
        Campaign.create(f"sqlite:///{tmp_path}/a.db", "a", {"x": (0, 1)})
    assert (tmp_path / "a.db").read_bytes() == content


def test_a_database_damaged_inside_is_refused(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)  # the first page says what there should be
    file.write_bytes(content)
    with pytest.raises(UnreadableFile, match="not an SQLite database, or it is damaged"):
        Campaign.open(f"sqlite:///{file}", "a")


def test_readers_do_not_keep_writers_waiting(file: Path) -> None:
    reader = sqlite3.connect(file, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT * FROM genbayes_trials").fetchall()
    assert Campaign.open(f"sqlite:///{file}", "a", patience=0.2).ask().number == 1
    reader.close()


@pytest.mark.parametrize(
    ("address", "sentence"),
    [
        ("rocket.db", "url must name a database such as sqlite:///rocket.db"),
        ("mysql://me@host/runs", "got the kind 'mysql'"),
        ("sqllite:///a.db", "got the kind 'sqllite'; did you mean 'sqlite'"),
        ("sqlite://", "url must name a file"),
        ("sqlite:///:memory:", "url must name a file"),
        (None, "url must name a database"),
    ],
)
def test_an_address_that_is_none_is_refused(address, sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        Database(address)


def test_the_clock_is_the_databases(url: str) -> None:
    database = Database(url)
    assert abs(database.read(database.now) - time.time()) < 5  # here it runs on the same machine


def test_a_missing_driver_is_told_with_the_extra(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(
        MissingExtra, match=r"psycopg must be installed for PostgreSQL, got none; pip install 'genbayes"
    ):
        Database("postgresql://me@host/runs")


FIXTURE = Path(__file__).parents[1] / "data" / "campaign_format_1.db"


@pytest.fixture
def old(tmp_path: Path) -> str:
    shutil.copy(FIXTURE, tmp_path / "old.db")
    return f"sqlite:///{tmp_path}/old.db"


def test_a_campaign_of_version_1_is_read_as_it_was(old: str) -> None:
    campaign = Campaign.open(old, "rocket")
    assert campaign.space == Box(
        {"mach": (0.2, 6.0), "rate": Log(1e-3, 1.0), "stages": Whole(1, 8), "gas": Choice("He", "O2")}
    )
    assert (campaign.settings.seed, campaign.settings.budget, campaign.settings.lease_seconds) == (7, 12, 86400.0)
    assert campaign.settings.max_attempts is None  # came later: such a campaign goes on as it began, without a limit
    status = campaign.status()
    assert (status.n_done, status.n_failed, status.n_repeats, status.n_trials) == (2, 1, 1, 7)
    assert status.failures == ((3, "diverged"),)
    frame = campaign.to_frame()
    assert frame["y"].dropna().tolist() == [0.25, -1.5]
    assert frame["source"].tolist() == ["initial"] * 6 + ["added"]


def test_a_campaign_of_version_1_goes_on(old: str, clock) -> None:
    clock.time = 4e9  # long after: every lease has lapsed
    campaign = clock.govern(Campaign.open(old, "rocket"))
    assert campaign.run(lambda x: x["mach"]).n_done == 9  # a budget of 12, of which 3 had ended
    assert campaign.status().n_trials == 12


def test_an_older_database_is_brought_up_to_date_when_it_is_opened(old: str, monkeypatch) -> None:
    def lift(connection) -> None:
        connection.execute(text("ALTER TABLE genbayes_trials ADD COLUMN cost INTEGER"))

    monkeypatch.setattr(schema, "SCHEMA_VERSION", 2)
    monkeypatch.setattr("genbayes.campaign.store.SCHEMA_VERSION", 2)
    monkeypatch.setitem(schema.MIGRATIONS, 1, lift)
    campaign = Campaign.open(old, "rocket")
    database = campaign._store.database
    columns = database.read(lambda connection: [c["name"] for c in inspect(connection).get_columns("genbayes_trials")])
    assert "cost" in columns
    assert database.read(schema.schema_version) == 2
    assert campaign.status().n_done == 2
    Campaign.open(old, "rocket")  # a second time there is nothing to do; the column would be there twice


def test_a_migration_that_fails_leaves_the_database_as_it_was(old: str, monkeypatch) -> None:
    def stumble(connection) -> None:
        connection.execute(text("ALTER TABLE genbayes_trials ADD COLUMN cost INTEGER"))
        raise RuntimeError("no")

    monkeypatch.setattr(schema, "SCHEMA_VERSION", 2)
    monkeypatch.setattr("genbayes.campaign.store.SCHEMA_VERSION", 2)
    monkeypatch.setitem(schema.MIGRATIONS, 1, stumble)
    with pytest.raises(RuntimeError, match="no"):
        Campaign.open(old, "rocket")
    monkeypatch.undo()
    assert Campaign.open(old, "rocket").status().n_done == 2


def test_a_database_of_a_newer_version_is_refused(old: str) -> None:
    with sqlite3.connect(old.removeprefix("sqlite:///")) as connection:
        connection.execute("INSERT INTO genbayes_schema VALUES (99, 0)")
    connection.close()
    with pytest.raises(
        UnreadableFile, match="The database has version 99, and this genbayes reads up to version 1; update"
    ):
        Campaign.open(old, "rocket")


def test_the_fixture_has_the_tables_of_today() -> None:
    """Whoever changes a table must raise the version and write a migration."""
    with sqlite3.connect(FIXTURE) as connection:
        kept = dict(connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'"))
    connection.close()
    assert schema.SCHEMA_VERSION == 1
    for table in schema.METADATA.tables.values():
        assert all(f"\t{column.name} " in kept[table.name] for column in table.columns), table.name


def test_a_table_of_someone_else_is_left_alone(tmp_path: Path) -> None:
    from genbayes.campaign.database import Database

    database = Database(f"sqlite:///{tmp_path}/shared.db")
    theirs = Table("runs", schema.MetaData(), Column("id", Integer, primary_key=True))
    database.write(theirs.create)
    Campaign.create(f"sqlite:///{tmp_path}/shared.db", "mine", {"x": (0, 1)}, n_initial=1)
    names = set(database.read(lambda connection: inspect(connection).get_table_names()))
    assert {name for name in names if not name.startswith("genbayes_")} - {"sqlite_sequence"} == {"runs"}
