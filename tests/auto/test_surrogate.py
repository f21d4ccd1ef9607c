"""AutoSurrogate chooses what predicts unseen rows best, joins what belongs together, and says what it did."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest

from genbayes import AutoSurrogate, ConformalSurrogate, InvalidInput, Normal, load
from genbayes.auto.stacking import LEVELS, Kind
from genbayes.auto.surrogate import Combination
from genbayes.errors import UnreadableFile
from genbayes.metrics import crps
from genbayes.models import StationaryGP
from genbayes.persistence import State, read_state, write_state

Timed = Callable[..., tuple[AutoSurrogate, float]]
LATE = 1.1  # times the limit; the promise is the larger of 10% and 5 s
TAU = [0.001, 0.1, 0.5, 0.9, 0.999]


def smooth(n: int = 60, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 1))
    return X, np.sin(6 * X[:, 0]) + 0.1 * rng.standard_normal(n)


def jump(n: int = 120, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 2))
    return X, 6.0 * (X[:, 0] + X[:, 1] > 0) + np.sin(3 * X[:, 0]) + 0.1 * rng.standard_normal(n)


def noise(n: int = 60, seed: int = 0, sd: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.uniform(size=(n, 1)), sd * rng.standard_normal(n)


def choose(candidates: Any, runs: tuple[np.ndarray, np.ndarray], **settings: Any) -> AutoSurrogate:
    return AutoSurrogate(**{"candidates": candidates, "random_state": 0, **settings}).fit(*runs)


def entry(model: AutoSurrogate, name: str) -> Any:
    return next(each for each in model.report_.entries if each.name == name)


@pytest.fixture(scope="module")
def gp() -> AutoSurrogate:
    return choose(["gp"], smooth())


def test_a_smooth_noisy_function_is_left_to_the_gp() -> None:
    pytest.importorskip("lightgbm")
    from genbayes.models import BoostedQuantiles

    model = choose({"boosted": BoostedQuantiles(n_trees=60, n_leaves=4), "gp": None}, smooth())
    assert model.report_.chosen[0] == "gp"
    assert entry(model, "boosted").note.startswith("stopped: a rival is out of reach: CRPS ")
    assert model.report_.reason.startswith("The stationary GP ")


def test_a_jump_is_left_to_a_model_of_regimes() -> None:
    model = choose(["gp", "regime-gp"], jump(), n_folds=3)
    assert model.report_.chosen[0] == "regime-gp"
    assert model.report_.reason.startswith("The response has two regimes. The GP of each regime ")
    X, y = jump(200, seed=1)
    alone = choose(["gp"], jump(), n_folds=3).predict_distribution(X).crps(y).mean()
    assert model.predict_distribution(X).crps(y).mean() < 0.7 * alone


def test_a_model_of_regimes_that_found_one_is_not_called_a_gp_of_each() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(80, 1))
    y = np.sin(6 * X[:, 0]) + (0.02 + X[:, 0] ** 2) * rng.standard_normal(80)
    model = choose(["gp", "regime-gp"], (X, y), n_folds=3)
    assert model.report_.chosen == ("regime-gp",)
    assert entry(model, "regime-gp").title == "GP with noise of any shape"
    assert "The GP with noise of any shape had the lowest CRPS" in model.report_.reason
    assert "each regime" not in str(model.report_)


def test_a_candidate_that_scores_the_same_as_the_best_is_said_to() -> None:
    reason = choose(["gp", "regime-gp"], smooth(40), n_folds=3).report_.reason
    assert "; the GP with noise of any shape scored the same." in reason


def test_a_jump_of_the_slope_that_y_alone_hides_is_found_and_told() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (150, 3))
    y = np.where(X[:, 0] > 0.2, X[:, 1], -X[:, 1]) + 0.05 * rng.standard_normal(150)
    model = choose(["gp", "regime-gp", "jump-gp"], (X, y), n_folds=3)
    assert model.report_.chosen[0] == "regime-gp"
    assert model.report_.reason.startswith("The response has two regimes. ")


def test_candidates_with_opposite_faults_are_joined(fakes) -> None:
    model = choose({"low": fakes.Bell(-0.5), "high": fakes.Bell(0.7)}, noise(200))
    shares = {e.name: e.weight for e in model.report_.entries}
    assert model.report_.kind == "average"
    assert -0.5 * shares["low"] + 0.7 * shares["high"] == pytest.approx(0.0, abs=0.15)
    assert sum(shares.values()) == pytest.approx(1)
    best = min(e.crps for e in model.report_.entries)
    assert model.report_.crps < best
    assert "The chosen model averages the quantiles of the Bell (" in model.report_.reason
    assert f", which saves {1 - model.report_.crps / best:.1%} ± " in model.report_.reason


def test_score_and_verdict_are_those_of_choices_that_had_not_seen_the_row(fakes, monkeypatch) -> None:
    """The report must judge the table of nested choices: here one that is off by 3 and far too narrow."""
    runs = noise(60)

    def off(Q, y, *_):
        return np.tile(3 + 0.01 * LEVELS, (len(y), 1))

    monkeypatch.setattr("genbayes.auto.surrogate.cross_fitted_table", off)
    report = choose({"low": fakes.Bell(-0.3), "high": fakes.Bell(0.3)}, runs).report_
    assert report.crps == pytest.approx(np.mean(np.abs(3 - runs[1])), rel=0.01)
    assert not report.diagnostics["calibrated"]
    assert max(report.diagnostics["intervals"]["share"]) < 0.05


def test_where_joining_saves_nothing_the_sentence_does_not_say_that_it_does(fakes) -> None:
    rng = np.random.default_rng(2)
    X = rng.uniform(size=(40, 1))
    y = 3 * (X[:, 0] - 0.5) + rng.standard_normal(40)
    model = choose({"right": fakes.Bell(-1.5, 1.0, 3.0), "flat": fakes.Bell(-1.2, 1.1, 2.4)}, (X, y))
    assert model.report_.kind == "average"
    assert model.report_.crps > min(e.crps for e in model.report_.entries)
    assert "too close to call, and safer than trusting one to be ahead" in model.report_.reason
    assert "saves" not in model.report_.reason


def test_one_that_is_right_is_chosen_alone(fakes) -> None:
    model = choose({"wrong": fakes.Bell(3.0), "right": fakes.Bell(0.0)}, noise(200))
    assert (model.report_.kind, model.report_.chosen) == ("single", ("right",))
    assert model.report_.reason.startswith("The Bell had the lowest CRPS on 200 rows that no model had seen; next was")
    assert model.report_.reason.endswith(" behind. Joining it with others saved nothing.")


def test_a_weak_candidate_that_makes_up_for_the_best_is_not_given_up(fakes) -> None:
    candidates = {name: fakes.Bell(shift, 0.3) for name, shift in (("best", 0.5), ("twin", 0.51), ("weak", -1.2))}
    model = choose({**candidates, "bad": fakes.Bell(5.0)}, noise(60, sd=0.3))
    assert model.report_.crps < 0.6 * entry(model, "best").crps
    assert "weak" in model.report_.chosen


def test_who_is_not_clearly_behind_is_cross_validated_on_enough_rows_and_three_are_joined(fakes) -> None:
    """Five candidates whose errors have nothing to do with each other, so that any of them helps the others."""

    class Wavy(fakes.Bell):
        def predict_distribution(self, X: Any, of: str = "run") -> Normal:
            return Normal(np.sin(40 * self.shift * np.asarray(X)[:, 0]), 1.0)

    model = choose({name: Wavy(shift) for shift, name in enumerate("abcde", start=1)}, noise(1_500))
    assert {e.n_scored for e in model.report_.entries} == {1_200}  # the fourth fold brings the rows beyond a thousand
    assert model.report_.n_scored == 1_200
    assert len(model.report_.chosen) == 3


def test_small_screens_go_on_to_further_folds(fakes) -> None:
    model = choose({"a": fakes.Bell(0.0), "b": fakes.Bell(0.01)}, noise(100))
    assert [e.n_scored for e in model.report_.entries] == [100, 100]


def test_what_is_chosen_is_fitted_to_all_rows(fakes) -> None:
    X, y = noise(40)
    (model,) = choose({"mean": fakes.Mean()}, (X, y)).combination_.models
    np.testing.assert_array_equal(np.sort(model.y_), np.sort(y))


def test_replicates_are_never_split(fakes) -> None:
    class Watch(fakes.Bell):
        both: ClassVar[set[float]] = set()

        def predict_distribution(self, X: Any, of: str = "run") -> Normal:
            self.both.update(set(self.X_[:, 0]) & set(np.asarray(X)[:, 0]))
            return super().predict_distribution(X)

    rng = np.random.default_rng(0)
    choose({"watch": Watch()}, (np.repeat(np.arange(20.0), 3)[:, None], rng.standard_normal(60)))
    assert Watch.both == set()


def test_a_candidate_that_crashes_is_recorded_and_the_rest_go_on(fakes) -> None:
    model = choose({"bad": fakes.Broken(), "endless": fakes.Endless(), "gp": None}, smooth())
    assert model.report_.chosen == ("gp",)
    assert entry(model, "bad").note == "RuntimeError: the oven is cold"
    assert entry(model, "bad").crps is None
    assert "not finite" in entry(model, "endless").note
    assert "RuntimeError: the oven is cold" in str(model.report_)


@pytest.fixture
def fails_once(fakes) -> Any:
    """A model whose third fit fails: the second fold of cross-validation if it is alone."""

    class Fails(fakes.Bell):
        n_fits: ClassVar[int] = 0

        def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
            type(self).n_fits += 1
            if type(self).n_fits == 3:
                raise RuntimeError("the third time")
            return super().fit(X, y, sample_weight)

    return Fails()


def test_a_candidate_that_crashes_on_a_later_fold_is_recorded_too(fakes, fails_once) -> None:
    model = choose({"fails": fails_once, "well": fakes.Bell(0.2)}, noise(900))  # screening ends with the first fold
    assert "the third time" in entry(model, "fails").note


@pytest.mark.parametrize("n", [60, 900], ids=["while screening", "while cross-validating"])
def test_where_the_only_candidate_crashes_on_a_later_fold_it_is_said(fails_once, n: int) -> None:
    with pytest.raises(InvalidInput, match="candidates must include one .*the third time"):
        choose({"fails": fails_once}, noise(n))


def test_where_all_crash_one_sentence_says_why(fakes) -> None:
    with pytest.raises(InvalidInput, match=r"candidates must include one that can be fitted .*a: Run.*cold; b: .*cold"):
        choose({"a": fakes.Broken(), "b": fakes.Broken()}, smooth())


def test_a_model_whose_fit_takes_no_weights_can_be_a_candidate(fakes) -> None:
    class Unweighted(fakes.Bell):
        def fit(self, X: Any, y: Any) -> Any:
            return super().fit(X, y)

    assert choose({"mine": Unweighted()}, noise()).report_.chosen == ("mine",)


@pytest.mark.parametrize("X", [np.zeros(30), np.r_[np.zeros(12), np.arange(1.0, 9)]], ids=["one input", "replicates"])
def test_too_few_distinct_inputs_are_refused_in_the_same_words(X: np.ndarray) -> None:
    with pytest.raises(InvalidInput, match="X must .*distinct"):
        choose(["gp"], (X[:, None], np.random.default_rng(0).standard_normal(len(X))))


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"candidates": ["iqn-deap"]}, "candidates must be among gp, .*got 'iqn-deap'.*'iqn-deep'"),
        ({"n_folds": 1}, "n_folds must be .*2.*, got 1"),
        ({"time_limit": 0}, "time_limit must be positive and finite, got 0"),
        ({"time_limit": math.inf}, "time_limit must be positive and finite, got inf"),
        ({"y_bounds": (1, 0)}, r"y_bounds must be .*lower < upper, got \(1, 0\)"),
        ({"y_bounds": (0, None)}, r"y must lie within y_bounds=\(0.0, None\), got"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        choose(settings.pop("candidates", ["gp"]), smooth(), **settings)


def test_a_seed_settles_everything_and_another_draws_other_folds(fakes) -> None:
    first, again, other = (choose({"mean": fakes.Mean()}, noise(), random_state=seed).report_ for seed in (0, 0, 1))
    assert first.crps == again.crps
    assert first.crps != other.crps


def test_a_candidate_s_score_does_not_depend_on_its_company(fakes) -> None:
    class Moody(fakes.Bell):
        def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
            self.shift_ = np.random.default_rng(self.random_state).standard_normal()
            return super().fit(X, y, sample_weight)

        def predict_distribution(self, X: Any, of: str = "run") -> Normal:
            return Normal(np.full(len(X), self.shift_), 1.0)

    alone = choose({"moody": Moody()}, noise())
    among = choose({"far": fakes.Bell(9.0), "moody": Moody()}, noise())
    assert entry(alone, "moody").crps == entry(among, "moody").crps
    other = choose({"merry": Moody()}, noise())
    assert entry(other, "merry").crps != entry(alone, "moody").crps


def test_a_weight_of_two_is_the_row_twice(fakes) -> None:
    X, y = noise(40)
    weight = np.tile([1, 2], 20)
    candidates = {"mean": fakes.Mean(), "low": fakes.Bell(-0.5), "high": fakes.Bell(0.7)}
    weighted = AutoSurrogate(candidates=candidates, random_state=0).fit(X, y, sample_weight=weight)
    repeated = choose(candidates, (np.repeat(X, weight, axis=0), np.repeat(y, weight)))
    assert weighted.report_.crps == repeated.report_.crps
    np.testing.assert_array_equal(weighted.predict(X), repeated.predict(X))


def test_columns_are_known_by_name_and_order() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"heat": np.r_[rng.uniform(size=59), 9.0], "time": rng.uniform(size=60)})
    model = choose(["gp"], (X, X["heat"] + 0.1 * rng.standard_normal(60)))
    assert model.report_.thin == (f"heat above {9 - 0.2 * (9 - X['heat'].min()):.3g}: 1 of 60 runs",)
    with pytest.raises(InvalidInput, match="feature names"):
        model.predict(X[["time", "heat"]])


def test_a_rare_category_is_learnt_though_it_cannot_be_judged() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"size": rng.uniform(size=60), "gas": np.r_[["Xe"], rng.choice(["He", "O2"], 59)]})
    shift = X["gas"].map({"He": 0.0, "O2": 4.0, "Xe": 20.0})
    model = choose(["gp"], (X, X["size"] + shift + 0.1 * rng.standard_normal(60)), categorical=["gas"])
    assert model.report_.n_scored == 59
    xenon, helium = (model.predict(X.assign(gas=gas)).mean() for gas in ("Xe", "He"))
    assert xenon > helium + 2


@pytest.mark.parametrize("seed", range(5))
def test_folds_that_rare_categories_have_emptied_are_not_tried(fakes, seed: int) -> None:
    rng = np.random.default_rng(seed)
    level = np.where(np.arange(20) < 14, np.arange(20) + 5.0, np.arange(20) % 2)
    model = choose(
        {"bell": fakes.Bell()},
        (np.column_stack([rng.uniform(size=20), level]), rng.standard_normal(20)),
        categorical=[1],
        random_state=seed,
    )
    assert 0 < model.report_.n_scored <= 6


def test_no_prediction_leaves_the_bounds() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.uniform(size=(60, 1)), rng.exponential(size=60)
    free, bounded = (choose(["gp"], (X, y), y_bounds=bounds) for bounds in (None, (0, None)))
    assert free.predict_quantiles(X, [0.001]).min() < 0
    assert bounded.predict_quantiles(X, [1e-6, 0.001]).min() >= 0
    assert bounded.sample_y(X, 100, random_state=0).min() >= 0


def test_alone_the_chosen_model_speaks_for_itself(gp) -> None:
    X = smooth(20, seed=2)[0]
    inner = gp.combination_.models[0]
    (low, high), spread = inner.predict_distribution(X).interval(0.8), gp.combination_.spread
    np.testing.assert_allclose(gp.predict_interval(X, 0.8)[1] - gp.predict_interval(X, 0.8)[0], spread * (high - low))


def test_the_joined_law_has_the_weights_of_the_report(fakes) -> None:
    model = choose({"low": fakes.Bell(-0.5), "high": fakes.Bell(0.7)}, noise(200))
    expected = sum(e.weight * {"low": -0.5, "high": 0.7}[e.name] for e in model.report_.entries)
    np.testing.assert_allclose(model.predict_quantiles([[0.5]], 0.5), expected, atol=1e-12)


def test_it_can_be_calibrated() -> None:
    X, y = smooth(120)
    model = ConformalSurrogate(AutoSurrogate(candidates=["gp"]), level=0.8, random_state=0).fit(X, y)
    lower, upper = model.predict_interval(smooth(50, seed=3)[0])
    assert (lower < upper).all()
    assert type(model.models_[0]) is AutoSurrogate


def test_its_summary_says_what_was_chosen_and_why(gp) -> None:
    summary = gp.summary()
    assert summary["model"] == "stationary GP 100%"
    assert summary["why"] == gp.report_.reason
    assert summary["distinct runs"] == "60"
    assert "With 60 rows this is known only roughly." in gp.report_.trust
    assert 0 < entry(gp, "gp").seconds <= gp.report_.seconds


def test_what_is_being_tried_is_shown(fakes, capsys, monkeypatch) -> None:
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("COLUMNS", "100")
    choose({"bell": fakes.Bell()}, noise(), verbose=True)
    assert "choosing a surrogate: Bell: all rows" in capsys.readouterr().err


def test_candidates_keep_their_doubts_to_themselves(fakes) -> None:
    class Doubts(fakes.Bell):
        def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
            import warnings

            warnings.warn("not sure", stacklevel=1)
            return super().fit(X, y, sample_weight)

    choose({"doubts": Doubts()}, noise())  # warnings are errors here


def test_the_user_s_model_is_left_unfitted(fakes) -> None:
    mine = fakes.Bell()
    choose({"mine": mine}, noise())
    assert not hasattr(mine, "y_")
    assert mine.random_state is None


def test_scores_are_those_of_rows_that_the_model_had_not_seen(fakes) -> None:
    """A model that writes down what it learnt from and was asked; scores, means and errors are redone by hand."""

    class Scribe(fakes.Mean):
        notes: ClassVar[list[tuple[np.ndarray, np.ndarray, float, float]]] = []

        def predict_distribution(self, X: Any, of: str = "run") -> Normal:
            self.notes.append((self.X_[:, 0], np.asarray(X)[:, 0], float(np.mean(self.y_)), float(np.std(self.y_))))
            return super().predict_distribution(X)

    X, y = smooth(50)
    report = choose({"scribe": Scribe()}, (X, y)).report_
    at, scores = dict(zip(X[:, 0], y, strict=True)), {}
    for learnt, asked, loc, scale in Scribe.notes:
        assert not set(learnt) & set(asked)
        assert len(learnt) + len(asked) == 50
        for x in asked:
            scores[x] = crps(Normal([loc], scale).ppf(LEVELS), np.array([at[x]]))[0]
    assert set(scores) == set(X[:, 0])
    s = np.array(list(scores.values()))
    assert report.entries[0].crps == pytest.approx(s.mean())
    assert report.entries[0].crps_se == pytest.approx(s.std() / math.sqrt(50))
    assert report.n_scored == report.entries[0].n_scored
    assert report.crps == pytest.approx(report.entries[0].crps, rel=0.02)  # as it is, or spread as other folds ask


def test_how_far_a_candidate_is_behind_is_told_by_paired_differences(fakes) -> None:
    X, y = noise(100)
    model = choose({"low": fakes.Bell(-0.3), "high": fakes.Bell(0.4)}, (X, y))
    low, high = (crps(Normal(np.full(100, shift), 1.0).ppf(LEVELS), y) for shift in (-0.3, 0.4))
    best, other = ("low", "high") if low.mean() < high.mean() else ("high", "low")
    behind = np.abs(low.mean() - high.mean())
    assert (entry(model, best).behind, entry(model, best).behind_se) == (0, 0)
    assert entry(model, other).behind == pytest.approx(behind)
    assert entry(model, other).behind_se == pytest.approx((low - high).std() / 10)


def test_row_weights_say_who_is_the_best(fakes) -> None:
    X, y = noise(70, sd=0.3)
    y[30:] += 4
    candidates = {"low": fakes.Bell(0.0, 0.5), "high": fakes.Bell(4.0, 0.5)}
    weight = np.where(np.arange(70) < 30, 5.0, 1.0)
    model = AutoSurrogate(candidates=candidates, random_state=0).fit(X, y, sample_weight=weight)
    assert entry(model, "low").crps < entry(model, "high").crps
    assert (entry(model, "low").behind, entry(model, "high").behind > 0) == (0, True)


def test_the_score_of_the_report_is_near_that_of_new_runs(gp) -> None:
    X, y = smooth(2_000, seed=1)
    new = gp.predict_distribution(X).crps(y)
    standard_error = math.hypot(gp.report_.crps_se, new.std() / math.sqrt(2_000))
    assert abs(gp.report_.crps - new.mean()) < 4 * standard_error  # false alarm 1 in 16,000; folds have fewer rows


def test_the_diagnostics_are_those_of_unseen_rows(fakes) -> None:
    wrong, right = (choose({"bell": fakes.Bell(shift)}, noise(300)).report_ for shift in (1.5, 0.0))
    assert "too high" in wrong.trust
    assert "No sign of miscalibration" in right.trust
    assert wrong.diagnostics != right.diagnostics


@pytest.fixture
def timed(clock) -> Timed:
    """Fit with a limit; the model and the time that it took, by the clock of the test."""

    def fit(candidates: dict[str, Any], limit: float | None, n: int = 60) -> tuple[AutoSurrogate, float]:
        rng = np.random.default_rng(0)
        started = clock.read()
        model = AutoSurrogate(candidates=candidates, time_limit=limit, random_state=0)
        model.fit(rng.uniform(size=(n, 1)), rng.standard_normal(n))
        return model, clock.read() - started

    return fit


def test_many_slow_candidates_end_by_the_limit(fakes, timed) -> None:
    model, seconds = timed({f"slow {k}": fakes.Slow(0.15, shift=k) for k in range(10)}, 0.6)
    assert seconds <= LATE * 0.6
    assert model.report_.chosen[0] == "slow 0"
    assert "no time" in {e.note for e in model.report_.entries}


def test_one_that_alone_had_time_is_not_said_to_be_better(fakes, timed) -> None:
    for n_others, said in ((1, "one other had no time."), (2, "2 others had no time.")):
        slow = {f"slow {k}": fakes.Slow(60) for k in range(n_others)}
        reason = timed({"bell": fakes.Bell(), **slow}, 0.4)[0].report_.reason
        assert reason == f"Only the Bell finished in 0.4 s; {said}"


def test_a_limit_too_short_for_anything_is_refused(fakes, timed) -> None:
    with pytest.raises(
        InvalidInput, match=r"time_limit must leave time for at least one .*got 0.05 .*60 rows; raise it"
    ):
        timed({"slow": fakes.Slow(60), "slower": fakes.Slow(90)}, 0.05)


def test_until_something_has_worked_all_the_time_may_be_spent_on_it(fakes, timed) -> None:
    model, seconds = timed({"slow": fakes.Slow(0.6)}, 1.0)  # beyond the share that screening has otherwise
    assert model.report_.chosen == ("slow",)
    assert seconds <= LATE * 1.0


def test_a_run_out_of_time_returns_the_model_of_the_first_fold(fakes, timed) -> None:
    model, _ = timed({"slow": fakes.Slow(0.6)}, 1.0, n=50)
    assert len(model.combination_.models[0].y_) == 40
    assert model.report_.n_scored == 10
    assert np.isfinite(model.predict([[0.5]])).all()


def test_a_crash_and_a_lack_of_time_are_told_apart(fakes, timed) -> None:
    with pytest.raises(InvalidInput, match=r"got none \(broken: RuntimeError: the oven is cold; slow: no time\)"):
        timed({"broken": fakes.Broken(), "slow": fakes.Slow(60)}, 0.3)


def test_a_slow_candidate_does_not_take_the_time_of_those_that_are_done(fakes, timed) -> None:
    model, seconds = timed({"bell": fakes.Bell(), "slow": fakes.Slow(60)}, 0.4)
    assert model.report_.chosen == ("bell",)
    assert len(model.combination_.models[0].y_) == 60  # fitted to all rows
    assert seconds <= LATE * 0.4


def test_with_time_enough_the_limit_changes_nothing(fakes, timed) -> None:
    candidates = {"low": fakes.Bell(-0.5), "high": fakes.Bell(0.7)}
    free, limited = (timed(candidates, limit)[0].report_ for limit in (None, 60.0))
    assert (free.crps, free.chosen, free.n_scored) == (limited.crps, limited.chosen, limited.n_scored)


def test_nothing_is_begun_when_no_time_is_left(fakes, timed, clock) -> None:
    """Models that never ask for the time cannot be stopped, but they need not be started."""

    class Stubborn(fakes.Bell):
        def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
            clock.turn(0.2)
            return super().fit(X, y, sample_weight)

    model, seconds = timed({f"stubborn {k}": Stubborn(shift=k) for k in range(8)}, 0.2)
    assert seconds <= 0.2 + 0.2
    assert model.report_.chosen == ("stubborn 0",)


def draw_runs() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(40, 2))
    return X, np.sin(6 * X[:, 0]) + 0.1 * rng.standard_normal(40)


@pytest.fixture(scope="module")
def single() -> AutoSurrogate:
    return AutoSurrogate(candidates=["gp"], y_bounds=(-3, None), random_state=0).fit(*draw_runs())


def joined(kind: Kind) -> AutoSurrogate:
    """As fitted with two GPs that happened to be worth joining."""
    X, y = draw_runs()
    model = AutoSurrogate(candidates=["gp"], random_state=0).fit(X, y)
    other = StationaryGP(n_starts=1, random_state=1).fit(X, y + X[:, 1])
    model.combination_ = Combination(kind, (*model.combination_.models, other), np.array([0.25, 0.75]))
    return model


def altered(model: AutoSurrogate, path: Path, values: dict[str, Any], arrays: dict[str, np.ndarray]) -> Path:
    state = read_state(model.save(path))
    write_state(path, State(state.kind, {**state.values, **values}, {**state.arrays, **arrays}))
    return path


def test_report_and_answers_survive_the_file(single, tmp_path: Path) -> None:
    again = load(single.save(tmp_path / "auto.gb"))
    X = draw_runs()[0]
    np.testing.assert_array_equal(again.predict_quantiles(X, TAU), single.predict_quantiles(X, TAU))
    assert again.report_ == single.report_
    assert again.get_params() == single.get_params()
    assert again.combination_.bounds == (-3.0, None)


@pytest.mark.parametrize("kind", ["average", "pool"])
@pytest.mark.parametrize("of", ["run", "mean"])
def test_joined_models_survive_the_file(kind: Kind, of: str, tmp_path: Path) -> None:
    model = joined(kind)
    again, X = load(model.save(tmp_path / "auto.gb")), draw_runs()[0]
    old, new = (each.predict_distribution(X, of=of).ppf(TAU) for each in (model, again))
    np.testing.assert_array_equal(new, old)
    assert again.combination_.kind == kind


@pytest.mark.parametrize(
    ("values", "arrays"),
    [
        ({"kind": "vote"}, {}),
        ({"n_models": 0}, {"weights": np.empty(0)}),
        ({"n_models": 2}, {}),
        ({"n_models": 2}, {"weights": np.array([0.5, 0.5])}),
        ({"n_models": "many"}, {}),
        ({"bounds": [3, -3]}, {}),
        ({"report": {}}, {}),
        ({"report": "good"}, {}),
        ({"model0": {"kind": "Evil", "values": {}}}, {}),
        ({"model0": 3}, {}),
        ({"parameters": {"trust_me": True}}, {}),
        ({}, {"weights": np.array([-1.0])}),
        ({}, {"weights": np.array([np.nan])}),
        ({}, {"weights": np.array([np.inf])}),
    ],
    ids=repr,
)
def test_a_file_that_was_tampered_with_is_refused(values, arrays, single, tmp_path: Path) -> None:
    path = altered(single, tmp_path / "auto.gb", values, arrays)
    with pytest.raises(UnreadableFile, match="must"):
        load(path)


def test_a_model_inside_that_is_fitted_to_other_columns_is_refused(single, tmp_path: Path) -> None:
    X, y = draw_runs()
    other = StationaryGP(n_starts=1, random_state=0).fit(X[:, :1], y).to_state()
    state = read_state(single.save(tmp_path / "auto.gb"))
    values = {name: value for name, value in state.values.items() if name != "model0"}
    arrays = {name: array for name, array in state.arrays.items() if not name.startswith("model0.")}
    write_state(tmp_path / "auto.gb", State(state.kind, values, arrays).with_part("model0", other))
    with pytest.raises((UnreadableFile, InvalidInput), match="features|inputs|columns"):
        load(tmp_path / "auto.gb").predict(X)
