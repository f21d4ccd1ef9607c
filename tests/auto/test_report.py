"""The report: a table for people, plain values for files, and the ends of inputs where runs are few."""

import json
from dataclasses import replace
from typing import Self

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import BaseEstimator

from genbayes import AutoSurrogate, PredictiveDistribution
from genbayes.auto.candidates import Candidate, Clock, Trials
from genbayes.auto.race import Findings
from genbayes.auto.report import Entry, SelectionReport, _distance, _reasons, sparse_regions, write_report
from genbayes.auto.stacking import Stack
from genbayes.data.dataset import Dataset
from genbayes.models import StationaryGP
from genbayes.models.registry import Facts

REPORT = SelectionReport(
    entries=(
        Entry("gp", "stationary GP", 0.1234567, 0.01, 60, 0.0, 0.0, 1.25, 0.3),
        Entry("iqn-deep", "quantile network, deep", 0.2, 0.02, 60, 0.0765, 0.012, 9.0, 0.7),
        Entry("boosted", "gradient-boosted quantiles", 0.3, 0.03, 12, 0.17, 0.04, 0.5, 0.0, "clearly behind"),
        Entry("mine", "Oven", None, None, 0, None, None, 0.0, 0.0, "RuntimeError: the oven is cold"),
    ),
    kind="average",
    crps=0.11,
    crps_se=0.009,
    n_scored=60,
    reason="They make up for each other.",
    trust="Intervals cover.",
    thin=("pressure above 8: 1 of 100 runs",),
    diagnostics={"coverage": [0.1, 0.2], "inner": {"n": 3}},
    seconds=10.5,
)
PROSE = st.text(st.characters(codec="utf-8", exclude_categories=("Cs", "Cc")), max_size=30)
NUMBER = st.floats(allow_nan=False, allow_infinity=False)


def test_the_chosen_are_those_with_a_weight_the_largest_first() -> None:
    assert REPORT.chosen == ("iqn-deep", "gp")


def test_it_prints_one_line_for_each_candidate_and_then_the_words() -> None:
    lines = str(REPORT).splitlines()
    assert lines[0].split() == ["name", "surrogate", "CRPS", "±", "SE", "behind", "rows", "seconds", "weight"]
    assert lines[1].split()[:3] == ["gp", "stationary", "GP"]
    assert lines[1].split()[-5:] == ["0.01", "best", "60", "1.2", "30%"]
    assert lines[2].split()[-8:] == ["0.2", "0.02", "+0.076", "±", "0.01", "60", "9.0", "70%"]
    assert lines[3].endswith("clearly behind")
    assert lines[4].split()[2:6] == ["-", "-", "-", "-"]
    assert lines[4].endswith("RuntimeError: the oven is cold")
    assert lines[5:] == [
        "",
        "2 of 4 surrogates scored in full, 1 given up, 1 failed.",
        "chosen: CRPS 0.11 ± 0.009 on 60 rows that no model had seen",
        "They make up for each other.",
        "Intervals cover.",
        "pressure above 8: 1 of 100 runs",
    ]


def test_the_columns_of_the_table_stand_under_their_heads() -> None:
    head, *rows = str(REPORT).splitlines()[:4]
    for title in ("CRPS", "rows", "seconds"):
        end = head.index(title) + len(title)
        assert all(row[end - 1] != " " and row[end] == " " for row in rows)


@pytest.mark.parametrize("weights", [(0.335, 0.335, 0.33), (0.125, 0.125, 0.75), (0.005, 0.995, 0.0), (1.0, 0.0, 0.0)])
def test_weights_in_percent_sum_to_100_wherever_they_are_told(weights: tuple[float, ...]) -> None:
    entries = tuple(replace(REPORT.entries[0], name=str(k), weight=weight) for k, weight in enumerate(weights))
    report = replace(REPORT, entries=entries)
    told = [int(weight.rstrip("%")) for weight in report.weights if weight != "-"]
    assert (len(told), sum(told)) == (sum(weight > 0 for weight in weights), 100)
    assert [line.split()[-1] for line in str(report).splitlines()[1:4]] == list(report.weights)
    stack = Stack("average", np.array(weights), np.zeros(60), 1.0)
    joined = " ".join(_reasons(entries, stack, (0.0, 0.0), 60, None))
    assert all(f"({weight})" in joined for weight in report.weights if len(told) > 1 and weight != "-")


def told(compared: dict[str, tuple[float, float]], chosen: str, **notes: str) -> SelectionReport:
    """The report on candidates with such errors on the 20 rows that decided, and on 20 others; NaN for not scored."""
    n, rows = 40, np.arange(20)
    data = Dataset(np.linspace(0, 1, n)[:, None], np.zeros(n), np.ones(n))
    candidates = [Candidate(name, name, lambda seed: None) for name in compared]
    trials = Trials(candidates, data, np.arange(n) % 5, list(range(len(candidates))), Clock(None), lambda _: None)
    for name, errors in compared.items():
        wiggle = 0.01 * np.cos(len(name) + np.arange(n))  # so that differences have a standard error
        trials.trials[name].q[:] = (np.repeat(errors, 20) + wiggle)[:, None]
        trials.trials[name].part, trials.trials[name].note = object(), notes.get(name, "")
    scores = trials.scores(chosen)[rows]
    stack = Stack("single", np.ones(1), scores)
    return write_report(trials, [chosen], stack, rows, trials.trials[chosen].q[rows], Findings(), Facts(n, 1), ["x"])


def test_the_lag_is_that_on_the_rows_that_decided() -> None:
    report = told({"gp": (1.0, 5.0), "network": (1.2, 1.0)}, "gp")
    gp, network = report.entries
    assert report.reason.startswith(
        "The gp had the lowest CRPS on 20 rows that no model had seen; next was the network"
    )
    assert network.behind == pytest.approx(0.2, abs=0.01)
    assert (gp.crps, network.crps) == (pytest.approx(1.0, abs=0.01), pytest.approx(1.2, abs=0.01))
    assert gp.n_scored == network.n_scored == report.n_scored == 20


def test_who_was_scored_on_no_row_that_decided_is_compared_on_its_own() -> None:
    late = told({"gp": (1.0, 2.0), "network": (np.nan, 3.0)}, "gp").entries[1]
    assert (late.n_scored, late.behind) == (20, pytest.approx(1.0, abs=0.02))


def test_a_simpler_choice_is_not_said_to_be_the_best() -> None:
    report = told({"gp": (1.001, 1.0), "deeper": (1.0, 1.0)}, "gp")
    assert report.reason.startswith("The deeper had the lowest CRPS on 20 rows")
    assert "The chosen model is the gp, which is simpler." in report.reason
    assert all(entry.behind >= 0 for entry in report.entries if entry.behind is not None)


def test_who_was_given_up_with_a_lower_score_is_no_rival() -> None:
    report = told({"gp": (1.0, 1.0), "network": (0.5, 0.5), "trees": (2.0, 2.0)}, "gp", network="RuntimeError: cold")
    said = (
        "The gp had the lowest CRPS of those that could be chosen on 20 rows that no model had seen; next was the trees"
    )
    assert report.reason.startswith(said)


def test_a_twin_of_the_best_scored_the_same_and_was_not_given_up() -> None:
    best = REPORT.entries[0]
    twin = replace(best, name="regime-gp", title="GP of each regime", weight=0.0, note="found one regime: the same")
    assert _distance(best, twin) == "; the GP of each regime scored the same"
    report = replace(REPORT, entries=(best, twin))
    assert report.tally == "1 of 2 surrogates scored in full, 1 the same as another."


@pytest.mark.parametrize(("behind", "share"), [(0.0004, "(0.3%)"), (0.012, "(10%)"), (1e-5, "(under 0.1%)")])
def test_a_small_share_behind_is_not_rounded_to_nothing(behind: float, share: str) -> None:
    best, second = REPORT.entries[0], replace(REPORT.entries[1], behind=behind, behind_se=behind / 4)
    assert _distance(best, second).endswith(f"{second.lag} {share} behind")


@pytest.mark.parametrize(("spread", "told"), [(0.77, "23% narrower"), (1.052, "5% wider"), (1.0, None)])
def test_three_that_are_joined_are_listed_and_a_changed_width_is_told(spread: float, told: str | None) -> None:
    entries = [replace(e, weight=w, note="") for e, w in zip(REPORT.entries[:3], (0.52, 0.32, 0.16), strict=True)]
    stack = Stack("average", np.array([0.52, 0.32, 0.16]), np.zeros(60), spread)
    joined, *width = _reasons(entries, stack, (0.01, 0.001), 60, None)[1:]
    listed = "the stationary GP (52%), the quantile network, deep (32%) and the gradient-boosted quantiles (16%)"
    assert joined.startswith(f"The chosen model averages the quantiles of {listed}, which saves")
    assert [sentence.partition(",")[0] for sentence in width] == (
        [f"Its intervals were then made {told}"] if told else []
    )


def test_it_survives_json() -> None:
    again = SelectionReport.from_dict(json.loads(json.dumps(REPORT.to_dict(), allow_nan=False)))
    assert again == REPORT


@given(PROSE, PROSE, st.none() | NUMBER, NUMBER, st.tuples(PROSE, PROSE))
def test_whatever_it_says_survives_json(note: str, reason: str, score: float | None, crps: float, thin) -> None:
    entry = Entry("a", "b", score, score, 1, score, score, 0.0, 1.0, note)
    report = replace(REPORT, entries=(entry,), reason=reason, crps=crps, thin=thin)
    again = SelectionReport.from_dict(json.loads(json.dumps(report.to_dict())))
    assert again == report
    assert str(again) == str(report)


def test_an_even_design_has_no_thin_ends() -> None:
    assert sparse_regions(np.linspace(0, 1, 50)[:, None], [0], ["a"]) == ()


def test_both_ends_of_every_numeric_input_are_looked_at() -> None:
    X = np.column_stack([np.r_[-10.0, np.linspace(0, 1, 98), 10.0], np.linspace(0, 1, 100)])
    told = sparse_regions(X, [0, 1], ["pressure", "heat"])
    assert told == ("pressure below -6: 1 of 100 runs", "pressure above 6: 1 of 100 runs")


@pytest.mark.parametrize("column", [np.ones(100), np.r_[np.zeros(99), 1.0], np.r_[np.arange(4.0), np.zeros(96)]])
def test_constants_and_a_few_settings_are_no_range(column: np.ndarray) -> None:
    assert sparse_regions(column[:, None], [0], ["a"]) == ()


def test_categories_are_not_looked_at() -> None:
    X = np.column_stack([np.linspace(0, 1, 100), np.r_[np.zeros(95), np.arange(5.0)]])
    assert sparse_regions(X, [0], ["a", "b"]) == ()
    assert len(sparse_regions(X, [0, 1], ["a", "b"])) == 1


@pytest.mark.parametrize(
    ("behind", "error", "said"),
    [(0.0, 0.0, "best"), (1.9e-13, 5e-13, "the same"), (0.012, 0.003, "+0.012 ± 0.003"), (None, None, "-")],
)
def test_the_lag_is_told_in_words_where_rounding_made_it(behind, error, said: str) -> None:
    entry = Entry("gp", "stationary GP", 0.022, 0.002, 24, behind, error, 0.5, 0.0)
    assert entry.lag == said


class FailsOnAll(BaseEstimator):
    """Fits 55 runs, but no more."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> Self:
        if len(y) > 55:
            raise MemoryError("too large")
        self.gp = StationaryGP(random_state=0).fit(X, y)
        return self

    def predict_distribution(self, X: np.ndarray) -> PredictiveDistribution:
        return self.gp.predict_distribution(X)


def test_who_was_chosen_and_then_fails_on_all_runs_is_reported_with_its_score() -> None:
    X = np.random.default_rng(0).uniform(size=(60, 1))
    report = AutoSurrogate(candidates={"mine": FailsOnAll()}, random_state=0).fit(X, np.sin(5 * X[:, 0])).report_
    assert report.entries[0].behind == 0
    assert "too large" in report.entries[0].note
