"""Ask, simulate, tell: here and on executors, within budgets, and when things go wrong in between."""

import os
import signal
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from unittest.mock import DEFAULT, Mock

import pytest

from genbayes import Campaign
from genbayes.campaign.running import Heartbeat, SimulationFailed, StopSignal, run_trials
from genbayes.errors import ResultUndelivered, SimulatorBroken, StoreUnavailable


def square(x: dict) -> float:
    return x["x"] ** 2


def crash(x: dict) -> float:
    os.kill(os.getpid(), signal.SIGKILL)
    return 0.0


def test_a_campaign_runs_until_a_budget_is_spent_and_no_further_when_run_again(make_campaign) -> None:
    campaign = make_campaign(budget=10)
    assert [campaign.run(square, budget=budget).n_done for budget in (8, 8, 9, None)] == [8, 0, 1, 1]
    frame = campaign.to_frame()
    assert (frame["y"] == frame["x"] ** 2).all()


def test_a_budget_of_time_begins_no_run_after_it(make_campaign) -> None:
    campaign = make_campaign()
    assert 1 <= campaign.run(lambda x: time.sleep(0.2) or 1.0, seconds=0.3).n_done <= 2
    assert campaign.run(square, seconds=0).n_done == 0


def test_a_simulator_that_raises_or_returns_no_number_fails_its_trial_and_the_rest_go_on(make_campaign) -> None:
    campaign, refused = make_campaign(), SimulationFailed("mesh broke")
    simulate = Mock(side_effect=[ZeroDivisionError("too thin"), float("nan"), (1.0, 2.0), refused, 1.0])
    tally = campaign.run(simulate, budget=5)
    assert (tally.n_done, tally.n_failed) == (1, 4)
    assert [reason for _, reason in campaign.status().failures] == [
        "ZeroDivisionError: too thin",
        "y must be a finite number, got nan",
        "y must be one number, got 2 values",
        "mesh broke",
    ]


def test_a_simulator_that_only_fails_is_stopped(make_campaign) -> None:
    campaign = make_campaign(n_initial=9)
    with pytest.raises(SimulatorBroken, match="The simulator failed 3 times in a row; the last time: KeyError: 'y'"):
        campaign.run(lambda x: x["y"], budget=9, n_failures_in_row=3)
    status = campaign.status()
    assert (status.n_failed, status.n_open, status.n_running) == (3, 6, 0)


def test_many_threads_run_at_once_and_every_trial_once(make_campaign) -> None:
    running, most, lock = [0], [0], threading.Lock()

    def busy(x: dict) -> float:
        with lock:
            running[0] += 1
            most[0] = max(most[0], running[0])
        time.sleep(0.05)
        with lock:
            running[0] -= 1
        return x["x"]

    campaign = make_campaign()
    with ThreadPoolExecutor(4) as executor:
        assert campaign.run(busy, budget=12, executor=executor).n_done == 12
    assert most[0] == 4
    frame = campaign.to_frame()
    assert (frame["y"] == frame["x"]).all()
    assert (frame["n_leases"] == 1).all()


def test_processes_run_trials_and_a_broken_pool_hands_them_all_back(make_campaign) -> None:
    campaign = make_campaign(n_initial=11)
    with ProcessPoolExecutor(2, mp_context=get_context("forkserver")) as executor:
        assert campaign.run(square, budget=6, executor=executor).n_done == 6
        with pytest.raises(BrokenProcessPool, match="terminated abruptly"):
            campaign.run(crash, budget=11, executor=executor)
    status = campaign.status()
    assert (status.n_open, status.n_running, status.n_failed) == (5, 0, 0)


def test_ctrl_c_hands_the_trial_back(make_campaign) -> None:
    campaign = make_campaign()
    with pytest.raises(KeyboardInterrupt, match="by hand"):
        campaign.run(Mock(side_effect=KeyboardInterrupt("by hand")), budget=5)
    assert campaign.status().n_running == 0


def test_a_long_run_keeps_its_lease(make_campaign) -> None:
    campaign = make_campaign(n_initial=1, budget=1, lease_seconds=0.6)

    def long(x: dict) -> float:
        time.sleep(1.5)
        assert Campaign.open(campaign.url, "small").take(1) == []  # nobody else is offered it
        return 1.0

    assert campaign.run(long).n_done == 1
    assert campaign.status().n_lapses == 0


def test_results_that_came_second_are_tallied_as_repeats(make_campaign) -> None:
    campaign = make_campaign(n_initial=1, budget=1)

    def overtaken(x: dict) -> float:
        Campaign.open(campaign.url, "small").tell(1, 7.0)
        return 8.0

    tally = campaign.run(overtaken)
    assert (tally.n_done, tally.n_repeats) == (0, 1)
    assert campaign.to_frame()["y"].tolist() == [7.0]


@pytest.mark.parametrize(("waits", "lease_seconds", "n_done"), [(True, 0.5, 2), (False, 3600.0, 1)])
def test_only_who_waits_takes_over_what_others_let_lapse(make_campaign, waits, lease_seconds, n_done: int) -> None:
    campaign = make_campaign(n_initial=2, budget=2)
    campaign.ask(lease_seconds=lease_seconds)  # by somebody who is never heard of again
    started = time.monotonic()
    assert run_trials(campaign, square, waits=waits, lease_seconds=1.0).n_done == n_done
    assert not waits or time.monotonic() - started >= 0.4
    assert campaign.status().n_lapses == n_done - 1


def test_a_stop_signal_ends_it_between_runs(make_campaign) -> None:
    stop = StopSignal()

    def last(x: dict) -> float:
        stop.set()
        return 1.0

    campaign = make_campaign()
    assert run_trials(campaign, last, stop=stop).n_done == 1
    assert campaign.status().n_running == 0


GONE = StoreUnavailable("database must be within reach, got no answer")


def test_a_worker_tells_its_result_once_the_database_is_back(make_campaign, monkeypatch) -> None:
    monkeypatch.setattr("genbayes.campaign.running.IDLE", 0.05)
    campaign = make_campaign(n_initial=1, budget=1)
    tell = campaign.tell
    campaign.tell = Mock(side_effect=[GONE, GONE, GONE, DEFAULT], wraps=tell)
    assert run_trials(campaign, square, stop=StopSignal()).n_done == 1
    assert campaign.status().n_done == 1


def test_a_result_that_cannot_be_told_stands_in_the_error(make_campaign) -> None:
    campaign = make_campaign()
    campaign.tell = Mock(side_effect=GONE)
    with (
        pytest.raises(StoreUnavailable, match=r"trial 1 gave y = 0.5 under lease 1; tell it when the database is back"),
        pytest.warns(ResultUndelivered, match="trial 1 gave y = 0.5"),
    ):
        campaign.run(lambda x: 0.5, budget=1)


def test_results_that_are_there_when_another_thing_fails_are_told_all_the_same(make_campaign) -> None:
    """Four runs end at the same moment; the first settled ends the campaign's run, the others still count."""
    campaign = make_campaign(n_initial=4)
    gate = threading.Barrier(4)

    def together(x: dict) -> float:
        if gate.wait(5) == 0:
            raise SimulatorBroken("no licence")
        return 1.0

    with ThreadPoolExecutor(4) as executor, pytest.raises(SimulatorBroken, match="no licence"):
        campaign.run(together, budget=4, executor=executor)
    status = campaign.status()
    assert (status.n_running, status.n_failed) == (0, 0)
    assert status.n_done + status.n_open == 4


def wait_until(condition) -> bool:
    until = time.monotonic() + 20
    while not condition() and time.monotonic() < until:
        time.sleep(0.02)
    return condition()


def test_a_kept_lease_is_renewed_a_dropped_one_lapses_and_a_lost_one_is_let_go(make_campaign) -> None:
    campaign = make_campaign(n_initial=3, budget=3)
    kept, dropped, lost = campaign.ask(3, lease_seconds=1.5)
    campaign.tell(lost, 1.0)
    with Heartbeat(campaign, 1.5) as heartbeat:
        for trial in (kept, dropped, lost):
            heartbeat.add(trial)
        heartbeat.drop(dropped)
        assert wait_until(lambda: campaign.status().n_lapsed == 1)
        assert [trial.number for trial in campaign.take(3)] == [dropped.number]
        assert campaign.status().n_running == 2
        assert wait_until(lambda: len(heartbeat._trials) == 1)
    assert campaign.to_frame()["y"].tolist()[2] == 1.0


def test_a_database_out_of_reach_is_tried_again_at_the_next_turn(make_campaign) -> None:
    campaign = make_campaign(n_initial=1)
    trial = campaign.ask(lease_seconds=0.3)
    campaign.renew = Mock(side_effect=[GONE, GONE, *[None] * 1000])
    with Heartbeat(campaign, 0.3) as heartbeat:
        heartbeat.add(trial)
        assert wait_until(lambda: campaign.renew.call_count >= 3)
