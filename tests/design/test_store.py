"""Trials that nobody comes back from: given up in the database, on both kinds, so that campaigns end."""

import pytest

from genbayes import Campaign
from genbayes.errors import InvalidInput


def test_a_campaign_ends_though_one_of_its_trials_kills_whoever_runs_it(url: str, clock) -> None:
    settings = {"n_initial": 3, "budget": 3, "lease_seconds": 10, "max_attempts": 2, "proposer": "random"}
    campaign = clock.govern(Campaign.create(url, "poison", {"x": (0, 1)}, random_state=0, **settings))
    for _ in range(2):
        abandoned = campaign.ask(worker="doomed")
        assert abandoned.number == 1
        clock.time += 11
    campaign = clock.govern(Campaign.open(url, "poison"))  # the limit is kept in the database
    assert campaign.run(lambda x: x["x"]).n_done == 2
    status = campaign.status()
    assert (status.n_done, status.n_failed, status.n_out, status.n_lapses) == (2, 1, 0, 2)
    assert status.failures[0][1].startswith("given up after 2 lapsed leases, the last one of doomed")
    assert campaign.tell(abandoned, 0.5) == "counted"  # one of them was only slow
    assert (campaign.status().n_done, campaign.status().n_failed, campaign.status().failures) == (3, 0, ())


def test_without_a_limit_a_trial_is_offered_again_for_ever(sqlite_url: str, clock) -> None:
    campaign = clock.govern(
        Campaign.create(sqlite_url, "patient", {"x": (0, 1)}, n_initial=1, max_attempts=None, lease_seconds=1)
    )
    for _ in range(20):
        assert campaign.ask().number == 1
        clock.time += 2


def test_a_limit_of_attempts_is_at_least_one(sqlite_url: str) -> None:
    with pytest.raises(InvalidInput, match="max_attempts must be"):
        Campaign.create(sqlite_url, "none", {"x": (0, 1)}, max_attempts=0)
