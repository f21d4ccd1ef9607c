"""`genbayes demo`, `fit`, `predict`, `evaluate` and `compare`, most of them without training."""

import io
import re
import warnings

import numpy as np
import pandas as pd
import pytest

from genbayes import ConformalSurrogate
from genbayes.analysis import main_effects
from genbayes.cli.demo import draw_fan
from genbayes.data import hold_out, read_table
from genbayes.errors import RowsDropped
from genbayes.models import StationaryGP


def interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def test_demo_shows_a_fan_the_choice_and_scores_and_writes_a_report(ask, bell, tmp_path) -> None:
    answer = ask("demo", "--report", "r.html", "--time-limit", "60", "--jobs", "1")
    assert answer.code == 0
    assert answer.err == "Choosing a surrogate on 106 runs; 27 are held out for scoring.\n"
    (model,) = bell.fitted
    assert model.settings == {"random_state": 0, "verbose": False, "time_limit": 60.0, "n_jobs": 1}
    told = ("• runs   ━ median   ▒ 50%   ░ 90%", "CRPS", "Open r.html in a browser", "Chosen on 106 runs: bell curve")
    assert all(words in answer.out for words in told)
    beyond = (
        "27 rows are too few for a verdict. On 90 others, each predicted by a model that had not seen it, the CRPS is "
        "2 ± 0.1 and the 90% intervals hold 88%."
    )
    assert beyond in answer.lines
    assert beyond in (tmp_path / "r.html").read_text()


def test_demo_in_json(ask, bell) -> None:
    found = ask("demo", "--json").json
    assert (found["rows"], found["report"], found["scores"]["n"]) == (133, "demo-report.html", 27)
    assert (found["chosen"], found["reason"]) == (["bell"], "The bell curve did best.")


def test_control_c_is_one_sentence(ask, bell, monkeypatch) -> None:
    monkeypatch.setattr(bell, "fit", interrupt)
    answer = ask("demo")
    assert answer.code == 130
    assert answer.err.endswith("\nError: stopped by Ctrl-C; no report was written\n")


def test_the_bands_nest_and_points_lie_on_top() -> None:
    q = np.tile([-4.0, -2.0, 0.0, 2.0, 4.0], (3, 1))
    picture = draw_fan(np.array([0.0, 1.0, 2.0]), q, np.array([2.0]), np.array([0.0]), n_lines=9).plain
    columns = zip(*(line[6:] for line in picture.splitlines()[:-1]), strict=True)
    assert ["".join(column) for column in columns] == ["░░▒▒━▒▒░░", "░░▒▒━▒▒░░", "░░▒▒•▒▒░░"]


def test_the_axis_reaches_from_the_lowest_to_the_highest_value() -> None:
    q = np.tile([0.0, 1.0, 2.0, 3.0, 4.0], (2, 1))
    lines = draw_fan(np.array([0.0, 1.0]), q, np.array([0.0, 1.0]), np.array([-10.0, 90.0])).plain.splitlines()
    assert lines[0].startswith("  90 ┤")
    assert lines[-2].startswith(" -10 ┤")


def test_a_fan_without_height_is_one_line() -> None:
    picture = draw_fan(np.array([0.0, 1.0]), np.zeros((2, 5)), np.array([0.0]), np.array([0.0]))
    assert "•" in picture.plain


FIT = ("fit", "runs.csv", "--target", "y", "--categorical", "gas", "-o", "m.gb")


def test_fit_writes_a_model_and_says_what_to_type_next(ask, bell, runs, tmp_path) -> None:
    answer = ask("fit", "runs.csv", "--target", "y", "--categorical", "gas", "-o", "model.gb")
    assert (answer.code, answer.err) == (0, "")
    assert (tmp_path / "model.gb").exists()
    assert "written to model.gb" in answer.lines
    assert "rows 20 inputs x, gas target y" in answer.lines
    assert "genbayes predict model.gb new.csv --quantiles 0.05,0.5,0.95 -o out.csv" in answer.lines
    assert "genbayes evaluate model.gb held_out.csv --target y" in answer.lines


NETWORK = ("--model", "network")


@pytest.mark.parametrize(
    ("kind", "words", "settings"),
    [
        ("AutomaticBell", (), {}),
        (
            "AutomaticBell",
            ("--model", "auto", "--seed", "4", "--bounds", "0,"),
            {"y_bounds": (0.0, None), "random_state": 4},
        ),
        ("AutomaticBell", ("--time-limit", "60", "--jobs", "1"), {"time_limit": 60.0, "n_jobs": 1}),
        ("Bell", NETWORK, {}),
        ("Bell", (*NETWORK, "--members", "3", "--recipe", "paper"), {"n_members": 3, "recipe": "paper"}),
        ("Bell", (*NETWORK, "--weights", "0.1,0.2,0.7", "--epochs", "9"), {"weights": (0.1, 0.2, 0.7), "n_epochs": 9}),
    ],
)
def test_options_that_are_given_reach_the_model_and_no_others(ask, bell, runs, kind, words, settings) -> None:
    ask(*FIT, *words)
    (model,) = bell.fitted
    assert type(model).__name__ == kind
    assert model.settings == {"categorical": ["gas"], "random_state": 0, "verbose": False} | settings


def test_any_registered_model_can_be_fitted_alone(ask, runs, tmp_path) -> None:
    from genbayes import load

    assert ask(*FIT, "--model", "gp-smooth", "--quiet").code == 0
    model = load(tmp_path / "m.gb")
    assert (type(model).__name__, model.kernel, model.categorical) == ("StationaryGP", "squared-exponential", ["gas"])


def test_json_is_one_object_and_nothing_else(ask, bell, runs) -> None:
    answer = ask("fit", "runs.csv", "--target", "y", "--inputs", "x", "-o", "m.gb", "--json")
    assert answer.out.count("\n") == 1
    found = answer.json
    assert 0 <= found.pop("seconds") < 60
    facts = {"model": "m.gb", "rows": 20, "dropped": 0, "inputs": ["x"], "target": "y", "summary": {"members": "1"}}
    assert found == {**facts, "report": None, "scores": None}


@pytest.mark.filterwarnings("always::genbayes.errors.RowsDropped")
def test_rows_with_missing_cells_are_dropped_and_counted_when_asked_for(ask, bell, runs) -> None:
    table = pd.read_csv(runs)
    table.loc[[3, 7], "x"] = np.nan
    table.loc[4, "gas"] = None
    table.to_csv(runs, index=False)
    told = "Warning: dropped 2 of 20 rows (lines 5, 9) for missing cells\n"
    answer = ask("fit", "runs.csv", "--target", "y", "--inputs", "x", "-o", "m.gb", "--drop-missing", "--json")
    assert (answer.json["rows"], answer.json["dropped"], bell.fitted[-1].n, answer.err) == (18, 2, 18, told)
    answer = ask("predict", "m.gb", "runs.csv", "--drop-missing", "--json")
    assert (answer.json["rows"], answer.err) == (18, told)
    answer = ask("evaluate", "m.gb", "runs.csv", "--target", "y", "--drop-missing", "--json")
    assert (answer.json["n"], answer.err.splitlines(True)[0]) == (18, told)
    answer = ask("compare", "runs.csv", "--target", "y", "--inputs", "x", "--drop-missing", "--json")
    assert (answer.json["dropped"], answer.err) == (2, told)


def test_quiet_prints_nothing(ask, bell, runs) -> None:
    answer = ask(*FIT, "--quiet")
    assert (answer.code, answer.out, answer.err) == (0, "", "")


def test_a_report_is_scored_on_rows_the_model_has_not_seen_and_the_file_saw_all(ask, bell, runs, tmp_path) -> None:
    answer = ask(*FIT, "--report", "r.html")
    assert [made.n for made in bell.fitted] == [16, 20]
    assert answer.err == (
        "For the report: fitting 16 rows; 4 are held out for scoring.\nFor the model: fitting all 20 rows.\n"
    )
    assert "CRPS" in answer.out
    assert "Open r.html in a browser" in answer.out
    assert (tmp_path / "r.html").stat().st_size > 1000
    page = (tmp_path / "r.html").read_text()
    told = (
        "4 rows are too few for a verdict. On 90 others, each predicted by a model that had not seen it, the CRPS is "
    )
    assert told in page
    assert told in answer.lines
    assert ask(*FIT, "--report", "r.html", "--json").json["scores"]["n"] == 4


def test_a_report_on_rows_given_three_times_is_not_better_than_on_the_same_rows_once(ask, tmp_path) -> None:
    rng = np.random.default_rng(0)
    once = pd.DataFrame(rng.uniform(size=(60, 2)), columns=["a", "b"]).assign(y=rng.standard_normal(60))
    pd.concat([once] * 3).to_csv(tmp_path / "runs.csv", index=False)
    words = ("fit", "runs.csv", "--target", "y", "--model", "gp", "-o", "m.gb", "--report", "r.html", "--json")
    scores = ask(*words).json["scores"]
    assert scores["n"] == 36
    assert scores["crps"] > 0.3  # of noise that nothing can predict it is 0.56 on average, of rows learnt nearly 0


def test_a_category_of_a_single_row_does_not_stop_a_report(ask, runs, tmp_path) -> None:
    _, held = hold_out(20, 0.2, 0)
    table = pd.read_csv(runs)
    table.loc[held[0], "gas"] = "Xe"
    table.to_csv(runs, index=False)
    answer = ask(*FIT, "--model", "gp", "--report", "r.html", "--json")
    assert (answer.code, answer.json["scores"]["n"]) == (0, 3)


def test_main_effects_range_over_the_inputs_of_all_rows(ask, bell, runs, monkeypatch) -> None:
    from genbayes.report import figures

    asked = []
    monkeypatch.setattr(figures, "main_effects", lambda model, X: asked.append(len(X)) or main_effects(model, X))
    assert ask(*FIT, "--report", "r.html").code == 0
    assert (ask("demo").code, asked) == (0, [20, 133])


@pytest.mark.parametrize(("exists", "outcome"), [(False, "was not written"), (True, "was not changed")])
def test_control_c_leaves_the_model_file_as_it_was(ask, bell, runs, tmp_path, monkeypatch, exists, outcome) -> None:
    if exists:
        (tmp_path / "m.gb").write_text("old")
    monkeypatch.setattr(bell, "fit", interrupt)
    answer = ask(*FIT)
    assert (answer.code, answer.err) == (130, f"Error: stopped by Ctrl-C; m.gb {outcome}\n")
    assert {path.name for path in tmp_path.iterdir()} == {"runs.csv", "m.gb"} if exists else {"runs.csv"}


def test_a_table_may_be_parquet(ask, bell, runs, tmp_path) -> None:
    read_table(runs).to_parquet(tmp_path / "runs.parquet", index=False)
    assert (
        ask("fit", "runs.parquet", "--target", "y", "--categorical", "gas", "-o", "m.gb", "--json").json["rows"] == 20
    )


@pytest.fixture
def new(tmp_path):
    path = tmp_path / "new.csv"
    path.write_text("name,x\na,1\n,2\nc,30\n")
    return path


FAR = "Warning: 1 of 3 rows lie far from every training input; trust their predictions less\n"


@pytest.mark.parametrize("output", ["out.csv", "out.parquet"])
def test_predictions_are_written_beside_the_inputs(ask, bell, new, output) -> None:
    answer = ask("predict", "m.gb", "new.csv", "-o", output)
    assert (answer.code, answer.err) == (0, FAR)
    assert "Predicted 3 rows" in answer.out
    table = read_table(output)
    assert list(table.columns) == ["name", "x", "mean", "sd", "q0.05", "q0.5", "q0.95"]
    assert table["mean"].tolist() == [4.5] * 3
    assert (table["q0.05"] < table["q0.95"]).all()


def test_levels_stand_in_the_order_asked_for(ask, bell, new) -> None:
    ask("predict", "m.gb", "new.csv", "--quantiles", "0.9,0.025", "--no-mean", "-o", "out.csv")
    assert list(read_table("out.csv").columns) == ["name", "x", "q0.9", "q0.025"]


def test_levels_that_are_close_have_a_column_each(ask, bell, new) -> None:
    ask("predict", "m.gb", "new.csv", "--quantiles", "0.1,0.1000000001,0.99999999,1e-9", "--no-mean", "-o", "out.csv")
    names = ["q0.1", "q0.1000000001", "q0.99999999", "q0.000000001"]
    assert list(read_table("out.csv").columns) == ["name", "x", *names]


def test_a_calibrated_model_knows_the_categories_of_the_one_inside(ask, tmp_path) -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.uniform(size=60), "gas": rng.choice(["He", "O2"], 60)})
    y = table["x"] + (table["gas"] == "He") + 0.1 * rng.standard_normal(60)
    gp = StationaryGP(categorical=["gas"], n_starts=1)
    model = ConformalSurrogate(gp, level=0.5, random_state=0).fit(table, y)
    model.save(tmp_path / "calibrated.gb")
    table.assign(y=y).to_csv(tmp_path / "new.csv", index=False)
    assert ask("predict", "calibrated.gb", "new.csv", "-o", "out.csv").code == 0
    np.testing.assert_allclose(read_table("out.csv")["mean"], model.predict(table))
    assert ask("evaluate", "calibrated.gb", "new.csv", "--target", "y").code == 0


def test_without_a_file_a_pipe_receives_csv(ask, bell, new) -> None:
    answer = ask("predict", "m.gb", "new.csv")
    assert len(pd.read_csv(io.StringIO(answer.out))) == 3
    assert answer.err == FAR


def test_without_a_file_a_terminal_shows_the_first_rows(ask, bell, tmp_path, monkeypatch) -> None:
    pd.DataFrame({"x": range(25)}).to_csv(tmp_path / "new.csv", index=False)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    shown = ask("predict", "m.gb", "new.csv").out
    assert "q0.95" in shown
    assert "and 5 more rows; -o out.csv writes them all" in shown


@pytest.mark.parametrize(("width", "n_shown"), [(20, 2), (80, 8), (200, 14)])
def test_columns_that_do_not_fit_a_terminal_are_left_out_and_numbers_stay_whole(
    ask, bell, tmp_path, monkeypatch, width, n_shown
) -> None:
    inputs = ["x", *(f"x{i}" for i in range(1, 9))]
    pd.DataFrame(0.123456, index=range(3), columns=inputs).to_csv(tmp_path / "new.csv", index=False)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", str(width))
    shown = re.sub(r"\x1b\[[0-9;]*m", "", ask("predict", "m.gb", "new.csv").out).splitlines()  # without bold print
    header = next(line.split() for line in shown if "mean" in line)
    answers = ["mean", "sd", "q0.05", "q0.5", "q0.95"]
    assert header == [*inputs[: max(n_shown - 5, 0)], *answers[:n_shown]]
    numbers = [line.split() for line in shown if line.strip()[:1].isdigit()]
    assert [len(row) for row in numbers] == [n_shown] * 3  # a row stays on one line
    assert ("more columns; -o out.csv" in " ".join(shown)) == (n_shown < 14)


def test_draws_are_the_same_for_the_same_seed(ask, bell, new) -> None:
    words = ["predict", "m.gb", "new.csv", "--samples", "2"]
    first, again, other = (ask(*words, "--seed", seed).out for seed in "001")
    assert first == again != other
    assert first.splitlines()[0].endswith("q0.95,sample_1,sample_2")


def test_json_holds_the_predictions(ask, bell, new) -> None:
    answer = ask("predict", "m.gb", "new.csv", "--json").json
    assert (answer["rows"], answer["extrapolating"]) == (3, 1)
    assert answer["predictions"][1]["name"] is None
    assert answer["predictions"][1]["mean"] == 4.5


def test_json_names_the_file_instead_when_there_is_one(ask, bell, new) -> None:
    answer = ask("predict", "m.gb", "new.csv", "--json", "-o", "out.csv").json
    assert answer["output"] == "out.csv"
    assert "predictions" not in answer


def test_scores_are_shown(ask, bell, runs) -> None:
    answer = ask("evaluate", "m.gb", "runs.csv", "--target", "y")
    assert (answer.code, answer.err) == (0, "")
    assert "m.gb on the 20 rows of runs.csv" in answer.out
    assert all(name in answer.out for name in ("CRPS", "RMSE", "50% intervals", "90% intervals", "PIT"))
    assert all(name in answer.out for name in ("miscalibration", "discrimination", "would look this bad"))


def test_json_is_one_object(ask, bell, runs) -> None:
    found = ask("evaluate", "m.gb", "runs.csv", "--target", "y", "--json").json
    assert found["n"] == 20
    assert found["crps"] > 0
    assert found["report"] is None
    assert sum(found["pit_counts"]) == 20
    parts = found["diagnostics"]["crps_decomposition"]
    assert parts["crps"] == pytest.approx(found["crps"])
    assert found["diagnostics"]["sentence"]


def test_a_report_is_written_with_the_same_scores(ask, bell, runs, tmp_path) -> None:
    words = ["evaluate", "m.gb", "runs.csv", "--target", "y", "--json"]
    alone, written = ask(*words).json, ask(*words, "--report", "r.html").json
    assert written["report"] == "r.html"
    assert written["crps"] == alone["crps"]
    assert "runs.csv" in (tmp_path / "r.html").read_text()


QUICK = ["compare", "runs.csv", "--target", "y", "--candidates", "gp,het-gp", "--categorical", "gas"]


@pytest.mark.parametrize(("width", "named"), [("80", False), ("140", True)])
def test_every_surrogate_is_shown_with_its_score_and_the_choice_explained(ask, runs, monkeypatch, width, named) -> None:
    monkeypatch.setenv("COLUMNS", width)
    answer = ask(*QUICK)
    assert (answer.code, answer.err) == (0, "")
    assert "Surrogates for y of runs.csv, 20 rows" in answer.out
    assert all(word in answer.out for word in ("gp", "het-gp", "CRPS", "behind", "Chosen: CRPS", "lowest CRPS"))
    table = answer.out.partition("Chosen: ")[0]
    assert ("stationary GP" in table) == named
    assert sum(line.lstrip().startswith(("gp ", "het-gp ")) for line in table.splitlines()) == 2  # no line is broken
    assert all(len(line) <= int(width) for line in table.splitlines())


def test_the_comparison_is_one_json_object_and_the_chosen_model_and_a_page_are_written(ask, runs, tmp_path) -> None:
    from genbayes import load

    answer = ask(*QUICK, "-o", "m.gb", "--report", "r.html", "--json")
    assert answer.err == ""
    found = answer.json
    assert {entry["name"] for entry in found["entries"]} == {"gp", "het-gp"}
    assert (found["rows"], found["model"], found["report"], bool(found["reason"])) == (20, "m.gb", "r.html", True)
    page = (tmp_path / "r.html").read_text()
    assert all(
        title in page for title in ("Scores of the surrogates", "The chosen model", "Predicted against observed")
    )
    assert type(load(tmp_path / "m.gb")).__name__ == "AutoSurrogate"


def test_what_to_type_after_a_comparison_is_the_same_comparison(ask, runs) -> None:
    answer = ask(*QUICK, "--inputs", "x,gas", "--bounds", ",99", "--seed", "3", "--drop-missing")
    again = (
        "genbayes compare runs.csv --target y --inputs x,gas --categorical gas --bounds ,99 --candidates gp,het-gp "
        "--seed 3 --drop-missing"
    )
    assert f"{again} --report compare.html" in answer.lines
    assert f"{again} -o model.gb" in answer.lines
    assert ask(*again.split()[1:], "-o", "model.gb").code == 0


def test_a_category_that_fit_has_not_seen_is_named_with_its_line(ask, runs, tmp_path) -> None:
    assert ask(*FIT, "--model", "gp").code == 0
    (tmp_path / "new.csv").write_text("x,gas\n0.5,He\n0.5,Xe\n")
    answer = ask("predict", "m.gb", "new.csv")
    assert (answer.code, answer.out) == (2, "")
    assert "got 'Xe' in 1 of 2 rows (line 3)" in answer.err


@pytest.mark.parametrize(
    ("seen", "new", "option"),
    [
        (["01", "02", "A1"], ["01", "02", "01"], []),
        (["1", "2", "A1"], ["1", "", "2"], ["--drop-missing"]),
        (["True", "False", "maybe"], ["True", "False", "True"], []),
        (["1", "2", "3"], ["1", "", "2.0"], ["--drop-missing"]),  # numbers in fit, numbers afterwards
        (["01", "02", "03"], ["1", "2", "03"], []),
    ],
)
def test_categories_are_those_of_fit_whatever_else_stands_in_their_column(ask, tmp_path, seen, new, option) -> None:
    """Alone, 01 and 02 would be read as numbers; a gap beside them would make them 1.0 and 2.0."""
    rows = [f"{each},{x},{x + 5 * j}" for x in range(6) for j, each in enumerate(seen)]
    (tmp_path / "b.csv").write_text("\n".join(["batch,mach,y", *rows]))
    words = ("--target", "y", "--categorical", "batch", "--model", "gp", "-o", "m.gb")
    assert ask("fit", "b.csv", *words).code == 0
    (tmp_path / "new.csv").write_text("\n".join(["mach,batch ,y", *(f"2.5,{each},{j}" for j, each in enumerate(new))]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RowsDropped)
        assert ask("evaluate", "m.gb", "new.csv", "--target", "y", *option).code == 0
        assert ask("predict", "m.gb", "new.csv", "-o", "out.csv", *option).code == 0
    first, second = pd.read_csv(tmp_path / "out.csv")["mean"][:2]
    assert abs(second - first - 5) < 1


def test_the_automatic_fit_is_the_one_that_is_compared(ask, runs, tmp_path, monkeypatch) -> None:
    from genbayes import AutoSurrogate, load

    monkeypatch.setattr(
        AutoSurrogate.__init__,
        "__kwdefaults__",
        {**AutoSurrogate.__init__.__kwdefaults__, "candidates": ("gp", "het-gp")},
    )
    ask(*QUICK, "-o", "compared.gb")
    ask(*FIT, "-o", "fitted.gb")
    X = read_table("runs.csv")[["x", "gas"]]
    assert np.array_equal(load("compared.gb").predict(X), load("fitted.gb").predict(X))
