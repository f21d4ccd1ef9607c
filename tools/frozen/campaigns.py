"""Campaigns by every proposer that can be named, and every acquisition function on every model for design."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
import tempfile
from functools import partial
from typing import Any

import numpy as np

from frozen.data import jumping, smooth
from frozen.items import Values, item
from frozen.models import TESTS, network
from genbayes import Box, Campaign, design
from genbayes.baselines import StationaryGP

SPACE: dict[str, Any] = {"mach": (0.2, 6.0), "alpha": (-5.0, 30.0)}


def mixed() -> dict[str, Any]:
    """A number, one on a logarithmic scale, a count and a category."""
    from genbayes.data import Choice, Integer, Log

    return {"mach": (0.2, 6.0), "beta": Log(0.01, 1.0), "stages": Integer(1, 4), "gas": Choice("air", "argon")}


def simulate(x: dict[str, Any], number: int) -> float:
    """A response that depends on the trial only, with noise."""
    extra = 1.0 if x.get("gas") == "argon" else float(x.get("alpha", 0.0)) / 10
    noise = np.random.default_rng(number).standard_normal()
    return float(np.sin(x["mach"]) + extra + 0.1 * noise + 2 * (x["mach"] > 3))


def run_trial(trial: Any, campaign: Any) -> None:
    """Run one trial; the fifth and every eleventh fail."""
    if trial.number % 11 == 5:
        campaign.fail(trial, "diverged")
    else:
        campaign.tell(trial, y=simulate(trial.x, trial.number))


def trials_of(campaign: Any) -> Values:
    """All trials as the campaign tells them, without times."""
    frame = campaign.to_frame()
    inputs = [column for column in campaign.space.names if frame[column].dtype.kind in "fi"]
    words = [column for column in campaign.space.names if column not in inputs]
    found = {"x": frame[inputs].to_numpy(float), "y": frame["y"].to_numpy(float)}
    return found | {name: frame[name].astype(str).to_numpy(str) for name in ["state", *words]}


def play(
    proposer: Any, *, space: dict[str, Any] = SPACE, n_initial: int = 7, n_more: int = 6, batch: int = 3
) -> Values:
    """A campaign: an initial design, a few single asks, a batch."""
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{folder}/a.db"
        campaign = Campaign.create(url, "a", Box(space), n_initial=n_initial, proposer=proposer, random_state=3)
        for _ in range(n_initial + n_more):
            run_trial(campaign.ask(), campaign)
        for trial in campaign.ask(batch):
            run_trial(trial, campaign)
        if isinstance(proposer, str):
            campaign = Campaign.open(url, "a")  # goes on as if nothing had happened
        run_trial(campaign.ask(), campaign)
        status = campaign.status()
        return trials_of(campaign) | {"counts": np.array([status.n_done, status.n_failed, status.n_open])}


def play_by_model(model: str, acquisition: str) -> Values:
    """A campaign whose proposer has this model and this acquisition function."""
    return play(design.ModelProposer(model, acquisition), n_more=2, batch=2)


item("campaign.random")(partial(play, "random"))
item("campaign.model")(partial(play, "model"))
item("campaign.mixed")(lambda: play("model", space=mixed()))
item("campaign.automatic")(partial(play, "model", n_initial=32, n_more=3, batch=2))  # the ensemble enters the race
for name in ("variance-reduction", "disagreement", "variance", "width"):
    item(f"campaign.gp.{name}")(partial(play_by_model, "gp", name))
for name in ("disagreement", "variance-reduction"):
    item(f"campaign.ensemble.{name}")(partial(play_by_model, "ensemble", name))


@item("campaign.sobol")
def _() -> Values:
    with tempfile.TemporaryDirectory() as folder:
        made = Campaign.create(f"sqlite:///{folder}/a.db", "a", SPACE, n_initial=8, initial="sobol", random_state=1)
        return trials_of(made)


@item("campaign.surrogate")
def _() -> Values:
    with tempfile.TemporaryDirectory() as folder:
        made = Campaign.create(
            f"sqlite:///{folder}/a.db", "a", mixed(), n_initial=16, proposer="random", random_state=1
        )
        made.run(lambda x: simulate(x, 0), budget=20)
        model = made.surrogate(StationaryGP(categorical=["gas"], random_state=0))
        frame = made.to_frame()[list(made.space.names)]
        curve = made.learning_curve()
        return {"mean": model.predict(frame), "curve": np.array([curve.n, curve.crps])} | trials_of(made)


@item("campaign.file")  # the database of tests/data beside this script
def _() -> Values:
    with tempfile.TemporaryDirectory() as folder:
        path = shutil.copy(TESTS / "data" / "campaign_format_1.db", folder)
        with contextlib.closing(sqlite3.connect(path)) as database:
            tables = [row[0] for row in database.execute("select name from sqlite_master where type = 'table'")]
            table = next(name for name in tables if "campaign" in name)
            name = database.execute(f"select name from {table}").fetchone()[0]
        return trials_of(Campaign.open(f"sqlite:///{path}", name))


def acquisitions(model: Any, X: Any, *, failing: bool = False) -> Values:
    """Every acquisition function of `genbayes.design` on one model."""
    functions = {"disagreement": design.disagreement, "variance": design.predictive_variance}
    functions |= {"width": design.interval_width, "half": design.IntervalWidth(0.5)}
    functions |= {"boundary": design.BoundarySeeking(0.5), "reduction": design.VarianceReduction(X[::2])}
    for maximise in (False, True):
        functions[f"improvement-{maximise}"] = design.ExpectedImprovement(best=0.2, maximise=maximise)
        functions[f"bound-{maximise}"] = design.UpperConfidenceBound(1.5, maximise=maximise)
        functions[f"thompson-{maximise}"] = design.ThompsonSampling(random_state=1, maximise=maximise)
    if failing:
        functions["failures"] = design.AvoidFailures(design.predictive_variance, limit=0.6)
    return {name: np.asarray(function(model, X)) for name, function in functions.items()}


@item("acquisition.network")
def _() -> Values:
    X, y = jumping(100)
    model = network(n_members=3, missing="regime").fit(X, np.where(y > 4.6, np.nan, y))
    return acquisitions(model, jumping(24, seed=9)[0], failing=True)


def acquisitions_of_proposer(name: str) -> Values:
    """The acquisition functions on the model that a ModelProposer learns."""
    X, y = smooth(30)
    proposer = design.ModelProposer(name)
    points = proposer.propose(Box({"a": (0.0, 1.0), "b": (0.0, 1.0)}), X, y, X[:2] / 2, 2, np.random.default_rng(0))
    return acquisitions(proposer.model_, smooth(24, seed=9)[0]) | {"points": points}


for name in ("gp", "ensemble", "auto"):
    item(f"acquisition.{name}")(partial(acquisitions_of_proposer, name))
