"""Workers killed at any moment lose nothing that was acknowledged, count nothing twice, and finish everything."""

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from sqlalchemy import text

from genbayes.campaign import Campaign
from genbayes.campaign.database import Database

SCRIPT = Path(__file__).with_name("storm.py")
N_WORKERS = 8
PATIENCE = 1000  # seconds; a quiet machine needs a tiny part of it


def read_lines(file: Path) -> list[dict]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def weather(url: str, folder: Path, n_trials: int, n_kills: int) -> None:
    """Let the storm pass, then look at what the database has."""
    words = [url, str(folder), str(n_trials), str(N_WORKERS), str(n_kills), str(PATIENCE)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, str(SCRIPT), *words]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    assert json.loads(done.stdout)["finished"] == N_WORKERS, done.stderr

    frame = Campaign.open(url, "storm").to_frame()
    assert len(frame) == n_trials
    assert (frame["state"] == "done").all()  # all finished, and nobody repaired anything

    query = "SELECT t.number, r.* FROM genbayes_results r JOIN genbayes_trials t ON t.id = r.trial_id"
    rows = Database(url).read(lambda connection: connection.execute(text(query)).all())
    counted = Counter(row.number for row in rows if row.counted)
    assert counted == Counter(range(1, n_trials + 1))  # each once, none twice
    kept = {(row.number, row.lease_id, row.y): bool(row.counted) for row in rows}
    assert len(kept) == len(rows)  # the same tell is there once
    for line in read_lines(folder / "acknowledged"):  # every acknowledged tell is there, as it was answered
        found = kept[line["number"], line["lease"], line["y"]]
        assert found == (line["outcome"] != "repeat") or line["outcome"] == "again"

    kills = Counter(line["when"] for line in read_lines(folder / "kills"))
    assert set(kills) == {"any", "before", "inside", "after"}
    assert kills["any"] >= 0.9 * n_kills  # the last ones may come too late: not every result is acknowledged


def test_killed_workers_lose_nothing_on_sqlite(tmp_path: Path) -> None:
    in_memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else tmp_path  # what is tested here is not the disk
    with TemporaryDirectory(dir=in_memory) as folder:
        weather(f"sqlite:///{folder}/storm.db", Path(folder), n_trials=500, n_kills=25)


def test_killed_workers_lose_nothing_on_postgresql(postgres_url: str, tmp_path: Path) -> None:
    weather(postgres_url, tmp_path, n_trials=200, n_kills=15)


@pytest.mark.slow
def test_a_long_storm_loses_nothing(url: str, tmp_path: Path) -> None:
    weather(url, tmp_path, n_trials=500, n_kills=200)
