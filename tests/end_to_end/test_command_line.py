"""The command line with real training on small tables, and in processes of its own."""

import json
import os
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import genbayes
from genbayes.cli.main import answer
from genbayes.data import read_table

COMMAND = [sys.executable, "-c", "from genbayes.cli.main import run; run()"]
HERE = {**os.environ, "PYTHONPATH": str(Path(genbayes.__file__).parents[1])}  # the package under test, from any folder
PATIENCE = 60  # seconds that a slow machine may take to start training


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sixty runs to learn from, twenty to score on, and a model fitted to the former with a report."""
    path = tmp_path_factory.mktemp("runs")
    rng = np.random.default_rng(0)
    x, gas = rng.uniform(0, 1, 80), rng.choice(["O2", "He"], 80)
    y = np.exp(x + (gas == "He") + 0.1 * rng.standard_normal(80))
    table = pd.DataFrame({"x": x, "gas": gas, "y": y})
    table[:60].to_csv(path / "runs.csv", index=False)
    table[60:].to_parquet(path / "held_out.parquet", index=False)
    files = [str(path / "runs.csv"), "-o", str(path / "model.gb"), "--report", str(path / "fit.html")]
    words = ["--target", "y", "--categorical", "gas", "--bounds", "0,", "--members", "2", "--epochs", "20", "--quiet"]
    assert answer(["fit", *files, *words, "--model", "network"]) == 0
    return path


def test_fit_writes_a_model_and_a_report_and_nothing_else(folder: Path) -> None:
    made = {path.name for path in folder.iterdir()} - {"runs.csv", "held_out.parquet"}
    assert {"model.gb", "fit.html"} <= made
    assert not [name for name in made if name.endswith(".part")]


def test_predictions_are_those_of_the_model_and_respect_the_bounds(folder: Path) -> None:
    out = folder / "out.parquet"
    words = ["--quantiles", "0.01,0.5,0.99", "-o", str(out)]
    assert answer(["predict", str(folder / "model.gb"), str(folder / "held_out.parquet"), *words]) == 0
    found = read_table(out)
    expected = genbayes.load(folder / "model.gb").predict_quantiles(found[["x", "gas"]], [0.01, 0.5, 0.99])
    np.testing.assert_allclose(found[["q0.01", "q0.5", "q0.99"]].to_numpy(), expected)
    assert (np.diff(np.c_[np.zeros(20), expected], axis=1) >= 0).all()


def test_evaluate_scores_rows_the_model_has_not_seen(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    report = folder / "evaluate.html"
    words = ["--target", "y", "--json", "--report", str(report)]
    assert answer(["evaluate", str(folder / "model.gb"), str(folder / "held_out.parquet"), *words]) == 0
    scores = json.loads(capfd.readouterr().out)
    assert scores["n"] == 20
    assert 0 < scores["crps"] < scores["rmse"] * 2
    assert "<html" in report.read_text()


def test_the_same_seed_gives_the_same_predictions(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    printed = []
    for name in ("first.gb", "again.gb"):
        words = ["--target", "y", "--inputs", "x", "--epochs", "5", "--members", "1", "--seed", "7", "-q"]
        words += ["--model", "network"]
        assert answer(["fit", str(folder / "runs.csv"), "-o", str(folder / name), *words]) == 0
        assert answer(["predict", str(folder / name), str(folder / "runs.csv")]) == 0
        printed.append(capfd.readouterr().out)
    assert printed[0] == printed[1]


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        ("x,gas,y\n" + "1,O2,2\n" * 20, "y must vary, got the constant"),
        ("x,gas,y\n" + "1,O2,2\n2,He,3\n" * 2, "At least 10 runs are needed; the table has 4"),
        ("x,gas,y\n" + "1,O2,2\n2,He,\n" * 9, "target must not be missing, got no value in column 'y', 9 of 18 rows"),
    ],
)
def test_runs_that_teach_nothing_are_refused(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], table: str, sentence: str
) -> None:
    (tmp_path / "runs.csv").write_text(table)
    words = ["--target", "y", "-o", str(tmp_path / "model.gb"), "--categorical", "gas"]
    assert answer(["fit", str(tmp_path / "runs.csv"), *words]) == 2
    shown = capfd.readouterr().err
    assert shown.count("\n") == 1
    assert sentence in shown
    assert not (tmp_path / "model.gb").exists()


def test_bad_input_ends_the_process_with_code_2_and_one_sentence(folder: Path) -> None:
    words = ["fit", "rnus.csv", "--target", "y", "-o", "m.gb"]
    done = subprocess.run([*COMMAND, *words], cwd=folder, env=HERE, capture_output=True, check=False)
    sentence = b"Error: path must name an existing file, got 'rnus.csv'; did you mean 'runs.csv'?\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, b"", sentence)


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["fit", "runs.csv", "--target", "y", "-o", "m.gb"], b"Reading runs.csv ..."),
        (["compare", "runs.csv", "--target", "y"], b"Reading runs.csv ..."),
        (["demo"], b"Motorcycle crash tests"),
    ],
)
def test_the_first_line_appears_before_anything_heavy_is_loaded(folder: Path, words: list[str], line: bytes) -> None:
    terminal, shown_there = os.openpty()
    watched = [COMMAND[0], "-X", "importtime", *COMMAND[1:], *words]  # prints every import as it ends
    with subprocess.Popen(watched, cwd=folder, env=HERE, stdout=subprocess.PIPE, stderr=shown_there) as process:
        os.close(shown_there)
        seen = _read_until(terminal, line)
        process.kill()
    os.close(terminal)
    before, found, _ = seen.partition(line)
    assert found
    assert b"genbayes.cli.fit" in before
    loaded = {name.decode() for name in re.findall(rb"\| +(\w+)\r?\n", before)}
    assert not loaded & {"torch", "sklearn", "scipy", "pandas", "matplotlib", "pyarrow", "joblib"}


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_control_c_during_training_leaves_the_old_model_and_no_scraps(folder: Path, tmp_path: Path) -> None:
    old = (folder / "model.gb").read_bytes()
    (tmp_path / "model.gb").write_bytes(old)
    words = ["fit", str(folder / "runs.csv"), "--target", "y", "--inputs", "x", "-o", "model.gb", "--recipe", "paper"]
    terminal, shown_there = os.openpty()
    words += ["--epochs", "1000000", "--model", "network"]
    # whoever runs the tests in the background has Ctrl-C ignored, and a child would inherit that
    heard = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); " + COMMAND[-1]
    with subprocess.Popen([*COMMAND[:-1], heard, *words], cwd=tmp_path, env=HERE, stderr=shown_there) as process:
        os.close(shown_there)
        _read_until(terminal, b"loss")  # the progress bar of a training under way
        process.send_signal(signal.SIGINT)
        try:
            last = _read_until(terminal, b"as it was")  # a terminal that nobody reads fills up and blocks who writes
            code = process.wait(PATIENCE)
        finally:
            process.kill()
    os.close(terminal)
    assert code == 130
    assert b"stopped by Ctrl-C; model.gb was not changed" in last
    assert b"Traceback" not in last
    assert [path.name for path in tmp_path.iterdir()] == ["model.gb"]
    assert (tmp_path / "model.gb").read_bytes() == old


def _read_until(terminal: int, word: bytes) -> bytes:
    """What a terminal shows up to a word, or all of it if the process ends or takes too long."""
    seen, end = b"", time.monotonic() + PATIENCE
    while word not in seen and time.monotonic() < end:
        if select.select([terminal], [], [], 0.1)[0]:
            try:
                seen += os.read(terminal, 4096)
            except OSError:  # the other side is closed
                break
    return seen
