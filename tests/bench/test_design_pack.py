"""Design records become records of `genbayes bench`: the same problems, whole curves, and packing again is harmless."""

import json
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from genbayes.errors import InvalidInput
from genbayes_bench.designs import DESIGNS
from genbayes_bench.problems import PROBLEMS as BENCH_PROBLEMS
from genbayes_bench.problems.formulas import bump
from genbayes_bench.record import pack_records, read_records
from genbayes_bench.report import read_report
from genbayes_bench.studies.design.__main__ import main
from genbayes_bench.studies.design.methods import METHODS
from genbayes_bench.studies.design.pack import BENCH_NAMES, pack, to_record, to_records
from genbayes_bench.studies.design.problems import HL20, PROBLEMS, ROCKET

CUBE = ([0.0] * 7, [1.0] * 7)


def line(problem: str = "rocket", method: str = "auto", replicate: int = 0, **given: Any) -> dict[str, Any]:
    curve = {"n": [50, 150, 300], "error": [0.01, 0.004, 0.001 * (1 + replicate)], "metric": "RMSE"}
    costs = {"seconds": 12.3456, "ask_seconds": {"mean": 0.1, "max": 1.0}, "scores": {"gp": 0.0005}}
    return {"problem": problem, "method": method, "replicate": replicate, **curve, **costs, **given}


def write(path: Path, *lines: dict[str, Any]) -> str:
    path.write_text("".join(json.dumps(each) + "\n" for each in lines))
    return str(path)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.glob("*.jsonl"))}


# one record


def test_a_record_has_the_whole_curve_and_the_last_score() -> None:
    found = to_record(line(method="random", replicate=3))
    assert (found.problem, found.method, found.replicate, found.protocol) == ("rocket", "al-random", 3, "paper")
    assert (found.n_train, found.n_test, found.n_inputs) == (300, 1000, 3)
    assert found.scores == {"rmse": 0.004}
    assert found.detail["curve"] == {"n": [50, 150, 300], "rmse": [0.01, 0.004, 0.004]}
    assert found.fit_seconds == 12.346


@pytest.mark.parametrize(
    ("problem", "bench", "metric"),
    [("exp2d", "exp2d_gbc", "rmse_f"), ("hl20", "rocket_hl20", "rmse"), ("grace", "grace", "rmspe")],
)
def test_problems_have_their_bench_names_and_scores(problem: str, bench: str, metric: str) -> None:
    found = to_record(line(problem))
    assert found.problem == bench
    assert list(found.scores) == [metric]


def test_every_method_has_a_title_in_the_report() -> None:
    assert {to_record(line(method=method)).method for method in METHODS} == set(DESIGNS)


def test_a_record_says_what_differs_from_the_same_problem_on_given_runs() -> None:
    assert "the replicate is not that of the same number in genbayes bench run" in to_record(line()).detail["note"]
    assert (
        "250 rows are set aside to score on, where genbayes bench run has 500"
        in to_record(line("grace")).detail["note"]
    )


@pytest.mark.parametrize(
    ("problem", "n_test", "what"), [("grace", 500, "rows are set aside"), ("rocket", 250, "uniform")]
)
def test_what_differs_is_told_by_the_kind_of_problem_whatever_the_sizes(
    problem: str, n_test: int, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(PROBLEMS, problem, replace(PROBLEMS[problem], n_test=n_test))
    assert f"{n_test} {what}" in to_record(line(problem)).detail["note"]


def test_a_design_of_another_version_keeps_its_name_and_is_told() -> None:
    (found,), (sentence,) = to_records([line(method="oracle")])
    assert found.method == "al-oracle"
    assert sentence == "the design 'oracle' is not known here; it is kept as 'al-oracle'"


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (line("moon"), "problem must be one of exp2d, .*, got 'moon'"),
        ({"problem": "rocket", "method": "auto"}, "a design record must have a method, a replicate, a curve"),
        (line(error=[0.1]), "a design record must have"),
        (line(n=[], error=[]), "a design record must have"),
        (line(n=300, error=0.1), "a design record must have"),
    ],
)
def test_what_is_no_design_record_is_left_out_and_told(wrong: dict[str, Any], why: str) -> None:
    records, (sentence,) = to_records([wrong, line()])
    assert len(records) == 1
    assert re.match(f"a record was left out: {why}", sentence)


# the folder


def test_packing_twice_is_packing_once(tmp_path: Path) -> None:
    path = write(
        tmp_path / "design.jsonl", *(line(p, m, r) for p in PROBLEMS for m in ("auto", "random") for r in (0, 1))
    )
    files = pack(path, tmp_path / "packed")
    once = contents(tmp_path / "packed")
    assert {file.stem for file in files} == {BENCH_NAMES.get(name, name) for name in PROBLEMS}
    pack(path, tmp_path / "packed")
    assert contents(tmp_path / "packed") == once
    assert len(read_records(tmp_path / "packed")) == 4 * len(PROBLEMS)


def test_records_of_the_folder_stay(tmp_path: Path) -> None:
    given = [replace(to_record(line()), method="gp", detail={}), replace(to_record(line()), problem="star", detail={})]
    pack_records(given, tmp_path)
    star = contents(tmp_path)["star.jsonl"]
    pack(write(tmp_path / "design.txt", line()), tmp_path)
    assert {(r.problem, r.method) for r in read_records(tmp_path)} == {
        ("rocket", "al"),
        ("rocket", "gp"),
        ("star", "al"),
    }
    assert contents(tmp_path)["star.jsonl"] == star


@pytest.mark.parametrize("n", [[50, 150, 300], [50, 100, 200]])
def test_a_later_record_replaces_the_earlier_however_long_it_is(n: list[int], tmp_path: Path) -> None:
    pack(write(tmp_path / "old.txt", line(finished="2026-11-01")), tmp_path)
    pack(write(tmp_path / "new.txt", line(seconds=99.0, n=n, finished="2026-11-02")), tmp_path)
    (found,) = read_records(tmp_path)
    assert (found.fit_seconds, found.n_train) == (99.0, n[-1])


@pytest.mark.parametrize("n", [[50, 150, 300], [50, 100, 200]])
def test_an_earlier_record_does_not_replace_the_later(n: list[int], tmp_path: Path) -> None:
    pack(write(tmp_path / "new.txt", line(seconds=99.0, finished="2026-11-02")), tmp_path)
    pack(write(tmp_path / "old.txt", line(n=n, finished="2026-11-01")), tmp_path)
    assert [(record.fit_seconds, record.n_train) for record in read_records(tmp_path)] == [(99.0, 300)]


@pytest.mark.parametrize("n", [[50, 150, 300], [50, 100, 200]])
def test_of_records_whose_times_are_not_known_the_last_one_packed_counts(n: list[int], tmp_path: Path) -> None:
    pack(write(tmp_path / "first.txt", line()), tmp_path)
    pack(write(tmp_path / "second.txt", line(seconds=99.0, n=n)), tmp_path)
    assert [(record.fit_seconds, record.n_train) for record in read_records(tmp_path)] == [(99.0, n[-1])]


def test_the_last_line_of_a_design_counts(tmp_path: Path) -> None:
    pack(write(tmp_path / "design.txt", line(), line(seconds=99.0)), tmp_path)
    assert [record.fit_seconds for record in read_records(tmp_path)] == [99.0]


def test_a_file_without_records_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="--records must name a file of design records, got none in .*nowhere"):
        pack(str(tmp_path / "nowhere"), tmp_path / "packed")
    assert not (tmp_path / "packed").exists()


def test_the_command_packs_what_the_report_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path / "d.txt", *(line(method=m, replicate=r) for m in ("auto", "random") for r in range(3)))
    monkeypatch.setattr(sys, "argv", ["design", "pack", "--records", path, "-o", str(tmp_path / "packed")])
    main()
    assert "6 records of designs in 1 files of" in capsys.readouterr().out
    report = read_report(tmp_path / "packed")
    (row,) = next(table.rows for table in report.overview if table.title == "Active learning")
    assert row[5].startswith("0.0020")
    assert row[7].startswith("0 ± 0")
    assert next(picture for picture in report.figures if picture.name == "figure5-rocket").figure is not None


def test_the_command_ends_with_one_sentence_where_there_is_nothing_to_pack(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["design", "pack", "--records", str(tmp_path / "none"), "-o", str(tmp_path)])
    with pytest.raises(SystemExit, match="2"):
        main()
    assert "--records must name a file of design records" in capsys.readouterr().err


# the same problems on both sides


@pytest.mark.parametrize(("name", "bounds"), [("rocket", ROCKET), ("hl20", HL20), ("proxy7", CUBE)])
def test_formulas_are_those_of_the_bench(name: str, bounds: tuple[list[float], list[float]]) -> None:
    bench = BENCH_PROBLEMS[BENCH_NAMES.get(name, name)]
    if bench.absent is not None:
        pytest.skip(bench.absent)
    split, (low, high) = bench.draw(0, 20, 20), map(np.asarray, bounds)
    game = PROBLEMS[name].draw(0)
    np.testing.assert_allclose(game.simulate((split.X_test - low) / (high - low)), split.y_test, rtol=1e-9)
    assert len(game.y_test) == PROBLEMS[name].n_test


def test_the_2d_exponential_is_that_of_the_bench() -> None:
    game, split = PROBLEMS["exp2d"].draw(0), BENCH_PROBLEMS["exp2d_gbc"].draw(0, 100, 1000)
    np.testing.assert_allclose(game.y_test, bump(4 * game.X_test - 2, 10.0))  # scored on the noise-free response
    np.testing.assert_allclose(split.f_test, bump(split.X_test, 10.0))
    noise = game.simulate(game.X_test) - game.y_test
    assert noise.std() == pytest.approx(split.noise_sd, rel=0.1)  # 1,000 draws: four standard errors are 9%


@pytest.mark.parametrize("name", ["grace", "satmini"])
def test_rows_of_the_satellite_are_those_of_the_bench(name: str) -> None:
    bench = BENCH_PROBLEMS[name]
    if bench.absent is not None:
        pytest.skip(bench.absent)
    game, split = PROBLEMS[name].draw(0), bench.draw(0, 60, 940)
    assert game.candidates is not None
    rest = game.simulate(game.candidates)
    np.testing.assert_array_equal(np.sort([*rest, *game.y_test]), np.sort([*split.y_train, *split.y_test]))
    assert len(game.y_test) == PROBLEMS[name].n_test
