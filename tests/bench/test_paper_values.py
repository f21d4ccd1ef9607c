"""The paper's numbers: typed rightly, complete, and consistent with one another."""

import re
from pathlib import Path

import pytest

from genbayes_bench.paper_values import PAPER, REFERENCE, STANDS_FOR, SUMMARY, Published, SummaryRow, published
from genbayes_bench.problems import PROBLEMS

SHARED = Path(__file__).parents[3] / "shared"
IMPROVEMENT = {"bgp2": 11, "bgp3": 18, "bgp4": 26, "friedman": 14, "star": 46, "proxy7": 38, "satmini": 33}  # Table 7


def named(value: Published) -> str:
    return f"{value.source}-{value.problem}-{value.method}-{value.metric}-{value.n_train}"


def spellings(number: float) -> set[str]:
    """The number with any count of digits that does not change it."""
    texts = {f"{number:.{digits}f}" for digits in range(5)}
    return {text for text in texts if float(text) == number}


@pytest.fixture(scope="module")
def tables() -> list[str]:
    """The tables of the paper, in order, without the marks of LaTeX that part digits."""
    files = sorted((SHARED / "paper").glob("*.txt"))
    if not files:
        pytest.skip("the text of the paper is not in the folder of shared data")
    text = files[0].read_text()
    return [block.replace("{,}", "") for block in re.findall(r"\\begin\{table\}.*?\\end\{table\}", text, re.DOTALL)]


@pytest.mark.parametrize("value", PAPER, ids=named)
def test_every_number_stands_in_the_table_it_names(value: Published, tables: list[str]) -> None:
    table = tables[int(value.source.removeprefix("Table ")) - 1]
    # the standard error of Table 7 is given in the text of section 6.4
    numbers = [value.mean] if value.se is None or value.source == "Table 7" else [value.mean, value.se]
    for number in numbers:
        assert any(re.search(rf"(?<![\d.]){re.escape(text)}(?!\d)", table) for text in spellings(number))


@pytest.mark.parametrize("value", REFERENCE, ids=named)
def test_every_reference_stands_in_its_source(value: Published) -> None:
    path = SHARED / "reference" / "README.md"
    if not path.is_file():
        pytest.skip("the reference scores are not in the folder of shared data")
    assert any(text in path.read_text() for text in spellings(value.mean))


def test_no_number_is_given_twice_and_every_problem_is_one_of_ours() -> None:
    keys = [(v.problem, v.method, v.metric, v.n_train) for v in PAPER]
    assert len(keys) == len(set(keys))
    named = {value.problem for value in (*PAPER, *REFERENCE)} | {row.problem for row in SUMMARY}
    assert named | set(STANDS_FOR) | set(STANDS_FOR.values()) <= set(PROBLEMS)


@pytest.mark.parametrize("row", SUMMARY, ids=lambda row: f"{row.problem}-{row.n_train}")
def test_the_summary_agrees_with_the_other_tables(row: SummaryRow) -> None:
    ours = published(row.problem, row.method, row.metric, row.n_train)
    rival = published(row.problem, row.rival, row.metric, row.n_train)
    assert ours is not None
    assert ours.mean == row.value
    assert (None if rival is None else rival.mean) == row.rival_value


def test_the_paper_counts_12_favourable_estimates_in_14() -> None:
    compared = [row for row in SUMMARY if row.rival_value is not None]
    assert len(compared) == 14
    assert sum(row.value < row.rival_value for row in compared if row.rival_value is not None) == 12


@pytest.mark.parametrize(("problem", "percent"), IMPROVEMENT.items())
def test_the_improvements_that_the_paper_prints_follow_from_its_numbers(problem: str, percent: int) -> None:
    (row,) = (row for row in SUMMARY if row.problem == problem)
    assert row.rival_value is not None
    tolerance = 0.5 + 0.25  # half a percent, and numbers of three digits move the ratio by as much as a quarter
    assert 100 * (1 - row.value / row.rival_value) == pytest.approx(percent, abs=tolerance)


def test_a_value_is_that_of_the_largest_size_unless_told_and_a_stand_in_has_that_of_what_it_stands_for() -> None:
    found = [published("friedman_scaling", "gbc-paper", "seconds", n) for n in (500, None)]
    assert [value.mean for value in found if value is not None] == [9.6, 152.5]
    assert published("star_standin", "gbc-aug", "crps") == published("star", "gbc-aug", "crps")


@pytest.mark.parametrize("missing", [("bgp2", "boosted", "crps"), ("borehole", "gp", "crps"), ("bgp2", "gp", "width")])
def test_what_the_paper_does_not_have_is_none(missing: tuple[str, str, str]) -> None:
    assert published(*missing) is None
