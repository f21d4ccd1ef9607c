"""What asking and telling cost: in a large campaign, and with many workers on one SQLite file.

    python tools/asking.py cost                              milliseconds of each call at 100,000 trials, SQLite
    python tools/asking.py cost --postgresql                 the same on a PostgreSQL server of its own
    python tools/asking.py turns                             16 workers that ask and tell as quickly as they can
    python tools/asking.py turns --optuna path/to/python     the same by Optuna, installed for that Python, in turn

Times are those of the wall: run it on a quiet machine.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path

WORKERS = 16
START = 8.0  # seconds that workers have to be ready
ROWS = 5_000  # written at a time
REPEATS = 25  # of each call


def fill(campaign, n: int) -> None:
    """Add n trials that are done, one in fifty of them failed, with a lease and a result each."""
    from sqlalchemy import insert

    from genbayes.campaign.schema import LEASES, RESULTS, TRIALS

    now, owner = time.time() - 1e5, {"campaign_id": campaign._store.campaign_id, "source": "proposed", "worker": "w"}

    def work(connection) -> None:
        for first in range(1, n + 1, ROWS):
            numbers = range(first, min(first + ROWS, n + 1))
            rows = [
                {"number": i, "x": json.dumps({"x": i / n}), "request": f"r{i}", "n_leases": 1, "revision": i, **owner}
                | {"state": "done" if i % 50 else "failed", "y": 1.0 if i % 50 else None}
                | {"created_at": now, "started_at": now, "finished_at": now + i / n}
                for i in numbers
            ]
            connection.execute(insert(TRIALS), rows)
            held = {"worker": "w", "seconds": 60.0, "granted_at": now, "expires_at": now + 60, "ending": "told"}
            ended = [{"ended_at": now + (1 if i % 100 else 70)} for i in numbers]  # one in a hundred too late
            leases = [{"trial_id": i, "request": f"r{i}", **held} for i in numbers]
            connection.execute(insert(LEASES), [a | b for a, b in zip(leases, ended, strict=True)])
            told = {"y": 1.0, "counted": True, "worker": "w", "told_at": now}
            connection.execute(insert(RESULTS), [{"trial_id": i, "lease_id": i, **told} for i in numbers])

    campaign._store.database.write(work)


def median_ms(call: Callable[[], object]) -> str:
    times = []
    for _ in range(REPEATS):
        started = time.perf_counter()
        call()
        times.append(1000 * (time.perf_counter() - started))
    return f"{statistics.median(times):6.1f} ms, worst {max(times):.1f}"


@contextmanager
def open_place(postgresql: bool, folder: Path) -> Iterator[str]:
    """The URL of an empty database."""
    if not postgresql:
        yield f"sqlite:///{folder}/large.db"
        return
    from storms.server import Server, why_no_server

    if (why := why_no_server()) is not None:
        sys.exit(why)
    server = Server()
    server.create()
    try:
        yield server.url()
    finally:
        server.stop("immediate")
        shutil.rmtree(server.folder, ignore_errors=True)


def measure_cost(url: str, n: int) -> None:
    from genbayes import Campaign

    made = Campaign.create(url, "large", {"x": (0, 1)}, n_initial=0, proposer="random", random_state=0)
    fill(made, n)
    campaign = Campaign.open(url, "large")
    trials = iter(campaign.ask(2 * REPEATS + 1))
    one = next(trials)
    print(f"{n:,} trials in {campaign.url.partition(':')[0]}")
    calls = {
        "ask": campaign.ask,
        "ask within a budget": lambda: campaign.take(1, budget=10 * n),
        "tell": lambda: campaign.tell(next(trials), 1.0),
        "fail": lambda: campaign.fail(next(trials), "crashed"),
        "renew": lambda: campaign.renew(one),
        "status": campaign.status,
    }
    for name, call in calls.items():
        print(f"  {name:20}{median_ms(call)}", flush=True)
    for name in ("look at all runs", "look again"):
        started = time.perf_counter()
        campaign._store.runs()
        print(f"  {name:20}{1000 * (time.perf_counter() - started):6.1f} ms")


def open_optuna(url: str) -> Callable[[], None]:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    storage = optuna.storages.RDBStorage(url, engine_kwargs={"connect_args": {"timeout": 100}})
    sampler = optuna.samplers.RandomSampler()
    study = optuna.create_study(study_name="turns", storage=storage, sampler=sampler, load_if_exists=True)

    def ask_and_tell() -> None:
        trial = study.ask()
        study.tell(trial, trial.suggest_float("x", 0, 1))

    return ask_and_tell


def open_ours(url: str) -> Callable[[], None]:
    from genbayes import Campaign
    from genbayes.design import RandomProposer
    from genbayes.errors import InvalidInput

    proposer = RandomProposer()  # imported before workers are forked
    try:
        campaign = Campaign.open(url, "turns", proposer=proposer)
    except InvalidInput:
        campaign = Campaign.create(url, "turns", {"x": (0, 1)}, n_initial=0, proposer=proposer)

    def ask_and_tell() -> None:
        trial = campaign.ask()
        campaign.tell(trial, trial.x["x"])

    return ask_and_tell


OPEN = {"genbayes": open_ours, "optuna": open_optuna}


def take_turns(which: str, url: str, seconds: float, ready, found) -> None:
    ask_and_tell, times = OPEN[which](url), []
    ask_and_tell()
    ready.wait()
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        started = time.perf_counter()
        ask_and_tell()
        times.append(time.perf_counter() - started)
    found.put(times)


def measure_turns(which: str, seconds: float, folder: Path) -> None:
    url = f"sqlite:///{tempfile.mkdtemp(dir=folder)}/turns.db"
    OPEN[which](url)  # makes the tables
    context = get_context("fork")
    ready, found = context.Event(), context.Queue()
    workers = [context.Process(target=take_turns, args=(which, url, seconds, ready, found)) for _ in range(WORKERS)]
    for worker in workers:
        worker.start()
    time.sleep(START)
    ready.set()
    times = sorted(t for _ in workers for t in found.get())
    for worker in workers:
        worker.join()
    middle, most = 1000 * times[len(times) // 2], times[int(0.99 * len(times))]
    rate = f"{len(times) / seconds:5.1f} a second"
    print(f"{which:9}{rate}, median {middle:4.0f} ms, 99% {most:5.2f} s, worst {times[-1]:5.2f} s", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["cost", "turns"])
    parser.add_argument("--trials", type=int, default=100_000)
    parser.add_argument("--postgresql", action="store_true")
    parser.add_argument("--optuna", metavar="PYTHON", help="a Python that has Optuna")
    parser.add_argument("--runs", type=int, default=5, help="how often the turns are measured")
    parser.add_argument("--seconds", type=float, default=15.0, help="how long each time")
    parser.add_argument("--which", choices=list(OPEN), default="genbayes", help=argparse.SUPPRESS)
    parser.add_argument("--folder", help="where SQLite files are made; the usual place unless given")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="genbayes-asking-", dir=given.folder) as place:
        if given.what == "cost":
            with open_place(given.postgresql, Path(place)) as url:
                measure_cost(url, given.trials)
            return
        for _ in range(given.runs):
            measure_turns(given.which, given.seconds, Path(place))
            if given.optuna:
                words = ["turns", "--which", "optuna", "--runs", "1", "--seconds", str(given.seconds)]
                place_of_theirs = ["--folder", place]
                environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
                command = [given.optuna, __file__, *words, *place_of_theirs]
                subprocess.run(command, check=True, env=environment)


if __name__ == "__main__":
    main()
