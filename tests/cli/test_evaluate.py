import pytest


def test_scores_are_shown(ask, bell, runs) -> None:
    answer = ask("evaluate", "m.gb", "runs.csv", "--target", "y")
    assert (answer.code, answer.err) == (0, "")
    assert "m.gb on the 20 rows of runs.csv" in answer.out
    assert all(name in answer.out for name in ("CRPS", "RMSE", "50% intervals", "90% intervals", "PIT"))
    assert all(name in answer.out for name in ("miscalibration", "discrimination", "Luck alone does so in"))


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


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--target", "gas"], "target must be numbers, got 'O2' in column 'gas', 20 of 20 rows"),
        (["--target", "yy"], "target must be a column of the table, got 'yy'"),
        (["--target", "x"], "inputs must not contain the target, got 'x' among them"),
        (["--target", "y", "--report", "runs.csv"], "--report must differ from the files that are read"),
        (["--target", "y", "--report", "./m.gb"], "--report must differ from the files that are read"),
        (["--target", "y", "--report", "no/r.html"], "path must lie in an existing folder, got 'no/r.html'"),
    ],
)
def test_bad_input_is_one_sentence(ask, bell, runs, words, sentence) -> None:
    answer = ask("evaluate", "m.gb", "runs.csv", *words)
    assert (answer.code, answer.out, answer.err.count("\n")) == (2, "", 1)
    assert answer.err.startswith(f"Error: {sentence}")
