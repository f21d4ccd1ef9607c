"""`genbayes compare` on two quick surrogates."""

import json

import pytest

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


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--target", "yy"], "target must be a column of the table, got 'yy'"),
        (["--target", "y", "--candidates", "gpp", "--categorical", "gas"], "candidates must be among gp,"),
        (["--target", "y", "--report", "runs.csv"], "--report must differ from the files that are read"),
        (["--target", "y", "--categorical", "gas", "--time-limit", "0"], "time_limit must be"),
        (["--target", "y"], "inputs must be numbers unless they are categories, got 'O2'"),
    ],
)
def test_bad_input_is_one_sentence(ask, runs, words, sentence) -> None:
    answer = ask("compare", "runs.csv", *words)
    assert (answer.code, answer.out, answer.err.count("\n")) == (2, "", 1)
    assert answer.err.startswith(f"Error: {sentence}")
