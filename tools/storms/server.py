"""A PostgreSQL server of one's own, in a folder of its own, where Debian's programs are installed."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

FOLDERS = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
UNPRIVILEGED = ("postgres", "nobody")  # the server refuses to be run by root


def find_program(name: str) -> str | None:
    return next((str(each / name) for each in FOLDERS if (each / name).exists()), shutil.which(name))


def find_user() -> pwd.struct_passwd | None:
    known = {entry.pw_name: entry for entry in pwd.getpwall()}
    return next((known[name] for name in UNPRIVILEGED if name in known), None)


def why_no_server() -> str | None:
    """Why PostgreSQL cannot be started here; None where nothing speaks against it."""
    missing = [name for name in ("initdb", "pg_ctl", "postgres") if find_program(name) is None]
    if missing:
        return f"PostgreSQL is not installed: no {', '.join(missing)}; apt-get install postgresql"
    if os.geteuid() == 0 and find_user() is None:
        return f"PostgreSQL refuses to be run by root, and there is no user {' or '.join(UNPRIVILEGED)}"
    return None


class Server:
    """A PostgreSQL server on a free local port.

    Args:
        folder: Where it keeps everything; None for a new one.
        port: Where it listens; None for a free one. A server that is there is taken up by its folder and port.
        environment: Environment variables of the server besides ours.
    """

    def __init__(
        self, folder: Path | None = None, port: int | None = None, environment: Mapping[str, str] | None = None
    ) -> None:
        self.user = find_user() if os.geteuid() == 0 else None
        self.folder = Path(tempfile.mkdtemp(prefix="genbayes-postgres-")) if folder is None else folder
        self.environment = {**os.environ, **(environment or {})}
        if self.user is not None:
            os.chown(self.folder, self.user.pw_uid, self.user.pw_gid)
        if port is None:
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", 0))
                port = int(probe.getsockname()[1])
        self.port = port

    def create(self) -> None:
        small = ("--wal-segsize=1", "--no-sync", "--encoding=UTF8")
        self._run("initdb", "--auth=trust", "--username=genbayes", *small)
        self.start()

    def start(self) -> None:
        options = f"-p {self.port} -h 127.0.0.1 -k {self.folder} -c fsync=off -c max_connections=60"
        self._run("pg_ctl", "-w", "-l", str(self.folder / "log"), "-o", options, "start")

    def stop(self, how: str) -> None:
        self._run("pg_ctl", "-w", "-m", how, "stop")

    def is_up(self) -> bool:
        try:
            self._run("pg_ctl", "status")
        except subprocess.CalledProcessError:
            return False
        return True

    def url(self, database: str = "postgres") -> str:
        return f"postgresql://genbayes@127.0.0.1:{self.port}/{database}"

    def _run(self, program: str, *words: str) -> None:
        identity = {"user": self.user.pw_uid, "group": self.user.pw_gid, "extra_groups": []} if self.user else {}
        command, silent = [find_program(program), "-D", str(self.folder / "data"), *words], subprocess.DEVNULL
        subprocess.run(
            command, check=True, cwd=self.folder, env=self.environment, stdout=silent, stderr=silent, **identity
        )
