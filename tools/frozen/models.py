"""Every model, how AutoSurrogate chooses among them, what calibrates them, and the distributions they return."""

from __future__ import annotations

import contextlib
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import genbayes
from frozen.data import coded, jumping, smooth
from frozen.items import TAU, Values, item
from genbayes import AutoSurrogate, BoundaryFeatures, ConformalSurrogate, QuantileSurrogate, baselines, metrics
from genbayes.baselines import BoostedQuantiles, StationaryGP

TESTS = Path(__file__).resolve().parents[2] / "tests"
NEW = {"smooth": smooth(25, seed=9), "jumping": jumping(25, seed=9), "coded": coded(25, seed=9)}


def answers(model: Any, X: Any, y: Any, *, reload: bool = True) -> Values:
    """What a fitted model says at rows, and what its file says."""
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


# ------------------------------------------------------------------------------------------------------------ networks


def network(**settings: Any) -> QuantileSurrogate:
    """A QuantileSurrogate that is quick to fit."""
    return QuantileSurrogate(**({"random_state": 0, "n_epochs": 30} | settings))


def fit_network(n: int, kind: str = "smooth", **settings: Any) -> Values:
    """Answers of a network fitted to n rows."""
    X, y = {"smooth": smooth, "jumping": jumping, "coded": coded}[kind](n)
    model = network(**settings).fit(X, y)
    known = of_mean(model, NEW[kind][0]) if settings.get("n_members", 1) > 1 else {}
    return answers(model, *NEW[kind]) | known


SIZES = {"n_hidden": 16, "n_layers": 2, "n_cosines": 8, "dropout": 0.1, "batch_size": 16, "weight_decay": 1e-3}
PAPER: dict[str, Any] = {"recipe": "paper"}
for name, case in {
    "fast": partial(fit_network, 120, n_epochs=None),
    "paper": partial(fit_network, 80, **PAPER, n_epochs=60),
    "paper-members": partial(fit_network, 80, **PAPER, n_epochs=40, n_members=3, prior_scale=0.5),
    "members": partial(fit_network, 80, n_members=4, prior_scale=1.0),
    "boundary": partial(fit_network, 150, "jumping", features=BoundaryFeatures(), n_members=2),
    "boundary-paper": partial(
        fit_network, 120, "jumping", features=BoundaryFeatures(), weights="quantile-dominant", **PAPER
    ),
    "category": partial(fit_network, 100, "coded", categorical=["gas"]),
    "sizes": partial(fit_network, 90, **SIZES, learning_rate=3e-3),
}.items():
    item(f"network.{name}")(case)


@item("network.fast-large")
def _() -> Values:
    return answers(network(n_epochs=6).fit(*smooth(1500, d=4)), *smooth(25, d=4, seed=9))


@item("network.bounds")
def _() -> Values:
    (X, y), (new, y_new) = smooth(100), NEW["smooth"]
    model = network(y_bounds=(0.0, None)).fit(X, np.exp(y))
    both = network(y_bounds=(0.0, 1.0), n_members=2).fit(X, 1 / (1 + np.exp(-y)))
    return answers(model, new, np.exp(y_new)) | {"both": both.predict_quantiles(new, TAU)} | of_mean(both, new)


@item("network.weights")
def _() -> Values:
    X, y = jumping(120)
    own = network(weights=(0.2, 0.3, 0.5), **PAPER).fit(X, y)
    found = answers(network(weights="auto").fit(X, y), *NEW["jumping"])
    return found | {"own": own.predict_quantiles(NEW["jumping"][0], TAU)}


@item("network.sample-weight")
def _() -> Values:
    X, y = smooth(90)
    weight = np.arange(90) % 3
    paper = network(**PAPER, n_epochs=20).fit(X, y, sample_weight=weight)
    found = answers(network().fit(X, y, sample_weight=weight), *NEW["smooth"])
    return found | {"paper": paper.predict_quantiles(NEW["smooth"][0], TAU)}


@item("network.failures")
def _() -> Values:
    X, y = jumping(120)
    model = network(missing="regime").fit(X, np.where(y > 3, np.nan, y))
    return answers(model, *NEW["jumping"]) | {"failure": model.predict_failure_probability(NEW["jumping"][0])}


# ----------------------------------------------------------------------------------------------------------- GPs, trees


def fit_baseline(name: str, data: Any, new: Any, *, weight: Any = None, reload: bool = True, **settings: Any) -> Values:
    """Answers of one model of `genbayes.baselines`."""
    model = getattr(baselines, name)(random_state=0, **settings)
    model.fit(*data) if weight is None else model.fit(*data, sample_weight=weight)
    found = answers(model, *new, reload=reload)
    with contextlib.suppress(TypeError, ValueError):  # not every model knows its own ignorance
        found |= of_mean(model, new[0])
    return found


def rounded(n: int) -> tuple[Any, Any]:
    """Runs at eleven inputs."""
    X, y = smooth(n, d=1)
    return X.round(1), y


LINE = smooth(25, d=1, seed=9)
NOISELESS = (smooth(40)[0], np.sin(5 * smooth(40)[0][:, 0]) + smooth(40)[0][:, 1])
for name, case in {
    "gp.matern": partial(fit_baseline, "StationaryGP", smooth(120), NEW["smooth"]),
    "gp.squared-exponential": partial(
        fit_baseline, "StationaryGP", smooth(120), NEW["smooth"], kernel="squared-exponential"
    ),
    "gp.replicates": partial(fit_baseline, "StationaryGP", rounded(120), LINE, weight=1 + np.arange(120) % 2),
    "gp.category": partial(fit_baseline, "StationaryGP", coded(90), NEW["coded"], categorical=["gas"]),
    # more distinct inputs than the exact GP takes: Vecchia
    "gp.large": partial(fit_baseline, "StationaryGP", smooth(3_050), NEW["smooth"], n_starts=1, reload=False),
    "het-gp": partial(fit_baseline, "HeteroskedasticGP", smooth(120, d=1), LINE),
    "het-gp.replicates": partial(fit_baseline, "HeteroskedasticGP", rounded(150), LINE),
    "jump-gp": partial(fit_baseline, "ModularJumpGP", jumping(120), NEW["jumping"]),
    "regime-gp": partial(fit_baseline, "RegimeGP", jumping(120), NEW["jumping"]),
    "regime-gp.one": partial(fit_baseline, "RegimeGP", smooth(80), NEW["smooth"]),
    "deep-gp": partial(fit_baseline, "DeepGP", smooth(50), NEW["smooth"], n_samples=5, n_burn_in=20, thinning=2),
    "deep-gp.noiseless": partial(
        fit_baseline, "DeepGP", NOISELESS, NEW["smooth"], n_samples=4, n_burn_in=15, thinning=2, noise="none"
    ),
    "sparse-gp": partial(fit_baseline, "SparseGP", smooth(300), NEW["smooth"], n_inducing=30, n_steps=10),
    "boosted": partial(fit_baseline, "BoostedQuantiles", smooth(200), NEW["smooth"], n_trees=40),
}.items():
    item(name)(case)


# -------------------------------------------------------------------------------------------------- choice, calibration


def choose(data: Any, new: Any, **settings: Any) -> Values:
    """Answers of an AutoSurrogate, what it tried (by name: equals may change places), its scores, its choice."""
    model = AutoSurrogate(random_state=0, **settings).fit(*data)
    report = model.report_
    entries = sorted(report.entries, key=lambda entry: entry.name)
    scores = [[e.crps, e.crps_se, e.n_scored, e.weight] for e in entries if e.crps is not None]
    found = {"tried": np.array([e.name for e in entries]), "chosen": np.array(report.chosen)}
    found |= {"kind": np.array([report.kind]), "scores": np.array(scores)}
    return answers(model, *new) | found | {"report": np.array([report.crps, report.crps_se, report.n_scored])}


FEW = ["gp", "gp-smooth", "het-gp", "iqn-shallow"]
OWN = {"gp": None, "trees": BoostedQuantiles(n_trees=20, n_leaves=4)}
POSITIVE = (smooth(120)[0], np.exp(smooth(120)[1]))
for name, case in {
    "informed": partial(choose, smooth(60), NEW["smooth"], candidates=["gp-iqn"], n_folds=2),
    "auto.quick": partial(choose, smooth(70), NEW["smooth"], candidates=FEW, n_folds=3),
    "auto.small": partial(choose, smooth(30), NEW["smooth"], n_folds=2),
    "auto.regimes": partial(choose, jumping(45), NEW["jumping"], n_folds=2),
    # with even noise het-gp is gp once more, both had a weight here, and rounding chose between them
    "auto.category": partial(choose, coded(36, growth=1.0), NEW["coded"], categorical=["gas"], n_folds=2),
    "auto.own": partial(choose, POSITIVE, NEW["smooth"], candidates=OWN, y_bounds=(0.0, None), n_folds=2),
}.items():
    item(name)(case)


def calibrate(method: str, **settings: Any) -> Values:
    """Answers of a ConformalSurrogate around a GP."""
    model = ConformalSurrogate(StationaryGP(random_state=0), level=0.8, method=method, random_state=0, **settings)
    return answers(model.fit(*smooth(100)), *NEW["smooth"])


item("conformal.split")(partial(calibrate, "split"))
item("conformal.cross")(partial(calibrate, "cross", n_folds=4))


@item("conformal.prefit")
def _() -> Values:
    model = ConformalSurrogate(network(y_bounds=(-9, 9)).fit(*smooth(80)), method="prefit").fit(*smooth(60, seed=4))
    return answers(model, *NEW["smooth"])


@item("conformal.groups")
def _() -> Values:
    (X, y), new = smooth(160), NEW["smooth"][0]
    model = ConformalSurrogate(StationaryGP(random_state=0), level=0.8, random_state=0)
    model.fit(X, y, groups=np.where(X[:, 0] < 0.5, "low", "high"))
    return {"ppf": model.predict_quantiles(new, TAU, groups=np.where(new[:, 0] < 0.5, "low", "high"))}


# ------------------------------------------------------------------------------------------------ distributions, scores


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
    rng = np.random.default_rng(4)
    y, q = rng.standard_normal(30), np.sort(rng.standard_normal((30, 19)), axis=1)
    tau, lower, upper = np.arange(1, 20) / 20, q[:, 0], q[:, -1]
    numbers = [metrics.coverage(lower, upper, y), metrics.interval_width(lower, upper), metrics.rmse(q[:, 9], y)]
    found = {"numbers": np.array([*numbers, metrics.rmspe(q[:, 9] + 9, y + 9)]), "crps": metrics.crps(q, y)}
    found |= {"normal": metrics.crps_normal(q[:, 3], upper - lower, y), "pinball": metrics.pinball(q, y, tau)}
    found |= {"interval_score": metrics.interval_score(lower, upper, y, 0.9), "pit": metrics.pit(q, y)}
    draws = rng.standard_normal((30, 8, 3))
    return found | {"energy": metrics.energy_score(draws, rng.standard_normal((30, 3)))}


@item("files")  # the model file of tests/data beside this script
def _() -> Values:
    import pandas as pd

    model = genbayes.load(TESTS / "data" / "surrogate_format_1.gb")
    at = pd.DataFrame({"mach": [0.5, 2.0, 5.5], "gas": ["He", "O2", "He"]})
    return {"ppf": model.predict_quantiles(at, TAU)}
