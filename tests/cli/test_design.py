"""`genbayes design`: a campaign from the shell."""

import json
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from genbayes import Box
from genbayes.campaign.trial import MAX_ATTEMPTS
from genbayes.cli.spaces import parse_space, read_space
from genbayes.data import Choice, Integer, Log
from genbayes.errors import GenBayesError, InvalidInput

URL = "sqlite:///rocket.db"
WHERE = (URL, "rocket")
INPUTS = ("--input", "mach=0.2:6", "--input", "stages=1:3:int", "--input", "gas=He,O2")

PROBE = """
import sys
from genbayes.cli.main import answer
code = answer(sys.argv[1:])
print(code, "matplotlib" in sys.modules)
"""


@pytest.fixture
def begun(ask):
    assert ask("design", "create", *WHERE, *INPUTS, "--n-initial", "4").code == 0
    return ask


def test_a_campaign_is_created_and_the_next_commands_are_shown(ask) -> None:
    answer = ask("design", "create", *WHERE, *INPUTS)
    assert (answer.code, answer.err) == (0, "")
    assert "Campaign rocket in sqlite:///rocket.db" in answer.out
    assert "30, a Latin hypercube" in answer.lines
    assert "genbayes worker sqlite:///rocket.db rocket -- ./simulate.sh {mach} {stages} {gas}" in answer.lines


def test_a_space_can_come_from_a_file(ask, tmp_path) -> None:
    (tmp_path / "space.toml").write_text("mach = [0.2, 6]\n")
    found = ask("design", "create", *WHERE, "--space", "space.toml", "--budget", "40", "--json").json
    assert found["space"] == {"mach": [0.2, 6.0]}
    assert (found["n_open"], found["budget"]) == (10, 40)


def test_the_limit_of_attempts_is_kept(ask) -> None:
    from genbayes import Campaign

    ask("design", "create", *WHERE, *INPUTS)
    ask("design", "create", URL, "stubborn", *INPUTS, "--max-attempts", "9")
    ask("design", "create", URL, "endless", *INPUTS, "--max-attempts", "0")
    kept = [Campaign.open(URL, name).settings.max_attempts for name in ("rocket", "stubborn", "endless")]
    assert kept == [MAX_ATTEMPTS, 9, None]


def test_the_limit_of_attempts_is_that_of_the_library_and_the_help_says_it(ask, monkeypatch) -> None:
    from genbayes import Campaign

    monkeypatch.setitem(Campaign.create.__kwdefaults__, "max_attempts", 8)
    ask("design", "create", *WHERE, *INPUTS)
    assert Campaign.open(*WHERE).settings.max_attempts == 8
    told = " ".join(ask("design", "create", "--help").out.replace("│", " ").split())
    assert (
        f"given up; {['zero', 'one', 'two', 'three', 'four', 'five'][MAX_ATTEMPTS]} unless given, 0 for no limit"
        in told
    )


@pytest.mark.filterwarnings("default")
def test_trials_are_asked_for_and_told(begun) -> None:
    first, second = begun("design", "ask", *WHERE, "-n", "2", "--worker", "me", "--json").json["trials"]
    assert (first["number"], second["number"], first["worker"]) == (1, 2, "me")
    assert set(first["x"]) == {"mach", "stages", "gas"}
    words = ("--y", "-0.5", "--lease", str(first["lease"]))
    assert begun("design", "tell", *WHERE, "1", *words, "--json").json == {"trial": 1, "outcome": "counted"}
    assert begun("design", "tell", *WHERE, "1", *words).out == "Trial 1: already recorded, nothing changed\n"
    late = begun("design", "tell", *WHERE, "1", "--y", "2", "--lease", str(first["lease"]))
    assert (late.code, "kept as a repeat" in late.out) == (0, True)
    assert late.err == "Warning: Trial 1 already has a result; y = 2.0 was kept as a repeat and does not count\n"


def test_a_table_of_trials_shows_what_to_tell(begun) -> None:
    answer = begun("design", "ask", *WHERE)
    assert "genbayes design tell sqlite:///rocket.db rocket 1 --y VALUE --lease 1" in answer.lines
    assert "mach" in answer.out


def test_a_failure_is_recorded_with_its_reason(begun) -> None:
    begun("design", "ask", *WHERE)
    words = ("fail", *WHERE, "1", "--reason", "diverged")
    assert begun("design", *words).out == "Recorded trial 1 as failed\n"
    assert "trial 1 failed diverged" in begun("design", "status", *WHERE).lines


@pytest.mark.parametrize(("y", "shown"), [("nan", "nan"), ("broken", "'broken'")])
def test_a_response_that_is_no_number_fails_the_trial_and_is_bad_input(begun, y: str, shown: str) -> None:
    begun("design", "ask", *WHERE)
    answer = begun("design", "tell", *WHERE, "1", "--y", y)
    assert (answer.code, answer.out) == (2, "")
    assert answer.err == f"Error: y must be a finite number, got {shown}; trial 1 was recorded as failed\n"
    assert begun("design", "status", *WHERE, "--json").json["n_failed"] == 1


def test_points_of_ones_own_are_added_from_a_table(begun, tmp_path) -> None:
    frame = pd.DataFrame({"gas": ["He", "O2"], "stages": [1, 3], "mach": [0.5, 1.5], "note": ["a", "b"]})
    frame.to_csv(tmp_path / "points.csv", index=False)
    assert begun("design", "add", *WHERE, "points.csv", "--json").json == {"trials": [5, 6]}
    trials = begun("design", "ask", *WHERE, "-n", "6", "--json").json["trials"]
    assert trials[4]["x"] == {"mach": 0.5, "stages": 1, "gas": "He"}


@pytest.fixture
def run(begun):
    """Twenty runs done, one failed."""
    from genbayes import Campaign

    campaign = Campaign.open(*WHERE)
    for trial in campaign.ask(21):
        x = trial.x["mach"] + trial.x["stages"]
        campaign.fail(trial, "diverged") if trial.number == 21 else campaign.tell(trial, x)
    campaign.ask()
    return begun


def test_the_status_counts_runs_and_says_who_holds_which(run) -> None:
    found = run("design", "status", *WHERE, "--json").json
    counts = {name: found[f"n_{name}"] for name in ("done", "running", "failed", "open", "lapsed", "trials")}
    assert counts == {"done": 20, "running": 1, "failed": 1, "open": 0, "lapsed": 0, "trials": 22}
    assert list(found["workers"].values()) == [1]
    assert found["learning_curve"] is None


def test_the_learning_curve_is_shown_on_request(run) -> None:
    answer = run("design", "status", *WHERE, "--curve")
    assert "CRPS of unseen runs" in answer.out
    assert "more runs would lower the CRPS by about" in answer.lines
    assert run("design", "status", *WHERE, "--curve", "--json").json["learning_curve"]["n"] == [15, 16, 17, 18, 19, 20]


def test_a_page_shows_counts_curve_and_places(run, tmp_path) -> None:
    answer = run("design", "status", *WHERE, "--report", "page.html")
    assert (answer.code, "Open page.html in a browser" in answer.lines) == (0, True)
    page = (tmp_path / "page.html").read_text()
    assert page.count("<svg") == 5  # curve, order, three pairs
    assert all(word in page for word in ("Learning curve", "Where the runs went", "diverged", "Lapsed"))
    assert "<script" not in page


@pytest.mark.parametrize(("words", "draws"), [([], False), (["--curve"], False), (["--report", "page.html"], True)])
def test_the_status_loads_what_draws_only_for_a_page(begun, words: list[str], draws: bool) -> None:
    command = [sys.executable, "-c", PROBE, "design", "status", *WHERE, *words]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert out.splitlines()[-1] == f"0 {draws}"


def test_a_page_of_a_campaign_without_results_has_no_curve(begun, tmp_path) -> None:
    assert begun("design", "status", *WHERE, "--report", "page.html", "--json").code == 0
    assert "Learning curve" not in (tmp_path / "page.html").read_text()


def test_runs_are_exported_ready_to_fit(run, tmp_path) -> None:
    assert "Wrote 20 rows" in run("design", "export", *WHERE, "-o", "runs.csv").out
    table = pd.read_csv(tmp_path / "runs.csv")
    assert list(table.columns) == ["mach", "stages", "gas", "y"]
    assert run("design", "export", *WHERE).out == (tmp_path / "runs.csv").read_text()


def test_every_trial_can_be_exported_with_its_times(run, tmp_path) -> None:
    run("design", "export", *WHERE, "--all", "-o", "all.parquet")
    table = pd.read_parquet(tmp_path / "all.parquet")
    assert len(table) == 22
    assert table["state"].value_counts().to_dict() == {"done": 20, "running": 1, "failed": 1}
    found = run("design", "export", *WHERE, "--all", "--json").json
    assert found["columns"]["y"][20:] == [None, None]
    assert json.dumps(found)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["create", *WHERE], "inputs must be given by --input or by --space, got neither"),
        (["create", *WHERE, "--input", "x=0:1", "--space", "a.toml"], "inputs must be given by --input or by --space"),
        (["create", *WHERE, "--input", "x=1:0"], "bounds of 'x' must rise"),
        (["create", "rocket.db", "rocket", "--input", "x=0:1"], "url must name a database such as"),
        (["create", "sqlite:///no/a.db", "a", "--input", "x=0:1"], "url must lie in an existing folder"),
        (["create", *WHERE, "--input", "x=0:1", "--proposer", "oracle"], "proposer must be one of"),
        (["ask", *WHERE], "url must name an existing database"),
        (["ask", *WHERE, "-n", "0"], "invalid value for '-n'"),
        (["status", *WHERE, "--report", "no/page.html"], "path must lie in an existing folder"),
        (["export", *WHERE, "-o", "runs.xlsx"], "path must end in .csv"),
        (["sttaus", *WHERE], "no such command 'sttaus'; did you mean 'status'"),
    ],
)
def test_bad_input_is_one_sentence_and_leaves_no_file(ask, tmp_path, words: list[str], sentence: str) -> None:
    answer = ask("design", *words)
    assert (answer.code, answer.out, answer.err.count("\n")) == (2, "", 1)
    assert answer.err.startswith(f"Error: {sentence}")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["create", *WHERE, "--input", "x=0:1"], "Campaign 'rocket' already exists"),
        (["ask", URL, "rokcet"], "name must be a campaign of"),
        (["tell", *WHERE, "9", "--y", "1"], "trial must be a number from 1 to 4, got 9"),
        (["tell", *WHERE, "1", "--y", "1", "--lease", "5"], "lease must be one of trial 1, got 5"),
        (["fail", *WHERE, "9"], "trial must be a number from 1 to 4, got 9"),
    ],
)
def test_bad_input_to_a_campaign_is_one_sentence(begun, words: list[str], sentence: str) -> None:
    answer = begun("design", *words)
    assert (answer.code, answer.out, answer.err.count("\n")) == (2, "", 1)
    assert answer.err.startswith(f"Error: {sentence}")


def test_without_a_command_the_help_is_shown(ask) -> None:
    assert "create" in ask("design").out


SPACE = Box({"mach": (0.2, 6.0), "alpha": (-5.0, 30.0), "n": Integer(1, 8), "rate": Log(1e-3, 1.0)})


def test_a_space_can_be_written_on_a_command_line() -> None:
    assert parse_space(["mach=0.2:6", "alpha=-5:30", "n=1:8:int", "rate=1e-3:1:log"]) == SPACE


@pytest.mark.parametrize(
    ("text", "values"), [("He, O2", ("He", "O2")), ("1,2,4", (1, 2, 4)), ("0.5,1", (0.5, 1.0)), ("1,two", ("1", "two"))]
)
def test_categories_are_numbers_if_all_of_them_are(text: str, values: tuple) -> None:
    assert parse_space([f"c={text}"]).inputs["c"] == Choice(*values)


@pytest.mark.parametrize(
    ("texts", "sentence"),
    [
        (["mach"], "--input must look like mach=0.2:6"),
        (["=0:1"], "--input must look like"),
        (["mach="], "--input must look like"),
        (["mach=a:b"], "--input must look like .*, got 'mach=a:b'"),
        (["n=1.5:3:int"], "--input must look like"),
        (["n=1:3:cubic"], "with the scale 'cubic'"),
        (["x=0:1", "x=0:2"], "--input must name each input once, got 'x' twice"),
        (["x=1:0"], "bounds of 'x' must rise"),
        (["x=1:1"], "bounds of 'x' must differ"),
        (["gas=He"], "choices of 'gas' must be two or more"),
    ],
)
def test_what_is_no_space_is_refused(texts: list[str], sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        parse_space(texts)


JSON = '{"mach": [0.2, 6], "alpha": [-5, 30], "n": {"integer": [1, 8]}, "rate": {"log": [0.001, 1]}}'
TOML = "mach = [0.2, 6]\nalpha = [-5, 30]\nn = {integer = [1, 8]}\nrate = {log = [0.001, 1]}\n"


@pytest.mark.parametrize(("name", "text"), [("space.json", JSON), ("space.toml", TOML)])
def test_a_space_can_be_written_in_a_file(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    assert read_space(tmp_path / name) == SPACE


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("space.txt", "", "--space must end in .json or .toml"),
        ("space.json", "{", "--space must be a JSON file, got 'space.json'"),
        ("space.toml", "mach = [", "--space must be a TOML file, got 'space.toml'"),
        ("space.json", "[1, 2]", "inputs must map names to bounds"),
        ("space.json", '{"x": [1, 0]}', "bounds of 'x' must rise"),
        ("missing.json", None, "--space must be a readable file"),
    ],
)
def test_a_file_that_holds_no_space_is_refused(tmp_path: Path, name: str, text: str | None, sentence: str) -> None:
    if text is not None:
        (tmp_path / name).write_text(text)
    with pytest.raises(GenBayesError, match=sentence):
        read_space(tmp_path / name)
