"""Studies: small runs of everything, tables that say what the paper says, and measured lines."""

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
import torch

from genbayes.distribution import Normal
from genbayes.errors import InvalidInput, UnwritableFile
from genbayes_bench.measure import measure
from genbayes_bench.methods import METHODS
from genbayes_bench.plan import Job
from genbayes_bench.problems import PROBLEMS
from genbayes_bench.record import Record, pack_records
from genbayes_bench.registry import load_registry
from genbayes_bench.rivals.experts import LEVELS, ExpertsIQN, ShownProbability
from genbayes_bench.studies import STUDIES, VARIANTS, Study, speed
from genbayes_bench.studies.__main__ import main
from genbayes_bench.studies.lines import Line, run_parts
from genbayes_bench.studies.tables import BEGIN, END, make_table, make_tables, put_into
from genbayes_bench.studies.yardsticks import crps_on_grid

PAGE = Path(__file__).parents[2] / "docs" / "ablations.md"
ALONE = {study.title: study for studies in STUDIES.values() for study in studies}.values()


def record(method: str, replicate: int, protocol: str = "paper", **scores: float) -> Record:
    found = {"crps": 0.04, "rmse": 1.0, "coverage": 0.9, **scores}
    costs_and_notes: tuple[Any, ...] = (5.0, 0.0, 0.0, {}, {}, {}, None, "")
    return Record("phantom", protocol, method, replicate, replicate, 9181, 1020, 2, found, *costs_and_notes)


# values


@pytest.mark.parametrize("study", ALONE, ids=lambda study: study.title)
def test_a_study_is_of_problems_and_methods_that_there_are(study: Study) -> None:
    known = load_registry()
    assert set(study.problems) <= set(PROBLEMS)
    assert set(study.names) <= set(known.methods)
    assert {problem for problem, _ in (*study.paper, *study.targets)} <= set(study.problems)
    assert {method for _, method in study.paper} <= set(study.names)
    assert not set(VARIANTS) & set(METHODS)


@pytest.mark.parametrize("name", [name for name in VARIANTS if name != "gbc-aug-shown"])
def test_every_variant_is_fitted_and_scored(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    registry = load_registry()
    part = registry.protocol("phantom", "part")
    registry.protocols["phantom", "part"] = replace(part, n_train=60, n_test=40, n_epochs=3)
    monkeypatch.setattr("genbayes.models.network.plans.MOST_EPOCHS", 3)
    found = measure(Job("phantom", "part", name, 60, 0), registry)
    assert found.error is None
    columns = {column for study in ALONE if name in study.names[1:] for column in study.columns}
    assert {"crps", "rmse", "coverage", *columns} <= set(found.scores)


def test_variants_of_the_same_protocol_get_at_most_its_epochs() -> None:
    cases = [load_registry().case("phantom", protocol, 100) for protocol in ("paper", "part", "quick")]
    assert [VARIANTS["loss-0.1-0.2-0.7"].make(0, case).n_epochs for case in cases] == [6_000, 2_000, 100]


# tables


def test_a_table_has_paired_differences_counts_targets_and_the_papers_words() -> None:
    said, target = {("phantom", "gbc"): "0.5 | as told"}, {("phantom", "crps"): 1.0}
    study = Study("What?", ("phantom",), ("gp", "gbc"), said, targets=target, note="Mind this.")
    level = {"gp": 1.0, "gbc": 0.5}
    table = make_table(study, [record(method, r, crps=level[method] + 0.01 * r) for method in level for r in range(3)])
    first, second = table.rows
    assert first[3] == "–"
    assert second[3].startswith("−49.5")
    assert second[-2:] == ["3", "0.5 | as told"]
    assert table.notes == ["Phantom, crps at most 1: 1.0100\xa0±\xa00.0058, NOT MET.", "Mind this."]


def test_records_of_other_protocols_and_failures_do_not_count() -> None:
    ours = [record("loss-0.3-0.3-0.4", 0, "part")]
    assert make_tables(STUDIES["losses"], ours, "paper") == ""
    assert "At most 1,000 runs" in make_tables(STUDIES["losses"], ours, "part")


def test_the_command_prints_tables_and_puts_them_into_a_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pack_records([record("loss-0.1-0.2-0.7", 0)], tmp_path)
    page = tmp_path / "page.md"
    main(["losses", "--results", str(tmp_path)])
    assert "| Phantom | (0.1, 0.2, 0.7) | 0.04 |" in capsys.readouterr().out
    page.write_text(PAGE.read_text())
    for _ in range(2):  # the second time replaces the first
        main(["ablations", "--results", str(tmp_path), "--into", str(page)])
    text = page.read_text()
    assert text.count("| Phantom | (0.1, 0.2, 0.7) | 0.04 |") == 1
    assert text.partition(BEGIN)[0] == PAGE.read_text().partition(BEGIN)[0]
    assert text.partition(END)[2] == PAGE.read_text().partition(END)[2]


def test_a_page_without_marks_is_left_alone(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("mine")
    with pytest.raises(InvalidInput, match="must name a page with the marks"):
        put_into(page, "tables")
    assert page.read_text() == "mine"


# measured lines


def test_lines_are_printed_and_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "not" / "there" / "speed.json"
    one = Line("one", "1 s", "at most 2 s", True, series={"n": [1.0], "fit": [2.0], "predict": [3.0]})
    run_parts({"part": lambda: [one, Line("two", "5")]}, "title", path, tmp_path / "times.png")
    kept = json.loads(path.read_text())["results"]
    told = [(each["what"], each["met"], "series" in each) for each in kept]
    assert told == [("one", True, True), ("two", None, False)]
    assert (tmp_path / "times.png").read_bytes().startswith(b"\x89PNG")
    assert "part: one: 1 s (target at most 2 s)" in capsys.readouterr().out


def test_a_place_that_cannot_be_written_is_refused_before_anything_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(UnwritableFile, match="path must name a file, got the directory"):
        run_parts({"part": lambda: pytest.fail("measured")}, "title", tmp_path, None)
    monkeypatch.setattr(speed, "PARTS", {"ask": lambda: pytest.fail("measured")})
    with pytest.raises(SystemExit, match="2"):
        main(["speed", "--json", str(tmp_path)])
    assert "path must name a file" in capsys.readouterr().err


def test_an_unknown_part_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["jumps", "honestly"])
    assert "jumps has the parts classifier, honesty, members, got 'honestly'" in capsys.readouterr().err


def test_a_model_is_timed_until_a_fit_takes_too_long() -> None:
    assert [timing[0] for timing in speed.time_model("StationaryGP", (20, 40))] == [20, 40]
    assert speed.time_model("StationaryGP", (20, 40), limit=0.0) == []


def test_acquisitions_are_chosen_by_the_networks_that_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    proposer = Mock(return_value=SimpleNamespace(propose=lambda *_: np.full((1, 3), 0.5)))
    monkeypatch.setattr("genbayes.design.ModelProposer", proposer)
    (line,) = speed.measure_acquisitions(2)
    ((model,), _) = proposer.call_args
    assert (proposer.call_count, model.n_members) == (1, 3)
    assert line.what.startswith("2 acquisitions")
    assert line.what.endswith("3 networks")


@pytest.mark.parametrize(("answer", "told"), [(0.0, "same answer"), (1.0, "ANOTHER ANSWER")])
def test_two_jobs_are_timed_against_one_and_must_give_the_same_answer(monkeypatch, answer: float, told: str) -> None:
    def run(probe: str, name: str, n: str, n_jobs: str) -> str:
        return json.dumps([6.0, 4.0, 0.0] if n_jobs == "1" else [5.0, 2.0, answer])

    monkeypatch.setattr(speed, "_run", run)
    lines = list(speed.measure_jobs((40,), 1))
    assert {line.measured for line in lines} == {"2.00 times"}
    assert all(line.met is (answer == 0) and told in line.detail for line in lines)


def test_the_program_that_is_timed_with_jobs_runs() -> None:
    *seconds, q = json.loads(speed._run(speed.TWO_FITS, "smooth", "40", "1"))
    assert len(seconds) == 2
    assert np.shape(q) == (40, 3)


# the paper's estimate of the CRPS


BELL = Normal(loc=np.zeros(3), scale=np.ones(3))
CENTRE = (np.sqrt(2) - 1) / np.sqrt(np.pi)  # CRPS of a standard Gaussian at its mean


def test_many_quantiles_give_the_crps_and_few_the_papers_double_sum() -> None:
    y = np.array([-1.0, 0.0, 2.5])
    np.testing.assert_allclose(crps_on_grid(BELL, y, 9_999), BELL.crps(y), rtol=1e-3)
    q = BELL.ppf(np.arange(1, 10) / 10)
    between = np.abs(q[:, :, None] - q[:, None, :]).sum(axis=(1, 2))
    np.testing.assert_allclose(crps_on_grid(BELL, y, 9), np.abs(q - y[:, None]).sum(axis=1) / 9 - between / (2 * 81))


@pytest.mark.parametrize(("size", "share"), [(1, 0.0), (2, 0.922)])
def test_few_quantiles_flatter_a_forecast_at_its_centre(size: int, share: float) -> None:
    """One quantile is the median itself; two lie at -+0.431, so that |q| - |q - q'| / 4 is half of that."""
    np.testing.assert_allclose(crps_on_grid(BELL, np.zeros(3), size) / CENTRE, share, atol=0.01)


# the weak classifiers and the experts


@pytest.mark.parametrize(
    ("is_upper", "low", "high"),
    [(lambda x: x[0] > x[1], 0.97, 1.0), (lambda x: np.sin(12 * x[0]) > 3 * x[1] - 1.5, 0.0, 0.9)],
    ids=["line", "wave"],
)
def test_a_linear_classifier_can_follow_a_straight_boundary_and_not_the_wave(is_upper, low: float, high: float) -> None:
    X = np.random.default_rng(0).uniform(size=(600, 2))
    y = np.where(is_upper(X.T), 0.8, 0.2) + 0.01 * np.sin(99 * X[:, 0])
    model = ShownProbability((), n_epochs=2, n_passes=100).fit(X[:400], y[:400])
    assert low < model.accuracy(X[400:], y[400:]) <= high
    shown = model._shown(X[400:])
    assert shown.shape == (200, 3)
    assert ((shown[:, 2] >= 0) & (shown[:, 2] <= 1)).all()


@pytest.fixture(scope="module")
def experts() -> ExpertsIQN:
    X = np.linspace(-1, 1, 80)[:, None]
    return ExpertsIQN(2, n_epochs=300, n_hidden=32).fit(X, np.where(X[:, 0] > 0, 5.0, 0.0))


def test_experts_learn_shares_add_up_and_the_gate_is_between_one_half_and_certain(experts: ExpertsIQN) -> None:
    assert np.mean(experts.losses_[-10:]) < 0.7 * np.mean(experts.losses_[:10])
    X = np.linspace(-1, 1, 9)[:, None]
    np.testing.assert_allclose(experts.shares(X).sum(axis=1), 1, atol=1e-6)
    assert 0.5 <= experts.specialisation(X) <= 1


def test_routed_hard_an_expert_speaks_alone_and_softly_all_do(experts: ExpertsIQN) -> None:
    X = np.array([[-0.7], [0.4]])
    Z = torch.as_tensor((X - experts.center_) / experts.scale_, dtype=torch.float32)
    q = experts.experts_.quantiles(Z, torch.as_tensor(LEVELS, dtype=torch.float32)).double().numpy()  # (K, n, m)
    each, share = experts.location_ + experts.spread_ * q, experts.shares(X)
    soft, hard = (experts.predict_distribution(X, how).values for how in ("soft", "hard"))
    np.testing.assert_allclose(soft, np.sort((share.T[:, :, None] * each).sum(axis=0), axis=1), atol=1e-5)
    np.testing.assert_allclose(hard, np.sort(each[share.argmax(axis=1), [0, 1]], axis=1), atol=1e-5)


def test_the_same_seed_gives_the_same_experts_whatever_the_global_one() -> None:
    X, found = np.linspace(-1, 1, 30)[:, None], []
    for noise in (1, 2):
        torch.rand(noise)  # moves the global stream, which must not matter
        found.append(ExpertsIQN(2, n_epochs=3, n_hidden=8, seed=4).fit(X, X[:, 0]).predict_distribution(X).median())
    np.testing.assert_array_equal(*found)
