"""Tables of all problems: the summary like the paper's Table 7, wins counted, runs that failed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from genbayes_bench.labels import OURS, method_title, problem_title, standin_of
from genbayes_bench.lines import Line, count_verdicts
from genbayes_bench.paper_values import Published
from genbayes_bench.summary import Estimate, Results
from genbayes_bench.table import (
    MARK,
    NONE,
    Bold,
    Table,
    as_printed,
    contest_title,
    difference_text,
    estimate_text,
)

__all__ = ["count_table", "failure_table", "summary_table"]

OTHERS = tuple(method for method in OURS if method != "auto")


def summary_table(lines: Sequence[Line]) -> Table:
    """One row a problem and score: the paper's two numbers, ours, the strongest baseline's, and who wins."""
    head = ["problem", "who wins", "paper: rival", "paper: GBC", method_title("auto"), "strongest baseline"]
    head += [*(method_title(method) for method in OTHERS), "replicates"]
    standins = [
        f"{MARK} {contest_title(line.contest).removesuffix(f' {MARK}')}: {note}" for line, note in _standins(lines)
    ]
    notes = (
        "CRPS, less is better; mean ± standard error. In brackets: replicates, where fewer than in the last column. In "
        "bold: the lowest of ours and the strongest baseline, of those that have all. Friedman's function is told "
        "twice: scored on noise-free responses as in the paper, which rewards forecasts that are too narrow, and "
        "properly.",
        "The strongest baseline is the one of the lowest mean on the same replicates, chosen with hindsight, which "
        f"flatters it. Who wins is said of {method_title('auto')}: its score minus the baseline's, by replicate, "
        "in percent of the latter ± standard error. A win is a difference whose 95% interval by Student's t lies below "
        "zero; a tie is one whose interval holds zero and that leaves us less than 2% behind.",
        *standins,
    )
    return Table("Summary", head, [_summary_row(line) for line in lines], notes)


def count_table(lines: Sequence[Line]) -> Table:
    """Wins, ties and losses of each of our methods over the problems, by the proper CRPS."""
    rows = []
    for method in OURS:
        for against, what in (("strongest", "the strongest baseline"), ("rival", "the paper's choice of baseline")):
            counts = count_verdicts(lines, method, against)
            if sum(counts.values()):
                rows.append((method_title(method), what, *(str(counts[verdict]) for verdict in counts)))
    note = (
        'For comparison: the paper counts 12 "favorable point estimates" for GBC in 14, without regard to their errors.'
    )
    return Table("Wins counted", ("method", "against", "wins", "ties", "losses"), rows, [note])


def failure_table(results: Results) -> Table:
    """Runs that failed, with what they said; one row a problem, method and error."""
    found: dict[tuple[str, str, str], int] = {}
    for record in results.failures:
        key = problem_title(record.problem), method_title(record.method), str(record.error).strip().splitlines()[-1]
        found[key] = found.get(key, 0) + 1
    rows = [(problem, method, str(n), error) for (problem, method, error), n in found.items()]
    return Table("Runs that failed", ("problem", "method", "replicates", "error"), rows)


def _standins(lines: Sequence[Line]) -> list[tuple[Line, str]]:
    first = {line.contest.problem: line for line in reversed(lines)}
    found = [(line, standin_of(line.contest.problem)) for line in lines if first[line.contest.problem] is line]
    return [(line, note) for line, note in found if note is not None]


def _summary_row(line: Line) -> list[str]:
    most = max(estimate.n for estimate in line.estimates.values())
    best, difference = line.strongest, line.against_strongest.get("auto")
    compared = [line.estimates[m] for m in (*OURS, best or "") if m in line.estimates]
    lowest = min((each.mean for each in compared if each.n == most), default=None)
    cells = {method: _estimate_cell(line.estimates.get(method), most, lowest) for method in OURS}
    rival = _estimate_cell(line.estimates.get(best or ""), most, lowest)
    named = rival if best is None else f"{rival}, {method_title(best)}"
    return [
        _row_title(line),
        NONE if difference is None else difference_text(difference),
        _paper_cell(line.paper_rival),
        _paper_cell(line.paper_ours),
        cells["auto"],
        Bold(named) if isinstance(rival, Bold) else named,
        *(cells[method] for method in OTHERS),
        str(most),
    ]


def _row_title(line: Line) -> str:
    scored = " on noise-free y" if line.metric == "crps_f" else ""
    return f"{contest_title(line.contest)}, n = {line.contest.n_train:,}{scored}"


def _estimate_cell(found: Estimate | None, most: int, lowest: float | None) -> str:
    if found is None:
        return NONE
    text = estimate_text(found) + (f" [{found.n}]" if found.n < most else "")
    return Bold(text) if found.n == most and found.mean == lowest else text


def _paper_cell(value: Published | None) -> str:
    """The mean and a short name; standard errors stand in the table of the problem."""
    if value is None:
        return NONE
    return f"{as_printed(replace(value, se=None))}, {value.name.partition(' (')[0]}"
