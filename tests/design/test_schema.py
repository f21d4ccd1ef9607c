"""A database of every released version can be read; a newer one is refused."""

import shutil
import sqlite3
from pathlib import Path

import pytest
from sqlalchemy import Column, Integer, Table, inspect, text

from genbayes import Box, Campaign
from genbayes.campaign import schema
from genbayes.data import Choice, Log
from genbayes.data import Integer as Whole
from genbayes.errors import UnreadableFile

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
        UnreadableFile, match="must be of version 1 or older, got version 99; it was written by a newer"
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
