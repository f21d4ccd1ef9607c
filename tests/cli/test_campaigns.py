"""`genbayes design` and `genbayes worker`: a campaign from the shell."""

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
    late = begun("design", "tell", *WHERE, "1", "--y", "2", "--lease", str(first["lease"]))
    assert (late.code, late.out) == (0, "Trial 1 already has a result; y = 2 was kept as a repeat\n")
    assert late.err == "Warning: Trial 1 already has a result; y = 2.0 was kept as a repeat and does not count\n"


def test_what_becomes_of_a_result_is_said_in_one_sentence(begun) -> None:
    begun("design", "ask", *WHERE, "-n", "2")
    for words, sentence in [
        (("tell", *WHERE, "1", "--y", "3"), "Recorded trial 1: y = 3"),
        (("tell", *WHERE, "1", "--y", "3"), "Trial 1: already recorded, nothing changed"),
        (("fail", *WHERE, "1"), "Trial 1 is done or belongs to another worker now; nothing changed"),
        (("fail", *WHERE, "2", "--reason", "diverged"), "Recorded trial 2 as failed"),
    ]:
        assert begun("design", *words).out == f"{sentence}\n"
    assert "trial 2 failed diverged" in begun("design", "status", *WHERE).lines


def test_a_table_of_trials_shows_what_to_tell(begun) -> None:
    answer = begun("design", "ask", *WHERE)
    assert "genbayes design tell sqlite:///rocket.db rocket 1 --y VALUE --lease 1" in answer.lines
    assert "mach" in answer.out


def test_inputs_too_many_for_a_line_stand_below_one_another(ask, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    inputs = [word for i in range(1, 11) for word in ("--input", f"parameter{i}=0.1234567:0.7654321")]
    assert ask("design", "create", *WHERE, *inputs).code == 0
    lines = [line.strip() for line in ask("design", "ask", *WHERE, "-n", "2").out.splitlines()]
    assert [line for line in lines if line.startswith("trial")] == ["trial 1", "trial 2"]
    rows = [line.split() for line in lines if line.startswith("parameter")]
    assert [row[0] for row in rows] == [f"parameter{i}" for i in range(1, 11)] * 2
    assert all(0.12 < float(row[1]) < 0.77 for row in rows)


@pytest.mark.parametrize("y", ["nan", "-inf"])
def test_a_response_that_is_not_finite_fails_the_trial_and_is_bad_input(begun, y: str) -> None:
    begun("design", "ask", *WHERE)
    answer = begun("design", "tell", *WHERE, "1", "--y", y)
    assert (answer.code, answer.out) == (2, "")
    assert answer.err == f"Error: --y must be a finite number, got {y}; trial 1 was recorded as failed\n"
    assert begun("design", "status", *WHERE, "--json").json["n_failed"] == 1


@pytest.mark.parametrize(
    ("y", "wrong"),
    [
        ("abc", "--y must be a finite number, got 'abc'"),
        ("1_000", "--y must be a finite number, got '1_000'"),
        ("1,2", "--y must be one number, got 2 values"),
        ("null", "--y must be a finite number, got None"),
    ],
)
def test_a_response_that_cannot_be_read_leaves_the_trial_as_it_was(begun, y: str, wrong: str) -> None:
    lease = str(begun("design", "ask", *WHERE, "--json").json["trials"][0]["lease"])
    answer = begun("design", "tell", *WHERE, "1", "--y", y, "--lease", lease)
    assert (answer.code, answer.out, answer.err) == (2, "", f"Error: {wrong}; trial 1 was not changed\n")
    assert begun("design", "status", *WHERE, "--json").json["n_failed"] == 0
    words = ("1", "--y", "3", "--lease", lease, "--json")
    assert begun("design", "tell", *WHERE, *words).json["outcome"] == "counted"


def test_points_of_ones_own_are_added_from_a_table(begun, tmp_path) -> None:
    frame = pd.DataFrame({"gas": ["He", "O2"], "stages": [1, 3], "mach": [0.5, 1.5], "note": ["a", "b"]})
    frame.to_csv(tmp_path / "points.csv", index=False)
    assert begun("design", "add", *WHERE, "points.csv", "--json").json == {"trials": [5, 6]}
    trials = begun("design", "ask", *WHERE, "-n", "6", "--json").json["trials"]
    assert trials[4]["x"] == {"mach": 0.5, "stages": 1, "gas": "He"}


def test_a_choice_of_text_is_read_as_it_stands_in_a_file(ask, tmp_path) -> None:
    options = ("--input", "batch=01,1,A", "--input", "on=True,False", "--input", "n=1,2", "--n-initial", "0")
    assert ask("design", "create", "sqlite:///text.db", "text", *options).code == 0
    (tmp_path / "points.csv").write_text("batch,on,n\n01,True,1\n1,False,2\n")
    assert ask("design", "add", "sqlite:///text.db", "text", "points.csv", "--json").json == {"trials": [1, 2]}
    trials = ask("design", "ask", "sqlite:///text.db", "text", "-n", "2", "--json").json["trials"]
    assert [list(trial["x"].values()) for trial in trials] == [["01", "True", 1], ["1", "False", 2]]


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


def test_a_page_of_a_campaign_without_results_has_no_curve_and_says_why(begun, tmp_path) -> None:
    answer = begun("design", "status", *WHERE, "--report", "page.html", "--json")
    reason = "No learning curve: it takes 15 runs; done so far: 0."
    assert (answer.code, answer.json["learning_curve"]["reason"]) == (0, reason)
    page = (tmp_path / "page.html").read_text()
    assert reason in page
    assert "Learning curve" not in page


@pytest.mark.parametrize("different", [0, 1])
def test_responses_that_hardly_vary_leave_a_page_without_a_curve(begun, tmp_path, different: int) -> None:
    from genbayes import Campaign

    campaign = Campaign.open(*WHERE)
    for trial in campaign.ask(20):
        campaign.tell(trial, float(trial.number <= different))
    answer = begun("design", "status", *WHERE, "--curve", "--report", "page.html")
    reason = f"{'19 of' if different else 'all'} 20 runs gave 0, which leaves nothing to learn"
    assert answer.code == 0
    assert f"No learning curve: {reason}" in answer.lines
    assert f"No learning curve: {reason}" in (tmp_path / "page.html").read_text()


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


JSON = '{"mach": [0.2, 6], "alpha": [-5, 30], "n": {"integer": [1, 8]}, "rate": {"log": [0.001, 1]}}'
TOML = "mach = [0.2, 6]\nalpha = [-5, 30]\nn = {integer = [1, 8]}\nrate = {log = [0.001, 1]}\n"


@pytest.mark.parametrize(("name", "text"), [("space.json", JSON), ("space.toml", TOML)])
def test_a_space_can_be_written_in_a_file(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    assert read_space(tmp_path / name) == SPACE


@pytest.fixture
def budgeted(ask):
    ask(
        "design", "create", *WHERE, "--input", "mach=0.2:6", "--input", "gas=He,O2", "--n-initial", "3", "--budget", "4"
    )
    return ask


def test_a_worker_runs_a_program_for_every_trial_and_says_so(budgeted) -> None:
    answer = budgeted("worker", *WHERE, "--", "echo", "{mach}")
    assert answer.code == 0
    first, *others = answer.err.splitlines()
    assert first == "budget: 4 of 4 runs left"
    assert [line.split(":")[0] for line in others] == [f"trial {n}" for n in (1, 2, 3, 4)]
    assert "done 4" in answer.lines
    assert budgeted("design", "status", *WHERE, "--json").json["n_done"] == 4


def test_json_is_one_object_with_the_tally(budgeted) -> None:
    answer = budgeted("worker", *WHERE, "--json", "--quiet", "--", "echo", "{mach}")
    assert answer.err == ""
    assert answer.json == {"n_done": 4, "n_failed": 0, "n_repeats": 0, "n_handed_back": 0}


def test_a_quiet_worker_does_not_ask_where_the_campaign_stands(budgeted, monkeypatch) -> None:
    def status(campaign) -> None:
        raise AssertionError("nobody wants to know")

    monkeypatch.setattr("genbayes.campaign.Campaign.status", status)
    assert budgeted("worker", *WHERE, "--json", "--quiet", "--no-wait", "--", "echo", "1").json["n_done"] == 4


def test_a_worker_that_is_not_the_first_says_how_many_runs_are_left(budgeted) -> None:
    budgeted("worker", *WHERE, "--budget", "1", "--quiet", "--", "echo", "1")
    budgeted("design", "ask", *WHERE, "--lease-seconds", "0.2")
    answer = budgeted("worker", *WHERE, "--seconds", "30", "--", "echo", "1")
    assert answer.err.splitlines()[0] == "budget: 3 of 4 runs left, 1 of them handed out; no new run starts after 30 s"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([], "no budget: runs until stopped (Ctrl-C); --budget N or --seconds S sets a limit"),
        (["--seconds", "0"], "no budget: no new run starts after 0 s"),
    ],
)
def test_a_worker_without_a_budget_says_when_it_will_end(ask, words: list[str], sentence: str) -> None:
    ask("design", "create", *WHERE, "--input", "mach=0.2:6", "--n-initial", "3", "--proposer", "random")
    answer = ask("worker", *WHERE, *words, "--failures-in-row", "1", "--", "false")  # ends at the first run
    assert answer.err.splitlines()[0] == sentence


def test_options_of_the_program_are_its_own(budgeted) -> None:
    answer = budgeted(
        "worker", *WHERE, "--json", "-q", "--", "sh", "-c", "echo --debug >&2; echo 1", "--help", "--json"
    )
    assert answer.json["n_done"] == 4


def test_a_budget_and_a_time_end_it(budgeted) -> None:
    assert budgeted("worker", *WHERE, "--budget", "2", "--json", "-q", "--", "echo", "1").json["n_done"] == 2
    assert budgeted("worker", *WHERE, "--seconds", "0", "--json", "-q", "--", "echo", "1").json["n_done"] == 0


def test_the_response_is_read_from_a_json_line_or_a_file(budgeted, tmp_path) -> None:
    words = ("worker", *WHERE, "--json", "-q", "--no-wait")
    script = 'echo "{\\"drag\\": 3}"'
    assert budgeted(*words, "--budget", "2", "--key", "drag", "--", "sh", "-c", script).json["n_done"] == 2
    script = "echo 4 > out_$1"
    more = ("--file", "out_{number}", "--", "sh", "-c", script, "sh", "{number}")
    assert budgeted(*words, *more).json["n_done"] == 2
    exported = budgeted("design", "export", *WHERE, "--json").json["columns"]["y"]
    assert exported == [3.0, 3.0, 4.0, 4.0]


def test_failures_are_recorded_and_too_many_end_it(budgeted) -> None:
    answer = budgeted("worker", *WHERE, "--timeout", "0.3", "--failures-in-row", "2", "--", "sleep", "30")
    assert answer.code == 2
    assert "Error: The simulator failed 2 times in a row" in answer.err
    found = budgeted("design", "status", *WHERE, "--json").json
    assert found["failures"][0] == [1, "no result within 0.3 s; the program was stopped"]
    assert (found["n_failed"], found["n_running"]) == (2, 0)


def test_a_failed_run_is_tried_again(budgeted, tmp_path) -> None:
    script = "echo x >> tries; test $(wc -l < tries) -gt 1 && echo 1"
    answer = budgeted("worker", *WHERE, "--retries", "1", "--budget", "1", "--json", "-q", "--", "sh", "-c", script)
    assert (answer.json["n_done"], answer.json["n_failed"]) == (1, 0)


def test_several_responses_go_through_every_command(ask, tmp_path) -> None:
    created = ask("design", "create", *WHERE, *INPUTS, "--n-initial", "3", "--budget", "3", "--responses", "drag, lift")
    assert "responses       drag, lift" in created.out
    assert "1 --y DRAG,LIFT --lease 1" in ask("design", "ask", *WHERE).lines
    told = ask("design", "tell", *WHERE, "1", "--y", "-1,2.5")
    assert (told.code, told.out) == (0, "Recorded trial 1: drag = -1.0, lift = 2.5\n")
    wrong = ask("design", "tell", *WHERE, "2", "--y", "1")
    assert wrong.code == 2
    assert "y must be 2 numbers (drag, lift), got 1 value; trial 2 was not changed" in wrong.err
    assert ask("design", "tell", *WHERE, "2", "--y", '{"lift": 1, "drag": 0}').code == 0
    (tmp_path / "simulate.sh").write_text('#!/bin/sh\necho \'{"drag": 7, "lift": 8}\'\n')
    (tmp_path / "simulate.sh").chmod(0o755)
    worked = ask("worker", *WHERE, "--", "./simulate.sh")
    assert "trial 3: drag = 7.0, lift = 8.0" in worked.err
    assert "key must not be given for several responses" in ask("worker", *WHERE, "--key", "y", "--", "true").err
    exported = ask("design", "export", *WHERE, "-o", "runs.csv")
    assert (
        "genbayes fit runs.csv --target drag --inputs mach,stages,gas --categorical gas -o model.gb" in exported.lines
    )
    assert "response must be one of 'drag', 'lift'" in ask("design", "status", *WHERE, "--response", "wing").err
    assert pd.read_csv("runs.csv")[["drag", "lift"]].to_numpy().tolist() == [[-1.0, 2.5], [0.0, 1.0], [7.0, 8.0]]
    assert ask("design", "status", *WHERE, "--report", "page.html", "--response", "lift").code == 0
    assert "Of drag, lift it shows lift." in Path("page.html").read_text()
