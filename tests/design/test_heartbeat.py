"""Leases are renewed while runs are out, and let go when they are lost."""

import time

from genbayes.campaign.running import Heartbeat


def wait_until(condition) -> bool:
    until = time.monotonic() + 20
    while not condition() and time.monotonic() < until:
        time.sleep(0.02)
    return condition()


def test_a_kept_lease_is_renewed_and_a_dropped_one_lapses(make_campaign) -> None:
    campaign = make_campaign(n_initial=2, budget=2)
    kept, dropped = campaign.ask(2, lease_seconds=1.5)
    with Heartbeat(campaign, 1.5) as heartbeat:
        heartbeat.add(kept)
        heartbeat.add(dropped)
        heartbeat.drop(dropped)
        assert wait_until(lambda: campaign.status().n_lapsed == 1)
        assert [trial.number for trial in campaign.take(2)] == [dropped.number]
        assert campaign.status().n_running == 2


def test_a_lost_lease_is_let_go_and_does_no_harm(make_campaign) -> None:
    campaign = make_campaign(n_initial=1)
    trial = campaign.ask(lease_seconds=0.3)
    campaign.tell(trial, 1.0)
    with Heartbeat(campaign, 0.3) as heartbeat:
        heartbeat.add(trial)
        assert wait_until(lambda: not heartbeat._trials)
    assert campaign.to_frame()["y"].tolist() == [1.0]


def test_a_database_out_of_reach_is_tried_again_at_the_next_turn(make_campaign) -> None:
    from genbayes.errors import StoreUnavailable

    campaign = make_campaign(n_initial=1)
    trial, calls = campaign.ask(lease_seconds=0.3), []

    def renew(*arguments) -> None:
        calls.append(arguments)
        if len(calls) < 3:
            raise StoreUnavailable("gone")

    campaign.renew = renew
    with Heartbeat(campaign, 0.3) as heartbeat:
        heartbeat.add(trial)
        assert wait_until(lambda: len(calls) >= 3)
