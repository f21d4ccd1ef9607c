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
    fields = {"protocol": "paper", "seed": replicate, "n_train": 300, "n_test": 50, "n_inputs": 3, "error": None}
    costs = {"fit_seconds": 2.0, "predict_seconds": 0.1, "peak_memory_mb": 50.0, "finished": ""}
    notes: dict[str, Any] = {"settings": {}, "versions": {}, "detail": {}}
    known = {"problem": problem, "method": method, "replicate": replicate, "scores": scores}
    return Record(**{**known, **fields, **costs, **notes, **given})


def design(method: str, replicate: int, factor: float, problem: str = "rocket", n_last: int = 600) -> Record:
    """A design whose score falls as factor / n, a little differently in each replicate."""
    n = [size for size in SIZES[problem] if size <= n_last]
    score = [factor * (1 + 0.01 * replicate) / size for size in n]
    metric = METRIC[problem]
    curve = {"n": n, metric: score}
    return record(problem, method, replicate, {metric: score[-1]}, n_train=n[-1], detail={"curve": curve})


def designs(problem: str = "rocket", **factors: float) -> list[Record]:
    return [design(name.replace("_", "-"), r, factor, problem) for name, factor in factors.items() for r in range(4)]


def given_runs() -> list[Record]:
    """Emulation on runs that were given: auto is a little better than the process on three problems."""
    levels = {"auto": 0.8, "gp": 1.0}
    return [
        record(problem, method, r, {"crps": level + 0.01 * r, "rmse": 2 * level, "rmspe": level}, n_train=AT[problem])
        for problem in AT
        for method, level in levels.items()
        for r in range(4)
    ]


def table_of(report: Report, title: str) -> Table:
    return next(table for table in report.overview if table.title == title)


def picture_of(report: Report, name: str) -> Picture:
    return next(picture for picture in report.figures if picture.name == name)


def series_of(picture: Picture, panel: int = 0) -> dict[str, Any]:
    assert picture.figure is not None
    return {line.get_label(): line for line in picture.figure.axes[panel].lines}


# curves


def test_curves_are_gathered_by_method_and_replicate() -> None:
    found = curves_of([*designs(al=3.0), *given_runs()], "rocket", "rmse")
    assert list(found) == ["al"]
    assert found["al"][0] == {50: 0.06, 150: 0.02, 300: 0.01, 600: 0.005}
    assert sorted(found["al"]) == [0, 1, 2, 3]
    assert curves_of(designs(al=3.0), "rocket", "rmspe") == {}


def test_a_score_that_json_could_not_hold_is_no_point_of_a_curve() -> None:
    torn = record("rocket", "al", 0, {}, detail={"curve": {"n": [50, 60], "rmse": [None, 0.1]}})
    assert curves_of([torn], "rocket", "rmse") == {"al": {0: {60: 0.1}}}


@pytest.mark.parametrize(
    ("curve", "why"),
    [
        ({"n": [50, 60], "rmse": [0.1]}, "as many values of 'rmse' as numbers of runs, got 1 and 2"),
        ({"n": 300, "rmse": [0.1]}, "'n' must be a list of positive whole numbers, got 300"),
        (
            {"n": [float("nan"), 60], "rmse": [0.2, 0.1]},
            r"'n' must be a list of positive whole numbers, got \[nan, 60\]",
        ),
        ({"n": [50, 60], "rmse": [float("nan"), 0.1]}, r"'rmse' must be a list of finite numbers, got \[nan, 0.1\]"),
        ({"n": [50], "rmse": 0.1}, "'rmse' must be a list of finite numbers, got 0.1"),
        ({"n": [50], "rmse": ["low"]}, r"'rmse' must be a list of finite numbers, got \['low'\]"),
        ("steep", "must be an object with the list 'n', got 'steep'"),
    ],
)
def test_a_malformed_curve_is_told_of_and_left_out(curve: Any, why: str) -> None:
    torn = record("rocket", "al", 7, {"rmse": 0.1}, detail={"curve": curve})
    assert curves_of([torn], "rocket", "rmse") == {}
    report = build_report([*designs(al=3.0), torn])
    (told,) = (note for note in report.notes if "was left out" in note)
    assert re.search(f"'al' on 'rocket', replicate 7, was left out: curve.*{why}", told)
    assert table_of(report, "Active learning").rows[0][9] == "4"
    assert any(note.startswith("4 of them are of sequential designs.") for note in report.notes)


def test_a_curve_without_a_point_draws_nothing() -> None:
    empty = record("proxy7", "al", 0, {}, detail={"curve": {"n": [20], "rmse": [None]}})
    assert picture_of(build_report([empty]), "learning-more").figure is None


def test_a_folder_with_nothing_but_malformed_curves_says_so() -> None:
    torn = record("rocket", "al", 7, {"rmse": 0.1}, detail={"curve": {"n": 300, "rmse": [0.1]}})
    with pytest.raises(InvalidInput, match="records must not be empty, got none.*'al' on 'rocket'.* was left out"):
        build_report([torn])


def test_random_runs_for_the_same_follow_a_power_law_exactly() -> None:
    """On c / n^2 the curve is a line on logarithmic axes: half the error takes sqrt(2) times the runs."""
    random = {r: {n: (1 + r) / n**2 for n in (100, 200, 400)} for r in range(3)}
    ours = {r: {100: (1 + r) / 2 / 100**2} for r in range(3)}
    assert runs_for_the_same(random, ours, 100) == "141"


def test_random_runs_beyond_either_end_are_told_so() -> None:
    random = {0: {100: 0.4, 200: 0.2}}
    assert runs_for_the_same(random, {0: {100: 0.1}}, 100) == "more than 200"
    assert runs_for_the_same(random, {0: {100: 0.5}}, 100) == "at most 100"


def test_random_runs_of_other_replicates_say_nothing() -> None:
    assert runs_for_the_same({1: {100: 0.4}}, {0: {100: 0.1}}, 100) is None
    assert runs_for_the_same({0: {100: 0.4}}, {0: {50: 0.1}}, 100) is None


# the table


def test_the_table_has_chosen_runs_random_ones_and_their_paired_difference() -> None:
    (row,) = table_of(build_report(designs(al=3.0, al_random=6.0)), "Active learning").rows
    gap = -0.01 * np.array([1.0, 1.01, 1.02, 1.03])
    error = f"{gap.std(ddof=1) / 2:.6f}"
    assert row[:3] == ["Rocket †", "300", "RMSE"]
    assert row[3:5] == ["0.0213\xa0±\xa00.0010", "0.0072\xa0±\xa00.0002"]
    assert [cell.partition("\xa0")[0] for cell in row[5:7]] == ["0.010150", "0.02030"]
    assert row[7] == f"−0.010150\xa0±\xa0{error} (−50%)"
    assert row[8:] == ["600", "4"]


def test_a_row_is_about_the_replicates_that_chosen_and_random_runs_share() -> None:
    chosen = [design("al", r, 3.0) for r in (0, 1, 2)]
    random = [design("al-random", r, 6.0) for r in (1, 2, 50)]
    (row,) = table_of(build_report([*chosen, *random]), "Active learning").rows
    assert [cell.partition("\xa0")[0] for cell in row[5:7]] == ["0.010150", "0.020300"]  # 1.015 times 3 and 6 over 300
    assert row[7].startswith("−0.01015")
    assert row[9] == "2"


def test_runs_that_buy_the_same_are_read_off_the_same_replicates() -> None:
    short = design("al-random", 0, 6000.0, n_last=150)  # has not come to 300
    both = [design(method, 1, factor) for method, factor in (("al", 3.0), ("al-random", 6.0))]
    (row,) = table_of(build_report([design("al", 0, 3.0), short, *both]), "Active learning").rows
    assert row[8:] == ["600", "1"]


def test_without_shared_replicates_each_mean_is_over_its_own() -> None:
    (row,) = table_of(build_report([design("al", 0, 3.0), design("al-random", 1, 6.0)]), "Active learning").rows
    assert row[5:10] == ["0.01", "0.0202", "–", "–", "1"]


def test_random_runs_are_never_called_chosen_even_where_they_are_better() -> None:
    (row,) = table_of(build_report(designs(al=3.0, al_random=1.0, al_gbc_random=0.5)), "Active learning").rows
    assert row[5].startswith("0.0101")
    assert row[7].endswith("(+200%)")
    assert row[8] == "100"  # a third of the factor on c / n


def test_random_runs_alone_leave_the_table_out() -> None:
    assert all(table.title != "Active learning" for table in build_report(designs(al_random=1.0)).overview)


def test_another_design_stands_in_for_ours_under_its_name() -> None:
    (row,) = table_of(build_report(designs(al_deep_gp=3.0, somebody=2.0)), "Active learning").rows
    assert row[5].endswith(", somebody")
    assert row[6:9] == ["–", "–", "–"]


def test_given_runs_stand_beside_chosen_ones() -> None:
    table = table_of(build_report([*given_runs(), *designs(al=3.0)]), "Active learning")
    assert table.head[-2:] == ["Stationary GP, given runs", "AutoSurrogate, given runs"]
    assert [row[0] for row in table.rows] == ["Rocket †", "SatMini †"]
    assert table.rows[0][-2:] == ["2 ± 0", "1.6 ± 0"]
    assert table.rows[1][5:10] == ["–"] * 5


def test_other_designs_are_compared_with_ours_where_both_have_been() -> None:
    slow = [design("al-deep-gp", r, 6.0, n_last=150) for r in (1, 2)]
    (row,) = table_of(build_report([*designs(al=3.0), *slow]), "Active learning: other designs").rows
    assert row[:4] == ["Rocket †", "Deep GP with ALC", "150", "RMSE"]
    assert row[5].startswith("0.0203")  # ours on replicates 1 and 2: 3 / 150 of 1.015
    assert row[6].endswith("(+100%)")
    assert row[7] == "2"


@pytest.mark.parametrize("title", ["Active learning", "Active learning: other designs"])
def test_a_table_that_marks_stand_ins_says_of_what_once(title: str) -> None:
    everyone = {"al": 3.0, "al_deep_gp": 6.0, "al_sngp": 6.0}
    table = table_of(build_report([*designs(**everyone), *designs("satmini", **everyone)]), title)
    marked = list(dict.fromkeys(row[0] for row in table.rows))
    assert marked == ["Rocket †", "SatMini †"]
    assert [note.partition(":")[0] for note in table.notes[-2:]] == ["† Rocket", "† SatMini"]
    assert sum(note.startswith("†") for note in table.notes) == 2


# the figures


def test_the_figure_has_means_with_two_standard_errors_and_the_papers_points() -> None:
    series = series_of(picture_of(build_report(designs(al=3.0, al_random=6.0)), "figure5-rocket"))
    assert list(series) == ["ModelProposer, chosen runs", "same model, random runs", "paper: GBC-AL", "paper: DGP+ALC"]
    np.testing.assert_allclose(
        series["ModelProposer, chosen runs"].get_ydata(), 1.015 * 3.0 / np.array(SIZES["rocket"])
    )
    assert series["paper: GBC-AL"].get_xydata().tolist() == [[300, 0.0072]]
    assert series["paper: GBC-AL"].get_markerfacecolor() == "white"


def test_the_band_is_two_standard_errors_wide_to_either_side() -> None:
    figure = picture_of(build_report(designs(al=3.0)), "figure5-rocket").figure
    assert figure is not None
    (band,) = figure.axes[0].collections
    at_start = [y for x, y in band.get_paths()[0].vertices if x == 50]
    se = 0.06 * np.std([1.0, 1.01, 1.02, 1.03], ddof=1) / 2
    assert (min(at_start), max(at_start)) == pytest.approx((0.0609 - 2 * se, 0.0609 + 2 * se))


@pytest.mark.parametrize(("factor", "scale"), [(3.0, "log"), (0.2, "linear")])
def test_the_axis_is_logarithmic_where_values_span_a_decade(factor: float, scale: str) -> None:
    own = [record("grace", "al", 0, {}, detail={"curve": {"n": [110, 500], "rmspe": [1.0 + factor * 5, 1.0]}})]
    figure = picture_of(build_report(own), "figure6-grace").figure
    assert figure is not None
    assert figure.axes[0].get_yscale() == scale


def test_problems_without_a_figure_in_the_paper_share_one() -> None:
    report = build_report([*designs("satmini", al=300.0), *designs(al=3.0)])
    picture = picture_of(report, "learning-more")
    assert list(series_of(picture)) == ["ModelProposer, chosen runs", "paper: GBC-AL", "paper: DGP+ALC"]
    assert "runs of GRACE in helium in place of SatMini" in picture.caption


def test_figures_that_have_no_records_say_how_to_make_them() -> None:
    picture = picture_of(build_report(given_runs()), "figure6-grace")
    assert picture.figure is None
    assert "genbayes bench run grace --methods al,al-random makes its records" in picture.missing


def test_more_designs_than_looks_leave_the_last_to_the_table() -> None:
    everyone = {name.replace("-", "_"): 3.0 + i for i, name in enumerate(DESIGNS)}
    report = build_report(designs(**everyone))
    assert len(series_of(picture_of(report, "figure5-rocket"))) == 6 + 2
    assert len(table_of(report, "Active learning: other designs").rows) == len(DESIGNS) - 2


def test_a_report_of_designs_alone_can_be_written(tmp_path: Any) -> None:
    report = build_report(designs(al=3.0, al_random=6.0))
    assert "nobody wins yet" in report.headline
    assert {path.name for path in save_figures(report, tmp_path)} == {"figure5-rocket.png", "figure5-rocket.svg"}


# no part in comparisons of methods that were given their runs


@pytest.mark.parametrize("method", ["al", "al-random", "of-somebody"])
def test_designs_take_no_part_in_contests(method: str) -> None:
    """However good: runs were chosen, and even as many random ones are other replicates."""
    with_crps = [
        record("rocket", method, r, {"crps": 1e-9, "rmse": 1e-9}, detail={"curve": {"n": [300], "rmse": [1e-9]}})
        for r in range(4)
    ]
    alone, both = Results(given_runs()), Results([*given_runs(), *with_crps])
    assert both.methods(Contest("rocket", 300)) == alone.methods(Contest("rocket", 300)) == ["auto", "gp"]
    assert len(both.designs) == 4
    report, before = build_report([*given_runs(), *with_crps]), build_report(given_runs())
    assert (
        count_verdicts(report.lines, "auto") == count_verdicts(before.lines, "auto") == {"win": 2, "tie": 0, "loss": 0}
    )
    assert [table.rows for table in report.problems] == [table.rows for table in before.problems]
    assert table_of(report, "Summary").rows == table_of(before, "Summary").rows
    ranks = average_ranks(both)
    assert ranks is not None
    assert ranks.methods == ("auto", "gp")


def test_designs_that_go_on_longer_do_not_move_the_contest_of_a_problem() -> None:
    both = Results([*given_runs(), *designs(al_random=3.0)])
    assert comparable_contests(both) == comparable_contests(Results(given_runs()))


def test_a_design_is_known_by_its_name_even_without_a_curve() -> None:
    assert is_sequential(record("rocket", "al", 0, {"crps": 0.0}))
    assert not is_sequential(record("rocket", "gp", 0, {}, detail={"curve": "steep"}))


def test_the_report_says_how_many_records_are_of_designs() -> None:
    notes = build_report([*given_runs(), *designs(al=3.0)]).notes
    assert any(note.startswith("4 of them are of sequential designs.") for note in notes)


def test_no_design_has_the_name_of_a_method() -> None:
    assert not set(DESIGNS) & set(METHODS)
    assert in_order(["al-random", "al", "gp"]) == ["gp", "al", "al-random"]
    assert method_title("al-gbc") == "GBC-AL as in the paper"
