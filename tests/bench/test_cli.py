"""`genbayes bench` on a tiny problem, from a run to a report; and where it is not installed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from genbayes import load
from genbayes.cli import bench
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
RESULTS = Path("benchmarks-results")
FIRST = record_path(RESULTS, ("tiny", "paper", "bell", 30, 0))


@pytest.mark.parametrize(
    ("words", "told"),
    [
        *[(words, ["list", "run", "pack", "report"]) for words in ([], ["--help"])],
        *[([command, "--help"], ["--json"]) for command in ("list", "run", "pack")],
    ],
)
def test_help_says_what_can_be_done(ask, words, told) -> None:
    answer = ask("bench", *words)
    assert answer.code == 0
    assert all(word in answer.out for word in told)


def test_problems_and_methods_are_listed(ask) -> None:
    answer = ask("bench", "list", "--with", TINY)
    assert (answer.code, answer.err) == (0, "")
    for word in ("bgp2", "500 to 200,000", "stand-in", "tiny", "gbc-aug", "bell", "UCI repository"):
        assert word in answer.out


def test_the_list_as_json_has_every_fact_and_marks_problems_without_data(ask, monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("GENBAYES_SHARED", str(tmp_path))
    assert "ABSENT: its file data/uci/yacht.csv" in ask("bench", "list").lines
    found = ask("bench", "list", "--json").json
    by_name = {p["name"]: p for p in found["problems"]}
    bgp2 = {"n_train": [1600], "n_test": 400, "n_inputs": 2, "n_replicates": 20, "absent": None}
    assert bgp2.items() <= by_name["bgp2"].items()
    assert "set GENBAYES_SHARED" in by_name["yacht"]["absent"]
    assert {"name": "gp", "family": "baseline", "title": "StationaryGP"} in found["methods"]


def test_a_run_tells_each_record_and_sums_up_and_a_second_makes_nothing(ask) -> None:
    answer = ask(*RUN, "--methods", "bell,jumper")
    assert answer.code == 0
    assert all(told in answer.out for told in ("3 records in benchmarks-results", "jumper", "no jump"))
    assert "tiny bell, n = 30, replicate 0: CRPS" in answer.err
    assert "(3 of 3, 0 s left)" in answer.err
    assert len(read_records(RESULTS)) == 3
    again = ask(*RUN, "--json", "--quiet")
    assert again.err == ""
    assert (again.json["made"], again.json["records"], again.json["failed"]) == (0, 3, [])


def test_failures_are_shown_and_do_not_end_the_run(ask) -> None:
    answer = ask(*RUN, "--methods", "broken,bell", "--replicates", "1")
    assert answer.code == 0
    assert "RuntimeError: it never works" in answer.out
    assert "--retry-failed" in answer.out
    assert "failed, RuntimeError" in answer.err
    found = ask(*RUN, "--methods", "broken,bell", "--replicates", "1", "--json").json["failed"]
    assert found == [{"problem": "tiny", "method": "broken", "replicate": 0, "error": "RuntimeError: it never works"}]
    assert "and 2 more" in ask(*RUN, "--methods", "broken", "--replicates", "12").out


@pytest.mark.parametrize(
    ("words", "protocol", "n"), [(["quick"], "quick", 2), (["paper"], "paper", 3), ([], "paper", 3)]
)
def test_a_protocol_may_be_named(ask, words, protocol, n) -> None:
    assert ask("bench", "run", *words, *RUN[2:], "--json").json["protocol"] == protocol
    assert [record.protocol for record in read_records(RESULTS)] == [protocol] * n


def test_replicates_and_folder_are_as_asked(ask) -> None:
    ask(*RUN, "--replicates", "4:6", "--results", "mine")
    assert [r.replicate for r in read_records("mine")] == [4, 5]


def test_a_damaged_record_is_a_warning(ask) -> None:
    ask(*RUN)
    FIRST.write_text("{")
    answer = ask(*RUN, "--quiet")
    assert answer.code == 0
    assert answer.err.startswith("Warning: ")
    assert "half-written" in answer.err


REPLICATES = "--replicates must be a number or FIRST:END, got"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("run bpg2", "problem must be a known name, got 'bpg2'; did you mean 'bgp2'?"),
        ("run bgp2 --methods gpp", "method must be a known name, got 'gpp'; did you mean 'gp'?"),
        ("run bgp2 --methods ,", "--methods must name at least one, got none"),
        ("run bgp2 --replicates some", f"{REPLICATES} 'some'; try 5 or 10:20"),
        ("run bgp2 --replicates 5:5", f"{REPLICATES} '5:5'"),
        ("run bgp2 --replicates -1", f"{REPLICATES} '-1'"),
        ("run bgp2 --with mine.py", "--with must name a Python file, got"),
        ("run quick paper jump1d", "a run must have one protocol, got quick and paper; run one after the other\n"),
        ("run", "missing argument"),
        ("rnu", "no such command 'rnu'"),
        ("pack nowhere", "results must be a folder of records, got 'nowhere'; genbayes bench run makes one"),
        ("report nowhere", "RESULTS must be a folder with records"),
        ("report --protocol quick", "--protocol must be one of the records'"),
        ("report -o no/page.html", "path must lie in an existing folder"),
        ("report --figures benchmarks-results/bgp2.jsonl", "--figures must be a folder that can be written"),
        ("report -o same --markdown same", "--markdown must differ from --output"),
    ],
)
def test_bad_input_is_one_sentence(ask, auto_wins, words, sentence) -> None:
    answer = ask("bench", *words.split())
    assert (answer.code, answer.out, answer.err.count("\n")) == (2, "", 1)
    assert answer.err.startswith(f"Error: {sentence}")


@pytest.mark.parametrize("words", [RUN, ["bench", "pack"]])
def test_results_of_another_version_are_one_sentence(ask, words) -> None:
    ask(*RUN)
    FIRST.write_text(FIRST.read_text().replace('"format": 1', '"format": 9'))
    answer = ask(*words)
    assert (answer.code, answer.err.count("\n")) == (2, 1)
    assert "must be of format 1, got format 9; use the version of genbayes that wrote it" in answer.err


def test_ctrl_c_says_that_records_are_kept(ask, monkeypatch) -> None:
    def stop(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("genbayes_bench.runner.run_benchmark", stop)
    answer = ask(*RUN)
    assert answer.code == 130
    kept = "records that were finished are kept in benchmarks-results; the same command goes on from there"
    assert kept in answer.err


def test_records_are_packed_into_one_file_a_problem_and_can_be_added_to(ask) -> None:
    ask(*RUN, "--quiet", "--replicates", "2")
    answer = ask("bench", "pack", "benchmarks-results", "-o", "kept")
    assert answer.code == 0
    assert "2 records in 1 files of kept" in answer.out
    assert len(Path("kept/tiny.jsonl").read_text().splitlines()) == 2
    assert ask("bench", "pack", "-o", "kept", "--json").json == {"records": 2, "files": ["kept/tiny.jsonl"]}
    assert ask(*RUN, "--results", "kept", "--json").json["made"] == 1


# progress


@pytest.fixture
def good(ask) -> Outcome:
    ask(*RUN, "--replicates", "1", "--quiet")
    (record,) = read_records(RESULTS)
    return Outcome(Job("tiny", "paper", "bell", 30, 0), "made", record)


def test_a_line_says_problem_method_score_and_time_left(good: Outcome) -> None:
    line = line_of(Progress(good, 3, 10, 400.0))
    assert line.startswith("tiny bell, n = 30, replicate 0: CRPS 0.")
    assert line.endswith("(3 of 10, 7 min left)")


LOCKED = Outcome(Job("a", "paper", "gp", 30, 0), "locked")
UNWRITABLE = Outcome(Job("a", "paper", "gp", 30, 0), "unwritable", trouble="disk full")


@pytest.mark.parametrize(
    ("state", "line"),
    [
        (Progress(None, 2, 10, None), "2 of 10 records are there"),
        (Progress(None, 2, 10, None, waiting=8), "waiting for 8 records that another runner is making"),
        (Progress(LOCKED, 2, 10, 5.0), "a gp, n = 30, replicate 0: another runner is making it (2 of 10, 5 s left)"),
        (Progress(UNWRITABLE, 2, 10, 5.0), "a gp, n = 30, replicate 0: disk full (2 of 10, 5 s left)"),
    ],
)
def test_other_states_are_lines_too(state, line) -> None:
    assert line_of(state) == line


def test_a_terminal_shows_a_bar_and_only_troubles_as_lines(good: Outcome, tmp_path, monkeypatch, capfd) -> None:
    monkeypatch.setattr(progress, "shows_progress", lambda: True)
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LOOKS", 0.01)
    with show_run(tmp_path, quiet=False) as show:
        for outcome in (good, UNWRITABLE):
            show(Progress(outcome, 1, 2, 9.0))
    err = capfd.readouterr().err
    assert "replicate 0: disk full" in err
    assert "CRPS" not in err


def test_time_left_comes_from_jobs_like_those_left(good: Outcome) -> None:
    forecast = Forecast()
    for seconds, method in ((2.0, "bell"), (4.0, "bell"), (100.0, "other")):
        forecast.learn(replace(good.record, method=method, fit_seconds=seconds, predict_seconds=0.0))
    like, same_method = Job("tiny", "paper", "bell", 30, 7), Job("else", "paper", "other", 30, 0)
    assert forecast.seconds_left([like], 1) == 3
    assert forecast.seconds_left([like, same_method], 2) == 51.5
    assert forecast.seconds_left([replace(same_method, method="new")], 1) == pytest.approx(106 / 3)


# the report


@pytest.fixture
def auto_wins(tmp_path: Path) -> None:
    """A folder of records in which AutoSurrogate wins."""
    costs = {"fit_seconds": 2.0, "predict_seconds": 0.1, "peak_memory_mb": 50.0, "finished": "2026-11-16"}
    sizes = {"n_train": 1600, "n_test": 400, "n_inputs": 2}
    notes = {"settings": {}, "versions": {}, "detail": {}, "error": None}
    records = [
        Record("bgp2", "paper", method, r, r, scores={"crps": level + 0.01 * r}, **sizes, **costs, **notes)  # type: ignore[arg-type]
        for method, level in (("auto", 1.2), ("gp", 1.4))
        for r in range(3)
    ]
    pack_records(records, tmp_path / RESULTS)


def test_the_command_shows_who_wins_and_what_to_do_next(ask, auto_wins) -> None:
    answer = ask("bench", "report")
    assert answer.code == 0
    assert "AutoSurrogate wins 1, ties 0 and loses 0 of 1" in answer.out
    assert "genbayes bench report benchmarks-results -o page.html" in answer.out


def test_page_markdown_and_figures_are_written(ask, auto_wins) -> None:
    words = ["-o", "page.html", "--markdown", "tables.md", "--figures", "pictures", "--json"]
    answer = ask("bench", "report", "benchmarks-results", *words)
    assert answer.code == 0
    told = answer.json
    assert told["verdicts"]["auto"] == {"win": 1, "tie": 0, "loss": 0}
    assert (told["records"], told["protocol"], told["page"]) == (6, "paper", "page.html")
    assert "<svg" in Path("page.html").read_text()
    assert Path("tables.md").read_text().startswith("# Benchmarks")
    assert told["figures"]
    assert all(Path(name).is_file() for name in told["figures"])


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
    needed = "genbayes-bench must be installed for genbayes bench, got none"
    assert str(result.exception) == f"{needed}; in a clone of the repository: pip install -e benchmarks"


def test_a_rival_s_file_names_the_missing_distribution(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    X = np.random.default_rng(0).uniform(size=(30, 1))
    path = NaturalGradientBoosting(n_rounds=3, depth=2, random_state=0).fit(X, X[:, 0]).save(tmp_path / "model.gb")
    request.getfixturevalue("without_bench")
    with pytest.raises(UnreadableFile, match="genbayes_bench must be installed to load a NaturalGradientBoosting"):
        load(path)
