"""`genbayes bench` on a tiny problem, from a run to a report; and where it is not installed."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from genbayes import load
from genbayes.cli import bench
from genbayes.cli.main import answer
from genbayes.errors import MissingExtra, UnreadableFile
from genbayes.models import registry
from genbayes_bench import progress
from genbayes_bench.plan import Forecast, Job
from genbayes_bench.progress import line_of, show_run
from genbayes_bench.record import Record, pack_records, read_records, record_path
from genbayes_bench.rivals import NaturalGradientBoosting
from genbayes_bench.runner import Outcome, Progress

TINY = str(Path(__file__).with_name("tiny.py"))
RUN = ["bench", "run", "tiny", "--with", TINY, "--jobs", "1"]


def test_help_lists_what_can_be_done(ask) -> None:
    for words in (["bench"], ["bench", "--help"]):
        answer = ask(*words)
        assert answer.code == 0
        assert all(word in answer.out for word in ("list", "run", "pack", "report"))


@pytest.mark.parametrize("command", ["list", "run", "pack"])
def test_each_command_has_help_and_json(ask, command) -> None:
    answer = ask("bench", command, "--help")
    assert answer.code == 0
    assert "--json" in answer.out


def test_problems_and_methods_are_listed(ask) -> None:
    answer = ask("bench", "list", "--with", TINY)
    assert (answer.code, answer.err) == (0, "")
    for word in ("bgp2", "500 to 200,000", "stand-in", "tiny", "gbc-aug", "bell", "UCI repository"):
        assert word in answer.out


def test_problems_without_data_are_marked(ask, monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("GENBAYES_SHARED", str(tmp_path))
    assert "ABSENT: its file data/uci/yacht.csv" in ask("bench", "list").lines
    by_name = {p["name"]: p for p in ask("bench", "list", "--json").json["problems"]}
    assert by_name["bgp2"]["absent"] is None
    assert "set GENBAYES_SHARED" in by_name["yacht"]["absent"]


def test_the_list_as_json_has_every_fact(ask) -> None:
    found = ask("bench", "list", "--json").json
    bgp2 = next(p for p in found["problems"] if p["name"] == "bgp2")
    assert (bgp2["n_train"], bgp2["n_test"], bgp2["n_inputs"], bgp2["n_replicates"]) == ([1600], 400, 2, 20)
    assert {"name": "gp", "family": "baseline", "title": "StationaryGP"} in found["methods"]


def test_a_run_has_one_protocol(ask) -> None:
    answer = ask("bench", "run", "quick", "paper", "jump1d")
    assert answer.code == 2
    assert answer.err == "Error: a run must have one protocol, got quick and paper; run one after the other\n"


def test_a_run_tells_each_record_and_sums_up(ask, tmp_path) -> None:
    answer = ask(*RUN, "--methods", "bell,jumper")
    assert answer.code == 0
    assert "3 records in benchmarks-results" in answer.out
    assert "jumper" in answer.out
    assert "no jump" in answer.out
    assert "tiny bell, n = 30, replicate 0: CRPS" in answer.err
    assert "(3 of 3, 0 s left)" in answer.err
    assert len(read_records(tmp_path / "benchmarks-results")) == 3


def test_a_second_run_makes_nothing(ask) -> None:
    ask(*RUN)
    found = ask(*RUN, "--json", "--quiet")
    assert found.err == ""
    assert (found.json["made"], found.json["records"], found.json["failed"]) == (0, 3, [])


def test_failures_are_shown_and_do_not_end_the_run(ask) -> None:
    answer = ask(*RUN, "--methods", "broken,bell", "--replicates", "1")
    assert answer.code == 0
    assert "RuntimeError: it never works" in answer.out
    assert "--retry-failed" in answer.out
    assert "failed, RuntimeError" in answer.err
    found = ask(*RUN, "--methods", "broken,bell", "--replicates", "1", "--json").json
    assert found["failed"] == [
        {"problem": "tiny", "method": "broken", "replicate": 0, "error": "RuntimeError: it never works"}
    ]


def test_many_failures_are_counted(ask) -> None:
    answer = ask(*RUN, "--methods", "broken", "--replicates", "12")
    assert "and 2 more" in answer.out


@pytest.mark.parametrize(
    ("words", "protocol", "n"), [(["quick"], "quick", 2), (["paper"], "paper", 3), ([], "paper", 3)]
)
def test_a_protocol_may_be_named(ask, tmp_path, words, protocol, n) -> None:
    assert ask("bench", "run", *words, *RUN[2:], "--json").json["protocol"] == protocol
    records = read_records(tmp_path / "benchmarks-results")
    assert len(records) == n
    assert {r.protocol for r in records} == {protocol}


def test_replicates_and_folder_are_as_asked(ask, tmp_path) -> None:
    ask(*RUN, "--replicates", "4:6", "--results", "mine")
    assert [r.replicate for r in read_records(tmp_path / "mine")] == [4, 5]


def test_a_damaged_record_is_a_warning(ask, tmp_path) -> None:
    ask(*RUN)
    record_path(tmp_path / "benchmarks-results", ("tiny", "paper", "bell", 30, 0)).write_text("{")
    answer = ask(*RUN, "--quiet")
    assert answer.code == 0
    assert answer.err.startswith("Warning: ")
    assert "half-written" in answer.err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["run", "bpg2"], "problem must be a known name, got 'bpg2'; did you mean 'bgp2'?"),
        (["run", "bgp2", "--methods", "gpp"], "method must be a known name, got 'gpp'; did you mean 'gp'?"),
        (["run", "bgp2", "--methods", ","], "methods must name at least one, got none"),
        (
            ["run", "bgp2", "--replicates", "some"],
            "--replicates must be a number or FIRST:END, got 'some'; try 5 or 10:20",
        ),
        (["run", "bgp2", "--replicates", "5:5"], "--replicates must be a number or FIRST:END, got '5:5'"),
        (["run", "bgp2", "--replicates", "-1"], "--replicates must be a number or FIRST:END, got '-1'"),
        (["run", "bgp2", "--with", "mine.py"], "--with must name a Python file, got"),
        (["run"], "missing argument"),
        (["rnu"], "no such command 'rnu'"),
        (["pack", "nowhere"], "results must be a folder of records, got 'nowhere'; genbayes bench run makes one"),
    ],
)
def test_bad_input_is_one_sentence(ask, words, sentence) -> None:
    answer = ask("bench", *words)
    assert (answer.code, answer.out, answer.err.count("\n")) == (2, "", 1)
    assert answer.err.startswith(f"Error: {sentence}")


def test_results_of_another_version_are_one_sentence(ask, tmp_path) -> None:
    ask(*RUN)
    path = record_path(tmp_path / "benchmarks-results", ("tiny", "paper", "bell", 30, 0))
    path.write_text(path.read_text().replace('"format": 1', '"format": 9'))
    for words in (RUN, ["bench", "pack"]):
        answer = ask(*words)
        assert (answer.code, answer.err.count("\n")) == (2, 1)
        assert "must be of format 1, got format 9; use the version of genbayes that wrote it" in answer.err


def test_ctrl_c_says_that_records_are_kept(ask, monkeypatch) -> None:
    def stop(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("genbayes_bench.runner.run_benchmark", stop)
    answer = ask(*RUN)
    assert answer.code == 130
    assert (
        "records that were finished are kept in benchmarks-results; the same command goes on from there" in answer.err
    )


def test_records_are_packed_into_one_file_a_problem(ask, tmp_path) -> None:
    ask(*RUN, "--quiet")
    answer = ask("bench", "pack", "benchmarks-results", "-o", "kept")
    assert answer.code == 0
    assert "3 records in 1 files of kept" in answer.out
    assert len((tmp_path / "kept" / "tiny.jsonl").read_text().splitlines()) == 3
    assert ask("bench", "pack", "-o", "kept", "--json").json == {"records": 3, "files": ["kept/tiny.jsonl"]}


def test_packed_records_can_be_added_to(ask) -> None:
    ask(*RUN, "--quiet", "--results", "kept", "--replicates", "2")
    ask("bench", "pack", "kept")
    assert ask(*RUN, "--results", "kept", "--json").json["made"] == 1


# progress


def outcome_of(ask, tmp_path, method: str) -> Outcome:
    ask(*RUN, "--methods", method, "--replicates", "1", "--quiet")
    (record,) = read_records(tmp_path / "benchmarks-results")
    return Outcome(Job("tiny", "paper", method, 30, 0), "made", record)


def test_a_line_says_problem_method_score_and_time_left(ask, tmp_path) -> None:
    line = line_of(Progress(outcome_of(ask, tmp_path, "bell"), 3, 10, 400.0))
    assert line.startswith("tiny bell, n = 30, replicate 0: CRPS 0.")
    assert line.endswith("(3 of 10, 7 min left)")


@pytest.mark.parametrize(
    ("state", "line"),
    [
        (Progress(None, 2, 10, None), "2 of 10 records are there"),
        (Progress(None, 2, 10, None, waiting=8), "waiting for 8 records that another runner is making"),
        (
            Progress(Outcome(Job("a", "paper", "gp", 30, 0), "locked"), 2, 10, 5.0),
            "a gp, n = 30, replicate 0: another runner is making it (2 of 10, 5 s left)",
        ),
        (
            Progress(Outcome(Job("a", "paper", "gp", 30, 0), "unwritable", trouble="disk full"), 2, 10, 5.0),
            "a gp, n = 30, replicate 0: disk full (2 of 10, 5 s left)",
        ),
    ],
)
def test_other_states_are_lines_too(state, line) -> None:
    assert line_of(state) == line


def test_a_terminal_shows_a_bar_and_only_troubles_as_lines(ask, tmp_path, monkeypatch, capfd) -> None:
    good, bad = outcome_of(ask, tmp_path, "bell"), Outcome(Job("a", "paper", "gp", 30, 0), "unwritable", trouble="full")
    monkeypatch.setattr(progress, "shows_progress", lambda: True)
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LOOKS", 0.01)
    with show_run(tmp_path, quiet=False) as show:
        show(Progress(good, 1, 2, 9.0))
        show(Progress(bad, 1, 2, 9.0))
    err = capfd.readouterr().err
    assert "replicate 0: full" in err
    assert "CRPS" not in err


def test_time_left_comes_from_jobs_like_those_left(ask, tmp_path) -> None:
    record = outcome_of(ask, tmp_path, "bell").record
    assert record is not None
    forecast = Forecast()
    for seconds, changes in ((2.0, {}), (4.0, {}), (100.0, {"method": "other"})):
        forecast.learn(type(record)(**{**vars(record), "fit_seconds": seconds, "predict_seconds": 0.0, **changes}))
    like, same_method, unknown = (
        Job("tiny", "paper", "bell", 30, 7), Job("else", "paper", "other", 30, 0), Job("else", "paper", "new", 30, 0),
    )  # fmt: skip
    assert forecast.seconds_left([like], 1) == 3
    assert forecast.seconds_left([like, same_method], 2) == 51.5
    assert forecast.seconds_left([unknown], 1) == pytest.approx(106 / 3)


# the report


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of records in which AutoSurrogate wins."""
    monkeypatch.chdir(tmp_path)
    costs = {"fit_seconds": 2.0, "predict_seconds": 0.1, "peak_memory_mb": 50.0, "finished": "2026-11-16"}
    sizes = {"n_train": 1600, "n_test": 400, "n_inputs": 2}
    notes = {"settings": {}, "versions": {}, "detail": {}, "error": None}
    records = [
        Record("bgp2", "paper", method, r, r, scores={"crps": level + 0.01 * r}, **sizes, **costs, **notes)  # type: ignore[arg-type]
        for method, level in (("auto", 1.2), ("gp", 1.4))
        for r in range(3)
    ]
    pack_records(records, tmp_path / "benchmarks-results")
    return tmp_path


def test_the_command_shows_who_wins_and_what_to_do_next(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert answer(["bench", "report"]) == 0
    out = capsys.readouterr().out
    assert "AutoSurrogate wins 1, ties 0 and loses 0 of 1" in out
    assert "genbayes bench report benchmarks-results -o page.html" in out


def test_page_markdown_and_figures_are_written(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["-o", "page.html", "--markdown", "tables.md", "--figures", "pictures", "--json"]
    assert answer(["bench", "report", "benchmarks-results", *words]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["verdicts"]["auto"] == {"win": 1, "tie": 0, "loss": 0}
    assert (told["records"], told["protocol"], told["page"]) == (6, "paper", "page.html")
    assert "<svg" in (results / "page.html").read_text()
    assert (results / "tables.md").read_text().startswith("# Benchmarks")
    assert told["figures"]
    assert all((results / name).is_file() for name in told["figures"])


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["nowhere"], "RESULTS must be a folder with records"),
        (["--protocol", "quick"], "protocol must be one of the records'"),
        (["-o", "no/page.html"], "path must lie in an existing folder"),
        (["--figures", "benchmarks-results/bgp2.jsonl"], "--figures must be a folder that can be written"),
        (["-o", "same", "--markdown", "same"], "--markdown must differ from --output"),
    ],
)
def test_bad_input_of_a_report_is_one_sentence(
    results: Path, words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert answer(["bench", "report", *words]) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"Error: {sentence}")
    assert err.count("\n") == 1


# without the distribution


@pytest.fixture
def without_bench(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("genbayes.cli.bench.find_spec", lambda name: None if name == "genbayes_bench" else object())
    assert "ngboost" in registry.registered_models()
    monkeypatch.delitem(registry._models, "ngboost")


@pytest.mark.parametrize("words", [[], ["run", "quick"], ["report", "folder", "-o", "page.html"]])
def test_the_command_says_how_to_get_it(words: list[str], without_bench: None) -> None:
    app = typer.Typer()
    app.command("other")(lambda: None)
    bench.mount(app)
    result = CliRunner().invoke(app, ["bench", *words])
    assert isinstance(result.exception, MissingExtra)
    assert str(result.exception) == (
        "genbayes-bench must be installed for genbayes bench, got none; in a clone of the repository: "
        "pip install -e benchmarks"
    )


def test_a_rival_s_file_names_the_missing_distribution(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    X = np.random.default_rng(0).uniform(size=(30, 1))
    path = NaturalGradientBoosting(n_rounds=3, depth=2, random_state=0).fit(X, X[:, 0]).save(tmp_path / "model.gb")
    request.getfixturevalue("without_bench")
    with pytest.raises(UnreadableFile, match="genbayes_bench must be installed to load a NaturalGradientBoosting"):
        load(path)
