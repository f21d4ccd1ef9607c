"""Eight workers on one campaign, killed at random throughout; run as a script, so that its forks have one thread.

A worker kills itself before, inside or after the commit of some tells, and the supervisor kills any worker at moments
spread over the whole campaign. What a worker was told is written down only after `tell` has returned: those lines are
the acknowledged ones.
"""

import json
import os
import random
import signal
import sys
import threading
import time
from pathlib import Path

from genbayes.campaign import Campaign
from genbayes.campaign.running import run_trials

LEASE = 1.0  # seconds
KILLED_IN_TELL = 0.08  # share of tells that their worker does not survive
MAX_ATTEMPTS = 100  # a tenth of all leases lapse by design, more on a busy machine: no trial is to be given up
PAUSE = 0.01  # seconds between two looks at the workers


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
        note(folder / "kills", when=when)
        if when == "before":
            die()
        if when == "inside":
            threading.Timer(rng.uniform(0, 0.002), die).start()
        commit(connection)
        return die()

    campaign.tell, dialect.do_commit = marked, endangered


def be_worker(url: str, folder: Path, seed: int) -> None:
    rng = random.Random(seed)
    campaign = Campaign.open(url, "storm")
    endanger_commits(campaign, rng, folder)

    def simulate(x: dict) -> float:
        time.sleep(rng.uniform(0, 0.005))
        return rng.random()

    def acknowledge(trial, outcome, what) -> None:
        y = float(what.removeprefix("y = "))
        note(folder / "acknowledged", number=trial.number, lease=trial.lease, outcome=outcome, y=y)

    run_trials(campaign, simulate, lease_seconds=LEASE, waits=True, listen=acknowledge)


def count_lines(file: Path) -> int:
    return file.read_bytes().count(b"\n") if file.exists() else 0


def main(url: str, folder: Path, n_trials: int, n_workers: int, n_kills: int, seconds: float) -> None:
    settings = {"n_initial": n_trials * 4 // 5, "budget": n_trials, "max_attempts": MAX_ATTEMPTS}
    Campaign.create(url, "storm", {"x": (0, 1)}, random_state=0, proposer="random", **settings)
    rng, alive, finished, started, n_forks = random.Random(1), set(), 0, time.monotonic(), 0
    moments = sorted(rng.sample(range(n_trials * 4 // 5), n_kills))  # by progress, not by time: machines differ
    while finished < n_workers and time.monotonic() - started < seconds:
        while len(alive) < n_workers - finished:
            n_forks += 1
            child = os.fork()
            if child == 0:
                be_worker(url, folder, n_forks)
                os._exit(0)
            alive.add(child)
        if moments and count_lines(folder / "acknowledged") >= moments[0]:
            moments.pop(0)
            time.sleep(rng.uniform(0, 0.05))
            note(folder / "kills", when="any")
            os.kill(rng.choice(sorted(alive)), signal.SIGKILL)
        for child in sorted(alive):
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                alive.remove(child)
                finished += status == 0
        time.sleep(PAUSE)
    for child in alive:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    print(json.dumps({"finished": finished, "forks": n_forks, "seconds": time.monotonic() - started}))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), *map(int, sys.argv[3:6]), float(sys.argv[6]))
