"""What every model that learns from a table of runs must do; a new model adds one subclass and inherits all of it."""

from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.utils.estimator_checks import estimator_checks_generator
from sklearn.utils.validation import check_is_fitted, validate_data

from genbayes import AutoSurrogate, ConformalSurrogate, GPInformedSurrogate, Normal, QuantileSurrogate, load
from genbayes.errors import FarFromRuns, InvalidInput, UnreadableFile, WeightsRescaled
from genbayes.models.base import Surrogate
from genbayes.models.gp.deep.estimator import DeepGP
from genbayes.models.gp.heteroskedastic import HeteroskedasticGP
from genbayes.models.gp.sparse import SparseGP
from genbayes.models.gp.stationary import StationaryGP
from genbayes.models.jump_gp import ModularJumpGP, RegimeGP
from genbayes.models.trees.boosted import BoostedQuantiles
from genbayes.persistence import State, read_state, write_state
from genbayes_bench.rivals.forest import QuantileForest
from genbayes_bench.rivals.ngboost import NaturalGradientBoosting

TAU = np.array([0.001, 0.05, 0.3, 0.5, 0.7, 0.95, 0.999])


def draw_runs(n: int = 60, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 2))
    return X, 3 * X[:, 0] + 10 + 0.3 * rng.standard_normal(n)


def sklearn_cases() -> list[Any]:
    return [
        pytest.param(model, check, id=f"{type(model).__name__}-{getattr(check, 'func', check).__name__}")
        for contract in SurrogateContract.__subclasses__()
        for model, check in estimator_checks_generator(
            contract.model(**(contract.in_checks or contract.small), random_state=0),
            expected_failed_checks=contract.exempt,
            mark="skip",
        )
    ]


class SurrogateContract:
    model: ClassVar[type]
    small: ClassVar[dict[str, Any]] = {}  # settings that make a fit take a fraction of a second
    in_checks: ClassVar[dict[str, Any]] = {}  # settings for scikit-learn's checks, which want some accuracy; else small
    fewest: ClassVar[tuple[int, str]] = 10, "At least 10 runs are needed"  # runs to learn from, and what fewer are told
    knows_mean: ClassVar[bool] = True
    takes_shares: ClassVar[bool] = True  # weights that are no whole numbers
    exempt: ClassVar[dict[str, str]] = {}  # checks of scikit-learn that ask for what the model does not promise; why

    @pytest.fixture(scope="class")
    @classmethod
    def runs(cls):
        return draw_runs()

    @pytest.fixture(scope="class")
    @classmethod
    def fitted(cls, runs):
        return cls.make().fit(*runs)

    @classmethod
    def make(cls, **settings: Any) -> Any:
        return cls.model(**{**cls.small, "random_state": 0, **settings})

    def test_answers_have_the_promised_shapes(self, fitted, runs) -> None:
        X = runs[0][:7]
        pairs = (*fitted.predict(X, return_std=True), *fitted.predict_interval(X, level=0.9))
        assert {part.shape for part in (fitted.predict(X), fitted.predict_quantiles(X, 0.5), *pairs)} == {(7,)}
        assert fitted.predict_quantiles(X, TAU).shape == (7, len(TAU))
        assert fitted.sample_y(X, n_samples=5, random_state=0).shape == (7, 5)
        assert fitted.extrapolates(X).dtype == bool
        assert len(fitted.predict_distribution(X)) == 7

    def test_it_learns_a_straight_line_and_its_noise(self) -> None:
        X, y = draw_runs(300, seed=1)
        X_new, y_new = draw_runs(400, seed=2)
        law = self.make().fit(X, y).predict_distribution(X_new)
        assert np.corrcoef(law.mean(), y_new)[0, 1] > 0.8
        lower, upper = law.interval(0.9)
        assert 0.6 < np.mean((lower <= y_new) & (y_new <= upper)) < 0.995

    def test_quantiles_are_in_order_and_finite(self, fitted) -> None:
        X = np.random.default_rng(3).uniform(-3, 3, (50, 2))
        q = fitted.predict_distribution(X).ppf(TAU)  # which warns of no row, however far
        assert np.isfinite(q).all()
        assert (np.diff(q, axis=1) >= 0).all()

    @pytest.mark.parametrize("ask", ["predict", "predict_interval", "sample_y", "quantiles"])
    def test_rows_far_from_the_runs_are_flagged_and_asking_for_them_warns(self, fitted, runs, ask: str) -> None:
        near, far = runs[0][:5], np.array([[0.0, 0.0], [0.0, 2.1]])  # half a range of 2 outside, one input alone
        call = (lambda X: fitted.predict_quantiles(X, 0.5)) if ask == "quantiles" else getattr(fitted, ask)
        call(near)
        assert not fitted.extrapolates(near).any()
        np.testing.assert_array_equal(fitted.extrapolates(far), [False, True])
        with pytest.warns(
            FarFromRuns, match="some rows lie far from every training input, .*extrapolates.* tells which"
        ):
            call(far)

    def test_a_row_s_answer_does_not_depend_on_other_rows(self, fitted, runs) -> None:
        together = fitted.predict_quantiles(runs[0], TAU)
        alone = np.vstack([fitted.predict_quantiles(row[None], TAU) for row in runs[0][:5]])
        np.testing.assert_allclose(alone, together[:5], rtol=1e-9, atol=1e-9)

    def test_mean_sd_and_quantiles_read_one_law(self, fitted, runs) -> None:
        law = fitted.predict_distribution(runs[0][:5])
        mean, sd = fitted.predict(runs[0][:5], return_std=True)
        np.testing.assert_allclose(mean, law.mean())
        np.testing.assert_allclose(sd, law.std())
        np.testing.assert_allclose(law.cdf(law.ppf(np.full(1, 0.3))), np.full((5, 1), 0.3), atol=0.05)

    def test_the_law_of_the_mean_is_narrower_than_that_of_a_run(self, fitted, runs) -> None:
        with pytest.raises(InvalidInput, match="of must be one of 'run', 'mean', got 'median'"):
            fitted.predict_distribution(runs[0], of="median")
        if not self.knows_mean:
            with pytest.raises(InvalidInput, match=f"of must be 'run' for {self.model.__name__}, got 'mean'"):
                fitted.predict_distribution(runs[0], of="mean")
            return
        narrow, wide = (fitted.predict_distribution(runs[0], of=of).std() for of in ("mean", "run"))
        assert (narrow < wide).mean() > 0.95

    def test_a_seed_gives_the_same_model_and_global_random_state_and_data_are_left_as_they_were(
        self, fitted, runs
    ) -> None:
        X, y, state = runs[0].copy(), runs[1].copy(), np.random.get_state()[1].copy()  # noqa: NPY002
        np.testing.assert_array_equal(self.make().fit(X, y).predict(X), fitted.predict(runs[0]))
        np.testing.assert_array_equal(np.random.get_state()[1], state)  # noqa: NPY002
        np.testing.assert_array_equal(X, runs[0])
        np.testing.assert_array_equal(y, runs[1])

    def test_units_do_not_matter(self, fitted, runs) -> None:
        X, y = runs
        unit = np.array([1e-6, 1e6])
        far = self.make().fit(X * unit, 1e-9 * y).predict(X * unit)
        np.testing.assert_allclose(1e9 * far, fitted.predict(X), rtol=0.02)

    def test_a_weight_equals_repeating_the_row(self, runs) -> None:
        X, y = runs
        weight = np.tile([1.0, 2.0, 3.0], 20)
        weighted = self.make().fit(X, y, sample_weight=weight).predict(X)
        repeated = self.make().fit(np.repeat(X, weight.astype(int), axis=0), np.repeat(y, weight.astype(int)))
        np.testing.assert_allclose(weighted, repeated.predict(X), rtol=1e-6)

    def test_the_scale_of_weights_that_are_no_counts_does_not_matter(self, runs) -> None:
        X, y = runs
        weight = np.tile([0.5, 1.0, 1.5], 20)  # of mean one
        if not self.takes_shares:
            with pytest.raises(InvalidInput, match="sample_weight must be whole numbers"):
                self.make().fit(X, y, sample_weight=weight)
            return
        plain = self.make().fit(X, y, sample_weight=weight).predict(X)
        with pytest.warns(WeightsRescaled, match="rescaled to mean one over the positive ones"):
            tiny = self.make().fit(X, y, sample_weight=weight / 1000)
        np.testing.assert_allclose(tiny.predict(X), plain, rtol=1e-6)
        with pytest.warns(WeightsRescaled):
            shares = self.make().fit(X, y, sample_weight=np.full(60, 1 / 60))
        np.testing.assert_allclose(shares.predict(X), self.make().fit(X, y).predict(X), rtol=1e-6)

    def test_rows_of_weight_zero_are_not_among_those_needed(self) -> None:
        n, _ = self.fewest
        X, y = draw_runs(n + 5, seed=6)
        with pytest.raises(InvalidInput, match="the table has 9 of positive weight|X must have at least .* got"):
            self.make().fit(X, y, sample_weight=np.repeat([1.0, 0.0], [n - 1, 6]))
        self.make().fit(X, y, sample_weight=np.repeat([1.0, 0.0], [n, 5]))

    def test_rows_of_weight_zero_are_as_if_they_had_not_been_given(self) -> None:
        rng = np.random.default_rng(7)
        X = pd.DataFrame({"size": rng.uniform(size=70), "gas": rng.choice(["He", "O2"], 70)})
        y = X["size"] + 4 * (X["gas"] == "He") + 0.1 * rng.standard_normal(70)
        X.loc[60:, "gas"] = "Xe"
        weighted = self.make(categorical=["gas"]).fit(X, y, sample_weight=np.arange(70) < 60)
        without = self.make(categorical=["gas"]).fit(X[:60], y[:60])
        np.testing.assert_array_equal(weighted.predict(X[:60]), without.predict(X[:60]))
        assert weighted.summary()["distinct runs"] == "60"
        with pytest.raises(InvalidInput, match=r"X\['gas'\] must hold categories seen in fit \('He', 'O2'\), got 'Xe'"):
            weighted.predict(X)

    def test_a_saved_model_answers_the_same_to_the_bit(self, fitted, runs, tmp_path: Path) -> None:
        again = load(fitted.save(tmp_path / "model.gb"))
        assert type(again) is self.model
        np.testing.assert_array_equal(again.predict_quantiles(runs[0], TAU), fitted.predict_quantiles(runs[0], TAU))
        np.testing.assert_array_equal(again.extrapolates(3 * runs[0]), fitted.extrapolates(3 * runs[0]))
        assert again.summary() == fitted.summary()
        assert repr(again.get_params()) == repr(fitted.get_params())  # models within models have no equality

    def test_a_file_without_its_arrays_is_refused(self, fitted, tmp_path: Path) -> None:
        state = read_state(fitted.save(tmp_path / "model.gb"))
        write_state(tmp_path / "bare.gb", State(state.kind, state.values, {}))
        with pytest.raises(UnreadableFile, match="the model file must hold the array"):
            load(tmp_path / "bare.gb")

    def test_frames_with_categories_are_learnt_remembered_and_saved(self, tmp_path: Path) -> None:
        rng = np.random.default_rng(5)
        X = pd.DataFrame({"size": rng.uniform(size=80), "gas": rng.choice(["He", "O2"], 80)})
        y = X["size"] + 4 * (X["gas"] == "He") + 0.1 * rng.standard_normal(80)
        model = self.make(categorical=["gas"]).fit(X, y)
        helium, oxygen = (model.predict(X.assign(gas=gas)).mean() for gas in ("He", "O2"))
        assert helium > oxygen
        np.testing.assert_array_equal(load(model.save(tmp_path / "m.gb")).predict(X), model.predict(X))
        with pytest.raises(InvalidInput, match="gas"):
            model.predict(X.assign(gas="Xe"))
        with pytest.raises(InvalidInput, match="got text in 'gas'; name them in categorical="):
            self.make().fit(X, y)

    @pytest.mark.parametrize("bad", [np.nan, np.inf])
    def test_missing_numbers_are_named_by_row(self, fitted, runs, bad: float) -> None:
        X, y = runs[0].copy(), runs[1].copy()
        X[3, 1] = y[4] = bad
        for call in (lambda: self.make().fit(X, runs[1]), lambda: fitted.predict(X)):
            with pytest.raises(InvalidInput, match=r"Input X contains \w+ in 1 of 60 rows \(row 3\)"):
                call()
        with pytest.raises(InvalidInput, match=r"Input y contains .* It is in 1 of 60 rows \(row 4\)"):
            self.make().fit(runs[0], y)

    def test_an_input_too_large_to_compute_with_is_named_with_its_column_and_limit(self, fitted, runs) -> None:
        X, y = runs[0].copy(), runs[1]
        X[3, 1] = 1e300
        told = r"X\['column 1'\] must lie between -\S+ and \S+e\+24, got 1e\+300 in 1 of 60 rows \(row 3\); repair"
        with pytest.raises(InvalidInput, match=told):
            self.make().fit(X, y)
        with pytest.raises(InvalidInput, match=told):
            fitted.predict_distribution(X)
        X[3, 1] = 1e24
        assert np.isfinite(fitted.predict_distribution(X).ppf(TAU)).all()

    def test_a_constant_response_and_a_bad_seed_are_refused(self, runs) -> None:
        with pytest.raises(InvalidInput, match=r"y must vary, got the constant 2.5 in all 60 rows"):
            self.make().fit(runs[0], np.full(60, 2.5))
        with pytest.raises(InvalidInput, match="random_state must be None, a whole number"):
            self.make(random_state=-1).fit(*runs)

    def test_a_clone_has_the_settings_and_not_the_fit_and_says_so(self, fitted, runs) -> None:
        copy = clone(fitted)
        assert repr(copy.get_params()) == repr(fitted.get_params())
        assert not hasattr(copy, "n_rows_")
        for call in (lambda: copy.predict(runs[0]), lambda: copy.save("nowhere.gb")):
            with pytest.raises(Exception, match="is not fitted yet"):
                call()

    def test_inputs_without_effect_and_constant_inputs_are_harmless(self) -> None:
        X, y = draw_runs(80, seed=4)
        padded = np.column_stack([X, np.full(80, 7.0), np.zeros(80)])
        assert np.corrcoef(self.make().fit(padded, y).predict(padded), y)[0, 1] > 0.8

    def test_the_smallest_table_is_learnt(self) -> None:
        n, told = self.fewest
        X, y = draw_runs(n, seed=6)
        assert np.isfinite(self.make().fit(X, y).predict_quantiles(X, TAU)).all()
        with pytest.raises(InvalidInput, match=told):
            self.make().fit(X[1:], y[1:])

    def test_the_summary_is_words(self, fitted) -> None:
        summary = fitted.summary()
        assert summary["distinct runs"] == "60"
        assert all(isinstance(part, str) and part for item in summary.items() for part in item)


class TestQuantileSurrogate(SurrogateContract):
    model = QuantileSurrogate
    small: ClassVar = {"n_epochs": 120, "n_hidden": 16, "n_members": 2, "n_layers": 1, "dropout": 0.0, "device": "cpu"}
    in_checks: ClassVar = {"n_epochs": 150, "n_hidden": 16, "n_members": 2, "dropout": 0.0}


class TestGPInformedSurrogate(SurrogateContract):
    model = GPInformedSurrogate
    small: ClassVar = {"n_epochs": 20, "n_members": 2}


class TestStationaryGP(SurrogateContract):
    model = StationaryGP


class TestSmoothGP(SurrogateContract):
    model = StationaryGP
    small: ClassVar = {"kernel": "squared-exponential"}


class TestDeepGP(SurrogateContract):
    model = DeepGP
    small: ClassVar = {"n_samples": 20, "n_burn_in": 60, "thinning": 1, "noise": "estimated"}
    in_checks: ClassVar = {**small, "n_samples": 8, "n_burn_in": 25}
    takes_shares = False


class TestModularJumpGP(SurrogateContract):
    model = ModularJumpGP
    small: ClassVar = {"n_starts": 1}


class TestRegimeGP(SurrogateContract):
    model = RegimeGP
    small: ClassVar = {"n_starts": 1}


class TestHeteroskedasticGP(SurrogateContract):
    model = HeteroskedasticGP


class TestBoostedQuantiles(SurrogateContract):
    model = BoostedQuantiles
    small: ClassVar = {"n_trees": 60, "n_leaves": 8}
    in_checks: ClassVar = {"n_trees": 25, "n_leaves": 4, "learning_rate": 0.2}
    knows_mean = False


class TestQuantileForest(SurrogateContract):
    model = QuantileForest
    small: ClassVar = {"n_trees": 30, "n_leaf_rows": 3, "max_features": 1.0}
    in_checks: ClassVar = {**small, "n_trees": 20}
    knows_mean = False


class TestNaturalGradientBoosting(SurrogateContract):
    model = NaturalGradientBoosting
    small: ClassVar = {"n_rounds": 25, "depth": 3, "learning_rate": 0.2}
    in_checks: ClassVar = {**small, "n_rounds": 10}
    knows_mean = False


class TestSparseGP(SurrogateContract):
    model = SparseGP
    small: ClassVar = {"n_inducing": 40}  # fewer than the runs, so that the bound is climbed
    in_checks: ClassVar = {"n_inducing": 20, "n_steps": 10}


class NormalLine(RegressorMixin, BaseEstimator, Surrogate):
    """Least squares and a constant standard deviation: a model of another library, which learns from any few rows."""

    def fit(self, X, y, sample_weight=None):
        X, y = validate_data(self, X, y, y_numeric=True)
        self.coefficients_ = np.linalg.lstsq(np.column_stack([np.ones(len(X)), X]), y, rcond=None)[0]
        self.sd_ = float(np.std(y)) / 10
        return self

    def predict_distribution(self, X):
        check_is_fitted(self)
        X = validate_data(self, X, reset=False)
        return Normal(np.column_stack([np.ones(len(X)), X]) @ self.coefficients_, self.sd_)


FEW_DISTINCT = "its sixteen rows are copies of four runs, too few to calibrate"


class TestConformalSurrogate(SurrogateContract):
    model = ConformalSurrogate
    in_checks: ClassVar = {"model": NormalLine(), "level": 0.4}
    knows_mean = False
    fewest = 19, "X must have at least 19 rows .*9 to calibrate, 10 to learn from"
    exempt: ClassVar = {
        "check_sample_weight_equivalence_on_dense_data": "weights are for the model inside; calibration counts rows",
        "check_sample_weights_shape": FEW_DISTINCT,
        "check_sample_weights_not_overwritten": FEW_DISTINCT,
    }

    @classmethod
    def make(cls, random_state: Any = 0, **settings: Any) -> Any:
        return ConformalSurrogate(StationaryGP(n_starts=1, **settings), level=0.8, random_state=random_state)

    def test_a_weight_equals_repeating_the_row(self, runs) -> None:
        """Only for the model inside: a row of weight zero is as if it had not been given, others calibrate once."""
        X, y = runs
        weight = np.where(np.arange(60) < 12, 0.0, 1.0)
        weighted = self.make().fit(X, y, sample_weight=weight)
        without = self.make().fit(X[12:], y[12:])
        np.testing.assert_array_equal(weighted.predict(X), without.predict(X))


class TestAutoSurrogate(SurrogateContract):
    model = AutoSurrogate
    small: ClassVar = {"candidates": ["gp"]}


@pytest.mark.parametrize(("estimator", "check"), sklearn_cases())
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.DataConversionWarning")
def test_scikit_learn_check(estimator, check) -> None:
    check(estimator)
