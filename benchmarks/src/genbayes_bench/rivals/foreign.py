"""What runs inside the rivals' own environment: sbi and AutoGluon. It imports nothing of genbayes.

Called by `environment.call_rival` as `python foreign.py NAME` in a folder with `in.npz` (arrays) and `settings.json`;
leaves `out.npz` (arrays) and `facts.json` (cpu seconds, versions) there.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import numpy as np

Arrays = dict[str, Any]
BAGGED = ("best_quality", "high_quality", "good_quality")  # presets of AutoGluon that fit each model in folds


def cpu_seconds() -> float:
    """Of this process and of the children that have ended."""
    children = os.times()
    return time.process_time() + children.children_user + children.children_system


def run_sbi(given: Arrays, settings: dict[str, Any]) -> tuple[Arrays, dict[str, Any]]:
    """NPE at its defaults: theta (n, k) and y (n, p) to n_draws draws for each observation (o, p)."""
    import torch
    from sbi.inference import NPE

    torch.set_num_threads(1)
    torch.manual_seed(settings["seed"])
    theta, y, observed = (torch.as_tensor(given[name], dtype=torch.float32) for name in ("theta", "y", "observed"))
    prior = sbi_prior(settings["prior"])
    begun = cpu_seconds()
    trainer = NPE(prior=prior, density_estimator=settings["flow"], show_progress_bars=False)
    trainer.append_simulations(theta, y)
    flow = trainer.train()
    trained = cpu_seconds()
    posterior = trainer.build_posterior(flow)
    draws, leaked = [], 0
    for x in observed:
        found = posterior.sample(
            (settings["n_draws"],),
            x=x[None],
            show_progress_bars=False,
            max_sampling_time=settings["sampling_seconds"],
            return_partial_on_timeout=True,
        )
        if len(found) < settings["n_draws"]:  # it may reject for ever; the flow itself then answers
            leaked += 1
            found = posterior.sample(
                (settings["n_draws"],), x=x[None], show_progress_bars=False, reject_outside_prior=False
            )
        draws.append(found.numpy().astype(np.float64))
    facts = {
        "fit_seconds": trained - begun,
        "draw_seconds": cpu_seconds() - trained,
        "n_epochs": int(trainer.summary["epochs_trained"][-1]),
        "n_leaked": leaked,
        "versions": versions("sbi", "torch"),
    }
    return {"draws": np.stack(draws)}, facts


def sbi_prior(parts: list[dict[str, Any]]) -> Any:
    """The prior as sbi wants it, from one description a parameter."""
    import torch
    from sbi.utils import BoxUniform, MultipleIndependent
    from torch import distributions

    if all(part["name"] == "uniform" for part in parts):
        low, high = (torch.tensor([float(part[end]) for part in parts]) for end in ("low", "high"))
        return BoxUniform(low, high)
    kinds: dict[str, Callable[[dict[str, Any]], Any]] = {
        "uniform": lambda p: BoxUniform(torch.tensor([p["low"]]), torch.tensor([p["high"]])),
        "normal": lambda p: distributions.Normal(torch.tensor([p["mean"]]), torch.tensor([p["sd"]])),
        "lognormal": lambda p: distributions.LogNormal(torch.tensor([p["mean"]]), torch.tensor([p["sd"]])),
    }
    return MultipleIndependent([kinds[part["name"]](part) for part in parts], validate_args=False)


def fit_autogluon(given: Arrays, settings: dict[str, Any]) -> tuple[Arrays, dict[str, Any]]:
    """AutoGluon's quantile predictor learns from X (n, d) and y (n,), and keeps itself in a folder of its own."""
    import torch
    from autogluon.tabular import TabularPredictor

    torch.set_num_threads(1)
    torch.manual_seed(settings["seed"])
    np.random.seed(settings["seed"])  # noqa: NPY002, what its parts read
    begun = cpu_seconds()
    predictor = TabularPredictor(
        label="y",
        problem_type="quantile",
        quantile_levels=[float(level) for level in given["levels"]],
        path=settings["folder"],
        verbosity=0,
    ).fit(
        _frame(given["X"]).assign(y=given["y"]),
        time_limit=settings["seconds"],
        presets=settings["preset"],
        dynamic_stacking=False,  # its trial run wants a cluster
        ag_args_ensemble={"fold_fitting_strategy": "sequential_local"} if settings["preset"] in BAGGED else None,
        num_cpus=1,
        num_gpus=0,
    )
    facts = {
        "fit_seconds": cpu_seconds() - begun,
        "models": [str(name) for name in predictor.model_names()],
        "versions": versions("autogluon.tabular", "torch", "lightgbm", "pandas"),
    }
    return {}, facts


def predict_autogluon(given: Arrays, settings: dict[str, Any]) -> tuple[Arrays, dict[str, Any]]:
    """Quantiles (m, levels) at X_new (m, d) of the predictor in its folder."""
    from autogluon.tabular import TabularPredictor

    predictor = TabularPredictor.load(settings["folder"], verbosity=0)
    return {"q": predictor.predict(_frame(given["X_new"])).to_numpy(dtype=np.float64)}, {}


def _frame(X: Any) -> Any:
    import pandas as pd

    return pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])


def versions(*packages: str) -> dict[str, str]:
    return {name: version(name) for name in packages}


RIVALS = {"sbi": run_sbi, "autogluon-fit": fit_autogluon, "autogluon-predict": predict_autogluon}


def main(name: str) -> None:
    with np.load("in.npz", allow_pickle=False) as file:
        given = dict(file)
    with open("settings.json", encoding="utf-8") as text:
        settings = json.load(text)
    arrays, facts = RIVALS[name](given, settings)
    np.savez("out.npz", **arrays)
    with open("facts.json", "w", encoding="utf-8") as text:
        json.dump(facts, text)


if __name__ == "__main__":
    main(sys.argv[1])
