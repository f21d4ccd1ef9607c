"""The page of a campaign: what it says is what the campaign says, and nothing in it comes from elsewhere."""

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from genbayes import Box, Campaign
from genbayes.campaign.learning_curve import LearningCurve, no_curve
from genbayes.data import Choice, Log
from genbayes.report.campaign import (
    describe_status,
    draw_curve,
    draw_order,
    draw_places,
    tell_worth,
    write_campaign,
)

CURVE = LearningCurve(np.array([10.0, 20.0, 40.0]), np.array([0.4, 0.2, 0.1]), np.array([0.02, 0.01, 0.01]))
NO_CURVE = no_curve("all 20 runs gave 0, which leaves nothing to learn")
Begin = Callable[..., Campaign]


@pytest.fixture
def begin(tmp_path: Path) -> Begin:
    def make(space: object = None, name: str = "rocket", **settings: object) -> Campaign:
        settings = {"n_initial": 6, "random_state": 0, "proposer": "random"} | settings
        return Campaign.create(f"sqlite:///{tmp_path}/a.db", name, space or {"x": (0.0, 1.0)}, **settings)

    return make


@pytest.fixture
def write(tmp_path: Path, read):
    def to_page(campaign: Campaign, learnt: LearningCurve = NO_CURVE):
        write_campaign(tmp_path / "page.html", campaign, campaign.status(), learnt)
        return read(tmp_path / "page.html")

    return to_page


def test_the_numbers_are_those_of_the_campaign(begin: Begin, write) -> None:
    campaign = begin(budget=7)
    for trial in campaign.ask(3):
        campaign.tell(trial, 1.0)
    campaign.fail(campaign.ask(), "diverged")
    campaign.ask(worker="busy")
    page = write(campaign)
    assert (page.tile("Done"), page.tile("Running")) == (("3", "of 7"), ("1", "1 waiting"))
    assert page.tile("Failed") == ("1", "no result")
    assert page.tile("Lapsed") == ("0", "0 to be offered again")
    facts = [page.fact(name) for name in ("done", "running", "failed", "open", "budget", "workers", "trial 4 failed")]
    assert facts == ["3", "1", "1", "1", "7 trials", "busy (1)", "diverged"]


def test_lapsed_leases_and_repeats_are_counted(begin: Begin) -> None:
    campaign = begin(lease_seconds=10)
    campaign._store.database.now = lambda connection: 0.0
    first = campaign.ask()
    campaign.ask()
    campaign._store.database.now = lambda connection: 11.0
    campaign.tell(first, 1.0)
    with pytest.warns(UserWarning, match="kept as a repeat"):
        campaign.tell(first, 2.0)
    facts = describe_status(campaign.status())
    assert (facts["open"], facts["lapsed leases"], facts["repeats"]) == ("5, of which 1 lapsed", "2", "1")


def test_a_campaign_without_a_finished_run_has_a_page(begin: Begin, write) -> None:
    page = write(begin())
    assert page.tile("Done") == ("0", "no limit set")
    assert "Learning curve" not in page.text
    assert "No learning curve: all 20 runs gave 0, which leaves nothing to learn." in page.text
    assert page.tags.count("svg") == 2  # order and places, both empty


@pytest.mark.parametrize("n_done", [0, 3])
def test_failed_runs_are_drawn_and_their_reasons_told(begin: Begin, write, n_done: int) -> None:
    campaign = begin({"x": (0.0, 1.0), "z": (0.0, 1.0)})
    for trial in campaign.ask(6):
        campaign.tell(trial, 2.0) if trial.number <= n_done else campaign.fail(trial, f"no mesh {trial.number}")
    page = write(campaign)
    assert page.tile("Failed")[0] == str(6 - n_done)
    assert 'class="tile attention"' in page.source
    assert page.fact("trial 6 failed") == "no mesh 6"
    drawings = re.findall("<svg.*?</svg>", page.source, re.DOTALL)
    crosses = [len(re.findall("<use[^>]*--orange", drawing)) for drawing in drawings]
    assert crosses == [6 - n_done + 1, 6 - n_done]  # one for each run, and one in the legend


def test_a_long_reason_is_cut_and_set_on_one_line(begin: Begin) -> None:
    campaign = begin()
    campaign.fail(campaign.ask(), "line one\nline two " + "z" * 200)
    told = describe_status(campaign.status())["trial 1 failed"]
    assert told.startswith("line one line two zzz")
    assert told.endswith("z...")
    assert len(told) == 93


def test_the_curve_says_what_further_runs_are_worth(begin: Begin, write) -> None:
    campaign = begin()
    campaign.run(lambda x: x["x"], budget=6)
    page = write(campaign, CURVE)  # halved whenever the runs double, so a tenth more takes off 1 - 1/1.1
    assert tell_worth(CURVE) == "At this rate, 4 more runs would lower the CRPS by about 9% ± 1%."
    assert tell_worth(CURVE) in page.text


@pytest.fixture
def campaign(begin: Begin):
    made = begin({"mach": (0.2, 6.0), "rate": Log(1e-3, 1.0), "gas": Choice("He", "O2")}, n_initial=4)
    for trial in made.ask(6):
        made.fail(trial, "no") if trial.number == 2 else made.tell(trial, float(trial.number))
    made.ask()
    return made


def test_runs_are_drawn_in_their_order_by_kind(campaign) -> None:
    ax = draw_order(campaign.records())
    drawn = {line.get_label(): line.get_xdata().tolist() for line in ax.get_lines()}
    assert drawn == {"initial": [1, 3, 4], "later": [5, 6], "failed": [2]}
    ax.set_xlim(0.4, 12.6)
    assert all(tick == round(tick) for tick in ax.get_xticks())  # there is no trial 2.5


def test_every_pair_of_inputs_has_a_panel_with_every_ended_run_and_its_own_scale(campaign) -> None:
    panels = dict(draw_places(campaign.records(), campaign.space))
    assert list(panels) == ["mach and rate", "mach and gas", "rate and gas"]
    assert sum(len(line.get_xdata()) for line in panels["mach and rate"].get_lines()) == 6
    assert panels["mach and rate"].get_yscale() == "log"
    assert [tick.get_text() for tick in panels["mach and gas"].get_yticklabels()] == ["He", "O2"]


def test_an_only_input_is_drawn_against_the_response(begin: Begin) -> None:
    campaign = begin(budget=5, n_initial=5)
    campaign.run(lambda x: 2 * x["x"])
    ((title, ax),) = draw_places(campaign.records(), Box({"x": (0, 1)}))
    assert title == "x and y"
    drawn = next(line for line in ax.get_lines() if len(line.get_xdata()))
    np.testing.assert_allclose(drawn.get_ydata(), 2 * np.asarray(drawn.get_xdata()))


def test_the_learning_curve_shows_every_size() -> None:
    ax = draw_curve(LearningCurve(np.array([15.0, 40.0]), np.array([2.0, 1.0]), np.array([0.1, 0.1])))
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["15", "40"]
