"""The page of results is what the committed records say; the README and docs/measured.md repeat it as it is."""

import json
import re
from pathlib import Path

import pytest

from genbayes_bench.record import read_records
from genbayes_bench.report import read_report, write_markdown
from genbayes_bench.studies import STUDIES
from genbayes_bench.studies.tables import make_tables

ROOT = Path(__file__).parents[2]
RECORDS = ROOT / "benchmarks" / "results" / "paper"


@pytest.fixture(scope="module")
def page() -> str:
    return (ROOT / "docs" / "results.md").read_text(encoding="utf-8")


def rows_of(text: str, heading: str) -> dict[str, list[str]]:
    """Cells of the first table below a heading, by the first cell of each row, without bold."""
    table = re.search(r"^\|.*?\n\n", text[text.index(heading) :], re.MULTILINE | re.DOTALL)
    assert table is not None
    rows = [line.replace("**", "").strip("|").split(" | ") for line in table[0].strip().splitlines()]
    return {cells[0].strip(): [cell.strip() for cell in cells[1:]] for cells in rows}


def test_the_page_is_what_the_records_say(page: str, tmp_path: Path) -> None:
    told = write_markdown(read_report(RECORDS), tmp_path / "results.md").read_text(encoding="utf-8")
    assert page == told, "docs/results.md must be as the records are; genbayes bench report (docs/benchmarks.md)"


@pytest.fixture(scope="module")
def measured() -> str:
    return (ROOT / "docs" / "measured.md").read_text(encoding="utf-8").replace("\n", " ")


@pytest.mark.parametrize(
    ("file", "heading", "n_rows"), [("README.md", "## Measured", 4), ("docs/measured.md", "## Ag", 16)]
)
def test_every_row_that_is_repeated_stands_on_the_page(page: str, file: str, heading: str, n_rows: int) -> None:
    ours, theirs = rows_of((ROOT / file).read_text(encoding="utf-8"), heading), rows_of(page, "## Summary")
    named = [name for name in ours if name != "problem" and not name.startswith("-")]
    assert len(named) == n_rows
    for name in named:
        *figures, paper, n = ours[name]
        assert [*figures, n] == [theirs[name][k] for k in (0, 3, 4, 5, -1)], name
        assert paper.removesuffix(" (Aug)") == theirs[name][2].partition(",")[0], name


@pytest.mark.parametrize("file", ["README.md", "docs/measured.md"])
def test_wins_are_counted_as_the_page_does(page: str, file: str) -> None:
    told = (ROOT / file).read_text(encoding="utf-8").replace("\n", " ")
    wins, ties, losses, n = re.findall(r"AutoSurrogate wins (\d+), ties (\d+) and loses (\d+) of (\d+)", page)[0]
    assert f"Of {n} problems `AutoSurrogate` wins {wins}, ties {ties} and loses {losses}" in told


def test_the_page_of_ablations_is_what_its_records_say() -> None:
    told = make_tables(STUDIES["ablations"], read_records(ROOT / "benchmarks" / "results" / "ablations"), "part")
    assert told
    assert told in (ROOT / "docs" / "ablations.md").read_text(encoding="utf-8")


def test_measured_tells_michalewicz_as_the_page_does(page: str, measured: str) -> None:
    told = re.findall(r"it has CRPS ([\d.]+), boosted trees ([\d.]+), the paper's training ([\d.]+)\. ", measured)[0]
    row = next(cells for name, cells in rows_of(page, "## Summary").items() if name.startswith("Michalewicz"))
    theirs = [float(re.split(r"[\s,\[]", row[k])[0]) for k in (5, 4, 7)]
    assert list(told) == [f"{value:.{len(said) - 2}f}" for value, said in zip(theirs, told, strict=True)]


def test_the_page_adds_up_the_hours_of_all_fits_but_those_of_designs(page: str) -> None:
    records = [json.loads(line) for file in RECORDS.glob("*.jsonl") for line in file.read_text().splitlines()]
    fits = [record for record in records if record["method"].partition("-")[0] != "al"]
    hours = sum(record["fit_seconds"] + record["predict_seconds"] for record in fits) / 3600
    assert f"took {hours:.1f} hours in all" in page


def test_measured_tells_what_chosen_runs_are_worth_as_the_page_does(page: str, measured: str) -> None:
    said = re.search(
        r"100 are worth (\d+) on the 2D exponential, 300 are worth (\d+) on .*?, but 200 only (\d+) on", measured
    )
    assert said is not None
    rows = [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("| ")]
    worth = {(cells[0], cells[1]): cells[8] for cells in rows if len(cells) == 13}
    problems = ("2D exponential (GBC)", "100"), ("Rocket †", "300"), ("Satellite GRACE", "200")
    assert list(said.groups()) == [worth[problem] for problem in problems]


def test_measured_tells_the_limits_as_the_page_does(page: str, measured: str) -> None:
    said = re.search(r"its RMSE to the truth is ([\d.]+), the network's ([\d.]+)", measured)
    assert said is not None
    table = rows_of(page, "### Friedman:")
    place = table["method"].index("RMSE to the truth")
    told = [float(table[name][place].partition("\u00a0")[0]) for name in ("Stationary GP", "GBC fast")]
    assert [float(each) for each in said.groups()] == [round(value, 2) for value in told]
