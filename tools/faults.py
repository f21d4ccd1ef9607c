"""Storms over campaigns: no acknowledged result may be lost or counted twice, whatever strikes.

    python tools/faults.py                        every storm on SQLite and PostgreSQL, `make faults`
    python tools/faults.py --only sqlite-kill     one of them; --trials, --strikes and --repeat for longer ones

Eight workers run one campaign on a database of its own while `storms/strikes.py` happens to them. What cannot be had
here (PostgreSQL, a small disk, libfaketime) is skipped with the reason. Prints a table; exits with 1 if a promise
broke.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from storms.server import Server, why_no_server
from storms.strikes import LIBRARIES, clock_environment, clock_file, mount_small_disk
from storms.verdict import Verdict, judge

SCRIPT = Path(__file__).parent / "storms" / "storm.py"
N_WORKERS = 8
SMALL_DISK = {"sqlite": 8, "postgresql": 160}  # megabytes; an empty server takes 40
SECONDS = 600.0  # after which a storm that does not end has failed

WORDS = {
    "kill": "SIGKILL of workers, also before, inside and after a commit",
    "stop": "SIGSTOP beyond the lease, then SIGCONT",
    "restart": "database killed and restarted",
    "full": "disk full for a while",
    "clock": "clock set forward and back, up to an hour",
    "kill,stop": "SIGKILL and SIGSTOP",
    "kill,stop,restart": "SIGKILL, SIGSTOP and the database killed",
}


@dataclass(frozen=True)
class Storm:
    """One storm: on which database, and what strikes how often."""

    database: str
    strikes: str
    n_strikes: int

    @property
    def name(self) -> str:
        return f"{self.database}-{self.strikes.replace(',', '+')}"


STORMS = [
    Storm("sqlite", "kill", 60),
    Storm("sqlite", "stop", 30),
    Storm("sqlite", "restart", 0),
    Storm("sqlite", "full", 12),
    Storm("sqlite", "clock", 40),
    Storm("sqlite", "kill,stop", 60),
    Storm("postgresql", "kill", 60),
    Storm("postgresql", "stop", 30),
    Storm("postgresql", "restart", 12),
    Storm("postgresql", "full", 8),
    Storm("postgresql", "clock", 40),
    Storm("postgresql", "kill,stop,restart", 40),
]


class Skipped(Exception):
    """What a storm needs is not to be had; the text says why."""


def why_not(storm: Storm) -> str | None:
    """Why a storm cannot be had here, as far as that is known beforehand."""
    if storm.database == "sqlite" and "restart" in storm.strikes:
        return "SQLite has no server that could be killed; its commits are struck by SIGKILL"
    if storm.database == "postgresql" and (why := why_no_server()):
        return why
    if "clock" in storm.strikes and not LIBRARIES:
        return "libfaketime is not installed; apt-get install libfaketime"
    return None


@contextmanager
def place(storm: Storm) -> Iterator[tuple[Path, Path]]:
    """A folder for notes, and one for the database, on a small disk if that is to be filled."""
    in_memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # what is tested here is not the disk
    with ExitStack() as stack:
        notes = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="genbayes-storm-")))
        disk = Path(tempfile.mkdtemp(prefix="genbayes-disk-", dir=in_memory))
        stack.callback(shutil.rmtree, disk, ignore_errors=True)
        if "full" in storm.strikes:
            why = mount_small_disk(disk, SMALL_DISK[storm.database])
            if why is not None:
                raise Skipped(why)
            stack.callback(subprocess.run, ["umount", "--lazy", str(disk)], check=True)
        notes.chmod(0o755)
        disk.chmod(0o755)
        yield notes, disk


@contextmanager
def database(storm: Storm, disk: Path, environment: dict[str, str]) -> Iterator[tuple[str, Server | None]]:
    """An empty database of the storm's kind: its URL, and the server if there is one."""
    if storm.database == "sqlite":
        yield f"sqlite:///{disk}/storm.db", None
        return
    home = disk / "server"
    home.mkdir()
    server = Server(home, environment=environment)
    try:
        server.create()
    except (subprocess.CalledProcessError, OSError) as error:
        raise Skipped(f"PostgreSQL does not start here: {error}") from error
    try:
        yield server.url(), server
    finally:
        if server.is_up():
            server.stop("immediate")


def brew(storm: Storm, n_trials: int) -> tuple[dict, Verdict]:
    """Let a storm pass; what happened, and how the campaign came through."""
    with place(storm) as (notes, disk):
        faked = clock_environment(notes) if "clock" in storm.strikes else {}
        clock_file(notes).write_text("+0\n")
        clock_file(notes).chmod(0o644)
        with database(storm, disk, faked) as (url, server):
            words = [url, str(notes), "--strikes", storm.strikes, "--n-strikes", str(storm.n_strikes)]
            words += ["--n-trials", str(n_trials), "--n-workers", str(N_WORKERS), "--seconds", str(SECONDS)]
            words += ["--disk", str(disk)] if "full" in storm.strikes else []
            words += ["--server", f"{server.folder}:{server.port}"] if server is not None else []
            clock = faked if server is None else {}  # SQLite's clock is that of whoever writes
            command, environment = (
                [sys.executable, str(SCRIPT), *words],
                {**os.environ, "OMP_NUM_THREADS": "1", **clock},
            )
            done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
            if done.returncode:
                raise RuntimeError(f"the storm {storm.name} broke: {done.stderr[-2000:]}")
            told = json.loads(done.stdout)
            verdict = judge(url, notes, n_trials)
            if told["finished"] != N_WORKERS:
                raise RuntimeError(f"{told['finished']} of {N_WORKERS} workers came to an end: {done.stderr[-2000:]}")
            return told, verdict


HEAD = ("database", "what strikes", "strikes", "trials", "acknowledged", "lost", "twice", "repeats", "held")


def show(row: list[str]) -> None:
    print("| " + " | ".join(row) + " |", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", metavar="NAMES", help=f"between commas: {', '.join(each.name for each in STORMS)}")
    parser.add_argument("--trials", type=int, default=300, help="trials of each campaign")
    parser.add_argument("--strikes", type=int, help="strikes of each storm, if not its own number")
    parser.add_argument("--repeat", type=int, default=1, help="how often each storm is brewed")
    given = parser.parse_args()
    names = given.only.split(",") if given.only else [each.name for each in STORMS]
    broken, skipped, started = 0, [], time.monotonic()
    show(list(HEAD))
    show(["---"] * len(HEAD))
    chosen = [each if given.strikes is None else replace(each, n_strikes=given.strikes) for each in STORMS]
    for storm in (each for each in chosen if each.name in names for _ in range(given.repeat)):
        try:
            if (why := why_not(storm)) is not None:
                raise Skipped(why)
            told, verdict = brew(storm, given.trials)
        except Skipped as why:
            skipped.append((storm, str(why)))
            continue
        counts = [sum(told["strikes"].values()), given.trials, verdict.n_acknowledged, verdict.n_lost, verdict.n_twice]
        words = ["yes" if verdict.held else f"NO: {verdict}"]
        show([storm.database, WORDS[storm.strikes], *map(str, counts), str(verdict.n_repeats), *words])
        broken += not verdict.held
    print()
    for storm, reason in skipped:
        print(f"skipped {storm.name}: {reason}")
    print(f"{N_WORKERS} workers each, {time.monotonic() - started:.0f} s in all; {broken} storms broke a promise")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
