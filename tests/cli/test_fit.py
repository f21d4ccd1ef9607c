import pytest

from genbayes.data import read_table

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


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["-o", "no/m.gb"], "path must lie in an existing folder, got 'no/m.gb'; create 'no' first"),
        (["-o", "."], "path must name a file, got the directory '.'; add a file name"),
        (
            ["-o", "m.gb", "--report", "no/r.html"],
            "path must lie in an existing folder, got 'no/r.html'; create 'no' first",
        ),
        (["-o", "m.gb", "--report", "."], "path must name a file, got the directory '.'; add a file name"),
        (["-o", "m.gb", "--report", "m.gb"], "--report must differ from --output, got 'm.gb' for both"),
        (["-o", "runs.csv"], "--output must differ from the files that are read, got 'runs.csv' for both"),
        (
            ["-o", "m.gb", "--report", "runs.csv"],
            "--report must differ from the files that are read, got 'runs.csv' for both",
        ),
    ],
)
def test_a_bad_path_is_said_before_any_training(ask, bell, runs, words, sentence) -> None:
    answer = ask("fit", "runs.csv", "--target", "y", *words)
    assert (answer.code, answer.out, answer.err) == (2, "", f"Error: {sentence}\n")
    assert bell.made == []


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["run.csv", "--target", "y"], "path must name an existing file, got 'run.csv'; did you mean 'runs.csv'?"),
        (
            ["runs.csv", "--target", "z"],
            "target must be a column of the table, got 'z'; the columns are 'x', 'gas', 'y'",
        ),
        (
            ["runs.csv", "--target", "gas"],
            "target must be numbers, got 'O2' in column 'gas', 20 of 20 rows (lines 2, 3, 4, 5, 6, ...); repair them",
        ),
        (
            ["runs.csv", "--target", "y", "--inputs", "X"],
            "inputs must be columns of the table, got 'X'; did you mean 'x'?",
        ),
        (
            ["runs.csv", "--target", "y", "--bounds", "1"],
            "--bounds must be two numbers, either of which may be left out, got '1'; try 0,1 or 0,",
        ),
    ],
)
def test_bad_input_is_one_sentence(ask, bell, runs, words, sentence) -> None:
    answer = ask("fit", *words, "-o", "m.gb")
    assert (answer.code, answer.out, answer.err) == (2, "", f"Error: {sentence}\n")


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
