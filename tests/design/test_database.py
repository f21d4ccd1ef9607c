"""Locked, read-only, corrupt and unreachable databases, and lines that break in the middle of a commit."""

import sqlite3
import sys
import threading
import time
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import func, select

from genbayes import Campaign
from genbayes.campaign.database import Database
from genbayes.campaign.schema import CAMPAIGNS, LEASES, RESULTS, TRIALS
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
            if len(commits) == 2:  # the first one only looks
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
    with pytest.raises(StoreUnavailable, match="database must be within reach, got no answer from 'postgresql://me:"):
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
        with pytest.raises(
            StoreUnavailable, match="must be free to write to, got .* another process keeps locked; end"
        ):
            campaign.ask()
        assert campaign.status().n_open == 3  # who only looks need not wait
    finally:
        holder.close()


def test_a_read_only_database_can_be_looked_at_but_not_written_to(file: Path) -> None:
    campaign = Campaign.open(f"sqlite:///file:{file}?mode=ro&uri=true", "a")
    assert campaign.status().n_open == 3
    with pytest.raises(UnwritableFile, match="database must be writable, got .*; check the permissions"):
        campaign.ask()


@pytest.mark.parametrize("content", [b"this is no database" * 100, b"SQLite format 3\0" + bytes(range(256)) * 16])
def test_a_foreign_or_damaged_file_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.db").write_bytes(content)
    with pytest.raises(UnreadableFile, match="must be a whole SQLite file, got a damaged or foreign one"):
        Campaign.open(f"sqlite:///{tmp_path}/a.db", "a")
    with pytest.raises(UnreadableFile, match="must be a whole SQLite file, got a damaged or foreign one"):
        Campaign.create(f"sqlite:///{tmp_path}/a.db", "a", {"x": (0, 1)})
    assert (tmp_path / "a.db").read_bytes() == content


def test_a_database_damaged_inside_is_refused(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)  # the first page says what there should be
    file.write_bytes(content)
    with pytest.raises(UnreadableFile, match="damaged or foreign"):
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
