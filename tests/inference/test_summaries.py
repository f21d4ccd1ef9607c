"""Summaries: shapes of observations, invariance of sets, files, and one sentence for what is no observation."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from genbayes import Box, InvalidInput, PosteriorEstimator, load
from genbayes.errors import UnreadableFile
from genbayes.inference import summary_training
from genbayes.inference.chain import Chain
from genbayes.inference.chain_training import ChainSettings
from genbayes.inference.summaries import as_summary, restore_summary
from genbayes.persistence import State

PRIOR = Box({"a": (-1.0, 1.0), "b": (0.5, 2.0)})
QUICK = ChainSettings(n_steps=40, batch_size=64)


def simulate(kind: str, n: int = 80) -> tuple[np.ndarray[Any, Any], Any]:
    rng = np.random.default_rng(0)
    theta = np.column_stack([rng.uniform(-1, 1, n), rng.uniform(0.5, 2, n)])
    if kind == "set":
        return theta, [a + b * rng.standard_normal(int(rng.integers(2, 9))) for a, b in theta]
    return theta, theta[:, :1] + theta[:, 1:] * rng.standard_normal((n, 20))


@pytest.mark.parametrize("kind", ["network", "set", "series"])
def test_a_learnt_summary_is_saved_and_loaded_with_its_estimator(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(summary_training, "SETTINGS", QUICK)
    theta, y = simulate(kind)
    fitted = PosteriorEstimator(PRIOR, summary=kind, n_members=1, random_state=0).fit(theta, y)
    loaded = load(fitted.save(tmp_path / "posterior.gb"))
    one = fitted.condition(y[3]).sample(7, random_state=1)
    assert one.shape == (7, 2)
    np.testing.assert_array_equal(loaded.condition(y[3]).sample(7, random_state=1), one)
    assert fitted.condition(y[:2]).sample(7, random_state=1).shape == (2, 7, 2)


def begun(kind: str, y: Any) -> Any:
    summary = as_summary(kind)
    summary.begin(summary.read_many(y), 2, torch.Generator().manual_seed(0))  # type: ignore[attr-defined]
    return summary


def test_the_summary_of_a_set_depends_neither_on_the_order_nor_on_its_company() -> None:
    y = simulate("set")[1]
    summary = begun("set", y)
    alone = summary(summary.read_observed(y[0])[0])
    turned = summary(summary.read_observed(y[0][::-1])[0])
    many = summary(summary.read_observed(y[:5])[0])
    np.testing.assert_allclose(turned, alone, atol=1e-5)
    np.testing.assert_allclose(many[:1], alone, atol=1e-5)


def test_the_size_of_a_set_is_a_summary() -> None:
    y = simulate("set")[1]
    summary = begun("set", y)
    twice = summary(summary.read_observed(np.concatenate([y[0], y[0]]))[0])
    alone = summary(summary.read_observed(y[0])[0])
    assert np.abs(twice - alone).max() == pytest.approx(np.log(2), abs=0.2)


def test_training_finds_autocorrelation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(summary_training, "SETTINGS", ChainSettings(n_steps=200, batch_size=64, learning_rate=3e-3))
    rng = np.random.default_rng(0)
    theta, e = rng.uniform(-1, 1, (2_400, 1)), rng.standard_normal((2_400, 44))
    y = e[:, 4:] + theta * e[:, :-4]  # beyond the autoregressions that are summaries anyway
    summary = as_summary("series")
    found: list[float] = []
    summary_training.train_summary(
        summary,  # type: ignore[arg-type]
        summary.read_many(y),
        (theta - theta.mean(axis=0)) / theta.std(axis=0),
        (np.full(1, -2.0), np.full(1, 2.0)),
        np.random.default_rng(0),
        lambda step, steps, loss: found.append(loss),
    )
    assert min(found) < found[0] - 0.2


@pytest.mark.parametrize(
    ("kind", "y", "sentence"),
    [
        ("set", [np.zeros(3), np.zeros(0)], "y must have at least one member a set, got none in 1 of 2 rows"),
        ("set", [np.zeros(3), np.array([1.0, np.nan])], "y must be finite"),
        ("set", [np.zeros((3, 2)), np.zeros((3, 1))], r"sets whose members have as many values, got \[1, 2\]"),
        ("series", np.zeros((4, 3)), "T at least 10 for summary='series', got"),
        (None, np.zeros((4, 3, 2)), r"y must have shape \(n, p\), got \(4, 3, 2\); pass summary='series' or 'set'"),
        (None, [[1.0], [1.0, 2.0]], "sets of different sizes need summary='set'"),
        ("sets", None, "summary must be one of 'network', 'set', 'series', got 'sets'; did you mean 'set'"),
        (3, None, "summary must be None, a function or one of network, set, series, got 3"),
    ],
)
def test_what_is_no_observation_is_refused(kind: Any, y: Any, sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        as_summary(kind).read_many(y)


@pytest.mark.parametrize(
    ("kind", "y", "sentence"),
    [
        ("series", np.zeros(19), "y must have shape .20, 1. as in fit, got shape .19, 1."),
        ("network", np.zeros((3, 19)), "y must have 20 values as in fit, got 19"),
        ("set", np.zeros((4, 2)), "y must have 1 value a member as in fit, got 2"),
        ("set", [np.array([1.0, np.inf])], "y must be finite"),
    ],
)
def test_observations_of_another_shape_are_refused(kind: str, y: Any, sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        begun(kind, simulate(kind)[1]).read_observed(y)


@pytest.mark.parametrize(
    ("kind", "tail"), [("network", [20, 1]), ("set", [1, 1]), ("series", [20]), ("series", [3, 1])]
)
def test_a_file_whose_observations_do_not_suit_its_summary_is_refused(kind: str, tail: list[int]) -> None:
    state = begun(kind, simulate(kind)[1]).to_state()
    restore_summary(state)
    with pytest.raises(UnreadableFile, match=f"must suit summary='{kind}', got"):
        restore_summary(State(state.kind, {**state.values, "tail": tail}, state.arrays))


def test_a_file_that_claims_very_many_parameters_is_refused_before_memory_is_set_aside() -> None:
    """The list of all their numbers was made first."""
    values = {"k": 2**31, "n_summaries": 2, "n_members": 1, "n_hidden": 4, "n_layers": 1, "n_components": 2}
    with pytest.raises(UnreadableFile, match="must have each parameter once"):
        Chain.from_state(State("Chain", {**values, "orders": [[0, 1]]}))
