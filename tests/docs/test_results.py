"""The page of results is what the committed records say, and the README repeats it without changing a figure."""

import json
import re
from pathlib import Path

from genbayes_bench.record import read_records
from genbayes_bench.report import read_report, write_markdown
from genbayes_bench.studies import STUDIES
from genbayes_bench.studies.tables import make_tables

ROOT = Path(__file__).parents[2]
RECORDS = ROOT / "benchmarks" / "results" / "paper"
PAGE, README = ((ROOT / name).read_text(encoding="utf-8") for name in ("docs/results.md", "README.md"))
IN_ONE_LINE = README.replace("\n", " ")


def said_by_the_readme(pattern: str) -> tuple[str, ...]:
    """What the groups of the pattern match in the README."""
    found = re.search(pattern, IN_ONE_LINE)
    assert found is not None, pattern
    return found.groups()


def rows_of(text: str, heading: str) -> dict[str, list[str]]:
    """Cells of the first table below a heading, by the first cell of each row, without bold."""
    table = re.search(r"^\|.*?\n\n", text[text.index(heading) :], re.MULTILINE | re.DOTALL)
    assert table is not None
    rows = [line.replace("**", "").strip("|").split(" | ") for line in table[0].strip().splitlines()]
    return {cells[0].strip(): [cell.strip() for cell in cells[1:]] for cells in rows}


def test_the_page_is_what_the_records_say(tmp_path: Path) -> None:
    told = write_markdown(read_report(RECORDS), tmp_path / "results.md").read_text(encoding="utf-8")
    assert told == PAGE, "docs/results.md must be as the records are; genbayes bench report (docs/benchmarks.md)"


def test_every_row_of_the_readme_stands_on_the_page() -> None:
    ours, theirs = rows_of(README, "## Measured"), rows_of(PAGE, "## Summary")
    named = [name for name in ours if name != "problem" and not name.startswith("-")]
    assert named
    for name in named:
        *figures, paper, n = ours[name]
        assert [*figures, n] == [theirs[name][k] for k in (0, 3, 4, 5, -1)], name
        assert paper.removesuffix(" (Aug)") == theirs[name][2].partition(",")[0], name


def test_the_readme_counts_wins_as_the_page_does() -> None:
    wins, ties, losses, n = re.findall(r"AutoSurrogate wins (\d+), ties (\d+) and loses (\d+) of (\d+)", PAGE)[0]
    assert f"Of {n} problems `AutoSurrogate` wins {wins}, ties {ties} and loses {losses}" in IN_ONE_LINE


def test_the_page_of_ablations_is_what_its_records_say() -> None:
    told = make_tables(STUDIES["ablations"], read_records(ROOT / "benchmarks" / "results" / "ablations"), "part")
    assert told
    assert told in (ROOT / "docs" / "ablations.md").read_text(encoding="utf-8")


def test_the_readme_tells_michalewicz_as_the_page_does() -> None:
    told = said_by_the_readme(r"it has CRPS ([\d.]+), boosted trees ([\d.]+), the paper's training ([\d.]+)\. ")
    row = next(cells for name, cells in rows_of(PAGE, "## Summary").items() if name.startswith("Michalewicz"))
    theirs = [float(row[k].partition(",")[0]) for k in (5, 4, 7)]
    assert list(told) == [f"{value:.{len(said) - 2}f}" for value, said in zip(theirs, told, strict=True)]


def test_the_page_adds_up_the_hours_of_all_fits_but_those_of_designs() -> None:
    records = [json.loads(line) for file in RECORDS.glob("*.jsonl") for line in file.read_text().splitlines()]
    fits = [record for record in records if record["method"].partition("-")[0] != "al"]
    hours = sum(record["fit_seconds"] + record["predict_seconds"] for record in fits) / 3600
    assert f"took {hours:.1f} hours in all" in PAGE


def test_the_readme_tells_what_chosen_runs_are_worth_as_the_page_does() -> None:
    pattern = r"100 are worth (\d+) on the 2D exponential, 300 are worth (\d+) on .*?, but 200 only (\d+) on"
    rows = [line.strip("| ").split(" | ") for line in PAGE.splitlines() if line.startswith("| ")]
    worth = {(cells[0], cells[1]): cells[8] for cells in rows if len(cells) == 13}
    problems = ("2D exponential (GBC)", "100"), ("Rocket †", "300"), ("Satellite GRACE", "200")
    assert list(said_by_the_readme(pattern)) == [worth[problem] for problem in problems]


def test_the_readme_tells_the_limits_as_the_page_does() -> None:
    said = said_by_the_readme(r"its RMSE to the truth is ([\d.]+), the network's ([\d.]+)")
    table = rows_of(PAGE, "### Friedman:")
    place = table["method"].index("RMSE to the truth")
    told = [float(table[name][place].partition("\u00a0")[0]) for name in ("Stationary GP", "GBC fast")]
    assert [float(each) for each in said] == [round(value, 2) for value in told]
