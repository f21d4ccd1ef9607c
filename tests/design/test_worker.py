"""A worker process: ended by signals, killed outright, many at once."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from genbayes import Campaign
from genbayes.campaign.worker import work
from genbayes.errors import StoreUnavailable

GENBAYES = [sys.executable, "-c", "from genbayes.cli.main import run; run()"]
SOON = 60.0  # seconds; a busy machine needs some of them


def start_worker(campaign: Campaign, *words: str) -> subprocess.Popen:
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    command = [*GENBAYES, "worker", campaign.url, campaign.name, *words]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)


def wait_for(condition) -> None:
    until = time.monotonic() + SOON
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.05)


def test_a_worker_runs_a_program_until_the_budget_is_spent(make_campaign) -> None:
    campaign = make_campaign(budget=6)
    heard = []
    tally = work(campaign, ["echo", "{x}"], listen=lambda trial, outcome, what: heard.append((trial.number, outcome)))
    assert tally.n_done == 6
    assert heard == [(number, "counted") for number in range(1, 7)]
    frame = campaign.to_frame()
    assert (frame["y"] == frame["x"]).all()


def test_failures_are_recorded_with_what_the_program_said(make_campaign) -> None:
    campaign = make_campaign(n_initial=1, budget=1)
    assert work(campaign, ["sh", "-c", "echo no mesh >&2; exit 4"]).n_failed == 1
    assert campaign.status().failures == ((1, "the program left with exit code 4; it said:\nno mesh"),)


def test_signal_handlers_are_as_they_were_afterwards(make_campaign) -> None:
    before = signal.getsignal(signal.SIGTERM)
    work(make_campaign(n_initial=1, budget=1), ["echo", "1"])
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_worker_waits_for_a_database_that_is_away_when_it_begins(make_campaign, monkeypatch) -> None:
    campaign, heard, tries = make_campaign(n_initial=1, budget=1), [], []
    status = campaign._store.status

    def fails_once():
        tries.append(1)
        if len(tries) == 1:
            raise StoreUnavailable("database must be within reach, got a refused connection")
        return status()

    monkeypatch.setattr(campaign._store, "status", fails_once)
    monkeypatch.setattr("genbayes.campaign.running.IDLE", 0.01)
    assert work(campaign, ["echo", "1"], announce=heard.append).n_done == 1
    assert (len(heard), heard[0].n_open, heard[0].budget) == (1, 1, 1)


def test_a_signal_during_the_announcement_ends_the_worker_cleanly(make_campaign) -> None:
    campaign = make_campaign(n_initial=1, budget=1)
    tally = work(campaign, ["echo", "1"], announce=lambda status: signal.raise_signal(signal.SIGINT))
    assert (tally.n_done, campaign.status().n_out) == (0, 0)


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_program_and_hands_the_trial_back(make_campaign, tmp_path: Path, how) -> None:
    campaign = make_campaign(n_initial=1, budget=1)
    script = tmp_path / "long.sh"
    script.write_text(f"#!/bin/sh\necho $$ > {tmp_path}/pid\nexec sleep 120\n")
    script.chmod(0o755)
    process = start_worker(campaign, "--json", "--quiet", "--", str(script))
    wait_for(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text().strip())
    assert campaign.status().n_running == 1
    process.send_signal(how)
    out, err = process.communicate(timeout=SOON)
    assert (process.returncode, err) == (0, "")
    assert '"n_handed_back": 1' in out
    assert campaign.status().n_open == 1
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def test_a_worker_that_is_killed_outright_is_replaced_by_the_next(make_campaign, tmp_path: Path) -> None:
    campaign = make_campaign(n_initial=1, budget=1)
    first = start_worker(campaign, "--lease-seconds", "1", "--", "sh", "-c", f"touch {tmp_path}/begun; sleep 3; echo 1")
    wait_for((tmp_path / "begun").exists)
    first.kill()
    first.communicate()
    assert work(campaign, ["echo", "2"]).n_done == 1
    assert campaign.to_frame()["y"].tolist() == [2.0]
    assert campaign.to_frame()["n_leases"].tolist() == [2]
