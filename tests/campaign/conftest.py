"""Campaigns on SQLite, and on a PostgreSQL server of our own where Debian's programs are installed."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest

from genbayes.campaign import Campaign

FOLDERS = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
UNPRIVILEGED = ("postgres", "nobody")  # the server refuses to be run by root
NUMBERS = count()


def find_program(name: str) -> str | None:
    return next((str(each / name) for each in FOLDERS if (each / name).exists()), shutil.which(name))


class Server:
    """A PostgreSQL server on a free local port, in a folder of its own."""

    def __init__(self) -> None:
        self.user = _unprivileged_user() if os.geteuid() == 0 else None
        self.folder = Path(tempfile.mkdtemp(prefix="genbayes-postgres-"))
        if self.user is not None:
            os.chown(self.folder, self.user.pw_uid, self.user.pw_gid)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]

    def create(self) -> None:
        self._run("initdb", "--auth=trust", "--username=genbayes", "--no-sync", "--encoding=UTF8")
        self.start()

    def start(self) -> None:
        options = f"-p {self.port} -h 127.0.0.1 -k {self.folder} -c fsync=off -c max_connections=60"
        self._run("pg_ctl", "-w", "-l", str(self.folder / "log"), "-o", options, "start")

    def stop(self, how: str) -> None:
        self._run("pg_ctl", "-w", "-m", how, "stop")

    def url(self, database: str = "postgres") -> str:
        return f"postgresql://genbayes@127.0.0.1:{self.port}/{database}"

    def _run(self, program: str, *words: str) -> None:
        identity = {"user": self.user.pw_uid, "group": self.user.pw_gid, "extra_groups": []} if self.user else {}
        command, silent = [find_program(program), "-D", str(self.folder / "data"), *words], subprocess.DEVNULL
        subprocess.run(command, check=True, cwd=self.folder, stdout=silent, stderr=silent, **identity)


def _unprivileged_user() -> pwd.struct_passwd | None:
    known = {entry.pw_name: entry for entry in pwd.getpwall()}
    return next((known[name] for name in UNPRIVILEGED if name in known), None)


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    missing = [name for name in ("initdb", "pg_ctl", "postgres") if find_program(name) is None]
    if missing:
        pytest.skip(f"PostgreSQL is not installed: no {', '.join(missing)}; apt-get install postgresql")
    if os.geteuid() == 0 and _unprivileged_user() is None:
        pytest.skip(f"PostgreSQL refuses to be run by root, and there is no user {' or '.join(UNPRIVILEGED)}")
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
