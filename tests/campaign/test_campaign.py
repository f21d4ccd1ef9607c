"""Campaigns: what is handed out, what counts, what is refused, on both kinds of database."""

import subprocess
import sys
from importlib.metadata import EntryPoint
from unittest.mock import Mock
from uuid import uuid4

import numpy as np
import pandas as pd
import pytest

from genbayes import AutoSurrogate, Box, Campaign
from genbayes.campaign import Trial, register_proposer
from genbayes.data import Choice, Integer
from genbayes.design import RandomProposer
from genbayes.errors import BudgetSpent, InvalidInput, LeaseLost, RepeatKept, RunFailed

SPACE = Box({"mach": (0.2, 6.0), "stages": Integer(1, 3), "gas": Choice("He", "O2")})


@pytest.fixture
def campaign(make_campaign, url: str) -> Campaign:
    return make_campaign(SPACE, url=url, name="rocket", n_initial=4, lease_seconds=60)


def test_trials_are_handed_out_in_order_each_to_one_worker_with_a_larger_lease_until_handed_back(campaign, url) -> None:
    other = Campaign.open(url, "rocket")
    trials = [*campaign.ask(2), other.ask(), campaign.ask(), *other.ask(2)]
    assert [trial.number for trial in trials] == [1, 2, 3, 4, 5, 6]
    assert [trial.lease for trial in trials] == sorted({trial.lease for trial in trials})
    assert all(SPACE.take(trial.x) == trial.x for trial in trials)
    assert campaign.release(trials[2])
    assert not campaign.release(trials[2])
    assert campaign.ask().number == 3


def test_a_campaign_goes_on_where_it_stopped_to_the_last_digit(campaign: Campaign, url: str) -> None:
    campaign.tell(campaign.ask(), y=0.1 + 0.2)
    again = Campaign.open(url, "rocket")
    assert (again.space, again.settings) == (SPACE, campaign.settings)
    assert repr(again) == repr(campaign)
    pd.testing.assert_frame_equal(again.to_frame(), campaign.to_frame())
    assert again.to_frame()["y"].iloc[0] == 0.1 + 0.2
    assert again.ask().number == 2


def test_one_database_holds_many_campaigns_that_do_not_mix(campaign: Campaign, make_campaign, url: str) -> None:
    other = make_campaign(url=url)
    other.tell(other.ask(), 1.0)
    assert (campaign.status().n_done, other.status().n_done) == (0, 1)
    assert other.ask().number == 2
    campaign.ask()
    with pytest.raises(InvalidInput, match="lease must be one of trial 1"):
        campaign.tell(Trial(1, {}, lease=1), 2.0)  # a lease of the other's


def test_the_first_result_counts_another_is_kept_and_the_same_again_is_silent(campaign: Campaign) -> None:
    trial = campaign.ask()
    assert [campaign.tell(trial, 2.0), campaign.tell(trial, 2.0)] == ["counted", "again"]
    with pytest.warns(RepeatKept, match="Trial 1 already has a result; y = 3.0 was kept as a repeat and does not coun"):
        assert campaign.tell(trial, 3.0) == "repeat"
    assert campaign.tell(trial, 3.0) == "again"
    assert (campaign.status().n_done, campaign.status().n_repeats) == (1, 1)
    assert campaign.to_frame()["y"].iloc[0] == 2.0


def test_a_lease_lapses_unless_renewed_and_its_first_result_counts_all_the_same(campaign, clock) -> None:
    clock.govern(campaign)
    late, renewed = campaign.ask(2)
    for _ in range(2):
        clock.time += 50
        campaign.renew(renewed)
    assert campaign.status().n_lapsed == 1
    assert campaign.to_frame()["state"].tolist()[:2] == ["open", "running"]
    prompt = campaign.ask()
    assert (prompt.number, prompt.x) == (late.number, late.x)
    assert prompt.lease > late.lease
    with pytest.raises(LeaseLost, match="Lease 1 of trial 1 cannot be renewed: another worker has the trial"):
        campaign.renew(late)
    assert campaign.fail(late, "crashed") == "late"  # not his to fail any more
    assert campaign.tell(late, 5.0) == "counted"  # but a finished run is never thrown away
    with pytest.warns(RepeatKept, match="kept as a repeat"):
        campaign.tell(prompt, 6.0)
    assert campaign.to_frame()["y"].iloc[0] == 5.0
    assert campaign.status().n_lapses == 1


@pytest.mark.parametrize(
    ("y", "reason"),
    [
        (float("nan"), "y must be a finite number, got nan"),
        (float("inf"), "y must be a finite number, got inf"),
        ("diverged", "y must be a finite number, got 'diverged'"),
        (None, "y must be a finite number, got None"),
        ([1.0, 2.0], "y must be one number, got 2 values"),
        (np.array([]), "y must be one number, got 0 values"),
    ],
)
def test_a_response_that_is_no_number_fails_its_trial_until_it_is_told_after_all(make_campaign, y, reason) -> None:
    campaign = make_campaign()
    trial = campaign.ask()
    with pytest.warns(RunFailed, match=f"{reason}; trial 1 was recorded as failed"):
        assert campaign.tell(trial, y) == "failed"
    assert campaign.status().failures == ((1, reason),)
    assert campaign.tell(trial, 1.0) == "counted"
    assert campaign.to_frame().loc[0, ["state", "reason"]].tolist() == ["done", None]


@pytest.mark.parametrize("y", [np.float64(2), np.array([2.0]), np.array(2), 2, [2]], ids=repr)
def test_anything_that_holds_one_number_is_a_response(make_campaign, y) -> None:
    campaign = make_campaign()
    assert campaign.tell(campaign.ask(), y) == "counted"
    assert campaign.to_frame()["y"].iloc[0] == 2.0


def test_failing_a_trial_twice_keeps_the_first_reason_and_one_that_is_done_stays_done(make_campaign) -> None:
    campaign = make_campaign()
    trial = campaign.ask()
    assert [campaign.fail(trial, "first"), campaign.fail(trial, "second")] == ["failed", "again"]
    assert campaign.status().failures == ((1, "first"),)
    campaign.tell(trial, 1.0)
    assert (campaign.fail(trial, "too late"), campaign.status().n_done) == ("late", 1)


def test_the_same_seed_gives_the_same_campaign_and_trials_beyond_the_initial_ones_are_proposed(make_campaign) -> None:
    def inputs(name: str, seed: int) -> list[float]:
        campaign = make_campaign(name=name, n_initial=3, random_state=seed)
        x = [trial.x["x"] for trial in campaign.ask(6)]
        assert campaign.to_frame()["source"].tolist() == ["initial"] * 3 + ["proposed"] * 3
        return x

    assert inputs("a", 1) == inputs("b", 1) != inputs("c", 2)


@pytest.mark.parametrize("initial", ["latin", "sobol"])
def test_the_initial_design_is_spread_as_asked(make_campaign, initial: str) -> None:
    spread = {"latin": SPACE.latin_hypercube, "sobol": SPACE.sobol}[initial]
    campaign = make_campaign(SPACE, n_initial=8, initial=initial, random_state=0)
    assert [record.x for record in campaign.records()] == SPACE.from_unit(spread(8, 0))


class Drawing:
    """A proposer that is shown the runs and draws at random."""

    def propose(self, space, X_done, y_done, X_running, n, rng):
        return space.uniform(n, rng)


def test_each_trial_has_a_stream_of_its_own_which_a_campaign_that_is_opened_again_goes_on_with(
    make_campaign, sqlite_url: str
) -> None:
    campaign = make_campaign(n_initial=0, proposer=Drawing())
    first, second = (campaign.ask().x["x"] for _ in range(2))
    assert make_campaign(n_initial=0, name="again", proposer=Drawing()).ask().x["x"] == first != second
    assert Campaign.open(sqlite_url, "again", proposer=Drawing()).ask().x["x"] == second


class Spy:
    """A proposer that remembers what it was shown and proposes the middle."""

    def propose(self, space, X_done, y_done, X_running, n, rng):
        self.seen = X_done, y_done, X_running, n
        return np.full((n, space.d), 0.5)


def test_a_proposer_sees_runs_that_ended_in_their_order_failed_ones_as_nan_and_those_under_way(make_campaign) -> None:
    spy = Spy()
    campaign = make_campaign(SPACE, n_initial=3, proposer=spy)
    first, second, third = campaign.ask(3)
    campaign.tell(second, 2.0)
    campaign.fail(first, "crashed")
    proposed = campaign.ask()
    X_done, y_done, X_running, n = spy.seen
    np.testing.assert_allclose(X_done, SPACE.to_unit([second.x, first.x]))
    np.testing.assert_array_equal(y_done, [2.0, np.nan])
    np.testing.assert_allclose(X_running, SPACE.to_unit([third.x]))
    assert n == 1
    assert proposed.x == {"mach": pytest.approx(3.1), "stages": 2, "gas": "O2"}


def test_proposals_made_while_others_add_trials_are_made_again_with_these_in_sight(make_campaign, sqlite_url) -> None:
    counts = []

    class Slow:
        def propose(self, space, X_done, y_done, X_running, n, rng):
            counts.append(len(X_running))
            if len(counts) == 1:
                Campaign.open(sqlite_url, "small").add([{"x": 0.5}])
                Campaign.open(sqlite_url, "small", proposer=RandomProposer()).ask()
            return space.uniform(n, rng)

    assert make_campaign(n_initial=0, proposer=Slow()).ask().number == 2
    assert counts == [0, 1]


def test_a_budget_ends_the_asking_but_not_the_telling(make_campaign) -> None:
    campaign = make_campaign(n_initial=2, budget=3)
    assert len(campaign.take(10, budget=1)) == 1  # below the initial design
    trials = campaign.ask(10)
    assert [trial.number for trial in trials] == [2, 3]
    with pytest.raises(BudgetSpent, match="The budget of 3 trials is spent; 3 of them have not ended yet"):
        campaign.ask()
    assert campaign.release(trials[0])
    assert campaign.ask().number == 2  # one that was paid for
    assert campaign.tell(trials[1], 1.0) == "counted"


def test_the_frame_has_a_row_a_trial(make_campaign) -> None:
    campaign = make_campaign(SPACE, n_initial=4)
    done, failed, running = campaign.ask(3, worker="me")
    campaign.tell(done, 1.5)
    campaign.fail(failed, "diverged")
    frame = campaign.to_frame()
    assert frame["number"].tolist() == [1, 2, 3, 4]
    assert frame["state"].tolist() == ["done", "failed", "running", "open"]
    assert frame["mach"].iloc[2] == running.x["mach"]
    assert frame["worker"].fillna("nobody").tolist() == ["me", "me", "me", "nobody"]
    assert frame["reason"].iloc[1] == "diverged"
    assert (frame["finished"] >= frame["started"]).tolist() == [True, True, False, False]
    assert str(frame["created"].dt.tz) == "UTC"


def test_a_frame_without_trials_has_all_columns_and_inputs_of_ones_own_may_repeat(make_campaign) -> None:
    campaign = make_campaign(n_initial=0)
    assert campaign.to_frame().empty
    assert {"number", "state", "x", "y", "worker"} <= set(campaign.to_frame().columns)
    assert campaign.add(pd.DataFrame({"x": [0.25, 0.25]})) == [1, 2]
    assert [trial.x["x"] for trial in campaign.ask(2)] == [0.25, 0.25]


def test_a_surrogate_is_fitted_to_every_result_that_counts(make_campaign) -> None:
    model = Mock()
    campaign = make_campaign(SPACE)
    for trial in campaign.ask(3):
        campaign.tell(trial, trial.number)
    campaign.fail(campaign.ask(), "crashed")
    assert campaign.surrogate(model) is model
    X, y = model.fit.call_args.args
    assert (list(X.columns), y.tolist()) == (["mach", "stages", "gas"], [1.0, 2.0, 3.0])


def test_a_surrogate_is_the_automatic_choice_unless_told_otherwise(make_campaign, monkeypatch) -> None:
    monkeypatch.setattr(AutoSurrogate, "fit", lambda model, X, y: model)
    campaign = make_campaign(SPACE, random_state=7)
    campaign.tell(campaign.ask(), 1.0)
    model = campaign.surrogate()
    assert isinstance(model, AutoSurrogate)
    assert (model.categorical, model.random_state, model.candidates) == (["gas"], 7, None)


def test_a_database_that_is_not_there_is_not_made_by_opening(tmp_path) -> None:
    with pytest.raises(InvalidInput, match="url must name an existing database, got .*; create the campaign first"):
        Campaign.open(f"sqlite:///{tmp_path}/a.db", "a")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(InvalidInput, match="url must lie in an existing folder"):
        Campaign.create(f"sqlite:///{tmp_path}/no/a.db", "a", {"x": (0, 1)})


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"n_initial": -1}, "n_initial must be a whole number of at least 0, got -1"),
        ({"initial": "grid"}, "initial must be one of 'latin', 'sobol', got 'grid'"),
        ({"lease_seconds": 0}, "lease_seconds must be positive and finite, got 0"),
        ({"budget": 0}, "budget must be a whole number of at least 1, got 0"),
        ({"max_attempts": 0}, "max_attempts must be a whole number of at least 1, got 0"),
        ({"proposer": "oracle"}, "proposer must be one of 'random'.*, got 'oracle'"),
        ({"random_state": -1}, "random_state must be None, a whole number"),
        ({"space": {"x": (1, 0)}}, "bounds of 'x' must rise"),
        ({"space": {"y": (0, 1)}}, "inputs must not be named like a column of the campaign's table, got 'y'"),
        ({"name": " "}, "name must be text of 1 to 200 characters, got ' '"),
    ],
)
def test_bad_settings_are_refused_before_anything_is_written(tmp_path, settings: dict, sentence: str) -> None:
    given = {"name": "a", "space": {"x": (0, 1)}} | settings
    with pytest.raises(InvalidInput, match=sentence):
        Campaign.create(f"sqlite:///{tmp_path}/a.db", **given)
    assert list(tmp_path.iterdir()) == []


def test_without_sqlalchemy_a_campaign_names_the_extra_to_install(tmp_path) -> None:
    program = """
import sys
sys.modules["sqlalchemy"] = None  # import finds nothing
from genbayes import AutoSurrogate, Campaign
from genbayes.cli.main import answer
from genbayes.errors import MissingExtra
try:
    Campaign.create("sqlite:///a.db", "a", {"x": (0, 1)})
except MissingExtra as error:
    print(error)
answer(["worker", "sqlite:///a.db", "a", "--", "true"])
"""
    sentence = "sqlalchemy must be installed for campaigns, got none; pip install 'genbayes[design]'\n"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert (done.stdout, done.stderr) == (sentence, f"Error: {sentence}")
    assert list(tmp_path.iterdir()) == []


def test_an_integer_is_the_seed_itself_and_one_is_drawn_from_anything_else(make_campaign) -> None:
    def seed(random_state: object) -> int:
        return make_campaign(name=uuid4().hex, n_initial=0, random_state=random_state).settings.seed

    rng = np.random.default_rng(0)
    assert (seed(7), seed(np.int64(7))) == (7, 7)
    assert seed(rng) != seed(rng)
    assert seed(np.random.default_rng(0)) == seed(np.random.default_rng(0))


def test_a_campaign_ends_though_one_of_its_trials_kills_whoever_runs_it(make_campaign, url: str, clock) -> None:
    settings = {"n_initial": 3, "budget": 3, "lease_seconds": 10}
    campaign = clock.govern(make_campaign(url=url, max_attempts=2, **settings))
    patient = clock.govern(make_campaign(url=url, name="patient", max_attempts=None, **settings))
    for _ in range(2):
        abandoned = campaign.ask(worker="doomed")
        assert abandoned.number == 1
        clock.time += 11
    campaign = clock.govern(Campaign.open(url, "small"))  # the limit is kept in the database
    assert campaign.run(lambda x: x["x"]).n_done == 2
    status = campaign.status()
    assert (status.n_done, status.n_failed, status.n_out, status.n_lapses) == (2, 1, 0, 2)
    assert status.failures[0][1].startswith("given up after 2 lapsed leases, the last held by doomed")
    assert campaign.tell(abandoned, 0.5) == "counted"  # one of them was only slow
    assert (campaign.status().n_done, campaign.status().n_failed, campaign.status().failures) == (3, 0, ())
    for _ in range(20):  # without a limit a trial is offered again for ever
        assert patient.ask().number == 1
        clock.time += 11


class Wrong:
    """A proposer that does not know how many inputs there are."""

    def propose(self, space, X_done, y_done, X_running, n, rng):
        return np.zeros((n, 1))


NINE, TWO = Box({**SPACE.inputs, "mach": (0.2, 9.0)}), Box({"mach": (0.2, 6.0), "stages": Integer(1, 3)})
SHAPE = r"proposer must return finite points of shape \(1, 3\), got "


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda c, url: Campaign.create(url, "small", SPACE), "Campaign 'small' already exists; open it, or choose"),
        (lambda c, url: Campaign.open(url, "smlal"), "name must be a campaign of .*'smlal'; did you mean 'small'"),
        (lambda c, url: Campaign.open(url, "xyz"), "got 'xyz'; it has 'small'"),
        (lambda c, url: Campaign.open(url, "small", NINE), "space must be that of campaign 'small', where 'mach' is"),
        (lambda c, url: Campaign.open(url, "small", TWO), "where 'gas' is Choice.*, got None; create another"),
        (lambda c, url: Campaign.open(url, "small", proposer=Wrong()).ask(5), SHAPE),
        (lambda c, url: c.tell(9, 1.0), "trial must be a number from 1 to 4, got 9"),
        (lambda c, url: c.tell(Trial(1, {}, lease=7), 1.0), "lease must be one of trial 1, got 7"),
        (lambda c, url: c.fail(0, "?"), "trial must be a whole number of at least 1, got 0"),
        (lambda c, url: c.ask(0), "n must be a whole number of at least 1, got 0"),
        (lambda c, url: c.ask(lease_seconds=0), "lease_seconds must be positive and finite, got 0"),
        (lambda c, url: c.add([{"mach": 9, "stages": 1, "gas": "He"}]), "'mach' must lie between 0.2 and 6.0, got 9"),
        (lambda c, url: c.run(len), "budget or seconds must be given, because the campaign has no budget, got neither"),
        (lambda c, url: c.surrogate(), "At least one result is needed to fit a surrogate; run some trials first"),
    ],
)
def test_what_cannot_be_is_refused_and_nothing_changes(make_campaign, sqlite_url, call, sentence) -> None:
    campaign = make_campaign(SPACE, n_initial=4)
    Campaign.open(sqlite_url, "small", SPACE)
    with pytest.raises(InvalidInput, match=sentence):
        call(campaign, sqlite_url)
    status = campaign.status()
    assert (status.n_done, status.n_failed, status.n_trials) == (0, 0, 4)


def test_a_proposer_of_ones_own_must_be_given_again(make_campaign, sqlite_url: str) -> None:
    make_campaign(n_initial=0, proposer=Spy())
    with pytest.raises(InvalidInput, match="proposer must be given when campaign 'small' is opened, since"):
        Campaign.open(sqlite_url, "small").ask()
    assert Campaign.open(sqlite_url, "small", proposer=RandomProposer()).ask().number == 1


def test_a_campaign_may_tell_several_responses_each_a_column(make_campaign, url: str) -> None:
    campaign = make_campaign(url=url, responses=["s1", "s2"], proposer=(spy := Spy()), n_initial=3)
    first, second, _ = campaign.ask(3)
    assert campaign.tell(first, [1.0, 0.1 + 0.2]) == "counted"
    assert campaign.tell(first, {"s2": 0.1 + 0.2, "s1": 1.0, "steps": 9}) == "again"
    with pytest.warns(RepeatKept, match="Trial 1 already has a result; s1 = 1.0, s2 = 0.4 was kept as a repeat"):
        assert campaign.tell(first, (1.0, 0.4)) == "repeat"
    assert campaign.tell(second, np.array([3.0, 4.0])) == "counted"
    again = Campaign.open(url, "small", proposer=spy)
    assert again.to_frame()[["s1", "s2"]].iloc[:2].to_numpy().tolist() == [[1.0, 0.1 + 0.2], [3.0, 4.0]]
    assert "y" not in again.to_frame()
    again.ask()
    assert spy.seen[1].tolist() == [1.0, 3.0]  # a proposer looks at the first
    for which, y in ((None, [1.0, 3.0]), ("s1", [1.0, 3.0]), ("s2", [0.1 + 0.2, 4.0])):
        model = again.surrogate(Mock(), response=which)
        assert model.fit.call_args.args[1].tolist() == y
    with pytest.raises(InvalidInput, match="response must be one of 's1', 's2', got 's3'"):
        again.surrogate(response="s3")
    assert campaign.run(lambda x: (x["x"], -x["x"]), budget=5).n_done == 1


def test_a_series_with_the_names_of_the_responses_is_read_by_name(make_campaign) -> None:
    campaign = make_campaign(responses=["s1", "s2"])
    for y in (pd.Series({"s2": 2.0, "s1": 1.0}), pd.Series([1.0, 2.0]), {"s2": 2.0, "s1": 1.0}):
        assert campaign.tell(campaign.ask(), y) == "counted"
    assert campaign.to_frame()[["s1", "s2"]].dropna().to_numpy().tolist() == [[1.0, 2.0]] * 3


@pytest.mark.parametrize(
    ("y", "reason"),
    [
        (1.0, r"y must be 2 numbers \(s1, s2\), got 1 value"),
        ([1.0, 2.0, 3.0], r"y must be 2 numbers \(s1, s2\), got 3 values"),
        ([], r"y must be 2 numbers \(s1, s2\), got 0 values"),
        ([1.0, np.nan], "s2 must be a finite number, got nan"),
        ([1.0, [2.0, 3.0]], "s2 must be one number, got 2 values"),
        ({"s1": 1.0, "S2": 2.0}, "y must have a value for 's2', got none; did you mean 'S2'"),
    ],
)
def test_a_wrong_count_of_responses_fails_the_trial_in_one_sentence(make_campaign, y, reason: str) -> None:
    campaign = make_campaign(responses=["s1", "s2"])
    with pytest.warns(RunFailed, match=f"{reason}.*; trial 1 was recorded as failed"):
        assert campaign.tell(campaign.ask(), y) == "failed"
    assert campaign.status().n_failed == 1


@pytest.mark.parametrize(
    ("responses", "sentence"),
    [
        ([], r"responses must be names, at least one, got \[\]"),
        (["a", " "], "responses must be names, at least one, got ' '"),
        (["a", 3], "responses must be names, at least one, got 3"),
        (["a", "a"], "responses must have different names, got 'a' twice"),
        (["x"], "responses must not be named like an input or a column of the campaign's table, got 'x'"),
        (["worker"], "responses must not be named like an input or a column of the campaign's table, got 'worker'"),
    ],
)
def test_names_of_responses_are_checked(make_campaign, responses, sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        make_campaign(responses=responses)


def test_an_input_may_be_called_y_where_the_response_is_not(make_campaign) -> None:
    campaign = make_campaign({"y": (0.0, 1.0)}, responses=["drag"])
    campaign.tell(campaign.ask(), {"drag": 2.0})
    assert campaign.to_frame()["drag"].iloc[0] == 2.0


def test_a_registered_proposer_is_named_in_the_database_and_found_when_it_is_opened(make_campaign, monkeypatch) -> None:
    monkeypatch.setattr("genbayes.campaign.proposer_registry._own", {})
    register_proposer("middle", Spy)
    assert make_campaign(n_initial=0, proposer="middle").settings.proposer == "middle"
    assert Campaign.open(make_campaign(name="b").url, "small").ask().x == {"x": 0.5}
    monkeypatch.setattr("genbayes.campaign.proposer_registry._own", {})  # another process, which has not heard of it
    with pytest.raises(InvalidInput, match="proposer of campaign 'small' must be known here, got 'middle'; register"):
        Campaign.open(make_campaign(name="c").url, "small").ask()
    point = EntryPoint("middle", f"{__name__}:Spy", "genbayes.proposers")
    monkeypatch.setattr("genbayes.campaign.proposer_registry._entry_points", lambda: (point,))
    monkeypatch.setitem(sys.modules, __name__, sys.modules.get(__name__) or Mock(Spy=Spy))
    assert Campaign.open(make_campaign(name="d").url, "small").ask().x == {"x": 0.5}


@pytest.mark.parametrize(
    ("name", "make", "sentence"),
    [
        ("model", Spy, "name must be new, got 'model', which genbayes uses"),
        ("custom", Spy, "name must be new, got 'custom'"),
        (" ", Spy, "name must be text, got ' '"),
        ("middle", 3, "make must be a class, a function or 'module:Class', got 3"),
    ],
)
def test_a_name_or_a_maker_that_is_none_is_refused(name: str, make: object, sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        register_proposer(name, make)


def test_a_lease_granted_before_the_clock_was_set_back_is_offered_again_unless_renewed(campaign, clock) -> None:
    clock.govern(campaign)
    lost, renewed = campaign.ask(2)
    clock.time -= 0.5  # clocks are corrected all the time
    assert campaign.status().n_lapsed == 0
    clock.time -= 3600
    assert (campaign.status().n_lapsed, campaign.to_frame()["state"].tolist()[:2]) == (2, ["open", "open"])
    campaign.renew(renewed)  # its worker is alive
    assert (campaign.ask().number, campaign.ask().number) == (lost.number, 3)
    assert campaign.status().n_lapses == 1


def test_reasons_and_workers_may_hold_any_character(campaign: Campaign) -> None:
    """PostgreSQL takes no null bytes, and no database takes half a character."""
    trial = campaign.ask(worker="node\x007")
    assert campaign.fail(trial, "a\x00b\ud800\x1b[2J\r\nc") == "failed"
    assert (trial.worker, campaign.status().failures) == (r"node\x007", ((1, "a\\x00b\\ud800\\x1b[2J\nc"),))
