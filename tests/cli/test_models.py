"""`genbayes demo`, `fit`, `predict`, `evaluate` and `compare`, most of them without training."""

import io
import json

import numpy as np
import pandas as pd
import pytest

from genbayes.cli.demo import draw_fan
from genbayes.data import read_table


def test_demo_shows_a_fan_and_scores_and_writes_a_report(ask, bell, tmp_path) -> None:
    answer = ask("demo", "--report", "r.html")
    assert answer.code == 0
    assert answer.err == "Motorcycle crash tests: fitting 106 runs; 27 are held out for scoring.\n"
    assert "• runs   ━ median   ▒ 50%   ░ 90%" in answer.out
    assert "CRPS" in answer.out
    assert "Open r.html in a browser" in answer.out
    assert (tmp_path / "r.html").stat().st_size > 1000


def test_demo_fits_an_ensemble(ask, bell) -> None:
    ask("demo", "--epochs", "3")
    assert bell.made[0].settings == {"n_members": 5, "n_epochs": 3, "random_state": 0, "verbose": False}


def test_demo_in_json(ask, bell) -> None:
    found = ask("demo", "--json").json
    assert (found["rows"], found["report"], found["scores"]["n"]) == (133, "demo-report.html", 27)


def test_control_c_is_one_sentence(ask, bell, monkeypatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

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


def test_options_reach_the_surrogate(ask, bell, runs) -> None:
    ask(
        *FIT, "--bounds", "0,", "--members", "3",
        "--recipe", "paper", "--weights", "0.1,0.2,0.7", "--epochs", "9", "--seed", "4",
    )  # fmt: skip
    assert bell.made[0].settings == {
        "categorical": ["gas"],
        "y_bounds": (0.0, None),
        "n_members": 3,
        "recipe": "paper",
        "weights": (0.1, 0.2, 0.7),
        "n_epochs": 9,
        "random_state": 4,
        "verbose": False,
    }


def test_options_not_given_are_left_to_the_surrogate(ask, bell, runs) -> None:
    ask(*FIT)
    assert bell.made[0].settings == {"categorical": ["gas"], "random_state": 0, "verbose": False}


def test_inputs_may_be_chosen(ask, bell, runs) -> None:
    answer = ask("fit", "runs.csv", "--target", "y", "--inputs", "x", "-o", "m.gb", "--json")
    assert answer.json["inputs"] == ["x"]


def test_json_is_one_object_and_nothing_else(ask, bell, runs) -> None:
    answer = ask(*FIT, "--json")
    assert answer.out.count("\n") == 1
    seconds = answer.json.pop("seconds")
    assert 0 <= seconds < 60
    found = {name: value for name, value in answer.json.items() if name != "seconds"}
    assert found == {
        "model": "m.gb",
        "rows": 20,
        "inputs": ["x", "gas"],
        "target": "y",
        "report": None,
        "scores": None,
    }


def test_quiet_prints_nothing(ask, bell, runs) -> None:
    answer = ask(*FIT, "--quiet")
    assert (answer.code, answer.out, answer.err) == (0, "", "")


def test_a_report_is_scored_on_rows_the_model_has_not_seen(ask, bell, runs, tmp_path) -> None:
    answer = ask(*FIT, "--report", "r.html", "--json")
    assert [made.n for made in bell.made] == [16, 20]
    assert answer.json["scores"]["n"] == 4
    assert (tmp_path / "r.html").stat().st_size > 1000


def test_a_report_says_that_the_model_file_saw_all_rows(ask, bell, runs) -> None:
    answer = ask(*FIT, "--report", "r.html")
    assert answer.err == (
        "For the report: fitting 16 rows; 4 are held out for scoring.\nFor the model file: fitting all 20 rows.\n"
    )
    assert "CRPS" in answer.out
    assert "Open r.html in a browser" in answer.out


@pytest.mark.parametrize(("exists", "outcome"), [(False, "was not written"), (True, "is as it was")])
def test_control_c_leaves_the_model_file_as_it_was(ask, bell, runs, tmp_path, monkeypatch, exists, outcome) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

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


def test_every_surrogate_is_shown_with_its_score_and_the_choice_explained(ask, runs) -> None:
    answer = ask(*QUICK)
    assert (answer.code, answer.err) == (0, "")
    assert "Surrogates for y of runs.csv, 20 rows" in answer.out
    assert all(word in answer.out for word in ("gp", "het-gp", "CRPS", "behind", "Chosen: CRPS", "did best"))


def test_json_is_one_object_with_the_report(ask, runs) -> None:
    found = ask(*QUICK, "--json").json
    assert {entry["name"] for entry in found["entries"]} == {"gp", "het-gp"}
    assert found["rows"] == 20
    assert found["model"] is None
    assert found["reason"]
    assert json.dumps(found)


def test_the_chosen_model_and_a_page_are_written(ask, runs, tmp_path) -> None:
    answer = ask(*QUICK, "-o", "m.gb", "--report", "r.html", "--json")
    assert answer.json["model"] == "m.gb"
    assert "<svg" in (tmp_path / "r.html").read_text()
    from genbayes import load

    assert type(load(tmp_path / "m.gb")).__name__ == "AutoSurrogate"
