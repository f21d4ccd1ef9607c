"""`genbayes bench report`: one command from a results folder to a page, Markdown and pictures."""

import json
from pathlib import Path

import pytest

from genbayes.cli.main import answer
from genbayes_bench.record import Record, pack_records


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
def test_bad_input_is_one_sentence(
    results: Path, words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert answer(["bench", "report", *words]) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"Error: {sentence}")
    assert err.count("\n") == 1
