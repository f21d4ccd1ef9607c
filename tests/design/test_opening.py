"""What is checked and drawn before a campaign exists, and what a user is told who lacks the database library."""

import subprocess
import sys

import numpy as np
import pytest

from genbayes import Box
from genbayes.campaign.campaign import draw_initial, draw_seed
from genbayes.campaign.trial import Settings

WITHOUT_SQLALCHEMY = """
import sys
sys.modules["sqlalchemy"] = None  # import finds nothing
from genbayes import Campaign
from genbayes.cli.main import answer
from genbayes.errors import MissingExtra
try:
    Campaign.create("sqlite:///a.db", "a", {"x": (0, 1)})
except MissingExtra as error:
    print(error)
answer(["worker", "sqlite:///a.db", "a", "--", "true"])
"""
SENTENCE = "sqlalchemy must be installed for campaigns, got none; pip install 'genbayes[design]'\n"


def test_without_sqlalchemy_a_campaign_names_the_extra_to_install(tmp_path) -> None:
    command = [sys.executable, "-c", WITHOUT_SQLALCHEMY]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert (done.stdout, done.stderr) == (SENTENCE, f"Error: {SENTENCE}")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("given", [7, np.int64(7)])
def test_an_integer_is_the_seed_itself(given) -> None:
    assert draw_seed(given) == 7


def test_a_seed_is_drawn_from_a_generator_and_is_another_next_time() -> None:
    rng = np.random.default_rng(0)
    assert draw_seed(rng) != draw_seed(rng)
    assert draw_seed(np.random.default_rng(0)) == draw_seed(np.random.default_rng(0))


def test_a_latin_hypercube_visits_every_slice_once() -> None:
    points = draw_initial(Box.unit(2), Settings(seed=3, n_initial=8))
    slices = np.floor(8 * np.array([list(point.values()) for point in points])).astype(int)
    assert np.sort(slices, axis=0).tolist() == [[i, i] for i in range(8)]
