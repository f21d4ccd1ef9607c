"""Whatever strikes a campaign, nothing that was acknowledged is lost, nothing counts twice, and everything ends."""

import json
from pathlib import Path

import pytest
from sqlalchemy import text

import faults
from genbayes.campaign.database import Database
from storms.verdict import judge


def weather(storm: faults.Storm, n_trials: int) -> dict:
    """Let a storm pass, then look at what the database has; returns what happened."""
    if (why := faults.why_not(storm)) is not None:
        pytest.skip(why)
    try:
        told, verdict = faults.brew(storm, n_trials)
    except faults.Skipped as why:
        pytest.skip(str(why))
    assert verdict.held, verdict
    assert verdict.n_acknowledged >= 0.5 * n_trials
    return told["strikes"]


def test_killed_workers_lose_nothing() -> None:
    happened = weather(faults.Storm("sqlite", "kill", 20), n_trials=300)
    assert set(happened) == {"kill", *(f"kill {when} a commit" for when in ("before", "inside", "after"))}
    assert happened["kill"] >= 17  # the last ones may come too late: not every result is acknowledged


@pytest.mark.parametrize("name", ["stop", "full", "clock"])
def test_a_small_storm_on_sqlite_loses_nothing(name: str) -> None:
    assert weather(faults.Storm("sqlite", name, 2), n_trials=30)[name] == 2


def test_a_server_that_is_killed_while_workers_are_killed_and_stopped_loses_nothing() -> None:
    weather(faults.Storm("postgresql", "kill,stop,restart", 8), n_trials=80)


@pytest.mark.slow
@pytest.mark.parametrize("storm", faults.STORMS, ids=lambda storm: storm.name)
def test_every_storm_passes(storm: faults.Storm) -> None:
    weather(storm, n_trials=300)


@pytest.mark.parametrize(
    ("told", "deed", "broken"),
    [
        ({"number": 1, "lease": 1, "y": 2.0, "outcome": "counted"}, None, {}),
        ({"number": 1, "lease": 1, "y": 3.0, "outcome": "counted"}, None, {"n_lost": 1}),
        ({"number": 1, "lease": 1, "y": 2.0, "outcome": "repeat"}, None, {"n_lost": 1}),
        (None, "UPDATE genbayes_trials SET state = 'open'", {"n_undone": 1}),
        (None, "DELETE FROM genbayes_results", {"n_undone": 1}),
        (None, "INSERT INTO genbayes_results (trial_id, lease_id, y, counted, worker, told_at) "
               "SELECT trial_id, lease_id, y, 0, worker, told_at FROM genbayes_results", {"n_twice": 1}),
    ],
)  # fmt: skip
def test_a_broken_promise_is_noticed(make_campaign, sqlite_url: str, tmp_path: Path, told, deed, broken: dict) -> None:
    campaign = make_campaign(name="storm", n_initial=1)
    campaign.tell(campaign.ask(), 2.0)
    (tmp_path / "acknowledged").write_text("" if told is None else json.dumps(told) + "\n")
    if deed is not None:
        Database(sqlite_url).write(lambda connection: connection.execute(text(deed)))
    verdict = judge(sqlite_url, tmp_path, 1)
    assert {name: getattr(verdict, name) for name in broken} == broken
    assert verdict.held == (not broken)
