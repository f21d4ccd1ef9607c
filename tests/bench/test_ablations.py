"""Ablations: small runs of everything, resumed rather than repeated, and tables that say what the paper says."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from genbayes_bench.problems import Split, draw_phantom
from genbayes_bench.studies.ablations.__main__ import ABLATIONS, main
from genbayes_bench.studies.ablations.ablation import SIZES, Ablation, Size
from genbayes_bench.studies.ablations.classifiers import add_probability
from genbayes_bench.studies.ablations.experts import LEVELS, ExpertsIQN
from genbayes_bench.studies.ablations.losses import WEIGHTS
from genbayes_bench.studies.ablations.records import read_records, run_ablation
from genbayes_bench.studies.ablations.tables import BEGIN, END, make_table, put_into

PAGE = Path(__file__).parents[2] / "docs" / "ablations.md"
TINY = Size("tiny", most_rows=60, most_epochs=3)


def counting(calls: list[int]) -> Ablation:
    """A question whose variants cost nothing and are counted."""

    def measure(level: float, split: Split, seed: int) -> dict[str, float]:
        calls.append(seed)
        return {"crps": level + 0.01 * seed, "rmse": 1.0, "coverage": 0.9}

    variants = {
        "first": lambda split, seed, size: measure(1.0, split, seed),
        "second": lambda split, seed, size: measure(0.5, split, seed),
    }
    paper = {("phantom", "second"): "0.5 | as told"}
    return Ablation("What?", {"phantom": draw_phantom}, variants, paper, note="Mind this.")


# running


@pytest.mark.parametrize("name", ABLATIONS)
def test_every_ablation_runs_on_its_first_problem(name: str, tmp_path: Path) -> None:
    ablation, path = ABLATIONS[name], tmp_path / "records.jsonl"
    problem = next(iter(ablation.problems))
    added = run_ablation(name, ablation, [0], path, TINY, [problem])
    records = read_records(path)
    assert added == len(records) == len(ablation.variants)
    assert all(np.isfinite(record["crps"]) and record["crps"] > 0 for record in records)
    last = records[-1]
    assert set(ablation.columns) <= set(last)


def test_what_is_known_is_not_run_again(tmp_path: Path) -> None:
    calls: list[int] = []
    for last in (1, 2, 2):
        run_ablation("x", counting(calls), range(last), tmp_path / "r.jsonl", TINY)
    assert calls == [0, 0, 1, 1]


def test_small_records_do_not_count_as_full_ones(tmp_path: Path) -> None:
    calls: list[int] = []
    for size in (TINY, SIZES["small"]):
        run_ablation("x", counting(calls), [0], tmp_path / "r.jsonl", size)
    assert len(calls) == 4


def test_a_line_that_was_cut_off_costs_only_itself(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, calls = tmp_path / "r.jsonl", []  # type: ignore[var-annotated]
    run_ablation("x", counting(calls), [0], path, TINY)
    path.write_text(path.read_text()[:-20])
    assert run_ablation("x", counting(calls), [0], path, TINY) == 1
    assert len(read_records(path)) == 2
    assert "line 2" in capsys.readouterr().out


def test_the_papers_four_sets_of_weights_are_compared() -> None:
    assert WEIGHTS == ((0.3, 0.3, 0.4), (0.1, 0.2, 0.7), (0.05, 0.25, 0.7), (0.0, 0.3, 0.7))


@pytest.mark.parametrize("name", ABLATIONS)
def test_what_the_paper_says_is_of_variants_that_there_are(name: str) -> None:
    ablation = ABLATIONS[name]
    assert {problem for problem, _ in ablation.paper} <= set(ablation.problems)
    assert {variant for _, variant in ablation.paper} <= set(ablation.variants)


def test_a_size_cuts_rows_and_epochs() -> None:
    split = TINY.cut(draw_phantom(0))
    assert (len(split.y_train), len(split.X_test), len(split.f_test if split.f_test is not None else [])) == (60,) * 3
    assert (TINY.epochs(6_000), Size("full").epochs(6_000)) == (3, 6_000)


# tables


def test_a_table_has_paired_differences_counts_and_the_papers_words(tmp_path: Path) -> None:
    ablation, path = counting([]), tmp_path / "r.jsonl"
    run_ablation("x", ablation, range(3), path, TINY)
    table = make_table(ablation, read_records(path))
    first, second = table.rows
    assert first[3] == "–"
    assert second[3].startswith("−49.5")
    assert second[-2:] == ["3", "0.5 | as told"]
    assert table.notes == ["Mind this."]


def test_the_command_prints_tables_and_puts_them_into_a_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record = {"ablation": "losses", "problem": "phantom", "variant": "(0.1, 0.2, 0.7)", "replicate": 0, "size": "full"}
    path, page = tmp_path / "r.jsonl", tmp_path / "page.md"
    path.write_text(json.dumps(record | {"crps": 0.04, "rmse": 0.1, "coverage": 0.9, "seconds": 5.0}) + "\n")
    main(["table", "--records", str(path)])
    printed = capsys.readouterr().out
    assert "| Phantom | (0.1, 0.2, 0.7) | 0.04 |" in printed
    page.write_text(PAGE.read_text())
    for _ in range(2):  # the second time replaces the first
        main(["table", "--records", str(path), "--into", str(page)])
    text = page.read_text()
    assert text.count("| Phantom | (0.1, 0.2, 0.7) | 0.04 |") == 1
    assert text.partition(BEGIN)[0] == PAGE.read_text().partition(BEGIN)[0]
    assert text.partition(END)[2] == PAGE.read_text().partition(END)[2]


def test_a_page_without_marks_is_left_alone(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("mine")
    with pytest.raises(SystemExit, match="must hold the marks"):
        put_into(page, "tables")
    assert page.read_text() == "mine"


# the weak classifiers and the experts


def test_a_linear_classifier_cannot_follow_the_wave_and_a_straight_boundary_it_can() -> None:
    X = np.random.default_rng(0).uniform(size=(600, 2))
    accuracy = {}
    for name, upper in (("wave", np.sin(12 * X[:, 0]) > 3 * X[:, 1] - 1.5), ("line", X[:, 0] > X[:, 1])):
        y = np.where(upper, 0.8, 0.2) + 0.01 * np.sin(99 * X[:, 0])
        split = Split(X[:400], y[:400], X[400:], y[400:])
        wider, accuracy[name] = add_probability((), split, 0, 100)
        assert wider.X_train.shape == (400, 3)
        assert ((wider.X_test[:, 2] >= 0) & (wider.X_test[:, 2] <= 1)).all()
    assert accuracy["line"] > 0.97 > 0.9 > accuracy["wave"]


@pytest.fixture(scope="module")
def experts() -> ExpertsIQN:
    X = np.linspace(-1, 1, 80)[:, None]
    return ExpertsIQN(2, n_epochs=300, n_hidden=32).fit(X, np.where(X[:, 0] > 0, 5.0, 0.0))


def test_experts_learn(experts: ExpertsIQN) -> None:
    assert np.mean(experts.losses_[-10:]) < 0.7 * np.mean(experts.losses_[:10])


def test_shares_add_up_and_the_gate_is_between_one_half_and_certain(experts: ExpertsIQN) -> None:
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


def test_one_expert_needs_no_routing() -> None:
    X = np.linspace(-1, 1, 30)[:, None]
    model = ExpertsIQN(1, n_epochs=3, n_hidden=8).fit(X, X[:, 0])
    soft, hard = (model.predict_distribution(X, how).median() for how in ("soft", "hard"))
    np.testing.assert_array_equal(soft, hard)
    assert model.specialisation(X) == 1.0


def test_the_same_seed_gives_the_same_experts_whatever_the_global_one() -> None:
    X, found = np.linspace(-1, 1, 30)[:, None], []
    for noise in (1, 2):
        torch.rand(noise)  # moves the global stream, which must not matter
        found.append(ExpertsIQN(2, n_epochs=3, n_hidden=8, seed=4).fit(X, X[:, 0]).predict_distribution(X).median())
    np.testing.assert_array_equal(*found)
