"""Every public model, a campaign and the reports on fixed seeds: are their numbers those of another commit?

Only promised names are used, so this very file runs on an older commit too. To compare two commits on one machine
(another processor may round differently), write with the environment of the one and check with that of the other:

    git worktree add build/before COMMIT && make -C build/before .venv/.ready
    build/before/.venv/bin/python tools/freeze.py write build/frozen.npz
    .venv/bin/python tools/freeze.py check build/frozen.npz

`check` prints, for each item, whether its numbers are equal to the bit, equal to rounding (within `--tolerance`,
relative to the largest number of the array), different or missing, and exits with 1 on a difference or a missing item.
`--only PATTERN` runs the items whose name contains or matches it. Everything runs on one thread. Of pages the numbers
in tables and tiles and the shapes in figures are compared; their words are kept as a note only (`--words` shows them).
"""

from __future__ import annotations

import argparse
import contextlib
import fnmatch
import hashlib
import html
import io
import json
import os
import re
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "MKL", "OPENBLAS", "NUMEXPR")}
ENVIRONMENT = ONE_THREAD | {"MPLBACKEND": "Agg", "PYTHONHASHSEED": "0", "COLUMNS": "100", "NO_COLOR": "1"}
DEFAULT_FILE = Path("build") / "frozen.npz"
ROOT = Path(__file__).resolve().parents[1]

if __name__ == "__main__" and any(os.environ.get(name) != value for name, value in ENVIRONMENT.items()):
    os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | ENVIRONMENT)  # threads are counted at import

import numpy as np  # noqa: E402

TAU = np.array([0.001, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 0.999])
ROUNDING = 1e-9

Values = dict[str, Any]
ITEMS: dict[str, Callable[[], Values]] = {}


def item(name: str) -> Callable[[Callable[[], Values]], Callable[[], Values]]:
    """Register a function that returns named numbers or words; they are independent of each other."""

    def add(function: Callable[[], Values]) -> Callable[[], Values]:
        ITEMS[name] = function
        return function

    return add


# --------------------------------------------------------------------------------------------------------------- data


def smooth(n: int, d: int = 2, seed: int = 0) -> tuple[Any, Any]:
    """Noise that grows with the first input."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, d))
    return X, np.sin(5 * X[:, 0]) + X[:, -1] ** 2 + (0.05 + 0.2 * X[:, 0]) * rng.standard_normal(n)


def jumping(n: int, seed: int = 1) -> tuple[Any, Any]:
    """Two regimes with a curved boundary."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 2))
    inside = (X[:, 0] - 0.5) ** 2 + (X[:, 1] - 0.4) ** 2 < 0.1
    return X, np.where(inside, 5.0, 0.0) + X[:, 0] + 0.2 * rng.standard_normal(n)


def coded(n: int, seed: int = 2) -> tuple[Any, Any]:
    """A frame with one category."""
    import pandas as pd

    rng = np.random.default_rng(seed)
    gas = rng.choice(["air", "argon", "neon"], size=n)
    x = rng.uniform(size=n)
    level = pd.Series(gas).map({"air": 0.0, "argon": 1.5, "neon": -1.0}).to_numpy()
    return pd.DataFrame({"x": x, "gas": gas}), level + np.cos(4 * x) + 0.1 * rng.standard_normal(n)


def answers(model: Any, X: Any, y: Any, *, reload: bool = True) -> Values:
    """What a fitted model says at rows, and what its file says."""
    import genbayes

    dist = model.predict_distribution(X)
    mean, std = model.predict(X, return_std=True)
    found = {"mean": mean, "std": std, "ppf": model.predict_quantiles(X, TAU), "median": dist.median()}
    found |= {"interval": np.array(model.predict_interval(X, level=0.8)), "cdf": dist.cdf(y), "pdf": dist.pdf(y)}
    found |= {"crps": dist.crps(y), "pit": dist.pit(y), "pinball": dist.pinball(y, 0.9)}
    found |= {"sample": model.sample_y(X, 3, random_state=5), "interval_score": dist.interval_score(y, 0.9)}
    found["extrapolates"] = np.asarray(model.extrapolates(X), dtype=float)
    if reload:
        with tempfile.TemporaryDirectory() as folder:
            model.save(f"{folder}/model.gb")
            found["loaded"] = genbayes.load(f"{folder}/model.gb").predict_quantiles(X, TAU)
    return found


def of_mean(model: Any, X: Any) -> Values:
    """What a model knows of E[y | x]."""
    dist = model.predict_distribution(X, of="mean")
    return {"mean_mean": dist.mean(), "mean_std": dist.std(), "mean_ppf": dist.ppf(TAU)}


# ------------------------------------------------------------------------------------------------------------- models


def network(**settings: Any) -> Any:
    """A QuantileSurrogate that is quick to fit."""
    from genbayes import QuantileSurrogate

    return QuantileSurrogate(**({"random_state": 0, "n_epochs": 30} | settings))


@item("network.fast")
def _() -> Values:
    X, y = smooth(120)
    return answers(network(n_epochs=None).fit(X, y), *smooth(25, seed=9))


@item("network.fast-large")
def _() -> Values:
    X, y = smooth(1500, d=4)
    return answers(network(n_epochs=6).fit(X, y), *smooth(25, d=4, seed=9))


@item("network.paper")
def _() -> Values:
    X, y = smooth(80)
    return answers(network(recipe="paper", n_epochs=60).fit(X, y), *smooth(25, seed=9))


@item("network.paper-members")
def _() -> Values:
    X, y = smooth(80)
    model = network(recipe="paper", n_epochs=40, n_members=3, prior_scale=0.5).fit(X, y)
    new = smooth(25, seed=9)
    return answers(model, *new) | of_mean(model, new[0])


@item("network.members")
def _() -> Values:
    X, y = smooth(80)
    model = network(n_members=4, prior_scale=1.0).fit(X, y)
    new = smooth(25, seed=9)
    return answers(model, *new) | of_mean(model, new[0])


@item("network.boundary")
def _() -> Values:
    from genbayes import BoundaryFeatures

    X, y = jumping(150)
    model = network(features=BoundaryFeatures(), n_members=2).fit(X, y)
    new = jumping(25, seed=9)
    return answers(model, *new) | of_mean(model, new[0])


@item("network.boundary-paper")
def _() -> Values:
    from genbayes import BoundaryFeatures

    X, y = jumping(120)
    model = network(features=BoundaryFeatures(), recipe="paper", weights="quantile-dominant").fit(X, y)
    return answers(model, *jumping(25, seed=9))


@item("network.bounds")
def _() -> Values:
    X, y = smooth(100)
    model = network(y_bounds=(0.0, None)).fit(X, np.exp(y))
    new, y_new = smooth(25, seed=9)
    both = network(y_bounds=(0.0, 1.0), n_members=2).fit(X, 1 / (1 + np.exp(-y)))
    return answers(model, new, np.exp(y_new)) | {"both": both.predict_quantiles(new, TAU)} | of_mean(both, new)


@item("network.category")
def _() -> Values:
    X, y = coded(100)
    return answers(network(categorical=["gas"]).fit(X, y), *coded(25, seed=9))


@item("network.weights")
def _() -> Values:
    X, y = jumping(120)
    new = jumping(25, seed=9)
    own = network(weights=(0.2, 0.3, 0.5), recipe="paper").fit(X, y)
    return answers(network(weights="auto").fit(X, y), *new) | {"own": own.predict_quantiles(new[0], TAU)}


@item("network.sample-weight")
def _() -> Values:
    X, y = smooth(90)
    weight = np.arange(90) % 3
    paper = network(recipe="paper", n_epochs=20).fit(X, y, sample_weight=weight)
    new = smooth(25, seed=9)
    found = answers(network().fit(X, y, sample_weight=weight), *new)
    return found | {"paper": paper.predict_quantiles(new[0], TAU)}


@item("network.sizes")
def _() -> Values:
    X, y = smooth(90)
    settings = {"n_hidden": 16, "n_layers": 2, "n_cosines": 8, "dropout": 0.1, "batch_size": 16}
    model = network(**settings, learning_rate=3e-3, weight_decay=1e-3).fit(X, y)
    return answers(model, *smooth(25, seed=9))


@item("network.failures")
def _() -> Values:
    X, y = jumping(120)
    model = network(missing="regime").fit(X, np.where(y > 3, np.nan, y))
    new = jumping(25, seed=9)
    return answers(model, *new) | {"failure": model.predict_failure_probability(new[0])}


def fitted_baseline(name: str, data: Any, new: Any, *, weight: Any = None, reload: bool = True, **settings: Any) -> Any:
    """Answers of one model of `genbayes.baselines`."""
    from genbayes import models as baselines

    model = getattr(baselines, name)(random_state=0, **settings)
    model.fit(*data) if weight is None else model.fit(*data, sample_weight=weight)
    found = answers(model, *new, reload=reload)
    with contextlib.suppress(TypeError, ValueError):  # not every model knows its own ignorance
        found |= of_mean(model, new[0])
    return found


@item("gp.matern")
def _() -> Values:
    return fitted_baseline("StationaryGP", smooth(120), smooth(25, seed=9))


@item("gp.squared-exponential")
def _() -> Values:
    return fitted_baseline("StationaryGP", smooth(120), smooth(25, seed=9), kernel="squared-exponential")


@item("gp.replicates")
def _() -> Values:
    X, y = smooth(120, d=1)
    X = X.round(1)
    return fitted_baseline("StationaryGP", (X, y), smooth(25, d=1, seed=9), weight=1 + np.arange(120) % 2)


@item("gp.category")
def _() -> Values:
    return fitted_baseline("StationaryGP", coded(90), coded(25, seed=9), categorical=["gas"])


@item("gp.large")  # more runs than the exact GP takes: Vecchia
def _() -> Values:
    return fitted_baseline("StationaryGP", smooth(3_050), smooth(25, seed=9), n_starts=1, reload=False)


@item("het-gp")
def _() -> Values:
    return fitted_baseline("HeteroskedasticGP", smooth(120, d=1), smooth(25, d=1, seed=9))


@item("het-gp.replicates")
def _() -> Values:
    X, y = smooth(150, d=1)
    return fitted_baseline("HeteroskedasticGP", (X.round(1), y), smooth(25, d=1, seed=9))


@item("jump-gp")
def _() -> Values:
    return fitted_baseline("ModularJumpGP", jumping(120), jumping(25, seed=9))


@item("regime-gp")
def _() -> Values:
    return fitted_baseline("RegimeGP", jumping(120), jumping(25, seed=9))


@item("regime-gp.one")
def _() -> Values:
    return fitted_baseline("RegimeGP", smooth(80), smooth(25, seed=9))


@item("deep-gp")
def _() -> Values:
    settings = {"n_samples": 5, "n_burn_in": 20, "thinning": 2}
    return fitted_baseline("DeepGP", smooth(50), smooth(25, seed=9), **settings)


@item("deep-gp.noiseless")
def _() -> Values:
    X, _ = smooth(40)
    settings = {"n_samples": 4, "n_burn_in": 15, "thinning": 2, "noise": "none"}
    return fitted_baseline("DeepGP", (X, np.sin(5 * X[:, 0]) + X[:, 1]), smooth(25, seed=9), **settings)


@item("sparse-gp")
def _() -> Values:
    return fitted_baseline("SparseGP", smooth(300), smooth(25, seed=9), n_inducing=30, n_steps=10)


@item("boosted")
def _() -> Values:
    return fitted_baseline("BoostedQuantiles", smooth(200), smooth(25, seed=9), n_trees=40)


# ----------------------------------------------------------------------------------------------- choice, calibration


def chosen(model: Any) -> Values:
    """What AutoSurrogate tried, its scores, its choice."""
    report = model.report_
    scored = [e for e in report.entries if e.crps is not None]
    scores = [[e.crps, e.crps_se, e.n_scored, e.behind or 0.0, e.behind_se or 0.0, e.weight] for e in scored]
    names = [e.name for e in report.entries]
    found = {"tried": np.array(names), "chosen": np.array(report.chosen), "kind": np.array([report.kind])}
    return found | {"scores": np.array(scores), "report": np.array([report.crps, report.crps_se, report.n_scored])}


def auto(data: Any, new: Any, **settings: Any) -> Values:
    """Answers and choice of an AutoSurrogate."""
    from genbayes import AutoSurrogate

    model = AutoSurrogate(random_state=0, **settings).fit(*data)
    return answers(model, *new) | chosen(model)


@item("informed")
def _() -> Values:
    return auto(smooth(60), smooth(25, seed=9), candidates=["gp-iqn"], n_folds=2)


@item("auto.quick")
def _() -> Values:
    return auto(smooth(70), smooth(25, seed=9), candidates=["gp", "gp-smooth", "het-gp", "iqn-shallow"], n_folds=3)


@item("auto.small")
def _() -> Values:
    return auto(smooth(30), smooth(25, seed=9), n_folds=2)


@item("auto.regimes")
def _() -> Values:
    return auto(jumping(45), jumping(25, seed=9), n_folds=2)


@item("auto.category")
def _() -> Values:
    return auto(coded(40), coded(25, seed=9), categorical=["gas"], n_folds=2)


@item("auto.own")
def _() -> Values:
    from genbayes.models import BoostedQuantiles

    X, y = smooth(120)
    own = {"gp": None, "trees": BoostedQuantiles(n_trees=20, n_leaves=4)}
    return auto((X, np.exp(y)), smooth(25, seed=9), candidates=own, y_bounds=(0.0, None), n_folds=2)


def calibrated(method: str, **settings: Any) -> Values:
    """Answers of a ConformalSurrogate around a GP."""
    from genbayes import ConformalSurrogate
    from genbayes.models import StationaryGP

    model = ConformalSurrogate(StationaryGP(random_state=0), level=0.8, method=method, random_state=0, **settings)
    return answers(model.fit(*smooth(100)), *smooth(25, seed=9))


@item("conformal.split")
def _() -> Values:
    return calibrated("split")


@item("conformal.cross")
def _() -> Values:
    return calibrated("cross", n_folds=4)


@item("conformal.prefit")
def _() -> Values:
    from genbayes import ConformalSurrogate

    model = ConformalSurrogate(network(y_bounds=(-9, 9)).fit(*smooth(80)), method="prefit").fit(*smooth(60, seed=4))
    return answers(model, *smooth(25, seed=9))


@item("conformal.groups")
def _() -> Values:
    from genbayes import ConformalSurrogate
    from genbayes.models import StationaryGP

    (X, y), (new, _) = smooth(160), smooth(25, seed=9)
    model = ConformalSurrogate(StationaryGP(random_state=0), level=0.8, random_state=0)
    model.fit(X, y, groups=np.where(X[:, 0] < 0.5, "low", "high"))
    return {"ppf": model.predict_quantiles(new, TAU, groups=np.where(new[:, 0] < 0.5, "low", "high"))}


@item("distributions")
def _() -> Values:
    from genbayes import Empirical, Mixture, Normal, QuantileFunction

    rng = np.random.default_rng(3)
    n, y = 6, rng.standard_normal(6)
    normal = Normal(loc=rng.standard_normal(n), scale=rng.uniform(0.5, 2, n))
    table = QuantileFunction(TAU, np.sort(rng.standard_normal((n, len(TAU))), axis=1))
    kinds = {"normal": normal, "table": table, "empirical": Empirical(rng.standard_normal((n, 20)))}
    kinds["mixture"] = Mixture([normal, table], [0.3, 0.7])
    found: Values = {}
    for name, dist in kinds.items():
        single = [dist.mean(), dist.var(), dist.cdf(y), dist.pit(y), dist.crps(y), dist.pinball(y, 0.3)]
        found[name] = np.stack([*single, dist.interval_score(y, 0.7), *dist.interval(0.7)])
        found[f"{name}.ppf"], found[f"{name}.sample"] = dist.ppf(TAU), dist.sample(4, random_state=0)
        found[f"{name}.cdf"] = dist[:3].cdf(np.linspace(-2, 2, 7)[None])
        if name != "empirical":
            found[f"{name}.pdf"] = dist.pdf(y)
    return found


@item("metrics")
def _() -> Values:
    from genbayes import metrics

    rng = np.random.default_rng(4)
    y, q = rng.standard_normal(30), np.sort(rng.standard_normal((30, 19)), axis=1)
    tau, lower, upper = np.arange(1, 20) / 20, q[:, 0], q[:, -1]
    numbers = [metrics.coverage(lower, upper, y), metrics.interval_width(lower, upper), metrics.rmse(q[:, 9], y)]
    found = {"numbers": np.array([*numbers, metrics.rmspe(q[:, 9] + 9, y + 9)]), "crps": metrics.crps(q, y)}
    found |= {"normal": metrics.crps_normal(q[:, 3], upper - lower, y), "pinball": metrics.pinball(q, y, tau)}
    found |= {"interval_score": metrics.interval_score(lower, upper, y, 0.9), "pit": metrics.pit(q, y)}
    draws = rng.standard_normal((30, 8, 3))
    return found | {"energy": metrics.energy_score(draws, rng.standard_normal((30, 3)))}


@item("files")  # the files of tests/data beside this script
def _() -> Values:
    import pandas as pd

    import genbayes

    model = genbayes.load(ROOT / "tests" / "data" / "surrogate_format_1.gb")
    at = pd.DataFrame({"mach": [0.5, 2.0, 5.5], "gas": ["He", "O2", "He"]})
    return {"ppf": model.predict_quantiles(at, TAU)}


# ------------------------------------------------------------------------------------------------ campaigns, analysis

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


def told(trial: Any, campaign: Any) -> None:
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
    from genbayes import Box, Campaign

    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{folder}/a.db"
        campaign = Campaign.create(url, "a", Box(space), n_initial=n_initial, proposer=proposer, random_state=3)
        for _ in range(n_initial + n_more):
            told(campaign.ask(), campaign)
        for trial in campaign.ask(batch):
            told(trial, campaign)
        if isinstance(proposer, str):
            campaign = Campaign.open(url, "a")  # goes on as if nothing had happened
        told(campaign.ask(), campaign)
        status = campaign.status()
        return trials_of(campaign) | {"counts": np.array([status.n_done, status.n_failed, status.n_open])}


@item("campaign.random")
def _() -> Values:
    return play("random")


@item("campaign.model")
def _() -> Values:
    return play("model")


@item("campaign.mixed")
def _() -> Values:
    return play("model", space=mixed())


@item("campaign.automatic")  # long enough for the ensemble to enter the race
def _() -> Values:
    return play("model", n_initial=32, n_more=3, batch=2)


@item("campaign.sobol")
def _() -> Values:
    from genbayes import Campaign

    with tempfile.TemporaryDirectory() as folder:
        made = Campaign.create(f"sqlite:///{folder}/a.db", "a", SPACE, n_initial=8, initial="sobol", random_state=1)
        return trials_of(made)


@item("campaign.surrogate")
def _() -> Values:
    from genbayes import Campaign
    from genbayes.models import StationaryGP

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
    import shutil
    import sqlite3

    from genbayes import Campaign

    with tempfile.TemporaryDirectory() as folder:
        path = shutil.copy(ROOT / "tests" / "data" / "campaign_format_1.db", folder)
        with contextlib.closing(sqlite3.connect(path)) as database:
            tables = [row[0] for row in database.execute("select name from sqlite_master where type = 'table'")]
            table = next(name for name in tables if "campaign" in name)
            name = database.execute(f"select name from {table}").fetchone()[0]
        return trials_of(Campaign.open(f"sqlite:///{path}", name))


def add_proposers() -> None:
    """One campaign for each model and acquisition that a ModelProposer can be given by name."""
    pairs = [("gp", name) for name in ("variance-reduction", "disagreement", "variance", "width")]
    for model, acquisition in [*pairs, ("ensemble", "disagreement"), ("ensemble", "variance-reduction")]:

        def run(model: str = model, acquisition: str = acquisition) -> Values:
            from genbayes.design import ModelProposer

            return play(ModelProposer(model, acquisition), n_more=2, batch=2)

        item(f"campaign.{model}.{acquisition}")(run)


add_proposers()


def acquisitions(model: Any, X: Any, *, failing: bool = False) -> Values:
    """Every acquisition function of `genbayes.design` on one model."""
    from genbayes import design

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


def add_acquisitions() -> None:
    """The acquisition functions on the models that a ModelProposer learns."""
    for name in ("gp", "ensemble", "auto"):

        def run(name: str = name) -> Values:
            from genbayes import Box
            from genbayes.design import ModelProposer

            X, y = smooth(30)
            box, rng = Box({"a": (0.0, 1.0), "b": (0.0, 1.0)}), np.random.default_rng(0)
            proposer = ModelProposer(name)
            points = proposer.propose(box, X, y, X[:2] / 2, 2, rng)
            return acquisitions(proposer.model_, smooth(24, seed=9)[0]) | {"points": points}

        item(f"acquisition.{name}")(run)


add_acquisitions()


@item("analysis")
def _() -> Values:
    from genbayes.analysis import main_effects
    from genbayes.diagnostics import assess
    from genbayes.models import StationaryGP

    X, y = coded(80)
    model = StationaryGP(categorical=["gas"], random_state=0).fit(X, y)
    effects = main_effects(model, X)
    scores = assess(model, *coded(60, seed=9)).to_dict()
    found: Values = {f"effect.{e.name}": np.append(e.mean, e.share) for e in effects}
    return found | {"scores": np.array(list(numbers_in(scores)))}


def numbers_in(value: Any) -> Iterator[float]:
    """All numbers of nested lists and mappings, mappings by name."""
    if isinstance(value, dict):
        for name in sorted(value):
            yield from numbers_in(value[name])
    elif isinstance(value, list | tuple):
        for each in value:
            yield from numbers_in(each)
    elif isinstance(value, int | float):
        yield float(value)


# ------------------------------------------------------------------------------------------------- command line, pages


def command(*arguments: str) -> str:
    """What the command line prints, called in this process."""
    from genbayes.cli.main import run

    printed, before = io.StringIO(), sys.argv
    sys.argv = ["genbayes", *arguments]
    try:
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()) as complaints:
            run()
    except SystemExit as left:
        if left.code:
            raise RuntimeError(
                f"genbayes {' '.join(arguments)} left with {left.code}: {complaints.getvalue()}"
            ) from None
    finally:
        sys.argv = before
    return printed.getvalue()


NUMBER = r"[+\-−±]?\d[\d,]*\.?\d*(?:e[+\-−]?\d+)?%?"
NUMERIC_CELL = re.compile(rf"\(?{NUMBER}\)?(?:\s*(?:±|\+-|to|of|x10|×\s*10)?\s*{NUMBER})*")
PLAIN_NUMBER = re.compile(r"\d[\d,]*\.?\d*(?:e[+\-]?\d+)?")
TIMES = ("s", "seconds", "time", "training time")


def words_of(markup: str) -> str:
    """A piece of a page without its tags."""
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", markup)).split())


def page(path: Path) -> Values:
    """Numbers in tables and tiles, shapes in figures, words as a note."""
    text = path.read_text()
    figures = re.findall(r"<svg.*?</svg>", text, re.DOTALL)
    rest = re.sub(r"<svg.*?</svg>|<style.*?</style>", "", text, flags=re.DOTALL)
    cells: list[str] = [words_of(value) for value in re.findall(r'<dd class="value">(.*?)</dd>', rest, re.DOTALL)]
    for table in re.findall(r"<table.*?</table>", rest, re.DOTALL):
        rows = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL) for row in table.split("</tr>")]
        names = [words_of(cell) for cell in rows[0]]
        for row in rows:
            label = words_of(row[0]) if row else ""
            cells += [
                words_of(cell)
                for j, cell in enumerate(row)
                if label not in TIMES and (j >= len(names) or names[j] not in TIMES)
            ]
    numbers = [PLAIN_NUMBER.findall(cell) for cell in cells if NUMERIC_CELL.fullmatch(cell)]
    found: Values = {"numbers": np.array([float(n.replace(",", "")) for cell in numbers for n in cell])}
    for i, figure in enumerate(figures):
        shapes = " ".join(re.findall(r' (?:d|x|y|transform|points)="([^"]*)"', re.sub(r"<text.*?</text>", "", figure)))
        found[f"figure-{i}"] = np.array([float(n) for n in re.findall(r"-?\d+\.?\d*(?:e-?\d+)?", shapes)])
    return found | {"words~": np.array([words_of(rest)])}


@item("page.demo")
def _() -> Values:
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "page.html")
        told = json.loads(command("demo", "--report", str(report), "--epochs", "30", "--members", "2", "--json"))
        return page(report) | {"scores": np.array(list(numbers_in(told["scores"])))}


@item("page.compare")
def _() -> Values:
    with tempfile.TemporaryDirectory() as folder:
        report, table = Path(folder, "page.html"), Path(folder, "runs.csv")
        write_table(table, *smooth(40))
        options = ["--target", "y", "--candidates", "gp,het-gp,gp-smooth", "--report", str(report), "--json"]
        told = json.loads(command("compare", str(table), *options))
        scores = [told["crps"], told["crps_se"], *(e["crps"] for e in told["entries"] if e["crps"] is not None)]
        return page(report) | {"scores": np.array(scores)}


@item("page.evaluate")
def _() -> Values:
    with tempfile.TemporaryDirectory() as folder:
        report, table, model = Path(folder, "page.html"), Path(folder, "held.csv"), Path(folder, "model.gb")
        X, y = coded(90)
        network(categorical=["gas"], n_members=2).fit(X, y).save(model)
        write_table(table, *coded(40, seed=9))
        told = json.loads(
            command("evaluate", str(model), str(table), "--target", "y", "--report", str(report), "--json")
        )
        out = Path(folder, "out.csv")
        command("predict", str(model), str(table), "--quantiles", "0.05,0.5,0.95", "-o", str(out))
        import pandas as pd

        predicted = pd.read_csv(out).select_dtypes("number").to_numpy(float)
        return page(report) | {"scores": np.array(list(numbers_in(told))), "predicted": predicted}


@item("page.campaign")
def _() -> Values:
    from genbayes import Campaign

    with tempfile.TemporaryDirectory() as folder:
        url, report = f"sqlite:///{folder}/a.db", Path(folder, "page.html")
        made = Campaign.create(url, "rocket", SPACE, n_initial=20, proposer="random", random_state=0)
        for trial in made.ask(24):
            told(trial, made)
        command("design", "status", url, "rocket", "--report", str(report), "--json")
        exported = Path(folder, "runs.csv")
        command("design", "export", url, "rocket", "-o", str(exported))
        import pandas as pd

        return page(report) | {"exported": pd.read_csv(exported)[[*SPACE, "y"]].to_numpy(float)}


def write_table(path: Path, X: Any, y: Any) -> None:
    """Runs as CSV."""
    import pandas as pd

    frame = X if isinstance(X, pd.DataFrame) else pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    frame.assign(y=y).to_csv(path, index=False)


# ------------------------------------------------------------------------------------------------ storing, comparing


def compute(pattern: str) -> Iterator[tuple[str, Values | str, float]]:
    """Name, numbers (or why there are none) and processor seconds of each item that matches."""
    import torch

    torch.set_num_threads(1)
    for name, function in ITEMS.items():
        if pattern not in name and not fnmatch.fnmatch(name, pattern):
            continue
        start = time.process_time()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                values: Values | str = {key: np.asarray(value) for key, value in function().items()}
        except Exception as error:  # shown in the table
            values = f"{type(error).__name__}: {error}"
        yield name, values, time.process_time() - start


def digest(values: Values) -> str:
    """A short hash of an item, words left out."""
    found = hashlib.sha256()
    for key in sorted(key for key in values if not key.endswith("~")):
        found.update(key.encode() + np.ascontiguousarray(values[key]).tobytes())
    return found.hexdigest()[:12]


def write(path: Path, pattern: str) -> int:
    """Compute and store; items already stored that do not match stay."""
    import genbayes

    stored: Values = dict(np.load(path)) if path.exists() and pattern else {}
    n_failed = 0
    for name, values, seconds in compute(pattern):
        if isinstance(values, str):
            n_failed += 1
            print(f"{name:42} {seconds:6.1f} s  FAILED  {values[:200]}", flush=True)
            continue
        stored = {key: value for key, value in stored.items() if not key.startswith(f"{name}/")}
        stored |= {f"{name}/{key}": value for key, value in values.items()}
        print(f"{name:42} {seconds:6.1f} s  {digest(values)}", flush=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        np.savez_compressed(file, **stored)
    print(f"{len({key.partition('/')[0] for key in stored})} items of {Path(genbayes.__file__).parent} in {path}")
    return int(n_failed > 0)


def difference(new: Any, old: Any) -> float:
    """0 for equal to the bit; else the largest difference as a share of the largest number; inf for other shapes."""
    if new.shape != old.shape or new.dtype.kind != old.dtype.kind:
        return np.inf
    if new.tobytes() == old.tobytes() or (new.dtype.kind in "US" and np.array_equal(new, old)):
        return 0.0
    if new.dtype.kind not in "fiub" or not np.array_equal(np.isfinite(new), np.isfinite(old)):
        return np.inf
    known = np.isfinite(old)
    new, old = new[known].astype(float), old[known].astype(float)
    scale = float(np.abs(old).max(initial=0.0)) or 1.0
    return max(float(np.abs(new - old).max(initial=0.0)) / scale, np.finfo(float).tiny)  # the sign of a zero


def verdict(values: Values, old: Values, tolerance: float) -> tuple[str, list[str]]:
    """What to say of an item, and the arrays that are not equal to the bit."""
    gone = [f"{key} is missing" for key in old if key not in values and not key.endswith("~")]
    told = {key: difference(values[key], old[key]) for key in old if key in values and not key.endswith("~")}
    worst = max(told.values(), default=0.0)
    moved = [f"{key} {'shape or words' if d == np.inf else f'{d:.1e}'}" for key, d in told.items() if d > 0]
    if gone or worst > tolerance:
        return "DIFFERENT", gone + moved
    return ("rounding", moved) if worst > 0 else ("equal", [])


def check(path: Path, pattern: str, tolerance: float, *, words: bool) -> int:
    """Compute, compare and print a table."""
    import genbayes

    print(f"{Path(genbayes.__file__).parent} against {path}")
    stored = np.load(path)
    old: dict[str, Values] = {}
    for key in stored.files:
        name, _, part = key.partition("/")
        old.setdefault(name, {})[part] = stored[key]
    counts: dict[str, int] = {}
    for name, values, seconds in compute(pattern):
        if isinstance(values, str):
            said, moved = "MISSING", [values[:300]]
        elif name not in old:
            said, moved = "not stored", []
        else:
            said, moved = verdict(values, old[name], tolerance)
        counts[said] = counts.get(said, 0) + 1
        print(f"{name:42} {seconds:6.1f} s  {said:10}  {'; '.join(moved[:6])}", flush=True)
        if words and isinstance(values, dict) and "words~" in values and name in old:
            show_words(str(old[name]["words~"][0]), str(values["words~"][0]))
    print(", ".join(f"{n} {said}" for said, n in counts.items()))
    return int(bool(counts.keys() & {"DIFFERENT", "MISSING"}))


def show_words(old: str, new: str) -> None:
    """Sentences of a page that changed."""
    before, after = (re.split(r"(?<=[.!?]) ", text) for text in (old, new))
    for sign, sentences, others in (("-", before, after), ("+", after, before)):
        for sentence in sentences:
            if sentence not in others:
                print(f"    {sign} {sentence}")


def main() -> int:
    """Parse the arguments, write or check."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=["write", "check", "list"])
    parser.add_argument("file", type=Path, nargs="?", default=DEFAULT_FILE)
    parser.add_argument("--only", default="", metavar="PATTERN", help="items whose name contains or matches it")
    parser.add_argument("--tolerance", type=float, default=ROUNDING, metavar="RTOL")
    parser.add_argument("--words", action="store_true", help="show sentences of pages that changed")
    given = parser.parse_args()
    if given.action == "list":
        print("\n".join(ITEMS))
        return 0
    if given.action == "write":
        return write(given.file, given.only)
    return check(given.file, given.only, given.tolerance, words=given.words)


if __name__ == "__main__":
    sys.exit(main())
