"""Statistics of records: closed forms, the meaning of win, tie and loss, published critical differences."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from genbayes.errors import InvalidInput
from genbayes_bench.record import Record
from genbayes_bench.statistics import (
    Contest,
    Results,
    average_ranks,
    bootstrap_ratio,
    comparable_contests,
    compare,
    estimate,
    rank_methods,
    ratios,
)

CONTEST = Contest("bgp2", 100)


def record(problem: str, method: str, replicate: int, crps: float | None, **given: Any) -> Record:
    """A record with one score; None for a run that failed."""
    scores, error = ({}, "ValueError: no") if crps is None else ({"crps": crps}, None)
    sizes: dict[str, Any] = {"n_train": 100, "n_test": 10, "n_inputs": 2, "scores": scores, "error": error}
    costs: dict[str, Any] = {"fit_seconds": 2.0, "predict_seconds": 0.1, "peak_memory_mb": 50.0, "finished": ""}
    given = {"protocol": "paper", "settings": {}, "versions": {}, "detail": {}, **given}
    return Record(problem=problem, method=method, replicate=replicate, seed=replicate, **sizes, **costs, **given)


def records_of(problem: str, **by_method: list[float | None]) -> list[Record]:
    return [record(problem, method, r, crps) for method, each in by_method.items() for r, crps in enumerate(each)]


# means and differences


def test_the_standard_error_is_that_of_the_mean() -> None:
    assert estimate([2.0]).se is None
    values = [1.0, 2.0, 4.0, 5.0]
    found = estimate(values)
    assert (found.mean, found.n) == (3.0, 4)
    assert found.se == pytest.approx(math.sqrt(sum((v - 3) ** 2 for v in values) / 3 / 4))


def test_differences_are_paired_by_replicate() -> None:
    assert compare({0: 1.0}, {1: 1.0}) is None
    found = compare({0: 1.0, 1: 10.0, 2: 5.0}, {1: 10.5, 0: 1.5, 7: 0.0})
    assert found is not None
    assert (found.mean, found.n, found.n_better) == (-0.5, 2, 2)
    assert found.se == pytest.approx(0.0)
    assert found.relative == pytest.approx(-0.5 / 6.0)


@pytest.mark.parametrize(
    ("gaps", "verdict"),
    [
        ([-0.10, -0.12, -0.11, -0.09], "win"),
        ([-0.30, 0.20, -0.25, 0.22], "tie"),  # lower, by luck
        ([-0.06, -0.02, -0.04], "tie"),  # by 3.5 standard errors, but of three replicates
        ([-0.06, -0.02, -0.04, -0.04], "win"),
        ([0.005, 0.011, -0.004, 0.008], "tie"),  # behind by less than 2% and within the interval
        ([0.010, 0.011, 0.009, 0.010], "loss"),  # by 1%, but surely
        ([0.300, -0.200, 0.250, -0.100], "loss"),  # not surely, but by more than 2%
        ([-0.5, -0.5], "tie"),  # two replicates prove nothing
        ([-0.5], "tie"),
        ([0.5], "loss"),
        ([0.0, 0.0, 0.0], "tie"),
    ],
)
def test_verdicts_leave_doubt_with_us(gaps: list[float], verdict: str) -> None:
    found = compare({r: 1 + gap for r, gap in enumerate(gaps)}, dict.fromkeys(range(len(gaps)), 1.0))
    assert found is not None
    assert found.verdict == verdict


scores = st.dictionaries(st.integers(0, 9), st.floats(0.01, 100), min_size=1, max_size=10)


@given(scores, scores, st.integers(-20, 20))
def test_two_methods_never_both_win_and_the_unit_does_not_matter(a, b, power: int) -> None:
    found, turned, scaled = (
        compare(a, b),
        compare(b, a),
        compare(*({r: v * 2.0**power for r, v in s.items()} for s in (a, b))),
    )
    if not a.keys() & b.keys():
        assert found is turned is scaled is None
        return
    assert found.mean == pytest.approx(-turned.mean)
    assert [found.verdict, turned.verdict] != ["win", "win"]
    assert scaled.verdict == found.verdict
    assert scaled.relative == pytest.approx(found.relative)


def test_the_margin_is_students() -> None:
    rng = np.random.default_rng(0)
    draws = rng.standard_normal((4_000, 3))  # no difference at all: one in forty may be called a win
    verdicts = [compare(dict(enumerate(1e6 + row)), dict.fromkeys(range(3), 1e6)) for row in draws]
    share = np.mean([each is not None and each.verdict == "win" for each in verdicts])
    assert share == pytest.approx(0.025, abs=0.008)


# records


def test_a_failed_run_counts_for_nobody_but_is_kept() -> None:
    results = Results(records_of("bgp2", gp=[1.0, None, 3.0]))
    assert results.scores(CONTEST, "gp", "crps") == {0: 1.0, 2: 3.0}
    assert [failure.replicate for failure in results.failures] == [1]


def test_the_papers_protocol_is_reported_where_there_is_one() -> None:
    both = [record("bgp2", "gp", 0, 1.0, protocol="quick"), record("bgp2", "gp", 0, 2.0)]
    assert Results(both).protocol == "paper"
    assert Results(both, "quick").scores(CONTEST, "gp", "crps") == {0: 1.0}


def test_no_records_of_the_protocol_are_refused() -> None:
    with pytest.raises(InvalidInput, match=r"protocol must be one of the records' \(paper\), got 'quick'"):
        Results(records_of("bgp2", gp=[1.0]), "quick")
    with pytest.raises(InvalidInput, match="records must not be empty"):
        Results([])


def test_replicates_drawn_otherwise_pair_with_one_another_only() -> None:
    other = [record("bgp2", method, 1, crps, detail={"note": "split"}) for method, crps in (("gbc", 4), ("boosted", 5))]
    results = Results([*records_of("bgp2", gp=[1.0, 2.0], gbc=[3.0]), *other])
    pairs = {rival: results.compare(CONTEST, "gbc", rival, "crps") for rival in ("gp", "boosted")}
    assert {name: (pair.n, pair.mean) for name, pair in pairs.items() if pair} == {"gp": (1, 2.0), "boosted": (1, -1.0)}
    assert results.compare(CONTEST, "gp", "boosted", "crps") is None
    assert len(results.runs(CONTEST, "gbc")) == 2


def test_time_and_memory_are_scores_too() -> None:
    results = Results(records_of("bgp2", gp=[1.0]))
    assert [results.scores(CONTEST, "gp", name) for name in ("seconds", "memory")] == [{0: 2.0}, {0: 50.0}]
    assert results.estimate(CONTEST, "gp", "rmse") is None


@pytest.mark.parametrize(
    ("scores", "strongest"),
    [
        ({"gp": [1.0, 1.0, 9.0], "boosted": [2.0, 2.0]}, "gp"),
        ({"gp": [5.0, 1.0, 1.0, 1.0], "boosted": [4.0, 2.0, 2.0, 2.0], "forest": [0.1]}, "gp"),  # one says little
        ({}, None),
    ],
)
def test_the_strongest_has_the_lowest_mean_on_replicates_that_most_share(scores, strongest) -> None:
    results = Results(records_of("bgp2", other=[0.0], **scores))
    assert results.strongest(CONTEST, list(scores), "crps") == strongest


# all problems together


def test_a_study_of_size_is_not_counted_as_a_problem() -> None:
    found = Results([*records_of("bgp2", gp=[1.0]), *records_of("friedman_scaling", gp=[1.0])])
    assert [contest.problem for contest in comparable_contests(found)] == ["bgp2"]


def test_ratios_are_of_means_on_shared_replicates() -> None:
    found = Results([*records_of("bgp2", auto=[1.0, 3.0], gp=[2.0, 2.0, 99.0]), *records_of("bgp3", auto=[1.0])])
    assert ratios(found, "auto", "gp") == {"bgp2": 1.0}


def test_the_bootstrap_interval_is_about_two_standard_errors_to_either_side() -> None:
    logs = np.random.default_rng(1).standard_normal(200)
    found = bootstrap_ratio({str(i): math.exp(v) for i, v in enumerate(logs)}, np.random.default_rng(2))
    half = (math.log(found.upper) - math.log(found.lower)) / 2
    # a quantile of 10,000 resamples has a relative error of about 1.5%, the plug-in variance one of 1/400
    assert half == pytest.approx(1.96 * logs.std(ddof=1) / math.sqrt(200), rel=0.06)


@pytest.mark.parametrize(("k", "q"), [(2, 1.960), (3, 2.343), (4, 2.569), (5, 2.728), (10, 3.164)])
def test_critical_differences_are_those_of_demsar_2006_table_5(k: int, q: float) -> None:
    found = rank_methods(np.random.default_rng(0).uniform(size=(14, k)), "abcdefghij"[:k], "abcdefghijklmn")
    assert found.critical == pytest.approx(q * math.sqrt(k * (k + 1) / (6 * 14)), rel=3e-4)  # q has four digits


@given(st.integers(2, 6), st.integers(2, 12), st.integers(0, 99))
def test_average_ranks_add_up_and_come_in_order(k: int, n: int, seed: int) -> None:
    table = np.random.default_rng(seed).integers(0, 4, (n, k)).astype(float)
    found = rank_methods(table, "abcdef"[:k], "abcdefghijkl"[:n])
    assert found.average.sum() == pytest.approx(k * (k + 1) / 2)
    assert (np.diff(found.average) >= 0).all()


def test_ranks_are_of_methods_that_were_run_nearly_everywhere() -> None:
    everywhere = [each for i in range(4) for each in records_of(f"p{i}", auto=[1.0] * 2, gp=[2.0] * 2)]
    ranks = average_ranks(Results([*everywhere, *records_of("p0", jump_gp=[0.1] * 2)]))
    assert ranks is not None
    assert ranks.methods == ("auto", "gp")
    assert ranks.average.tolist() == [1.0, 2.0]
    assert ranks.problems == ("p0", "p1", "p2", "p3")
    assert average_ranks(Results(records_of("bgp2", gp=[1.0]))) is None  # no ranks of one method
