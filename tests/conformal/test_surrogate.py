"""ConformalSurrogate as users meet it: any model, three methods, groups, files, and what is refused."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.special import ndtri
from sklearn.base import BaseEstimator, clone
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import cross_val_score

from genbayes import ConformalSurrogate, Empirical, InvalidInput, Normal, QuantileFunction, QuantileSurrogate, load
from genbayes.errors import CopiesCountedOnce, UnreadableFile
from genbayes.models.base import Surrogate
from genbayes.models.gp.stationary import StationaryGP
from genbayes.persistence import State, read_state, write_state

TAU = np.array([0.001, 0.05, 0.3, 0.5, 0.7, 0.95, 0.999])
METHODS = ["split", "cross", "prefit"]
GP = {"n_starts": 1}


class Fixed(Surrogate):
    """Returns one law at every row."""

    def __init__(self, law: Any) -> None:
        self.law = law

    def predict_distribution(self, X: Any) -> Any:
        return self.law[np.zeros(len(X), dtype=int)]


def draw_runs(n: int = 80, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 2))
    return X, 3 * X[:, 0] + 10 + 0.3 * rng.standard_normal(n)


X, Y = draw_runs()


def make(method: str, **settings: Any) -> ConformalSurrogate:
    model = StationaryGP(**GP)
    if method == "prefit":
        model = StationaryGP(random_state=0, **GP).fit(*draw_runs(seed=99))
    return ConformalSurrogate(model, method=method, random_state=0, **settings)


@pytest.fixture(scope="module", params=METHODS)
def calibrated(request) -> ConformalSurrogate:
    return make(request.param).fit(*draw_runs())


def test_a_whole_distribution_is_predicted_and_its_interval_at_the_level_is_the_default(calibrated) -> None:
    X, y = draw_runs(30, seed=1)
    law = calibrated.predict_distribution(X)
    np.testing.assert_array_equal(calibrated.predict_interval(X), law.interval(0.9))
    narrow, wide = (np.subtract(*calibrated.predict_interval(X, level=level)[::-1]) for level in (0.5, 0.9))
    assert (narrow < wide).all()
    np.testing.assert_allclose(law.cdf(law.ppf(TAU[:1])), TAU[0], rtol=1e-6)
    assert law.crps(y).mean() < Normal(10.0, 2.0)[np.zeros(30, dtype=int)].crps(y).mean()
    assert law.sample(3, random_state=0).shape == (30, 3)
    far = calibrated.predict_distribution(np.random.default_rng(2).uniform(-5, 5, (40, 2)))
    q = far.ppf(np.linspace(1e-4, 0.9999, 301))
    assert np.isfinite(q).all()
    assert (np.diff(q, axis=1) >= 0).all()


@pytest.mark.parametrize(
    ("method", "n_learnt", "n_scores"), [("split", [75], 25), ("cross", [75] * 4, 100), ("prefit", None, 100)]
)
def test_methods_differ_in_who_learns_and_who_calibrates(wrong, method: str, n_learnt, n_scores: int) -> None:
    fitted = ConformalSurrogate(wrong(), method=method, n_folds=4, random_state=0).fit(*draw_runs(100))
    assert n_learnt is None or [model.n_learnt_ for model in fitted.models_] == n_learnt
    assert len(fitted.scores_) == n_scores


def test_no_row_calibrates_a_model_that_has_seen_it() -> None:
    seen = []

    class Remembers(Fixed):
        def fit(self, X, y):
            self.rows = set(X[:, 0])
            return self

        def predict_distribution(self, X):
            seen.append(bool(self.rows & set(X[:, 0])))
            return super().predict_distribution(X)

    X, y = np.arange(60.0)[:, None], np.random.default_rng(0).standard_normal(60)
    for method in ("split", "cross"):
        ConformalSurrogate(Remembers(Normal([0.0], 1.0)), method=method, random_state=0).fit(X, y)
    assert seen == [False] * 6


def test_prefit_takes_the_model_as_it_is_and_other_methods_leave_it_unfitted() -> None:
    model = StationaryGP(**GP)
    ConformalSurrogate(model, random_state=0).fit(X, Y)
    assert not hasattr(model, "gp_")
    assert model.random_state is None
    before = model.set_params(random_state=0).fit(*draw_runs(seed=99)).predict(X)
    assert ConformalSurrogate(model, method="prefit").fit(X, Y).models_[0] is model
    np.testing.assert_array_equal(model.predict(X), before)


def test_one_seed_settles_everything_random() -> None:
    class Random(BaseEstimator, Fixed):
        def __init__(self, random_state=None):
            self.random_state = random_state

        def fit(self, X, y):
            self.law = Normal(np.random.default_rng(self.random_state).standard_normal(1), 1.0)
            return self

    first, again, other = (ConformalSurrogate(Random(), random_state=seed).fit(X, Y) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first.predict(X), again.predict(X))
    assert (first.models_[0].law.mean() != other.models_[0].law.mean()).all()
    assert set(first.scores_ + first.models_[0].law.mean()) != set(other.scores_ + other.models_[0].law.mean())


def test_a_seed_of_the_model_is_kept_and_without_one_each_copy_has_its_own(wrong) -> None:
    for seed, n_seeds in ((5, 1), (None, 5)):
        fitted = ConformalSurrogate(wrong(random_state=seed), method="cross", random_state=0).fit(X, Y)
        seeds = {model.random_state for model in fitted.models_}
        assert len(seeds) == n_seeds
        assert seed is None or seeds == {seed}


def test_without_a_model_the_surrogate_of_this_library_is_calibrated(monkeypatch) -> None:
    def stub(self, X, y, sample_weight=None):
        self.law = Normal([10.0], 2.0)
        return self

    monkeypatch.setattr(QuantileSurrogate, "fit", stub)
    monkeypatch.setattr(QuantileSurrogate, "predict_distribution", lambda self, X: self.law[np.zeros(len(X), int)])
    fitted = ConformalSurrogate(random_state=0).fit(*draw_runs())
    assert type(fitted.models_[0]) is QuantileSurrogate
    assert fitted.model is None


def test_weights_reach_the_model() -> None:
    weights = (None, np.where(X[:, 0] > 0, 1000.0, 1.0))
    plain, weighted = (make("split").fit(X, Y, sample_weight=weight) for weight in weights)
    assert (plain.models_[0].predict(X) != weighted.models_[0].predict(X)).any()
    assert len(plain.scores_) == len(weighted.scores_)


def test_it_fits_into_scikit_learn() -> None:
    X, y = draw_runs(120)
    scores = cross_val_score(ConformalSurrogate(StationaryGP(**GP), level=0.8, random_state=0), X, y, cv=3)
    assert (scores > 0.8).all()
    frozen = FrozenEstimator(StationaryGP(**GP).fit(*draw_runs(seed=99)))
    assert clone(ConformalSurrogate(frozen, method="prefit")).fit(X, y).predict(X).shape == (120,)


def test_frames_are_taken_as_the_model_takes_them() -> None:
    pandas = pd.DataFrame(X, columns=["a", "b"], index=np.arange(80)[::-1])
    fitted = make("cross").fit(pandas, pd.Series(Y))
    np.testing.assert_array_equal(fitted.predict(pandas), make("cross").fit(pl.DataFrame(pandas), Y).predict(pandas))
    np.testing.assert_array_equal(fitted.predict(pandas), make("cross").fit(X, Y).predict(X))
    assert list(fitted.feature_names_in_) == ["a", "b"]
    with pytest.raises(InvalidInput, match="feature names should match"):
        fitted.predict(pandas[["b", "a"]])


TERRIBLE = {
    "point": Normal([0.0], 0.0),
    "far point": Normal([1e6], 0.0),
    "far needle": Normal([1e6], 1e-9),
    "haystack": Normal([-1e6], 1e6),
    "equal draws": Empirical([[7.0, 7.0, 7.0]]),
    "atom": QuantileFunction([0.2, 0.8], [[5.0, 5.0]]),
}


@pytest.mark.parametrize("law", TERRIBLE.values(), ids=TERRIBLE)
def test_a_terrible_model_still_gives_finite_intervals_of_the_right_size(law) -> None:
    y = np.random.default_rng(6).standard_normal(1_000)
    model = ConformalSurrogate(Fixed(law), method="prefit").fit(np.zeros((1_000, 1)), y)
    # 5% and 95% quantiles of 1,000 responses: sd sqrt(.05 * .95 / 1000) / phi(1.64) = 0.067, four of them
    np.testing.assert_allclose(np.ravel(model.predict_interval(np.zeros((1, 1)))), ndtri([0.05, 0.95]), atol=0.27)
    assert np.isfinite(model.predict_quantiles(np.zeros((1, 1)), TAU)).all()


def test_the_model_s_bounds_are_kept() -> None:
    law = QuantileFunction(np.arange(1, 20) / 20, [np.arange(1, 20) / 20], support=(0, 1))
    y = np.random.default_rng(7).beta(0.3, 0.3, 200)
    model = ConformalSurrogate(Fixed(law), method="prefit").fit(np.zeros((200, 1)), y)
    q = model.predict_quantiles(np.zeros((1, 1)), TAU)
    assert 0 <= q.min() <= q.max() <= 1
    with pytest.raises(InvalidInput, match=r"y must lie within the bounds of the model, got 1.5 in row 3 .*widen"):
        ConformalSurrogate(Fixed(law), method="prefit").fit(np.zeros((200, 1)), np.where(np.arange(200) == 3, 1.5, y))


@pytest.mark.parametrize("unit", [1e-9, 1e9])
def test_the_unit_of_the_response_does_not_matter(unit: float) -> None:
    near, far = (
        ConformalSurrogate(Fixed(Normal([0.0], u)), method="prefit").fit(X, u * Y).predict_interval(X)
        for u in (1.0, unit)
    )
    np.testing.assert_allclose(np.array(far), unit * np.array(near), rtol=1e-9)


def test_each_group_is_calibrated_by_its_own_rows() -> None:
    X, groups = np.zeros((200, 1)), np.repeat(["a", "b"], 100)
    y = np.where(groups == "a", 1.0, 100.0) * np.random.default_rng(8).standard_normal(200)
    model = ConformalSurrogate(Fixed(Normal([0.0], 1.0)), method="prefit")
    together = {
        group: model.fit(X, y, groups=groups).predict_quantiles(X[:2], TAU, groups=[group] * 2) for group in "ab"
    }
    for group, q in together.items():
        alone = model.fit(X[:100], y[groups == group]).predict_quantiles(X[:2], TAU)
        np.testing.assert_allclose(q, alone, rtol=1e-3)


def test_rows_of_several_groups_are_predicted_together_also_by_the_saved_model(tmp_path: Path) -> None:
    X, y = draw_runs(120)
    groups = (X[:, 1] > 0).astype(int)
    model = make("cross", level=0.8).fit(X, y, groups=groups)
    together, low = model.predict(X, groups=groups), groups == 0
    np.testing.assert_allclose(together[low], model.predict(X[low], groups=groups[low]), rtol=1e-9)
    assert model.sample_y(X, 2, random_state=0, groups=groups).shape == (120, 2)
    assert model.predict(X, return_std=True, groups=groups)[1].shape == (120,)
    again = load(model.save(tmp_path / "model.gb"))
    np.testing.assert_array_equal(again.predict(X, groups=groups), together)
    with pytest.raises(InvalidInput, match="got 2 in 1 of 1 rows"):
        again.predict(X[:1], groups=[2])


@pytest.mark.parametrize(
    ("of_fit", "read", "groups", "sentence"),
    [
        (["a", "b"] * 40, "predict", None, "be given, since fit was given groups"),
        (["a", "b"] * 40, "predict_distribution", ["c"] * 80, "be among those of fit .*got 'c' in 80 of 80 rows"),
        (None, "predict_interval", ["a", "b"] * 40, "be left out, since fit was given none"),
    ],
)
def test_groups_at_new_rows_are_checked(of_fit, read: str, groups, sentence: str) -> None:
    model = make("prefit", level=0.8).fit(X, Y, groups=of_fit)
    with pytest.raises(InvalidInput, match=f"groups must {sentence}"):
        getattr(model, read)(X, groups=groups)


@pytest.mark.parametrize("method", METHODS)
def test_a_group_too_small_to_calibrate_is_named(method: str) -> None:
    with pytest.raises(InvalidInput, match="level must be at most 0.6666 with 5 calibration rows in group 'few'"):
        make(method).fit(X, Y, groups=np.where(np.arange(80) < 5, "few", "many"))


def test_a_saved_model_answers_the_same_to_the_bit(calibrated, tmp_path: Path) -> None:
    again = load(calibrated.save(tmp_path / "model.gb"))
    X = draw_runs(20, seed=4)[0]
    np.testing.assert_array_equal(again.predict_quantiles(X, TAU), calibrated.predict_quantiles(X, TAU))
    np.testing.assert_array_equal(again.extrapolates(4 * X), calibrated.extrapolates(4 * X))
    assert repr(again.get_params()) == repr(calibrated.get_params())
    assert again.summary() == calibrated.summary()


def test_a_calibrated_model_within_another_is_saved(tmp_path: Path) -> None:
    model = ConformalSurrogate(make("prefit").fit(X, Y), method="prefit").fit(*draw_runs(seed=5))
    np.testing.assert_array_equal(load(model.save(tmp_path / "model.gb")).predict(X), model.predict(X))


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"model0": {"kind": "os.system", "values": {}}}, "must hold a registered model, got 'os.system'"),
        ({"model0": {"values": {}}}, "must name its kind"),
        (
            {"folds": np.full(80, 3)},
            "'folds' in the model file must hold whole numbers from 0 to 0, got 3 to 3",
        ),
        (
            {"codes": np.ones(80, dtype=np.int64)},
            "'codes' in the model file must hold whole numbers from 0 to 0",
        ),
        ({"scores": np.full(80, np.nan)}, "the array 'scores' in the model file must be finite"),
        ({"least_slopes": []}, "the scales of scores in the model file must be positive"),
        ({"least_slopes": [-1.0]}, "the scales of scores in the model file must be positive"),
        ({"level": 0.999}, "level must be at most 0.9753 with 80 calibration rows"),
        ({"level": "high"}, "the value 'level' in the model file must be a number .*, got 'high'"),
        ({"n_models": 2}, "must number 2 parts"),
    ],
)
def test_a_file_that_contradicts_itself_is_refused(changes, match, tmp_path: Path) -> None:
    state = read_state(make("prefit").fit(X, Y).save(tmp_path / "model.gb"))
    parts = [part | {name: changes[name] for name in changes if name in part} for part in (state.values, state.arrays)]
    write_state(tmp_path / "other.gb", State(state.kind, *parts))
    with pytest.raises(UnreadableFile, match=match):
        load(tmp_path / "other.gb")


class Points(Fixed):
    def predict_distribution(self, X):
        return np.zeros(len(X))


FITTED = StationaryGP(n_starts=1).fit(X[::-1], Y[::-1])


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"level": 1.0}, "level must lie strictly between 0 and 1, got 1.0"),
        ({"level": "0.9"}, "level must lie strictly between 0 and 1, got '0.9'"),
        ({"method": "full"}, "method must be one of 'split', 'cross', 'prefit', got 'full'"),
        ({"unit": "row"}, "unit must be one of 'run', 'input', got 'row'"),
        ({"method": "croos"}, "got 'croos'; did you mean 'cross'"),
        ({"n_folds": 1}, "n_folds must be a whole number of at least 2, got 1"),
        ({"calibration_share": 1.0}, "calibration_share must lie strictly between 0 and 1, got 1.0"),
        ({"calibration_share": "half"}, "calibration_share must lie strictly between 0 and 1, got 'half'"),
        ({"model": "gp"}, "model must be an object with fit and predict_distribution, got 'gp'"),
        ({"model": StationaryGP}, "model must be an object with fit and predict_distribution, got <class"),
        ({"model": Fixed(Normal([0.0], 1.0))}, "model must be an object with fit and predict_distribution"),
        ({"random_state": -1}, "random_state must be None, a whole number"),
        ({"method": "prefit"}, "be fitted for method='prefit', got an unfitted StationaryGP; fit it to other rows"),
        ({"method": "prefit", "model": FITTED}, "X must hold rows that the model has not learnt from"),
        ({"method": "prefit", "model": Points(None)}, "model must return a PredictiveDistribution .*got ndarray"),
    ],
)
def test_bad_settings_and_models_are_refused(settings, match) -> None:
    with pytest.raises(InvalidInput, match=match):
        ConformalSurrogate(**{"model": StationaryGP(**GP), **settings}).fit(X, Y)


def test_a_level_beyond_the_calibration_rows_is_refused_with_the_one_they_support() -> None:
    with pytest.raises(InvalidInput, match="at most 0.8947 with 18 calibration rows, got 0.9; give at least 19"):
        make("prefit").fit(*draw_runs(18))
    make("prefit").fit(*draw_runs(19))


def spoilt(values: np.ndarray, rows: list[int], bad: float) -> np.ndarray:
    return np.where(np.isin(np.arange(80), rows), bad, values.T).T


Y_ROWS = r"Input y contains .* It is in 2 of 80 rows \(rows 7, 9\)"


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("X", "y", "sentence"),
    [
        (X, spoilt(Y, [7, 9], np.nan), Y_ROWS),
        (X, spoilt(Y, [7, 9], np.inf), Y_ROWS),
        (spoilt(X, [7], np.nan), Y, r"Input X contains NaN in 1 of 80 rows \(row 7\)"),
        (X, Y[:-1], "inconsistent numbers of samples"),
    ],
    ids=["missing y", "infinite y", "missing x", "lengths"],
)
def test_rows_that_cannot_be_used_are_named(method: str, X: np.ndarray, y: np.ndarray, sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        make(method).fit(X, y)


def test_weights_that_nobody_would_use_are_refused(wrong) -> None:
    with pytest.raises(InvalidInput, match="sample_weight must be left out with method='prefit'"):
        make("prefit").fit(X, Y, sample_weight=np.ones(80))
    with pytest.raises(InvalidInput, match="sample_weight must be left out, since WrongNormal.fit takes none"):
        ConformalSurrogate(wrong()).fit(X, Y, sample_weight=np.ones(80))


def test_a_changed_setting_and_a_fit_that_fails_leave_the_model_as_it_was() -> None:
    model = make("prefit").fit(X, Y)
    before = model.predict_interval(X)
    np.testing.assert_array_equal(model.set_params(level=0.999).predict_interval(X), before)
    with pytest.raises(InvalidInput, match="level must be at most"):
        model.fit(X, Y)
    np.testing.assert_array_equal(model.predict_interval(X), before)


def test_the_summary_says_what_is_promised() -> None:
    X, y = draw_runs(100)
    assert make("prefit").fit(X, y).summary()["guaranteed coverage"] == "0.901"  # 91 of 101
    cross = make("cross").fit(X, y).summary()
    assert (cross["method"], cross["calibration rows"]) == ("cross, 5 folds", "100")
    grouped = make("prefit", level=0.8).fit(X, y, groups=np.arange(100) % 3).summary()
    assert (grouped["groups"], grouped["calibration rows"]) == ("3", "33 to 34 a group")


@pytest.mark.parametrize("reload", [False, True])
@pytest.mark.parametrize(
    ("unit", "shared", "sentence"),
    [
        ("run", Y[:1], r"X must hold rows that the model has not learnt from, got 1 of 41 rows \(row 40\) of its fit"),
        ("input", Y[:1] + 1, r"X must hold inputs that the model has not learnt from, got 1 of 41 rows \(row 40\)"),
        ("run", Y[:1] + 1, None),  # another run at that input
    ],
)
def test_a_row_of_the_fit_among_those_that_calibrate_is_refused(
    unit: str, shared, sentence: str | None, reload: bool, tmp_path: Path
) -> None:
    model = load(FITTED.save(tmp_path / "model.gb")) if reload else FITTED
    fresh, y = draw_runs(40, seed=98)
    X_cal, y_cal = np.vstack([fresh, X[:1]]), np.concatenate([y, shared])
    calibrate = ConformalSurrogate(model, method="prefit", unit=unit)
    if sentence is None:
        assert len(calibrate.fit(X_cal, y_cal).scores_) == 41
        return
    with pytest.raises(InvalidInput, match=sentence):
        calibrate.fit(X_cal, y_cal)


@pytest.mark.parametrize(
    "as_table",
    [
        np.asarray,
        lambda X: pd.DataFrame(X, columns=["a", "b"]).assign(gas="He"),
        lambda X: [[str(v) for v in row] for row in X],
    ],
)
def test_copies_are_found_in_any_table_and_never_parted(as_table) -> None:
    class Text(Fixed):
        def fit(self, X, y):
            self.rows = {str(row) for row in np.asarray(X).tolist()}
            return self

        def predict_distribution(self, X):
            assert not self.rows & {str(row) for row in np.asarray(X).tolist()}
            return super().predict_distribution(X)

    order = np.random.default_rng(0).permutation(np.repeat(np.arange(40), 2))
    for method, n_scores in (("split", 19), ("cross", 40)):
        wrapped = ConformalSurrogate(Text(Normal([10.0], 2.0)), method=method, random_state=0)
        assert len(wrapped.fit(as_table(X[order]), Y[order]).scores_) == n_scores


def test_equal_rows_that_may_be_runs_of_their_own_are_told_and_copies_are_not() -> None:
    x, y = np.repeat(X[:40], 2, axis=0), np.repeat(Y[:40], 2)
    make("split").fit(x, y)
    coarse = np.vstack([x, x[:1]]), np.append(y, y[0] + 1)  # one input with the responses a, a, b
    with pytest.warns(CopiesCountedOnce, match="1 of 81 rows repeat another at inputs that have other responses"):
        make("split").fit(*coarse)
    assert make("split", unit="input").fit(*coarse).summary()["coverage of"] == "runs at new inputs"


def test_a_unit_in_two_groups_is_not_parted_and_calibrates_both() -> None:
    x, y = np.vstack([X, X[:30]]), np.concatenate([Y, Y[:30]])
    groups = np.repeat(["a", "b"], [80, 30])
    fitted = make("prefit", level=0.8).fit(x[50:], y[50:], groups=groups[50:])
    np.testing.assert_array_equal(np.bincount(fitted.codes_), [30, 30])


@pytest.mark.parametrize("method", ["split", "cross", "prefit"])
@pytest.mark.parametrize("reload", [False, True])
def test_what_a_calibrated_model_learnt_or_was_calibrated_on_calibrates_no_other(
    method: str, reload: bool, tmp_path: Path
) -> None:
    x, y = draw_runs(60, seed=5)
    inner = make(method).fit(x, y)
    inner = load(inner.save(tmp_path / "inner.gb")) if reload else inner
    outer = ConformalSurrogate(inner, method="prefit", level=0.9)
    with pytest.raises(InvalidInput, match=r"rows that the model has not learnt from, got 60 of 60 rows"):
        outer.fit(x, y)
    assert len(outer.fit(*draw_runs(60, seed=6)).scores_) == 60


def test_groups_that_share_inputs_are_each_counted_by_input_in_any_order_of_rows() -> None:
    x, y = np.repeat(X[:60], 2, axis=0), np.repeat(Y[:60], 2) + np.tile([0.0, 0.1], 60)
    groups = np.tile(["A", "B"], 60)
    for method in ("split", "cross"):
        sizes = np.bincount(make(method, level=0.8, unit="input").fit(x, y, groups=groups).codes_)
        np.testing.assert_array_equal(sizes, [15, 15] if method == "split" else [60, 60])


def test_a_group_only_of_rows_of_weight_zero_is_no_group() -> None:
    groups = np.where(np.arange(80) < 20, "odd", "plain")
    fitted = make("split").fit(X, Y, sample_weight=groups == "plain", groups=groups)
    assert fitted.groups_.labels == ("plain",)
    assert fitted.summary()["distinct runs"] == "60"


def test_labels_of_many_rows_are_checked_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    groups = np.tile(["a", "b"], 40)
    fitted = make("split", level=0.5).fit(X, Y, groups=groups)
    monkeypatch.setattr("genbayes.models.base.ROWS_AT_ONCE", 7)
    for labels, sentence in (
        (groups[:10], r"groups must have shape \(80,\), one label per row, got \(10,\)"),
        (np.tile(groups, 2), r"groups must have shape \(80,\), one label per row, got \(160,\)"),
        ("a", r"groups must have shape \(80,\), one label per row, got \(\)"),
        (np.append(groups[:-1], "c"), r"got 'c' in 1 of 80 rows \(row 79\)"),
    ):
        with pytest.raises(InvalidInput, match=sentence):
            fitted.predict(X, groups=labels)
