import io

import pandas as pd
import pytest

from genbayes.data import read_table


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


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--quantiles", "0,0.5"], "tau must lie strictly between 0 and 1, got 0.0; pass 0.05 for the 5% quantile"),
        (["--quantiles", "low"], "--quantiles must be levels such as 0.05,0.5,0.95, got 'low'"),
        (["-o", "out.txt"], "path must end in .csv, .csv.gz, .tsv, .tsv.gz or .parquet, got 'out.txt'"),
        (["-o", "new.csv"], "--output must differ from the files that are read, got 'new.csv' for both"),
        (["-o", "no/out.csv"], "path must lie in an existing folder, got 'no/out.csv'; create 'no' first"),
    ],
)
def test_bad_options_are_one_sentence(ask, bell, new, words, sentence) -> None:
    answer = ask("predict", "m.gb", "new.csv", *words)
    assert (answer.code, answer.out, answer.err) == (2, "", f"Error: {sentence}\n")


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        ("X\n1\n", "inputs must be columns of the table, got 'x'; did you mean 'X'?"),
        (
            "x\n1\nNA\n",
            "inputs must not be missing, got no value in column 'x', 1 of 2 rows (line 3); drop or repair them",
        ),
        ("x,mean\n1,2\n", "the table must leave the name 'mean' to the prediction, got it in 'new.csv'; rename it"),
    ],
)
def test_a_table_that_does_not_fit_is_one_sentence(ask, bell, tmp_path, table, sentence) -> None:
    (tmp_path / "new.csv").write_text(table)
    answer = ask("predict", "m.gb", "new.csv")
    assert (answer.code, answer.out, answer.err) == (2, "", f"Error: {sentence}\n")


def test_a_missing_model_is_one_sentence(ask, new) -> None:
    answer = ask("predict", "m.gb", "new.csv")
    assert (answer.code, answer.err) == (2, "Error: path must name an existing model file, got 'm.gb'\n")


def test_a_table_is_no_model(ask, new) -> None:
    answer = ask("predict", "new.csv", "new.csv")
    assert (answer.code, answer.err) == (
        2,
        "Error: path must name a genbayes model file, got 'new.csv', which is not one\n",
    )
