"""The account of a selection: honest scores, differences to the best, words for people and values for files."""

import json
import math
from typing import Any, ClassVar

import numpy as np
import pytest

from genbayes import AutoSurrogate, Normal
from genbayes.auto.report import SelectionReport
from genbayes.auto.stacking import LEVELS
from genbayes.metrics import crps


def smooth(n: int = 60, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 1))
    return X, np.sin(6 * X[:, 0]) + 0.1 * rng.standard_normal(n)


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
    assert (report.crps, report.crps_se, report.n_scored) == (
        report.entries[0].crps,
        report.entries[0].crps_se,
        report.entries[0].n_scored,
    )


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


def test_the_report_is_told_in_words_and_as_plain_values(gp) -> None:
    report = gp.report_
    again = SelectionReport.from_dict(json.loads(json.dumps(report.to_dict(), allow_nan=False)))
    assert again == report
    assert str(again) == str(report)
    assert "gp    stationary GP" in str(report)
    assert "With 60 rows this is known only roughly." in report.trust
    assert 0 < entry(gp, "gp").seconds <= report.seconds


def test_the_diagnostics_are_those_of_unseen_rows(fakes) -> None:
    wrong, right = (choose({"bell": fakes.Bell(shift)}, noise(300)).report_ for shift in (1.5, 0.0))
    assert "too high" in wrong.trust
    assert "No sign of miscalibration" in right.trust
    assert wrong.diagnostics != right.diagnostics
