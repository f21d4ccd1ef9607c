"""Ask, simulate, tell: here and on executors, within budgets, and when things go wrong in between."""

import os
import signal
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context

import pytest

from genbayes import Campaign
from genbayes.campaign.running import Heartbeat, SimulationFailed, StopSignal, run_trials
from genbayes.errors import ResultUndelivered, SimulatorBroken, StoreUnavailable


def square(x: dict) -> float:
    return x["x"] ** 2


def crash(x: dict) -> float:
    os.kill(os.getpid(), signal.SIGKILL)
    return 0.0


def test_a_campaign_runs_until_its_budget_is_spent_and_no_further_when_run_again(make_campaign) -> None:
    campaign = make_campaign()
    assert campaign.run(square, budget=8).n_done == 8
    frame = campaign.to_frame()
    assert (frame["y"] == frame["x"] ** 2).all()
    assert campaign.run(square, budget=8).n_done == 0
    assert campaign.run(square, budget=9).n_done == 1


def test_a_budget_of_time_begins_no_run_after_it(make_campaign) -> None:
    def slow(x: dict) -> float:
        time.sleep(0.2)
        return 1.0

    campaign = make_campaign()
    assert 1 <= campaign.run(slow, seconds=0.3).n_done <= 2
    assert campaign.run(slow, seconds=0).n_done == 0


def test_the_campaigns_own_budget_will_do(make_campaign) -> None:
    assert make_campaign(budget=6).run(square).n_done == 6


def test_a_simulator_that_raises_or_returns_no_number_fails_its_trial_and_the_rest_go_on(make_campaign) -> None:
    answers = iter([ZeroDivisionError("too thin"), float("nan"), (1.0, 2.0), SimulationFailed("mesh broke"), 1.0])

    def moody(x: dict) -> float:
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    campaign = make_campaign()
    tally = campaign.run(moody, budget=5)
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


def test_processes_run_trials(make_campaign) -> None:
    campaign = make_campaign()
    with ProcessPoolExecutor(2, mp_context=get_context("forkserver")) as executor:
        assert campaign.run(square, budget=6, executor=executor).n_done == 6


def test_a_broken_pool_hands_all_trials_back(make_campaign) -> None:
    campaign = make_campaign()
    with (
        ProcessPoolExecutor(2, mp_context=get_context("forkserver")) as executor,
        pytest.raises(BrokenProcessPool, match="terminated abruptly"),
    ):
        campaign.run(crash, budget=5, executor=executor)
    status = campaign.status()
    assert (status.n_open, status.n_running, status.n_failed) == (5, 0, 0)


def test_ctrl_c_hands_the_trial_back(make_campaign) -> None:
    def interrupted(x: dict) -> float:
        raise KeyboardInterrupt

    campaign = make_campaign()
    with pytest.raises(KeyboardInterrupt):
        campaign.run(interrupted, budget=5)
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


def test_who_waits_takes_over_what_others_let_lapse(make_campaign) -> None:
    campaign = make_campaign(n_initial=2, budget=2)
    campaign.ask(lease_seconds=0.5)  # by somebody who is never heard of again
    started = time.monotonic()
    assert run_trials(campaign, square, waits=True, lease_seconds=1.0).n_done == 2
    assert time.monotonic() - started >= 0.4
    assert campaign.status().n_lapses == 1


def test_who_does_not_wait_leaves_what_others_have_out(make_campaign) -> None:
    campaign = make_campaign(n_initial=2, budget=2)
    campaign.ask()
    assert campaign.run(square).n_done == 1


def test_a_stop_signal_ends_it_between_runs(make_campaign) -> None:
    stop = StopSignal()

    def last(x: dict) -> float:
        stop.set()
        return 1.0

    campaign = make_campaign()
    assert run_trials(campaign, last, stop=stop).n_done == 1
    assert campaign.status().n_running == 0


def lose_database(campaign: Campaign, times: int) -> None:
    tell, left = campaign.tell, [times]

    def unreliable(*arguments):
        if left[0] > 0:
            left[0] -= 1
            raise StoreUnavailable("database must be within reach, got no answer")
        return tell(*arguments)

    campaign.tell = unreliable


def test_a_worker_tells_its_result_once_the_database_is_back(make_campaign, monkeypatch) -> None:
    monkeypatch.setattr("genbayes.campaign.running.IDLE", 0.05)
    campaign = make_campaign(n_initial=1, budget=1)
    lose_database(campaign, times=3)
    assert run_trials(campaign, square, stop=StopSignal()).n_done == 1
    assert campaign.status().n_done == 1


def test_a_result_that_cannot_be_told_stands_in_the_error(make_campaign) -> None:
    campaign = make_campaign()
    lose_database(campaign, times=99)
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
