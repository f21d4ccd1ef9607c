"""RegimeGP: sharp where the response jumps, two-peaked where its regime is uncertain, a plain GP where it has one."""

from pathlib import Path

import numpy as np
import pytest

from genbayes import InvalidInput, Normal, load
from genbayes.errors import UnreadableFile
from genbayes.models import RegimeGP, StationaryGP
from genbayes.persistence import State, read_state, write_state

TAU = [0.001, 0.1, 0.5, 0.9, 0.999]


def band(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """A jump of 6 across a bent line; beyond it another smooth function of a length scale of its own."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 2))
    beyond = X[:, 1] > 0.3 * np.sin(3 * X[:, 0])
    level = np.where(beyond, 6 + np.sin(8 * X[:, 0]), 0.5 * X[:, 0])
    return X, level + 0.1 * rng.standard_normal(n)


def smooth(n: int = 60, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 1))
    return X, np.sin(3 * X[:, 0]) + 0.1 * rng.standard_normal(n)


@pytest.fixture(scope="module")
def fitted() -> RegimeGP:
    return RegimeGP(n_starts=1, random_state=0).fit(*band(200, 0))


def test_it_has_a_third_of_the_crps_of_the_stationary_gp_where_the_response_jumps(fitted) -> None:
    X, y = band(400, 1)
    plain = StationaryGP(n_starts=1, random_state=0).fit(*band(200, 0))
    ours, theirs = (model.predict_distribution(X).crps(y).mean() for model in (fitted, plain))
    assert ours < theirs / 3


def test_each_regime_has_a_gp_of_its_own(fitted) -> None:
    assert fitted.n_regimes_ == 2
    assert sum(len(gp.runs) for gp in fitted.experts_.gps) == 200
    slow, quick = (gp.parameters.length[0] for gp in fitted.experts_.gps)
    assert quick < slow  # sin(8 x) against x / 2


def test_beside_the_jump_a_run_is_on_one_level_or_the_other(fitted) -> None:
    edge = np.column_stack([np.zeros(81), np.linspace(-0.2, 0.2, 81)])
    probability = fitted.experts_.classifier.probabilities(fitted._scaled(edge))[:, 1]
    law = fitted.predict_distribution(edge[[int(np.abs(probability - 0.5).argmin())]])
    low, between, high = law.pdf(np.array([[0.0, 3.0, 6.0]]))[0]
    assert between < 0.01 * min(low, high)
    assert law.std()[0] > 2


def test_far_from_the_jump_a_run_is_on_its_own_level(fitted) -> None:
    lower, upper = fitted.predict_interval([[0.0, -0.8], [0.0, 0.8]], level=0.9)
    np.testing.assert_allclose((lower + upper) / 2, [0.0, 6.0], atol=0.5)
    assert (upper - lower < 1.5).all()


def test_its_accuracy_is_that_of_new_runs(fitted) -> None:
    X, y = band(2_000, 2)
    named = fitted.experts_.classifier.probabilities(fitted._scaled(X)).argmax(axis=1)
    share = np.mean(named == (y > 3))
    standard_error = np.sqrt(share * (1 - share) * (1 / 200 + 1 / 2_000))
    assert 0.9 < fitted.accuracy_ <= 1
    assert abs(fitted.accuracy_ - share) < 3 * standard_error + 0.01  # folds learn from fewer rows


def test_its_accuracy_is_no_better_than_the_runs_allow() -> None:
    """A run is on the other level in 15 of 100 cases, whatever x: no classifier is right more often than 85%."""
    rng = np.random.default_rng(6)
    X = rng.uniform(-1, 1, (200, 1))
    y = 6.0 * ((X[:, 0] > 0) ^ (rng.uniform(size=200) < 0.15)) + 0.2 * rng.standard_normal(200)
    accuracy = RegimeGP(n_starts=1, random_state=0).fit(X, y).accuracy_
    assert abs(accuracy - 0.85) < 3 * np.sqrt(0.85 * 0.15 / 200)  # false alarm 1 in 370


def test_three_levels_are_three_regimes() -> None:
    rng = np.random.default_rng(8)
    X = rng.uniform(-1, 1, (150, 1))
    y = 10.0 * np.digitize(X[:, 0], [-0.3, 0.4]) + rng.standard_normal(150)
    model = RegimeGP(n_starts=1, random_state=0).fit(X, y)
    assert model.n_regimes_ == 3
    np.testing.assert_allclose(model.predict([[-0.7], [0.0], [0.8]]), [0, 10, 20], atol=1.5)


def test_with_one_regime_it_is_the_stationary_gp() -> None:
    X, y = smooth()
    model, plain = (kind(n_starts=2, random_state=0).fit(X, y) for kind in (RegimeGP, StationaryGP))
    assert model.n_regimes_ == 1
    assert model.accuracy_ == 1
    assert isinstance(model.predict_distribution(X), Normal)
    for of in ("run", "mean"):
        ours, theirs = (each.predict_distribution(X, of=of).ppf(TAU) for each in (model, plain))
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)


def test_a_regime_with_hardly_any_runs_gets_no_gp_of_its_own() -> None:
    X, y = smooth(80)
    y[:6] += 20.0
    assert RegimeGP(n_regimes=2, n_starts=1, random_state=0).fit(X, y).n_regimes_ == 1


def test_the_number_of_regimes_may_be_given() -> None:
    X, y = band(80, 3)
    assert RegimeGP(n_regimes=2, n_starts=1, random_state=0).fit(X, y).n_regimes_ == 2


@pytest.mark.parametrize("settings", [{"n_regimes": 1}, {"n_regimes": 2.5}, {"n_starts": 0}])
def test_settings_that_make_no_sense_are_refused(settings) -> None:
    with pytest.raises(InvalidInput, match=f"{next(iter(settings))} must be"):
        RegimeGP(**settings).fit(*smooth())


def test_replicates_count_by_their_number() -> None:
    X, y = band(80, 4)
    weight = np.tile([1, 2], 40)
    weighted = RegimeGP(n_starts=1, random_state=0).fit(X, y, sample_weight=weight)
    repeated = RegimeGP(n_starts=1, random_state=0).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert weighted.n_regimes_ == 2
    np.testing.assert_array_equal(weighted.predict(X), repeated.predict(X))
    assert weighted.accuracy_ == repeated.accuracy_


def test_gps_and_classifier_survive_the_file(fitted, tmp_path: Path) -> None:
    again = load(fitted.save(tmp_path / "regime.gb"))
    X = band(50, 5)[0]
    np.testing.assert_array_equal(again.predict_quantiles(X, TAU), fitted.predict_quantiles(X, TAU))
    assert (again.accuracy_, again.n_regimes_) == (fitted.accuracy_, 2)
    assert again.summary() == fitted.summary()


@pytest.mark.parametrize("n_regimes", [0, 3, "two"])
def test_a_file_with_another_number_of_regimes_is_refused(fitted, n_regimes, tmp_path: Path) -> None:
    state = read_state(fitted.save(tmp_path / "regime.gb"))
    learnt = state.values["learnt"]
    changed = {**learnt, "values": {**learnt["values"], "n_regimes": n_regimes}}
    write_state(tmp_path / "bad.gb", State(state.kind, {**state.values, "learnt": changed}, state.arrays))
    with pytest.raises(UnreadableFile, match="must"):
        load(tmp_path / "bad.gb")


def test_its_summary_tells_the_regimes(fitted) -> None:
    summary = fitted.summary()
    assert summary["regimes"] == "2"
    assert sum(int(n) for n in summary["runs of each regime"].split(", ")) == 200
