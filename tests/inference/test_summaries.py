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
from genbayes.inference.summary_networks import draw_parts
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


def test_known_summaries_of_a_set_are_moments_medians_and_logarithms_of_positive_skewed_columns() -> None:
    rng = np.random.default_rng(0)
    y = np.stack([rng.standard_normal((30, 6)), rng.lognormal(size=(30, 6))], axis=2)
    y[3:, 4:] = np.nan
    summary = begun("set", y)
    network = summary.network_
    known = summary(y)[:, network.n_learnt :]
    assert known.shape[1] == network.n_known == 4 * 3 + 2 + 1
    means, medians = known[:, 1:4], known[:, 7:10]
    raw = np.nanmedian(y, axis=1)
    np.testing.assert_allclose(medians[:, :2] * network.scale.numpy() + network.center.numpy(), raw, atol=1e-5)
    at, by = network.log_center.numpy(), network.log_scale.numpy()
    np.testing.assert_allclose(means[:, 2] * by + at, np.nanmean(np.log(y[..., 1]), axis=1), atol=1e-5)
    np.testing.assert_allclose(known[:, 13] * by + at, np.log(np.nanmean(y[..., 1], axis=1)), atol=1e-5)
    gap = np.log(np.nanmean(y[..., 1], axis=1)) - np.nanmean(np.log(y[..., 1]), axis=1)
    np.testing.assert_allclose(np.exp(known[:, 14]) * by, gap, atol=1e-5)
    y[:, :, 1] = -1.0  # below all that was simulated
    assert np.isfinite(summary(y)).all()


@pytest.mark.parametrize(("hidden", "is_kept"), [(False, False), (True, True)])
def test_learnt_summaries_are_left_out_where_known_ones_say_all(
    hidden: bool, is_kept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(summary_training, "SETTINGS", ChainSettings(n_steps=200, batch_size=64, learning_rate=3e-3))
    rng = np.random.default_rng(0)
    theta, y = rng.uniform(-1, 1, (1_500, 1)), rng.standard_normal((1_500, 20, 2))
    if hidden:  # in the correlation, which is not known
        y[..., 1] = theta * y[..., 0] + np.sqrt(1 - theta**2) * y[..., 1]
    else:
        y += theta[:, None]
    summary = as_summary("set")
    summary_training.train_summary(
        summary,  # type: ignore[arg-type]
        summary.read_many(y),
        theta / theta.std(axis=0),
        (np.full(1, -2.0), np.full(1, 2.0)),
        np.random.default_rng(0),
    )
    network = summary.network_  # type: ignore[attr-defined]
    assert bool(network.learns) == is_kept
    assert summary.n_summaries == network.n_known + is_kept * network.n_learnt
    restored = restore_summary(summary.to_state())
    np.testing.assert_array_equal(restored(y[:3]), summary(y[:3]))


def test_the_size_of_a_set_is_a_summary() -> None:
    y = simulate("set")[1]
    summary = begun("set", y)
    twice = summary(summary.read_observed(np.concatenate([y[0], y[0]]))[0])
    alone = summary(summary.read_observed(y[0])[0])
    assert np.abs(twice - alone).max() == pytest.approx(np.log(2), abs=0.2)


def test_parts_are_members_of_their_sets_of_every_size_down_to_the_smallest() -> None:
    y = torch.arange(3_000.0).view(500, 6, 1)
    y[:, 5] = torch.nan
    parts = draw_parts(y, 2, 0.2, torch.Generator().manual_seed(0))
    found = [set(part[torch.isfinite(part)].tolist()) for part in parts]
    assert {len(each) for each in found} == {2, 3, 4, 5}
    assert all(each <= set(whole[:5, 0].tolist()) for each, whole in zip(found, y, strict=True))


def test_parts_are_learnt_from_unless_sizes_are_equal_or_tell_of_theta() -> None:
    rng = np.random.default_rng(0)
    theta = rng.standard_normal((400, 2))

    def smallest(sizes: Any) -> int | None:
        summary = as_summary("set")
        sets = summary.read_many([np.zeros(m) for m in sizes])
        return summary.find_smallest_part(sets, theta)  # type: ignore[attr-defined, no-any-return]

    assert smallest(rng.integers(3, 20, 400)) == 3
    assert smallest(np.full(400, 7)) is None
    assert smallest(rng.poisson(np.exp(0.3 * theta[:, 1])) + 3) is None
    assert smallest(rng.poisson(theta[:, 0] ** 2) + 3) is None  # neither rises nor falls with theta


class FirstMember:
    """A summary network that returns the first member of each set."""

    def prepare(self, y: np.ndarray[Any, Any]) -> torch.Tensor:
        return torch.as_tensor(y)

    def __call__(self, y: torch.Tensor) -> torch.Tensor:
        return y[:, 0]


def test_parts_of_sets_are_further_pairs_of_their_own_theta(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(summary_training, "SETTINGS", QUICK)
    theta, y = simulate("set", 100)
    estimator = PosteriorEstimator(PRIOR, summary="set", n_members=1, random_state=0).fit(theta, y)
    estimator.summary_.network_ = FirstMember()  # type: ignore[attr-defined]
    sets = np.repeat(np.arange(90.0), 8).reshape(90, 8, 1)
    parts = estimator._summaries_of_parts(np.arange(90.0)[:, None], sets, np.random.default_rng(0))
    assert parts is not None
    np.testing.assert_array_equal(np.unique(parts[0]), np.arange(9, 90))  # the first nine stop the fit
    np.testing.assert_array_equal(*parts)


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
