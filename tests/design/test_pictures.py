"""Pictures of a campaign: what is drawn where."""

import numpy as np
import pytest

from genbayes import Box
from genbayes.campaign.learning import LearningCurve
from genbayes.data import Choice, Log
from genbayes.report.campaign import draw_curve, draw_order, draw_places


@pytest.fixture
def campaign(make_campaign):
    made = make_campaign({"mach": (0.2, 6.0), "rate": Log(1e-3, 1.0), "gas": Choice("He", "O2")}, n_initial=4)
    for trial in made.ask(6):
        made.fail(trial, "no") if trial.number == 2 else made.tell(trial, float(trial.number))
    made.ask()
    return made


def test_runs_are_drawn_in_their_order_by_kind(campaign) -> None:
    ax = draw_order(campaign.records())
    drawn = {line.get_label(): line.get_xdata().tolist() for line in ax.get_lines()}
    assert drawn == {"initial": [1, 3, 4], "later": [5, 6], "failed": [2]}


def test_every_pair_of_inputs_has_a_panel_with_every_ended_run_and_its_own_scale(campaign) -> None:
    panels = dict(draw_places(campaign.records(), campaign.space))
    assert list(panels) == ["mach and rate", "mach and gas", "rate and gas"]
    assert sum(len(line.get_xdata()) for line in panels["mach and rate"].get_lines()) == 6
    assert panels["mach and rate"].get_yscale() == "log"
    assert [tick.get_text() for tick in panels["mach and gas"].get_yticklabels()] == ["He", "O2"]


def test_an_only_input_is_drawn_against_the_response(make_campaign) -> None:
    campaign = make_campaign(budget=5)
    campaign.run(lambda x: 2 * x["x"])
    ((title, ax),) = draw_places(campaign.records(), Box({"x": (0, 1)}))
    assert title == "x and y"
    drawn = next(line for line in ax.get_lines() if len(line.get_xdata()))
    np.testing.assert_allclose(drawn.get_ydata(), 2 * np.asarray(drawn.get_xdata()))


def test_the_learning_curve_shows_every_size() -> None:
    ax = draw_curve(LearningCurve(np.array([15.0, 40.0]), np.array([2.0, 1.0]), np.array([0.1, 0.1])))
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["15", "40"]
