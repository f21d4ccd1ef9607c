"""What a call costs does not grow with the campaign, counted in steps of SQLite's machine and in rows."""

import json

import numpy as np
import pytest
from sqlalchemy import event, insert

from genbayes import Campaign
from genbayes.campaign.run_cache import Runs
from genbayes.campaign.schema import LEASES, RESULTS, TRIALS

EVERY = 20  # steps between two notes


def fill(campaign: Campaign, n: int) -> None:
    """Add n trials that are done, with a lease and a result each."""
    first = len(campaign.records()) + 1
    owner = {"campaign_id": campaign._store.campaign_id, "source": "proposed", "state": "done"}

    def work(connection) -> None:
        rows = [
            {"number": i, "x": json.dumps({"x": 0.5}), "request": f"r{i}", "y": 1.0, "n_leases": 1, "revision": i}
            | {"created_at": 1.0, "started_at": 1.0, "finished_at": 2.0, "worker": "w"} | owner
            for i in range(first, first + n)
        ]  # fmt: skip
        connection.execute(insert(TRIALS), rows)
        held = {"worker": "w", "seconds": 9.0, "granted_at": 1.0, "expires_at": 9.0, "ended_at": 2.0, "ending": "told"}
        connection.execute(insert(LEASES), [{"trial_id": r["number"], "request": r["request"], **held} for r in rows])
        told = {"y": 1.0, "counted": True, "worker": "w", "told_at": 2.0}
        connection.execute(insert(RESULTS), [{"trial_id": r["number"], "lease_id": r["number"], **told} for r in rows])

    campaign._store.database.write(work)


def count_steps(campaign: Campaign) -> dict[str, int]:
    """Steps of SQLite's virtual machine that each call takes."""
    steps, found = [0], {}

    def note() -> None:
        steps[0] += EVERY

    @event.listens_for(campaign._store.database.engine, "connect")
    def watch(connection, _) -> None:
        connection.set_progress_handler(note, EVERY)

    trial = campaign.ask()
    calls = {
        "ask": campaign.ask,
        "ask within a budget": lambda: campaign.take(1, budget=10**6),
        "renew": lambda: campaign.renew(trial),
        "tell": lambda: campaign.tell(trial, 1.0),
        "fail": lambda: campaign.fail(campaign.ask(), "crashed"),
        "status": campaign.status,
    }
    for name, call in calls.items():
        steps[0] = 0
        call()
        found[name] = steps[0]
    event.remove(campaign._store.database.engine, "connect", watch)
    return found


def test_no_call_costs_more_in_a_larger_campaign(make_campaign) -> None:
    campaign = make_campaign(n_initial=0)
    fill(campaign, 200)
    small = count_steps(campaign)
    fill(campaign, 3000)
    large = count_steps(campaign)
    assert campaign.status().n_done == 3202
    assert {name: large[name] for name in large if large[name] > 1.2 * small[name] + 500} == {}


@pytest.fixture
def rows_read(monkeypatch) -> list[int]:
    """How many trials each look at the runs read."""
    read, changed = [], Runs._changed

    def note(runs, connection):
        rows = changed(runs, connection)
        read.append(len(rows))
        return rows

    monkeypatch.setattr(Runs, "_changed", note)
    return read


class Middle:
    def propose(self, space, X_done, y_done, X_running, n, rng):
        self.seen = X_done, y_done, X_running
        return np.full((n, space.d), 0.5)


def test_who_looks_at_runs_reads_them_once_and_then_only_what_has_changed(make_campaign, url: str, rows_read) -> None:
    proposer = Middle()
    campaign = make_campaign(url=url, n_initial=0, proposer=proposer)
    campaign.add([{"x": i / 50} for i in range(50)])
    for trial in campaign.ask(50):
        campaign.tell(trial, trial.x["x"])
    first, other = campaign.ask(), Campaign.open(url, "small", proposer=Middle())
    other.tell(first, 7.0)  # by another process
    campaign.ask()
    other.fail(campaign.ask(), "crashed")
    campaign.ask()
    assert rows_read == [50, 1, 1, 1]
    X_done, y_done, X_running = proposer.seen
    np.testing.assert_array_equal(X_done[:, 0], [*(i / 50 for i in range(50)), 0.5, 0.5])
    np.testing.assert_array_equal(y_done, [*(i / 50 for i in range(50)), 7.0, np.nan])
    assert X_running.tolist() == [[0.5]]


def test_trials_that_an_older_version_adds_are_seen_though_it_counts_no_revisions(make_campaign, rows_read) -> None:
    proposer = Middle()
    campaign = make_campaign(n_initial=0, proposer=proposer)
    campaign.ask()
    campaign.ask()
    row = {"campaign_id": 1, "number": 3, "x": '{"x": 0.25}', "source": "added", "request": "r", "state": "open"}
    unaware = insert(TRIALS).values(**row, n_leases=1, created_at=1.0)
    campaign._store.database.write(lambda connection: connection.execute(unaware))
    campaign.ask(2)  # the one that was added, and one that is proposed
    assert 0.25 in proposer.seen[2]
