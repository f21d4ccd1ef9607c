"""Campaigns on SQLite, and on a PostgreSQL server of our own where Debian's programs are installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest

from genbayes.campaign import Campaign

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))
from storms.server import Server, why_no_server

NUMBERS = count()


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    if (why := why_no_server()) is not None:
        pytest.skip(why)
    running = Server()
    try:
        running.create()
        yield running
        running.stop("immediate")
    except (subprocess.CalledProcessError, OSError) as error:
        pytest.skip(f"PostgreSQL does not start here: {error}")
    finally:
        shutil.rmtree(running.folder, ignore_errors=True)


@pytest.fixture
def postgres_url(server: Server) -> str:
    """An empty PostgreSQL database."""
    import psycopg

    name = f"test_{os.getpid()}_{next(NUMBERS)}"
    with psycopg.connect(server.url(), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return server.url(name)


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    """A database file that is not there yet."""
    return f"sqlite:///{tmp_path}/campaigns.db"


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest) -> str:
    """Each kind of database in turn."""
    return str(request.getfixturevalue(f"{request.param}_url"))


@pytest.fixture
def make_campaign(sqlite_url: str) -> Callable[..., Campaign]:
    """A small campaign, on SQLite unless told."""

    def make(space: object = None, *, url: str = sqlite_url, name: str = "small", **settings: object) -> Campaign:
        settings = {"n_initial": 5, "random_state": 0, "patience": 5.0, "proposer": "random"} | settings
        return Campaign.create(url, name, space or {"x": (0.0, 1.0)}, **settings)

    return make


class Clock:
    """The database's time, in the test's hands."""

    time = 1000.0

    def govern(self, campaign: Campaign) -> Campaign:
        campaign._store.database.now = lambda connection: self.time
        return campaign


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def is_gone() -> Callable[[int], bool]:
    """Whether a process has ended."""

    def ask(pid: int) -> bool:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        stat = Path(f"/proc/{pid}/stat")
        return stat.exists() and stat.read_text().split()[2] == "Z"  # ended, waiting for init

    return ask
