"""Eight workers on one campaign, struck throughout; run as a script, so that its forks have one thread.

Strikes come by progress, spread over the whole campaign. What a worker was told is written down only after `tell` has
returned: those lines are the acknowledged ones. Where workers are killed, they also kill themselves before, inside or
after the commit of some tells.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import select
import signal
import sys
import threading
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from genbayes.campaign import Campaign
from genbayes.campaign.running import StopSignal, run_trials
from genbayes.campaign.worker import wait_for_campaign
from genbayes.design import RandomProposer
from storms.server import Server
from storms.strikes import LEASE, STRIKES, Kill, Strike

KILLED_IN_TELL = 0.08  # share of tells that their worker does not survive
MAX_ATTEMPTS = 100  # many leases lapse by design: no trial is to be given up
PAUSE = 0.01  # seconds between two looks at the workers
PATIENCE = 5.0  # seconds that one call waits for the database; a worker tries again


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(60)


def note(file: Path, **what: object) -> None:
    with open(file, "a") as lines:
        lines.write(json.dumps(what) + "\n")  # one write below the size of a pipe's buffer is whole


def endanger_commits(campaign: Campaign, rng: random.Random, folder: Path) -> None:
    """Let the worker die around the commit of some tells."""
    tell, dialect = campaign.tell, campaign._store.database.engine.dialect
    commit, telling = dialect.do_commit, threading.local()

    def marked(*arguments: object) -> object:
        telling.now = True
        try:
            return tell(*arguments)
        finally:
            telling.now = False

    def endangered(connection: object) -> None:
        if not getattr(telling, "now", False) or rng.random() > KILLED_IN_TELL:
            return commit(connection)
        when = rng.choice(["before", "inside", "after"])
        note(folder / "strikes", what=f"kill {when} a commit")
        if when == "before":
            die()
        if when == "inside":
            threading.Timer(rng.uniform(0, 0.002), die).start()
        commit(connection)
        return die()

    campaign.tell, dialect.do_commit = marked, endangered


def be_worker(url: str, folder: Path, seed: int, dies: bool) -> None:
    rng = random.Random(seed)
    campaign = wait_for_campaign(url, "storm")
    assert campaign is not None
    campaign._store.database.patience = PATIENCE
    if dies:
        endanger_commits(campaign, rng, folder)

    def simulate(x: dict) -> float:
        time.sleep(rng.uniform(0, 0.005))
        return rng.random()

    def acknowledge(trial, outcome, what) -> None:
        y = float(what.removeprefix("y = "))
        note(folder / "acknowledged", number=trial.number, lease=trial.lease, outcome=outcome, y=y)

    run_trials(campaign, simulate, lease_seconds=LEASE, waits=True, listen=acknowledge, stop=StopSignal())


def count_lines(file: Path) -> int:
    return file.read_bytes().count(b"\n") if file.exists() else 0


class Supervisor:
    """Keeps workers running until all of them have found nothing left to do."""

    def __init__(self, url: str, folder: Path, n_workers: int, strikes: list[Strike]) -> None:
        self.url, self.folder, self.n_workers, self.strikes = url, folder, n_workers, strikes
        self.alive: set[int] = set()
        RandomProposer()  # imports what every worker will need, once
        self.n_finished = self.n_forks = 0

    def hire(self) -> None:
        while len(self.alive) < self.n_workers - self.n_finished:
            self.n_forks += 1
            child = os.fork()
            if child == 0:
                code = 1
                try:
                    be_worker(self.url, self.folder, self.n_forks, any(isinstance(s, Kill) for s in self.strikes))
                    code = 0
                finally:
                    os._exit(code)
            self.alive.add(child)

    def bury(self) -> None:
        for child in sorted(self.alive):
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                self.alive.remove(child)
                self.n_finished += status == 0

    def run(self, moments: list[int], seconds: float) -> None:
        """Let strikes happen at these moments: numbers of acknowledged results."""
        rng, started = random.Random(1), time.monotonic()
        while self.n_finished < self.n_workers and time.monotonic() - started < seconds:
            self.hire()
            if moments and self.alive and count_lines(self.folder / "acknowledged") >= moments[0]:
                moments.pop(0)
                which = rng.choice(self.strikes)
                note(self.folder / "strikes", what=type(which).__name__.lower())
                which.strike(sorted(self.alive), rng)
            for strike in self.strikes:
                strike.tick()
            self.bury()
            time.sleep(PAUSE)

    def end(self) -> None:
        for strike in self.strikes:
            strike.calm()
        for child in self.alive:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--strikes", default="kill", help=f"between commas: {', '.join(STRIKES)}")
    parser.add_argument("--n-strikes", type=int, default=20)
    parser.add_argument("--n-trials", type=int, default=200)
    parser.add_argument("--n-workers", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--disk", type=Path, help="the folder that a full disk is filled by")
    parser.add_argument("--server", help="folder:port of the PostgreSQL server, if it is to be struck")
    given = parser.parse_args()
    if "FAKETIME_TIMESTAMP_FILE" in os.environ:  # libfaketime 0.9.10 refuses the call behind Python's sleep
        time.sleep = lambda seconds: select.select([], [], [], seconds)
    folder, port = given.server.split(":") if given.server else (None, None)
    server = Server(Path(folder), int(port)) if given.server else None
    strikes = [STRIKES[name](given.disk or given.folder, server) for name in given.strikes.split(",")]
    settings = {"n_initial": given.n_trials * 4 // 5, "budget": given.n_trials, "max_attempts": MAX_ATTEMPTS}
    Campaign.create(given.url, "storm", {"x": (0, 1)}, random_state=0, proposer="random", **settings)
    moments = sorted(random.Random(2).sample(range(given.n_trials * 4 // 5), given.n_strikes))
    started, supervisor = time.monotonic(), Supervisor(given.url, given.folder, given.n_workers, strikes)
    try:
        supervisor.run(moments, given.seconds)
    finally:
        supervisor.end()
    lines = (given.folder / "strikes").read_text().splitlines()
    told = Counter(json.loads(line)["what"] for line in lines)
    found = {"finished": supervisor.n_finished, "forks": supervisor.n_forks, "strikes": told}
    print(json.dumps({**found, "seconds": time.monotonic() - started}))


if __name__ == "__main__":
    main()
