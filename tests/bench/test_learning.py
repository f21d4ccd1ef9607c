"""Sequential designs in the report: curves read from records, tables and figures, and no part in other contests."""

import re
from typing import Any

import numpy as np
import pytest

from genbayes.errors import InvalidInput
from genbayes_bench.designs import DESIGNS, is_sequential
from genbayes_bench.methods import METHODS
from genbayes_bench.record import Record
from genbayes_bench.report import Report, build_report, save_figures
from genbayes_bench.report.figures import Picture
from genbayes_bench.report.labels import in_order, method_title
from genbayes_bench.report.learning import curves_of, runs_for_the_same
from genbayes_bench.report.tables import Table
from genbayes_bench.report.verdicts import count_verdicts
from genbayes_bench.statistics import Contest, Results, average_ranks, comparable_contests

SIZES = {"rocket": (50, 150, 300, 600), "satmini": (20, 40, 60, 120)}
METRIC = {"rocket": "rmse", "satmini": "rmspe"}
AT = {"rocket": 300, "satmini": 60}


def record(problem: str, method: str, replicate: int, scores: dict[str, float], **given: Any) -> Record:
    fields: dict[str, Any] = {"protocol": "paper", "seed": replicate, "n_train": 300, "n_test": 50, "n_inputs": 3}
    costs: dict[str, Any] = {"fit_seconds": 2.0, "predict_seconds": 0.1, "peak_memory_mb": 50.0, "finished": ""}
    notes: dict[str, Any] = {"settings": {}, "versions": {}, "detail": {}, "error": None}
    known = {"problem": problem, "method": method, "replicate": replicate, "scores": scores}
    return Record(**{**known, **fields, **costs, **notes, **given})


def design(method: str, replicate: int, factor: float, problem: str = "rocket", n_last: int = 600) -> Record:
    """A design whose score falls as factor / n, a little differently in each replicate."""
    n = [size for size in SIZES[problem] if size <= n_last]
    score = [factor * (1 + 0.01 * replicate) / size for size in n]
    detail = {"curve": {"n": n, METRIC[problem]: score}}
    return record(problem, method, replicate, {METRIC[problem]: score[-1]}, n_train=n[-1], detail=detail)


def designs(problem: str = "rocket", **factors: float) -> list[Record]:
    return [design(name.replace("_", "-"), r, factor, problem) for name, factor in factors.items() for r in range(4)]


def torn(curve: Any, replicate: int = 7) -> Record:
    return record("rocket", "al", replicate, {"rmse": 0.1}, detail={"curve": curve})


def given_runs() -> list[Record]:
    """Emulation on runs that were given: auto is a little better than the process on two problems."""
    return [
        record(problem, method, r, {"crps": level + 0.01 * r, "rmse": 2 * level, "rmspe": level}, n_train=AT[problem])
        for problem in AT
        for method, level in (("auto", 0.8), ("gp", 1.0))
        for r in range(4)
    ]


def table_of(report: Report, title: str = "Active learning") -> Table:
    return next(table for table in report.overview if table.title == title)


def row_of(*records: Record, title: str = "Active learning") -> list[str]:
    """The only row of the table."""
    (row,) = table_of(build_report(records), title).rows
    return row


def picture_of(records: list[Record], name: str = "figure5-rocket") -> Picture:
    return next(picture for picture in build_report(records).figures if picture.name == name)


def series_of(picture: Picture) -> dict[str, Any]:
    return {line.get_label(): line for line in picture.figure.axes[0].lines}


def means(cells: list[str]) -> list[str]:
    """Cells without their standard errors."""
    return [cell.partition("\xa0")[0] for cell in cells]


# curves


def test_curves_are_gathered_by_method_and_replicate_where_json_holds_a_score() -> None:
    found = curves_of([*designs(al=3.0), *given_runs()], "rocket", "rmse")
    assert list(found) == ["al"]
    assert found["al"][0] == {50: 0.06, 150: 0.02, 300: 0.01, 600: 0.005}
    assert sorted(found["al"]) == [0, 1, 2, 3]
    assert curves_of(designs(al=3.0), "rocket", "rmspe") == {}
    assert curves_of([torn({"n": [50, 60], "rmse": [None, 0.1]})], "rocket", "rmse") == {"al": {7: {60: 0.1}}}


NAN = float("nan")


@pytest.mark.parametrize(
    ("curve", "why"),
    [
        ({"n": [50, 60], "rmse": [0.1]}, "as many values of 'rmse' as numbers of runs, got 1 and 2"),
        ({"n": 300, "rmse": [0.1]}, "'n' must be a list of positive whole numbers, got 300"),
        ({"n": [NAN, 60], "rmse": [0.2, 0.1]}, r"'n' must be a list of positive whole numbers, got \[nan, 60\]"),
        ({"n": [50, 60], "rmse": [NAN, 0.1]}, r"'rmse' must be a list of finite numbers, got \[nan, 0.1\]"),
        ({"n": [50], "rmse": 0.1}, "'rmse' must be a list of finite numbers, got 0.1"),
        ({"n": [50], "rmse": ["low"]}, r"'rmse' must be a list of finite numbers, got \['low'\]"),
        ("steep", "must be an object with the list 'n', got 'steep'"),
    ],
)
def test_a_malformed_curve_is_told_of_and_left_out(curve: Any, why: str) -> None:
    assert curves_of([torn(curve)], "rocket", "rmse") == {}
    report = build_report([*designs(al=3.0), torn(curve)])
    (told,) = (note for note in report.notes if "was left out" in note)
    assert re.search(f"'al' on 'rocket', replicate 7, was left out: curve.*{why}", told)
    assert table_of(report).rows[0][9] == "4"
    assert any(note.startswith("4 of them are of sequential designs.") for note in report.notes)
    with pytest.raises(InvalidInput, match="records must not be empty, got none.*'al' on 'rocket'.* was left out"):
        build_report([torn(curve)])


def test_a_curve_without_a_point_draws_nothing() -> None:
    empty = record("proxy7", "al", 0, {}, detail={"curve": {"n": [20], "rmse": [None]}})
    assert picture_of([empty], "learning-more").figure is None


SQUARES = {r: {n: (1 + r) / n**2 for n in (100, 200, 400)} for r in range(3)}


@pytest.mark.parametrize(
    ("random", "ours", "told"),
    [
        # on c / n^2 the curve is a line on logarithmic axes: half the error takes sqrt(2) times the runs
        (SQUARES, {r: {100: (1 + r) / 2 / 100**2} for r in range(3)}, "141"),
        ({0: {100: 0.4, 200: 0.2}}, {0: {100: 0.1}}, "more than 200"),
        ({0: {100: 0.4, 200: 0.2}}, {0: {100: 0.5}}, "at most 100"),
        ({1: {100: 0.4}}, {0: {100: 0.1}}, None),
        ({0: {100: 0.4}}, {0: {50: 0.1}}, None),
    ],
)
def test_random_runs_for_the_same_are_read_off_the_curve_of_the_same_replicates(random, ours, told) -> None:
    assert runs_for_the_same(random, ours, 100) == told


# the table


def test_the_table_has_chosen_runs_random_ones_and_their_paired_difference() -> None:
    row = row_of(*designs(al=3.0, al_random=6.0))
    gap = -0.01 * np.array([1.0, 1.01, 1.02, 1.03])
    assert row[:3] == ["Rocket †", "300", "RMSE"]
    assert row[3:5] == ["0.0213\xa0±\xa00.0010", "0.0072\xa0±\xa00.0002"]
    assert means(row[5:7]) == ["0.010150", "0.02030"]
    assert row[7] == f"−0.010150\xa0±\xa0{gap.std(ddof=1) / 2:.6f} (−50%)"
    assert row[8:] == ["600", "4"]


def test_a_row_is_about_the_replicates_that_chosen_and_random_runs_share() -> None:
    chosen = [design("al", r, 3.0) for r in (0, 1, 2)]
    random = [design("al-random", r, 6.0) for r in (1, 2, 50)]
    row = row_of(*chosen, *random)
    assert means(row[5:7]) == ["0.010150", "0.020300"]  # 1.015 times 3 and 6 over 300
    assert row[7].startswith("−0.01015")
    assert row[9] == "2"


def test_runs_that_buy_the_same_are_read_off_the_same_replicates() -> None:
    short = design("al-random", 0, 6000.0, n_last=150)  # has not come to 300
    row = row_of(design("al", 0, 3.0), short, design("al", 1, 3.0), design("al-random", 1, 6.0))
    assert row[8:] == ["600", "1"]


def test_without_shared_replicates_each_mean_is_over_its_own() -> None:
    row = row_of(design("al", 0, 3.0), design("al-random", 1, 6.0))
    assert row[5:10] == ["0.01", "0.0202", "–", "–", "1"]


def test_random_runs_are_never_called_chosen_even_where_they_are_better() -> None:
    row = row_of(*designs(al=3.0, al_random=1.0, al_gbc_random=0.5))
    assert row[5].startswith("0.0101")
    assert row[7].endswith("(+200%)")
    assert row[8] == "100"  # a third of the factor on c / n
    assert all(table.title != "Active learning" for table in build_report(designs(al_random=1.0)).overview)


def test_another_design_stands_in_for_ours_under_its_name() -> None:
    row = row_of(*designs(al_deep_gp=3.0, somebody=2.0))
    assert row[5].endswith(", somebody")
    assert row[6:9] == ["–", "–", "–"]


def test_given_runs_stand_beside_chosen_ones() -> None:
    table = table_of(build_report([*given_runs(), *designs(al=3.0)]))
    assert table.head[-2:] == ["Stationary GP, given runs", "AutoSurrogate, given runs"]
    assert [row[0] for row in table.rows] == ["Rocket †", "SatMini †"]
    assert table.rows[0][-2:] == ["2 ± 0", "1.6 ± 0"]
    assert table.rows[1][5:10] == ["–"] * 5


def test_other_designs_are_compared_with_ours_where_both_have_been() -> None:
    slow = [design("al-deep-gp", r, 6.0, n_last=150) for r in (1, 2)]
    row = row_of(*designs(al=3.0), *slow, title="Active learning: other designs")
    assert row[:4] == ["Rocket †", "Deep GP with ALC", "150", "RMSE"]
    assert row[5].startswith("0.0203")  # ours on replicates 1 and 2: 3 / 150 of 1.015
    assert row[6].endswith("(+100%)")
    assert row[7] == "2"


@pytest.mark.parametrize("title", ["Active learning", "Active learning: other designs"])
def test_a_table_that_marks_stand_ins_says_of_what_once(title: str) -> None:
    everyone = {"al": 3.0, "al_deep_gp": 6.0, "al_sngp": 6.0}
    table = table_of(build_report([*designs(**everyone), *designs("satmini", **everyone)]), title)
    assert list(dict.fromkeys(row[0] for row in table.rows)) == ["Rocket †", "SatMini †"]
    assert [note.partition(":")[0] for note in table.notes[-2:]] == ["† Rocket", "† SatMini"]
    assert sum(note.startswith("†") for note in table.notes) == 2


# the figures


def test_the_figure_has_means_with_two_standard_errors_and_the_papers_points() -> None:
    picture = picture_of(designs(al=3.0, al_random=6.0))
    series = series_of(picture)
    assert list(series) == ["ModelProposer, chosen runs", "same model, random runs", "paper: GBC-AL", "paper: DGP+ALC"]
    drawn = series["ModelProposer, chosen runs"].get_ydata()
    np.testing.assert_allclose(drawn, 1.015 * 3.0 / np.array(SIZES["rocket"]))
    assert series["paper: GBC-AL"].get_xydata().tolist() == [[300, 0.0072]]
    assert series["paper: GBC-AL"].get_markerfacecolor() == "white"
    band, _ = picture.figure.axes[0].collections
    at_start = [y for x, y in band.get_paths()[0].vertices if x == 50]
    se = 0.06 * np.std([1.0, 1.01, 1.02, 1.03], ddof=1) / 2
    assert (min(at_start), max(at_start)) == pytest.approx((0.0609 - 2 * se, 0.0609 + 2 * se))


@pytest.mark.parametrize(("factor", "scale"), [(3.0, "log"), (0.2, "linear")])
def test_the_axis_is_logarithmic_where_values_span_a_decade(factor: float, scale: str) -> None:
    own = record("grace", "al", 0, {}, detail={"curve": {"n": [110, 500], "rmspe": [1.0 + factor * 5, 1.0]}})
    assert picture_of([own], "figure6-grace").figure.axes[0].get_yscale() == scale


def test_problems_without_a_figure_in_the_paper_share_one() -> None:
    picture = picture_of([*designs("satmini", al=300.0), *designs(al=3.0)], "learning-more")
    assert list(series_of(picture)) == ["ModelProposer, chosen runs", "paper: GBC-AL", "paper: DGP+ALC"]
    assert "runs of GRACE in helium in place of SatMini" in picture.caption


def test_figures_that_have_no_records_say_how_to_make_them() -> None:
    picture = picture_of(given_runs(), "figure6-grace")
    assert picture.figure is None
    assert "genbayes bench run grace --methods al,al-random makes its records" in picture.missing


def test_more_designs_than_looks_leave_the_last_to_the_table() -> None:
    everyone = designs(**{name.replace("-", "_"): 3.0 + i for i, name in enumerate(DESIGNS)})
    assert len(series_of(picture_of(everyone))) == 6 + 2
    assert len(table_of(build_report(everyone), "Active learning: other designs").rows) == len(DESIGNS) - 2


def test_a_report_of_designs_alone_can_be_written(tmp_path: Any) -> None:
    report = build_report(designs(al=3.0, al_random=6.0))
    assert "nobody wins yet" in report.headline
    assert {path.name for path in save_figures(report, tmp_path)} == {"figure5-rocket.png", "figure5-rocket.svg"}


# no part in comparisons of methods that were given their runs


@pytest.mark.parametrize("method", ["al", "al-random", "of-somebody"])
def test_designs_take_no_part_in_contests(method: str) -> None:
    """However good: runs were chosen, and even as many random ones are other replicates."""
    detail = {"curve": {"n": [300], "rmse": [1e-9]}}
    with_crps = [record("rocket", method, r, {"crps": 1e-9, "rmse": 1e-9}, detail=detail) for r in range(4)]
    both = Results([*given_runs(), *with_crps])
    assert both.methods(Contest("rocket", 300)) == ["auto", "gp"]
    assert len(both.designs) == 4
    report, before = build_report([*given_runs(), *with_crps]), build_report(given_runs())
    assert any(note.startswith("4 of them are of sequential designs.") for note in report.notes)
    for each in (report, before):
        assert count_verdicts(each.lines, "auto") == {"win": 2, "tie": 0, "loss": 0}
    assert [table.rows for table in report.problems] == [table.rows for table in before.problems]
    assert table_of(report, "Summary").rows == table_of(before, "Summary").rows
    ranks = average_ranks(both)
    assert ranks is not None
    assert ranks.methods == ("auto", "gp")


def test_designs_that_go_on_longer_do_not_move_the_contest_of_a_problem() -> None:
    both = Results([*given_runs(), *designs(al_random=3.0)])
    assert comparable_contests(both) == comparable_contests(Results(given_runs()))


def test_a_design_is_known_by_its_name_which_no_method_has_even_without_a_curve() -> None:
    assert is_sequential(record("rocket", "al", 0, {"crps": 0.0}))
    assert not is_sequential(record("rocket", "gp", 0, {}, detail={"curve": "steep"}))
    assert not set(DESIGNS) & set(METHODS)
    assert in_order(["al-random", "al", "gp"]) == ["gp", "al", "al-random"]
    assert method_title("al-gbc") == "GBC-AL as in the paper"
