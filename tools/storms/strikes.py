"""What strikes a campaign: workers killed or stopped, databases killed, disks full, clocks set forward and back."""

from __future__ import annotations

import errno
import os
import random
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

from storms.server import Server

LEASE = 1.0  # seconds
HOUR = 3600
LIBRARIES = (
    *Path("/usr/lib").glob("*/faketime/libfaketime.so.1"),
    *Path("/usr").glob("lib*/faketime/libfaketime.so.1"),
    *Path("/usr/local/lib").glob("faketime/libfaketime.so.1"),
)


class Strike:
    """One kind of fault.

    Args:
        folder: Where it may keep what it needs.
        server: The PostgreSQL server, if that is the database.
    """

    def __init__(self, folder: Path, server: Server | None) -> None:
        self.folder, self.server = folder, server

    def strike(self, workers: list[int], rng: random.Random) -> None:
        """Let it happen once."""
        raise NotImplementedError

    def tick(self) -> None:
        """Now and then: what has to be undone later."""

    def calm(self) -> None:
        """All is well again."""


class Kill(Strike):
    """SIGKILL of any worker at any moment; around the commits of tells, workers kill themselves."""

    def strike(self, workers: list[int], rng: random.Random) -> None:
        time.sleep(rng.uniform(0, 0.05))
        os.kill(rng.choice(workers), signal.SIGKILL)


class Stop(Strike):
    """SIGSTOP of a worker until its lease is over, then SIGCONT: it comes back from the dead with a result."""

    def __init__(self, folder: Path, server: Server | None) -> None:
        super().__init__(folder, server)
        self.stopped: dict[int, float] = {}

    def strike(self, workers: list[int], rng: random.Random) -> None:
        awake = [worker for worker in workers if worker not in self.stopped]
        if awake:
            worker = rng.choice(awake)
            os.kill(worker, signal.SIGSTOP)
            self.stopped[worker] = time.monotonic() + rng.uniform(1.5, 2.5) * LEASE

    def tick(self) -> None:
        for worker, until in list(self.stopped.items()):
            if time.monotonic() > until:
                del self.stopped[worker]
                wake(worker)

    def calm(self) -> None:
        for worker in self.stopped:
            wake(worker)


def wake(worker: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(worker, signal.SIGCONT)


class Restart(Strike):
    """The database server is killed as by a loss of power, and started again a while later."""

    def strike(self, workers: list[int], rng: random.Random) -> None:
        assert self.server is not None
        self.server.stop("immediate")
        time.sleep(rng.uniform(0.1, 1.5))
        self.server.start()


class Full(Strike):
    """The disk of the database is filled to the last byte for a while."""

    def strike(self, workers: list[int], rng: random.Random) -> None:
        filler = self.folder / "filler"
        fill_disk(filler)
        time.sleep(rng.uniform(0.5, 1.5))
        filler.unlink()
        if self.server is not None and not self.server.is_up():  # it may give up when it cannot write its log
            self.server.start()


def fill_disk(filler: Path) -> None:
    """Write until there is no room, in ever smaller pieces."""
    with open(filler, "wb", buffering=0) as file:
        for size in (65536, 4096, 512, 1):
            try:
                while True:
                    file.write(b"\0" * size)
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise


class Clock(Strike):
    """The clock of the database is set forward or back, by seconds or by hours."""

    def __init__(self, folder: Path, server: Server | None) -> None:
        super().__init__(folder, server)
        self.now = 0
        self.set(0)

    def set(self, offset: int) -> None:
        """Everybody who is under libfaketime reads the file again."""
        self.now = offset
        beside = clock_file(self.folder).with_suffix(".new")
        beside.write_text(f"{offset:+d}\n")
        beside.chmod(0o644)
        beside.replace(clock_file(self.folder))

    def strike(self, workers: list[int], rng: random.Random) -> None:
        self.set(self.now + rng.choice([-HOUR, -HOUR, -5, 5, HOUR, HOUR]))


def clock_file(folder: Path) -> Path:
    return folder / "clock"


def clock_environment(folder: Path) -> dict[str, str]:
    """Environment variables of a process whose clock is in the strike's hands."""
    return {
        "LD_PRELOAD": str(LIBRARIES[0]),
        "FAKETIME_TIMESTAMP_FILE": str(clock_file(folder)),
        "FAKETIME_NO_CACHE": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        "DONT_FAKE_MONOTONIC": "1",
    }


STRIKES: dict[str, type[Strike]] = {"kill": Kill, "stop": Stop, "restart": Restart, "full": Full, "clock": Clock}


def mount_small_disk(folder: Path, megabytes: int) -> str | None:
    """Mount a small file system in memory; returns why that is not possible, or None."""
    command = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return None if done.returncode == 0 else f"no small disk can be mounted: {done.stderr.strip()}"
