"""The committee of classifiers: right where it can be, honest about rows it was learnt from, the same from its file."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from genbayes.data.folds import draw_stratified_folds
from genbayes.errors import UnreadableFile
from genbayes.models.regimes import classifier
from genbayes.models.regimes.classifier import RegimeClassifier, fit_classifier
from genbayes.models.regimes.mixture import responsibilities
from genbayes.models.regimes.perceptron import PerceptronScores, fit_perceptrons
from genbayes.models.regimes.probabilities import fit_stack, mixture_loss, steepness
from genbayes.models.regimes.svm import fit_kernel
from genbayes.persistence import State

HARD = np.log(np.finfo(np.float64).tiny)


def evidence_for(label: np.ndarray, k: int) -> np.ndarray:
    return np.where(np.eye(k)[label] == 1, 0.0, HARD)


def learn(X: np.ndarray, label: np.ndarray, k: int = 2) -> tuple[RegimeClassifier, np.ndarray]:
    return fit_classifier(X, evidence_for(label, k), np.eye(k)[label], np.ones(len(X)), np.random.default_rng(0))


def disc(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    X = np.random.default_rng(seed).uniform(-1, 1, (n, 2))
    return X, ((X**2).sum(axis=1) < 0.6).astype(np.int64)


@pytest.fixture(scope="module")
def learnt() -> tuple[RegimeClassifier, np.ndarray]:
    return learn(*disc(300, 0))


def test_the_gradient_of_the_loss_is_that_of_its_value_and_zero_where_a_row_tells_nothing() -> None:
    rng = np.random.default_rng(0)
    scores, evidence, weight = rng.standard_normal((4, 3)), rng.standard_normal((4, 3)), rng.uniform(1, 2, 4)
    numeric = approx_fprime(scores.ravel(), lambda s: mixture_loss(s.reshape(4, 3), evidence, weight)[0])
    np.testing.assert_allclose(mixture_loss(scores, evidence, weight)[1].ravel(), numeric, atol=1e-5)
    assert not mixture_loss(scores, np.zeros((4, 3)), weight)[1].any()


def test_responsibilities_are_bayes_rule() -> None:
    density = np.array([[0.2, 0.6]])
    np.testing.assert_allclose(responsibilities(np.log(density), np.array([0.75, 0.25])), [[0.5, 0.5]])


def test_it_learns_a_disc_and_its_probabilities_add_up_to_one(learnt) -> None:
    X, label = disc(1_000, 1)
    assert (learnt[0].probabilities(X).argmax(axis=1) == label).mean() > 0.95
    far = learnt[0].probabilities(9 * X)
    assert (far >= 0).all()
    np.testing.assert_allclose(far.sum(axis=1), 1)


def test_labels_without_a_pattern_are_not_learnt_by_heart() -> None:
    rng = np.random.default_rng(3)
    X, label = rng.uniform(size=(200, 2)), rng.integers(0, 2, 200)
    accuracy = (learn(X, label)[1].argmax(axis=1) == label).mean()
    assert accuracy < 0.5 + 4 * 0.035  # of a coin: 1/2 with standard error 0.035; four of them


def test_three_regimes_are_told_apart() -> None:
    X = np.random.default_rng(4).uniform(-1, 1, (240, 1))
    label = np.digitize(X[:, 0], [-0.3, 0.4])
    classifier, unseen = learn(X, label, k=3)
    assert (unseen.argmax(axis=1) == label).mean() > 0.93
    assert classifier.probabilities(np.array([[-0.8], [0.0], [0.9]])).argmax(axis=1).tolist() == [0, 1, 2]


def test_a_seed_gives_the_same_classifier_again_and_so_does_its_state(learnt) -> None:
    again, unseen = learn(*disc(300, 0))
    np.testing.assert_array_equal(unseen, learnt[1])
    X = disc(50, 5)[0]
    for other in (again, RegimeClassifier.from_state(learnt[0].to_state(), 2, 2)):
        np.testing.assert_array_equal(other.probabilities(X), learnt[0].probabilities(X))
    alone = np.vstack([learnt[0].probabilities(x[None]) for x in X])  # no row depends on its company
    np.testing.assert_allclose(alone, learnt[0].probabilities(X), rtol=1e-9, atol=1e-12)


def test_rows_of_one_input_share_a_fold_and_some_of_a_small_regime_are_left_to_learn_from() -> None:
    Z = np.repeat(np.arange(60.0), 3)[:, None]
    for fold in draw_stratified_folds(Z, np.zeros(180, np.int64), np.random.default_rng(0)):
        assert np.isin(Z[np.setdiff1d(np.arange(180), fold), 0], Z[fold, 0]).sum() == 0
    label = (np.arange(40) < 5).astype(np.int64)
    for fold in draw_stratified_folds(np.arange(40.0)[:, None], label, np.random.default_rng(0)):
        assert label[fold].sum() <= 1


def test_a_member_that_adds_nothing_gets_hardly_any_weight() -> None:
    rng = np.random.default_rng(7)
    label = rng.integers(0, 2, 400)
    good = np.column_stack([np.zeros(400), 2.0 * label - 1 + 0.3 * rng.standard_normal(400)])
    noise = np.column_stack([np.zeros(400), rng.standard_normal(400)])
    stack, _ = fit_stack([good, noise], evidence_for(label, 2), np.ones(400))
    assert stack.slope[1] < 0.15 * stack.slope[0]


def test_many_runs_leave_little_doubt_beside_a_clear_cut_boundary() -> None:
    z = np.random.default_rng(3).uniform(-1, 1, 2000)
    evidence = evidence_for((z > 0).astype(np.int64), 2)
    near = 0.03 * np.array([[-1.0, 1.0]])  # a 33rd of the way to the edge, where thirty runs lie on either side
    doubt = []
    for n in (40, 2000):
        prior_sd = steepness(evidence[:n], np.ones(n))
        stack, _ = fit_stack([np.column_stack([-z, z])[:n]], evidence[:n], np.ones(n), prior_sd)
        doubt.append(stack.probabilities([near])[0, 0])
    assert doubt[0] > 0.1
    assert doubt[1] < 0.002


def test_a_machine_with_one_regime_in_sight_names_it() -> None:
    Z = np.arange(5.0)[:, None]
    machine = fit_kernel(Z, np.tile([0.0, 1.0], (5, 1)), np.ones(5), 1.0, 1.0)
    assert (machine.scores(Z).argmax(axis=1) == 1).all()


def test_networks_name_rows_they_have_held_out() -> None:
    X, label = disc(300, 9)
    folds = draw_stratified_folds(X, label, np.random.default_rng(0))
    fitted = fit_perceptrons(X, evidence_for(label, 2), np.ones(300), folds, np.random.default_rng(1))
    assert (fitted.out_of_fold(X, folds).argmax(axis=1) == label).mean() > 0.93
    again = PerceptronScores.from_state(fitted.to_state(), 2, 2)
    np.testing.assert_array_equal(again.scores(X), fitted.scores(X))


def test_networks_join_where_runs_are_many(monkeypatch) -> None:
    monkeypatch.setattr(classifier, "MANY_ROWS", 300)
    found, _ = learn(*disc(300, 0))
    assert "perceptron" in found.names
    again = RegimeClassifier.from_state(found.to_state(), 2, 2)
    np.testing.assert_array_equal(again.probabilities(disc(9, 1)[0]), found.probabilities(disc(9, 1)[0]))


@pytest.mark.parametrize(
    ("spoil", "d", "sentence"),
    [
        (lambda state: State(state.kind, state.values, {}), 2, "the model file must hold the array"),
        (lambda state: state, 3, "in the model file must have shape"),
        (lambda state: state.with_part("member0", State("Oracle")), 2, "must name a known classifier, got 'Oracle'"),
    ],
)
def test_a_spoilt_state_is_refused(learnt, spoil, d: int, sentence: str) -> None:
    with pytest.raises(UnreadableFile, match=sentence):
        RegimeClassifier.from_state(spoil(learnt[0].to_state()), d, 2)
