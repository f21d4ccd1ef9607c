"""GPs that may jump: sharp at the jump, two-peaked where the regime is uncertain, a plain GP where there is one."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from genbayes import AutoSurrogate, BoundaryFeatures, InvalidInput, Normal, QuantileSurrogate, load
from genbayes.arrays import FloatArray
from genbayes.auto.surrogate import Combination
from genbayes.errors import UnreadableFile
from genbayes.models import ModularJumpGP, RegimeGP, StationaryGP, jump_gp
from genbayes.models.regimes import OneRegimeWarning
from genbayes.persistence import State, read_state, write_state

TAU = [0.001, 0.1, 0.5, 0.9, 0.999]
Runs = tuple[FloatArray, FloatArray]
JumpGP = ModularJumpGP | RegimeGP


def disc(n: int, seed: int) -> Runs:
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 2))
    inside = X[:, 0] ** 2 + X[:, 1] ** 2 < 0.5
    return X, 6.0 * inside + np.sin(3 * X[:, 0]) + 0.2 * rng.standard_normal(n)


def band(n: int, seed: int) -> Runs:
    """A jump of 6 across a bent line; beyond it another smooth function of a length scale of its own."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 2))
    beyond = X[:, 1] > 0.3 * np.sin(3 * X[:, 0])
    level = np.where(beyond, 6 + np.sin(8 * X[:, 0]), 0.5 * X[:, 0])
    return X, level + 0.1 * rng.standard_normal(n)


def smooth(n: int = 60, seed: int = 0) -> Runs:
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 1))
    return X, np.sin(3 * X[:, 0]) + 0.1 * rng.standard_normal(n)


@pytest.fixture(scope="module")
def fitted() -> dict[str, Any]:
    """The modular jump GP of the disc and the regime GP of the band."""
    return {
        "modular": ModularJumpGP(random_state=0).fit(*disc(250, 0)),
        "regime": RegimeGP(n_starts=1, random_state=0).fit(*band(200, 0)),
    }


def mean_crps(model: JumpGP | StationaryGP, runs: Runs) -> float:
    return float(model.predict_distribution(runs[0]).crps(runs[1]).mean())


@pytest.mark.parametrize(("name", "runs", "n", "most"), [("modular", disc, 250, 1 / 2), ("regime", band, 200, 1 / 3)])
def test_where_the_response_jumps_the_crps_is_a_fraction_of_that_of_the_stationary_gp(
    fitted: dict[str, JumpGP], name: str, runs: Any, n: int, most: float
) -> None:
    plain = StationaryGP(n_starts=1, random_state=0).fit(*runs(n, 0))
    assert mean_crps(fitted[name], runs(400, 1)) < most * mean_crps(plain, runs(400, 1))


@pytest.mark.parametrize("seed", [5, 6, 7])
def test_the_modular_jump_gp_wins_at_a_sharp_step_of_one_input(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X, X_new = rng.uniform(-1, 1, (2, 200, 1))
    y, y_new = (5.0 * (Z[:, 0] > 0.2) + np.sin(3 * Z[:, 0]) + 0.1 * rng.standard_normal(200) for Z in (X, X_new))
    jump, plain = (kind(random_state=0).fit(X, y) for kind in (ModularJumpGP, StationaryGP))
    assert mean_crps(jump, (X_new, y_new)) < 0.9 * mean_crps(plain, (X_new, y_new))


@pytest.mark.parametrize(
    ("name", "edge", "low", "share"),
    [
        ("modular", np.column_stack([np.linspace(0.6, 0.8, 41), np.zeros(41)]), np.sin(2.1), 0.1),  # sin(3 x) at 0.7
        ("regime", np.column_stack([np.zeros(81), np.linspace(-0.2, 0.2, 81)]), 0.0, 0.01),
    ],
)
def test_beside_the_jump_a_run_is_on_one_level_or_the_other(
    fitted: dict[str, Any], name: str, edge: FloatArray, low: float, share: float
) -> None:
    model = fitted[name]
    weight = model.gp_.predict(model._scaled(edge))[0][:, 1]
    dist = model.predict_distribution(edge[[int(np.abs(weight - 0.5).argmin())]])
    lower, between, higher = dist.pdf(low + np.array([[0.0, 3.0, 6.0]]))[0]
    assert between < share * min(lower, higher)
    assert dist.std()[0] > 2


def test_far_from_the_jump_a_run_is_on_its_own_level_by_a_gp_of_its_own(fitted: dict[str, Any]) -> None:
    model = fitted["regime"]
    lower, upper = model.predict_interval([[0.0, -0.8], [0.0, 0.8]], level=0.9)
    np.testing.assert_allclose((lower + upper) / 2, [0.0, 6.0], atol=0.5)
    assert (upper - lower < 1.5).all()
    assert model.n_regimes_ == 2
    assert sum(len(gp.runs) for gp in model.gp_.gps) == 200
    slow, quick = (gp.parameters.length[0] for gp in model.gp_.gps)
    assert quick < slow  # sin(8 x) against x / 2


def test_accuracy_is_that_of_new_runs_and_no_better_than_the_runs_allow(fitted: dict[str, Any]) -> None:
    model, (X, y) = fitted["regime"], band(2_000, 2)
    share = np.mean(model.gp_.classifier.probabilities(model._scaled(X)).argmax(axis=1) == (y > 3))
    standard_error = np.sqrt(share * (1 - share) * (1 / 200 + 1 / 2_000))
    assert 0.9 < model.accuracy_ <= 1
    assert abs(model.accuracy_ - share) < 3 * standard_error + 0.01  # folds learn from fewer rows
    assert 0.9 < fitted["modular"].gp_.accuracy < 1
    rng = np.random.default_rng(6)
    X = rng.uniform(-1, 1, (200, 1))
    other_level = rng.uniform(size=200) < 0.15  # whatever x: no classifier is right more often than 85%
    y = 6.0 * ((X[:, 0] > 0) ^ other_level) + 0.2 * rng.standard_normal(200)
    accuracy = RegimeGP(n_starts=1, random_state=0).fit(X, y).accuracy_
    assert abs(accuracy - 0.85) < 3 * np.sqrt(0.85 * 0.15 / 200)  # false alarm 1 in 370


@pytest.mark.parametrize(("kind", "n", "said"), [(ModularJumpGP, 240, "three"), (RegimeGP, 150, "3")])
def test_three_levels_are_three_regimes(kind: Any, n: int, said: str) -> None:
    rng = np.random.default_rng(8)
    X = rng.uniform(-1, 1, (n, 1))
    y = 10.0 * np.digitize(X[:, 0], [-0.3, 0.4]) + rng.standard_normal(n)
    model = kind(n_starts=1, random_state=0).fit(X, y)
    assert model.summary()["regimes"] == said
    np.testing.assert_allclose(model.predict([[-0.7], [0.0], [0.8]]), [0, 10, 20], atol=1.5)


def test_with_one_regime_both_are_the_stationary_gp() -> None:
    X, y = smooth()
    regime = RegimeGP(n_starts=2, random_state=0).fit(X, y)
    plain = StationaryGP(kernel="matern52", n_starts=2, random_state=0).fit(X, y)
    assert (regime.n_regimes_, regime.accuracy_) == (1, 1)
    assert isinstance(regime.predict_distribution(X), Normal)
    for of in ("run", "mean"):
        ours, theirs = (each.predict_distribution(X, of=of).ppf(TAU) for each in (regime, plain))
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)
    X, y = smooth(80, 3)
    modular, plain = (kind(random_state=0).fit(X, y) for kind in (ModularJumpGP, StationaryGP))
    if modular.gp_.classifier is None:
        assert modular.summary()["regimes"] == "one: a stationary GP"
        assert isinstance(modular.predict_distribution(X), Normal)
    X = np.linspace(-1, 1, 50)[:, None]
    assert np.abs(modular.predict(X) - plain.predict(X)).max() < 0.15


def odd(kind: str, n: int = 100) -> tuple[FloatArray, FloatArray, list[int] | None]:
    """Runs that a search for regimes may trip over, and their categorical columns."""
    rng = np.random.default_rng(0)
    X, e = rng.uniform(-1, 1, (n, 2)), 0.1 * rng.standard_normal(n)
    coin = rng.uniform(size=n) < 0.5
    if kind == "three outliers":
        return X, np.sin(3 * X[:, 0]) + e + 8.0 * (np.arange(n) < 3), None
    if kind == "category":
        X = np.column_stack([X, rng.integers(0, 4, n)])
        return X, np.where(X[:, 2] == 2, 5 + X[:, 0], np.sin(3 * X[:, 1])) + e, [2]
    if kind == "duplicates":
        X = np.repeat(X[: n // 4], 4, axis=0)
    levels = {
        "constant": np.where(X[:, 0] > 0, 0.0, 2 + X[:, 1] + e),
        "both constant": np.where(X[:, 0] > 0, 0.0, 1.0),
        "separable": np.where(X[:, 0] > 0, 0.0, 100.0) + e,
        "duplicates": np.where(coin, 0.0, 5.0) + X[:, 0] + e,
        "hidden": np.where(coin, X[:, 0], 5 - 2 * X[:, 0]) + e,
    }
    return X, levels[kind], None


@pytest.mark.parametrize(
    ("kind", "n_regimes", "says"),
    [
        ("three outliers", 1, ""),
        ("category", 2, ""),
        ("constant", 2, ""),
        ("both constant", 2, ""),
        ("separable", 2, ""),
        ("duplicates", 2, "no input tells the regimes apart"),
        ("hidden", 2, "no input tells the regimes apart"),
    ],
)
def test_odd_runs_have_a_sensible_answer(kind: str, n_regimes: int, says: str) -> None:
    X, y, categorical = odd(kind)
    model = RegimeGP(n_starts=1, categorical=categorical, random_state=0).fit(X, y)
    assert model.n_regimes_ == n_regimes
    assert says in model.summary().get("boundary", "")
    assert model.tells_apart_ is (not says and n_regimes > 1)
    low, high = model.predict_quantiles(X, [0.05, 0.95]).T
    width = np.median(high - low)
    if says:  # every run may lie in either regime
        assert width > 3
    else:
        assert np.mean((y >= low - 1e-3) & (y <= high + 1e-3)) > 0.8
        assert width < 1.5
    assert (high - low).max() < 3 * np.ptp(y)


@pytest.mark.parametrize(("ratio", "kept"), [(0.99, 2), (1.0, 1), (1.01, 1)])
def test_regimes_are_kept_if_and_only_if_left_out_runs_say_so(monkeypatch, ratio: float, kept: int) -> None:
    monkeypatch.setattr(jump_gp, "_left_out_crps", lambda gp, weight, runs: ratio if gp.n_regimes == 2 else 1.0)
    assert ModularJumpGP(n_starts=1, random_state=0).fit(*disc(80, 0)).gp_.n_regimes == kept


def test_the_left_out_crps_that_decides_is_that_of_new_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    found: dict[int, float] = {}
    original = jump_gp._left_out_crps

    def noted(gp: Any, weight: FloatArray, runs: Any) -> float:
        found[gp.n_regimes] = original(gp, weight, runs)
        return found[gp.n_regimes]

    monkeypatch.setattr(jump_gp, "_left_out_crps", noted)
    (X, y), (X_new, y_new) = disc(250, 0), disc(1_000, 1)
    model = ModularJumpGP(random_state=0).fit(X, y)
    left_out, new = y.std() * found[2], model.predict_distribution(X_new).crps(y_new)
    standard_error = new.std() * np.hypot(1 / np.sqrt(250), 1 / np.sqrt(1_000))
    assert abs(left_out - new.mean()) < 3 * standard_error  # false alarm 1 in 370
    assert mean_crps(model, (X, y)) < left_out


def test_the_number_of_regimes_may_be_given_but_one_with_hardly_any_runs_gets_no_gp_of_its_own() -> None:
    X, y = smooth(80)
    few = X, y + 20.0 * (np.arange(80) < 6)
    model = RegimeGP(n_regimes=2, n_starts=1, random_state=0)
    assert model.fit(*band(80, 3)).n_regimes_ == 2
    with pytest.warns(OneRegimeWarning, match="did not part into the 2 regimes of n_regimes, and one was used"):
        assert model.fit(*few).n_regimes_ == 1
    with pytest.raises(InvalidInput, match="n_regimes must be at most 5, got 6"):
        RegimeGP(n_regimes=6).fit(*few)


def test_regimes_are_mapped_over_the_inputs_that_matter_and_drawn_also_from_the_file(fitted, tmp_path: Path) -> None:
    model = fitted["regime"]
    found = model.map_regimes(n_values=9)
    assert (set(found.names), found.probability.shape) == ({"x1", "x2"}, (2, 9, 9))
    np.testing.assert_allclose(found.probability.sum(axis=0), 1)
    assert len(found.points) == len(found.regime) == 200
    at = [found.names.index("x1"), found.names.index("x2")]
    u, v = found.points[:, at].T
    assert np.mean((found.regime == found.regime[v.argmax()]) == (v > 0.3 * np.sin(3 * u))) > 0.97  # in units of x
    again = load(model.save(tmp_path / "model.gb"))
    np.testing.assert_allclose(again.map_regimes(n_values=9).probability, found.probability)
    labels = [text.get_text() for text in model.plot().get_legend().get_texts()]
    assert labels == ["regime 1", "regime 2"]


def test_whichever_model_of_jumps_is_chosen_its_regimes_are_mapped_and_drawn(fitted, tmp_path: Path) -> None:
    X, y = disc(250, 0)
    inside = X[:, 0] ** 2 + X[:, 1] ** 2 < 0.5
    quick = {"n_members": 1, "n_epochs": 5, "random_state": 0}
    network = QuantileSurrogate(features=BoundaryFeatures(labels="response"), **quick).fit(X, y)
    for model in (fitted["modular"], network, load(network.save(tmp_path / "network.gb"))):
        auto = AutoSurrogate()
        auto.combination_ = Combination("single", (model,), np.ones(1))
        found = auto.map_regimes()
        at = found.points[:, [found.names.index("x1"), found.names.index("x2")]]
        place = np.abs(X[:, None] - at).max(axis=2).argmin(axis=0)  # the run of each point, which files round
        assert np.abs(X[place] - at).max() < 1e-5
        middle = found.regime[(at**2).sum(axis=1).argmin()]
        assert np.mean((found.regime == middle) == inside[place]) > 0.97
        assert auto.plot().get_xlabel() == found.names[0]


def test_of_models_that_know_no_regimes_nothing_is_drawn() -> None:
    auto = AutoSurrogate()
    auto.combination_ = Combination("single", (StationaryGP(n_starts=1, random_state=0).fit(*smooth()),), np.ones(1))
    assert auto.map_regimes() is None
    with pytest.raises(InvalidInput, match="plot\\(\\) needs two regimes or more"):
        auto.plot()


def test_one_input_is_drawn_as_curves_and_one_regime_is_not_drawn() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (120, 1))
    model = RegimeGP(n_starts=1, random_state=0).fit(X, 5.0 * (X[:, 0] > 0.2) + 0.1 * rng.standard_normal(120))
    assert model.plot().get_ylabel() == "probability"
    upper = model.map_regimes().probability[model.gp_.predict(np.array([[1.5]]))[0].argmax()]
    assert (np.diff(upper > 0.5) != 0).sum() == 1  # one boundary
    alone = RegimeGP(n_starts=1, random_state=0).fit(*smooth())
    assert alone.summary()["regimes"] == "1"
    assert "accuracy of the classifier" not in alone.summary()  # nothing was told apart
    with pytest.raises(InvalidInput, match="plot\\(\\) needs two regimes or more"):
        alone.plot()


@pytest.mark.parametrize("settings", [{"n_regimes": 1}, {"n_regimes": 2.5}, {"n_starts": 0}])
def test_settings_that_make_no_sense_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match=f"{next(iter(settings))} must be"):
        RegimeGP(**settings).fit(*smooth())


@pytest.mark.parametrize(("name", "regimes"), [("modular", "two"), ("regime", "2")])
def test_gps_and_classifier_survive_the_file_and_summaries_tell_the_regimes(fitted, name, regimes, tmp_path) -> None:
    model, X = fitted[name], band(50, 5)[0]
    again = load(model.save(tmp_path / "model.gb"))
    np.testing.assert_array_equal(again.predict_quantiles(X, TAU), model.predict_quantiles(X, TAU))
    assert again.summary() == model.summary()
    assert model.summary()["regimes"] == regimes
    if name == "regime":
        assert sum(int(n) for n in model.summary()["runs of each regime"].split(", ")) == 200


@pytest.mark.parametrize("name", ["modular", "regime"])
@pytest.mark.parametrize("n_regimes", [0, 3, "two"])
def test_a_file_with_another_number_of_regimes_is_refused(fitted, name: str, n_regimes: Any, tmp_path: Path) -> None:
    state = read_state(fitted[name].save(tmp_path / "model.gb"))
    learnt = state.values["learnt"]
    changed = {**learnt, "values": {**learnt["values"], "n_regimes": n_regimes}}
    write_state(tmp_path / "bad.gb", State(state.kind, {**state.values, "learnt": changed}, state.arrays))
    with pytest.raises(UnreadableFile, match="must"):
        load(tmp_path / "bad.gb")
