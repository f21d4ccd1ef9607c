"""The GP classifier: the evidence's gradient, relevance of inputs, honest scores, the same from its file."""

import numpy as np
import pytest

from genbayes.data.folds import draw_stratified_folds
from genbayes.errors import UnreadableFile
from genbayes.models.regimes import gp_classifier
from genbayes.models.regimes.gp_classifier import GPScores, fit_gp_scores
from genbayes.persistence import State


def curve(n: int, seed: int, d: int = 5) -> tuple[np.ndarray, np.ndarray]:
    """A wave in the first two of d inputs."""
    Z = np.random.default_rng(seed).uniform(-1.7, 1.7, (n, d))
    return Z, (Z[:, 1] > 0.8 * np.sin(2 * Z[:, 0])).astype(np.int64)


def learn(Z: np.ndarray, regime: np.ndarray, k: int = 2, **given) -> tuple[GPScores, np.ndarray]:
    rng = np.random.default_rng(0)
    folds = draw_stratified_folds(Z, regime, rng)
    return fit_gp_scores(Z, np.eye(k)[regime], np.ones(len(Z)), folds, rng, **given)


@pytest.fixture(scope="module")
def learnt() -> tuple[GPScores, np.ndarray]:
    return learn(*curve(300, 0))


def test_the_gradient_of_the_evidence_is_that_of_its_value(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    Z, weight, theta = rng.standard_normal((60, 2)), rng.uniform(0.5, 2, 60), np.log([0.8, 2.0, 1.5, 0.7])
    t = 0.1 + 0.8 * (Z[:, 0] + Z[:, 1] ** 2 > 0.5)
    monkeypatch.setattr(gp_classifier, "NEWTON_TOLERANCE", 1e-16)  # the mode to the last digit
    _, slope, a = gp_classifier._evidence(Z, Z[:15], t, weight, theta, np.zeros(15))
    for j, step in enumerate(1e-3 * np.eye(4)):
        up, down = (gp_classifier._evidence(Z, Z[:15], t, weight, theta + s * step, a)[0] for s in (1, -1))
        assert (up - down) / 2e-3 == pytest.approx(slope[j], abs=1e-3)


def test_it_finds_a_curve_and_which_inputs_decide_it(learnt: tuple[GPScores, np.ndarray]) -> None:
    Z, regime = curve(1_000, 1)
    assert (learnt[0].scores(Z).argmax(axis=1) == regime).mean() > 0.97
    assert learnt[0].length[:2].max() < learnt[0].length[2:].min() / 3


def test_scores_of_unseen_rows_know_no_labels_without_a_pattern() -> None:
    rng = np.random.default_rng(3)
    Z, regime = rng.standard_normal((200, 2)), rng.integers(0, 2, 200)
    assert (learn(Z, regime)[1].argmax(axis=1) == regime).mean() < 0.5 + 4 * 0.035  # standard error of a coin: 0.035


def test_three_regimes_have_a_score_each_and_a_warm_start_keeps_the_inducing_rows() -> None:
    Z, _ = curve(200, 2, d=2)
    regime = np.digitize(Z[:, 0], [-0.6, 0.6])
    found, unseen = learn(Z, regime, 3)
    assert found.theta.shape == (3, 4)
    assert (unseen.argmax(axis=1) == regime).mean() > 0.95
    again, _ = learn(Z, regime, 3, start=found)
    np.testing.assert_array_equal(again.vectors, found.vectors)


def test_inputs_may_change_their_unit_and_a_file_gives_the_same_scores(learnt: tuple[GPScores, np.ndarray]) -> None:
    Z, factor = curve(20, 4)[0], np.array([2.0, 1.0, 0.5, 10.0, 0.1])
    np.testing.assert_allclose(learnt[0].rescaled(factor).scores(factor * Z), learnt[0].scores(Z), rtol=1e-9)
    state = learnt[0].to_state()
    np.testing.assert_array_equal(GPScores.from_state(state, 5, 2).scores(Z), learnt[0].scores(Z))
    bad = State(state.kind, state.values, {**state.arrays, "theta": np.full((1, 7), np.nan)})
    with pytest.raises(UnreadableFile, match="'theta' in the model file must be finite"):
        GPScores.from_state(bad, 5, 2)
