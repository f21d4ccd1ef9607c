"""The life of a trial against a simple model of it, with a clock in the test's hands."""

from dataclasses import dataclass, field
from uuid import uuid4

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, multiple, rule
from sqlalchemy import create_engine, insert, select
from sqlalchemy.exc import IntegrityError

from genbayes.campaign.ledger import Ledger
from genbayes.campaign.schema import CAMPAIGNS, RESULTS, TRIALS, prepare_schema
from genbayes.campaign.trial import LeaseTerms, Trial
from genbayes.errors import InvalidInput, LeaseLost

BUDGET = 6
times = st.floats(0.5, 20.0)
responses = st.sampled_from([0.0, 1.0, 2.5])


def open_ledger(max_attempts: int | None = None) -> Ledger:
    """A campaign in memory, in one transaction that is never committed."""
    connection = create_engine("sqlite://").connect()
    prepare_schema(connection, 0.0)
    row = {"name": "a", "space": "{}", "settings": "{}", "request": "r", "created_at": 0.0}
    connection.execute(insert(CAMPAIGNS).values(row))
    return Ledger(connection, 1, 0.0, max_attempts)


def ask(ledger: Ledger, worker: str = "w", budget: int | None = None) -> list[Trial]:
    """Up to one trial for ten seconds."""
    return ledger.ask(1, LeaseTerms(10.0, worker, budget), uuid4().hex)


@dataclass
class Model:
    """What a trial should be, in the fewest words."""

    y: float | None = None
    failed: bool = False
    lease: int | None = None
    expires: float = 0.0
    held: bool = False
    n_lapses: int = 0
    leases: list[int] = field(default_factory=list)
    results: set[tuple[int, float]] = field(default_factory=set)

    def can_be_offered(self, now: float) -> bool:
        return self.y is None and not self.failed and (not self.held or self.expires <= now)


class Lives(RuleBasedStateMachine):
    """Asks, tells, failures, renewals and hand-backs in any order, while time passes."""

    leases = Bundle("leases")

    @initialize(n=st.integers(0, 4), max_attempts=st.sampled_from([None, 1, 2]))
    def begin(self, n: int, max_attempts: int | None) -> None:
        self.ledger, self.models, self.n_requests = open_ledger(max_attempts), {}, 0
        self.most = float("inf") if max_attempts is None else max_attempts
        self.add(n)

    def teardown(self) -> None:
        if hasattr(self, "ledger"):
            self.ledger.connection.close()

    def request(self) -> str:
        self.n_requests += 1
        return f"request {self.n_requests}"

    @rule(n=st.integers(0, 2))
    def add(self, n: int) -> None:
        for number in self.ledger.add([{"x": 0.5}] * n, "added", self.request()):
            assert number not in self.models
            self.models[number] = Model()

    @rule(seconds=times)
    def wait(self, seconds: float) -> None:
        self.ledger.now += seconds

    @rule(target=leases, n=st.integers(1, 3), seconds=times)
    def ask(self, n: int, seconds: float):
        now, request = self.ledger.now, self.request()
        for m in self.models.values():
            if m.held and m.expires <= now and m.n_lapses + 1 >= self.most:
                m.failed, m.held = True, False  # given up
        offered = [k for k, m in self.models.items() if m.can_be_offered(now)]
        again = [k for k in offered if self.models[k].leases][:n]
        left = max(0, BUDGET - sum(bool(m.leases) for m in self.models.values()))
        new = [k for k in offered if not self.models[k].leases][: min(n - len(again), left)]
        trials = self.ledger.ask(n, LeaseTerms(seconds, "w", BUDGET), request)
        assert [trial.number for trial in trials] == again + new
        assert self.ledger.answered(request) == trials
        for trial in trials:
            model = self.models[trial.number]
            assert all(trial.lease > earlier for m in self.models.values() for earlier in m.leases)  # fences rise
            model.n_lapses += model.held
            model.lease, model.expires, model.held = trial.lease, now + seconds, True
            model.leases.append(trial.lease)
        return multiple(*((trial.number, trial.lease) for trial in trials))

    @rule(which=leases, y=responses)
    def tell(self, which: tuple[int, int], y: float) -> None:
        (number, lease), model = which, self.models[which[0]]
        outcome = self.ledger.tell(number, lease, y)
        if (lease, y) in model.results:
            assert outcome == "again"
            return
        assert outcome == ("counted" if model.y is None else "repeat")
        model.results.add((lease, y))
        if model.y is None:
            model.y, model.failed, model.held = y, False, False

    @rule(which=leases)
    def fail(self, which: tuple[int, int]) -> None:
        (number, lease), model = which, self.models[which[0]]
        outcome = self.ledger.fail(number, lease, "crashed")
        if model.failed:
            assert outcome == "again"
        elif model.y is None and model.held and model.lease == lease:
            assert outcome == "failed"
            model.failed, model.held = True, False
        else:
            assert outcome == "late"

    @rule(which=leases, seconds=times)
    def renew(self, which: tuple[int, int], seconds: float) -> None:
        (number, lease), model = which, self.models[which[0]]
        if model.held and model.lease == lease:
            self.ledger.renew(number, lease, seconds)
            model.expires = self.ledger.now + seconds
        else:
            with pytest.raises(LeaseLost, match=f"Lease {lease} of trial {number} cannot be renewed"):
                self.ledger.renew(number, lease, seconds)

    @rule(which=leases)
    def release(self, which: tuple[int, int]) -> None:
        (number, lease), model = which, self.models[which[0]]
        mine = model.held and model.lease == lease
        assert self.ledger.release(number, lease) == mine
        model.held = model.held and not mine

    @invariant()
    def the_database_agrees_with_the_model(self) -> None:
        if not hasattr(self, "ledger"):
            return
        rows = self.ledger.connection.execute(select(TRIALS).order_by(TRIALS.c.number)).all()
        for row in rows:
            model = self.models[row.number]
            state = "failed" if model.failed else "running" if model.held else "open"
            assert (row.state, row.y) == (state if model.y is None else "done", model.y)
        kept = select(TRIALS.c.number, RESULTS.c.lease_id, RESULTS.c.y, RESULTS.c.counted).join(TRIALS)
        results = self.ledger.connection.execute(kept).all()
        assert {(n, lease, y) for n, lease, y, _ in results} == {
            (n, *result) for n, model in self.models.items() for result in model.results
        }
        assert sorted(n for n, *_, counted in results if counted) == [
            n for n, m in sorted(self.models.items()) if m.y is not None
        ]


TestLives = Lives.TestCase
TestLives.settings = settings(max_examples=40, stateful_step_count=25, deadline=None)


@pytest.fixture
def ledger():
    opened = open_ledger()
    opened.add([{"x": 0.1}, {"x": 0.2}], "initial", "first")
    yield opened
    opened.connection.close()


def test_the_same_request_adds_once_and_a_result_without_a_lease_is_known_again(ledger: Ledger) -> None:
    assert [ledger.add([{"x": 0.3}], "added", "again") for _ in range(2)] == [[3], [3]]
    assert ledger.count() == 3
    assert [ledger.tell(1, None, y) for y in (2.0, 2.0, 3.0)] == ["counted", "again", "repeat"]


def test_the_database_itself_refuses_a_second_result_that_counts(ledger: Ledger) -> None:
    ledger.tell(1, None, 2.0)
    twice = insert(RESULTS).values(trial_id=1, lease_id=None, y=3.0, counted=True, worker="", told_at=0.0)
    with pytest.raises(IntegrityError, match="UNIQUE"):
        ledger.connection.execute(twice)


@pytest.mark.parametrize(("act", "further"), [("tell", [1.0]), ("fail", ["why"]), ("renew", [1.0]), ("release", [])])
def test_an_unknown_trial_or_lease_is_refused(ledger: Ledger, act: str, further: list) -> None:
    with pytest.raises(InvalidInput, match="trial must be a number from 1 to 2, got 9"):
        getattr(ledger, act)(9, 1, *further)
    with pytest.raises(InvalidInput, match="lease must be one of trial 1, got 77"):
        getattr(ledger, act)(1, 77, *further)


def test_who_has_lost_a_lease_can_tell_a_result_but_not_a_failure(ledger: Ledger) -> None:
    (lost,) = ask(ledger, "slow")
    ledger.now += 11
    (held,) = ask(ledger, "quick")
    assert (held.number, ledger.fail(1, lost.lease, "crashed")) == (lost.number, "late")
    assert state_of(ledger, 1) == ("running", None)
    assert ledger.tell(1, lost.lease, 2.0) == "counted"


def lapse(ledger: Ledger, n: int) -> int:
    """Let n leases of the first trial run out, one after another; returns the first."""
    leases = []
    for i in range(n):
        leases += ask(ledger, f"w{i}")
        ledger.now += 10
    assert {trial.number for trial in leases} == {1}
    return leases[0].lease


def state_of(ledger: Ledger, number: int) -> tuple[str, str | None]:
    row = ledger.connection.execute(select(TRIALS.c.state, TRIALS.c.reason).where(TRIALS.c.number == number)).one()
    return row.state, row.reason


@pytest.mark.parametrize(
    ("limit", "reason"),
    [(3, "given up after 3 lapsed leases, the last held by w2"), (1, "given up after 1 lapsed lease, held by w0")],
)
def test_a_trial_that_its_workers_never_come_back_from_is_given_up_until_one_tells(ledger, limit: int, reason) -> None:
    ledger.max_attempts = limit
    first = lapse(ledger, limit)
    (trial,) = ask(ledger)
    assert (trial.number, *state_of(ledger, 1)) == (2, "failed", reason)
    assert ledger.tell(1, first, 2.0) == "counted"
    assert state_of(ledger, 1) == ("done", None)


@pytest.mark.parametrize("late", [0.0, 11.0])
def test_who_hands_a_trial_back_has_not_abandoned_it_even_after_its_lease(ledger: Ledger, late: float) -> None:
    ledger.max_attempts = 2
    for _ in range(5):
        (trial,) = ask(ledger)
        assert trial.number == 1
        ledger.now += late
        assert ledger.release(1, trial.lease)
    lapse(ledger, 2)  # only these count
    ask(ledger)
    assert state_of(ledger, 1)[0] == "failed"


def test_a_lease_that_is_kept_alive_is_not_given_up(ledger: Ledger) -> None:
    ledger.max_attempts = 1
    (trial,) = ask(ledger)
    for _ in range(5):
        ledger.now += 9
        ledger.renew(1, trial.lease, 10.0)
        ask(ledger, "other", budget=1)
    assert state_of(ledger, 1) == ("running", None)
