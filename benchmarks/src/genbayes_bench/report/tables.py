"""Tables: cells under their names, as HTML or Markdown; of all problems, as the paper's Table 7, and of each one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from genbayes.report.page import format_number, format_share, format_with_error
from genbayes_bench.paper_values import OTHER_UNITS, PAPER, REFERENCE, STANDS_FOR, Published
from genbayes_bench.report.labels import OURS, in_order, method_title, problem_title, score_name, standin_of
from genbayes_bench.report.verdicts import Line, augments_nothing, count_verdicts, paper_value
from genbayes_bench.statistics import Contest, Difference, Estimate, Results, compare, estimate

NONE = "–"
COUNTS = "Wins counted"
MARK = "†"  # a stand-in
SHARES = ("coverage", "coverage_f")


OTHERS = tuple(method for method in OURS if method != "auto")
NO_REGIMES = "GBC-Aug found one regime only, so it is plain GBC here and not counted."


class Bold(str):
    """A cell that stands out."""

    __slots__ = ()


@dataclass(frozen=True)
class Table:
    """Cells under their names, with a title above and notes below."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()


def contest_title(contest: Contest) -> str:
    """A problem with the mark of a stand-in."""
    return problem_title(contest.problem) + (f" {MARK}" if standin_of(contest.problem) else "")


def to_markdown(table: Table, level: int = 3) -> str:
    r"""A table as Markdown, notes below it.

    Example:
        >>> print(to_markdown(Table("T", ["a", "b"], [["x|y", Bold("2")]], ["Note."])))
        ### T
        <BLANKLINE>
        | a | b |
        |---|---|
        | x\|y | **2** |
        <BLANKLINE>
        Note.
    """
    lines = [f"{'#' * level} {table.title}", "", _markdown_row(table.head), "|" + "---|" * len(table.head)]
    lines += [_markdown_row(row) for row in table.rows]
    for note in table.notes:
        lines += ["", note]
    return "\n".join(lines)


def estimate_text(found: Estimate | None, metric: str = "") -> str:
    r"""Mean and standard error, shares in percent.

    Example:
        >>> estimate_text(Estimate(0.9, None, 1), "coverage"), estimate_text(Estimate(1.2, 0.03, 5))
        ('90%', '1.200\xa0±\xa00.030')
    """
    if found is None:
        return NONE
    if metric in SHARES:
        return format_share(found.mean)
    return format_number(found.mean) if found.se is None else format_with_error(found.mean, found.se)


def as_printed(value: Published | None) -> str:
    """Mean and standard error of somebody else, with the digits of the source."""
    if value is None:
        return NONE
    if value.metric in SHARES:
        return format_share(value.mean)
    digits = max(len(repr(each).partition(".")[2]) for each in (value.mean, value.se or value.mean))
    error = "" if value.se is None else f"\u00a0±\u00a0{value.se:.{digits}f}"
    return f"{value.mean:,.{digits}f}{error}"


def difference_text(difference: Difference) -> str:
    r"""A verdict with its numbers.

    Example:
        >>> difference_text(Difference(-0.03, 0.01, 5, -0.02, 4, "win"))
        'win, −2.0\xa0±\xa00.7%'
    """
    return f"{difference.verdict}, {relative_text(difference)}"


def relative_text(difference: Difference) -> str:
    r"""A difference in percent of the rival's score, with its standard error.

    Example:
        >>> relative_text(Difference(-0.03, None, 1, -0.02, 1, "tie"))
        '−2.0%'
    """
    error = "" if difference.relative_se is None else f"\u00a0±\u00a0{100 * difference.relative_se:.1f}"
    percent = round(100 * difference.relative, 1) + 0.0  # what rounds to zero has no sign
    return f"{percent:+.1f}{error}%".replace("-", "−")


def _markdown_row(cells: Sequence[str]) -> str:
    plain = [str(cell).replace("|", "\\|").replace("\n", " ") for cell in cells]
    bold = [f"**{text}**" if isinstance(cell, Bold) else text for text, cell in zip(plain, cells, strict=True)]
    return f"| {' | '.join(bold)} |"


def summary_table(lines: Sequence[Line]) -> Table:
    """One row a problem and score: the paper's two numbers, ours, the strongest baseline's, and who wins."""
    head = ["problem", "who wins", "paper: rival", "paper: GBC", method_title("auto"), "strongest baseline"]
    head += [*(method_title(method) for method in OTHERS), "replicates"]
    standins = [
        f"{MARK} {contest_title(line.contest).removesuffix(f' {MARK}')}: {note}" for line, note in _standins(lines)
    ]
    notes = (
        "CRPS, the average distance between prediction and outcome, less is better; mean ± standard error. In "
        "brackets: replicates, where fewer than in the last column. In bold: the lowest of ours and the strongest "
        "baseline, of those that have all. Friedman's function has two rows: scored on noise-free responses as in the "
        "paper, which rewards forecasts that are too narrow, and properly.",
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
    return Table(COUNTS, ("method", "against", "wins", "ties", "losses"), rows, [note])


def autogluon_table(results: Results, lines: Sequence[Line]) -> Table | None:
    """AutoSurrogate against AutoGluon, the better of its time limits; None where they met on no problem."""
    rows = []
    for contest in dict.fromkeys(line.contest for line in lines):
        scores = {m: results.scores(contest, m, "crps") for m in results.methods(contest) if m.startswith("autogluon")}
        ours = results.scores(contest, "auto", "crps")
        shared = set(ours).intersection(*scores.values())
        if not scores or not shared:
            continue
        means = {m: estimate([found[r] for r in shared]) for m, found in {"auto": ours, **scores}.items()}
        better = min(scores, key=lambda method: means[method].mean)
        gap = compare({r: ours[r] for r in shared}, {r: scores[better][r] for r in shared})
        assert gap is not None
        cells = {m: f"{estimate_text(mean)}, {_core_seconds(results, contest, m)}" for m, mean in means.items()}
        quick = next((cells[method] for method in sorted(scores) if method != "autogluon"), NONE)
        title = f"{contest_title(contest)}, n = {contest.n_train:,}"
        both = cells["auto"], quick, cells.get("autogluon", NONE)
        rows.append([title, difference_text(gap), *both, str(len(shared))])
    head = ("problem", "AutoSurrogate − the better", "AutoSurrogate", "few seconds", "180 s", "replicates")
    note = (
        "CRPS on the replicates that all have, and the mean seconds of a core that each took to fit. Limits are of the "
        'clock: 180 s with the preset "best_quality", or about what AutoSurrogate takes with "medium_quality".'
    )
    return Table("Against AutoGluon", head, rows, [note]) if rows else None


def _core_seconds(results: Results, contest: Contest, method: str) -> str:
    found = results.estimate(contest, method, "cpu_seconds") or results.estimate(contest, method, "seconds")
    return NONE if found is None else f"{found.mean:.0f} s"


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


def problem_table(results: Results, contest: Contest, metrics: Sequence[str]) -> Table:
    """Everything about one problem: what the paper and R report, then our records, one row a method."""
    shown = [m for m in metrics if any(results.scores(contest, method, m) for method in results.methods(contest))]
    name = STANDS_FOR.get(contest.problem, contest.problem)
    head = ("method", *(score_name(metric) for metric in shown), "cpu seconds to fit", "peak MB", "replicates")
    rows = []
    sources = () if contest.problem in OTHER_UNITS else ((PAPER, "paper"), (REFERENCE, "reference"))
    for values, who in sources:
        own = [v for v in values if v.problem == name and v.metric in metrics and _is_due(v, contest, results)]
        for method in dict.fromkeys(value.method for value in own):
            rows.append(_published_row([v for v in own if v.method == method], shown, who))
    rows += [_method_row(results, contest, method, shown) for method in in_order(results.methods(contest))]
    run = next(iter(results.runs(contest, results.methods(contest)[0]).values()))
    inputs = "1 input" if run.n_inputs == 1 else f"{run.n_inputs} inputs"
    title = f"{contest_title(contest)}: {contest.n_train:,} runs of {inputs}, scored on {run.n_test:,}"
    standin = standin_of(contest.problem)
    notes = [f"{MARK} {standin}"] if standin else []
    notes += [NO_REGIMES] if augments_nothing(results, contest) else []
    return Table(title, head, rows, notes)


def scaling_table(results: Results, contests: Sequence[Contest]) -> Table:
    """Seconds and RMSE to the truth over the number of runs, the paper's and ours."""
    methods = in_order({method for contest in contests for method in results.methods(contest)})
    printed = [method for method in ("gp", "gbc-paper") if any(paper_value(c, method, "rmse_f", "") for c in contests)]
    head = ["n", *(f"paper: {method_title(m)}" for m in printed), *(method_title(m) for m in methods)]
    rows = []
    for contest in contests:
        theirs = [_pair(*(paper_value(contest, m, metric, "") for metric in ("seconds", "rmse_f"))) for m in printed]
        ours = [_pair(*(results.estimate(contest, m, metric) for metric in ("seconds", "rmse_f"))) for m in methods]
        rows.append([f"{contest.n_train:,}", *theirs, *ours])
    note = (
        "Seconds to fit / RMSE to the noise-free function. The paper's times are on a GPU (GBC) and on 16 cores (GP)."
    )
    return Table("Scaling: Friedman's function", head, rows, [note])


def _is_due(value: Published, contest: Contest, results: Results) -> bool:
    return value.n_train == contest.n_train or value == paper_value(
        contest, value.method, value.metric, results.protocol
    )


def _published_row(values: Sequence[Published], metrics: Sequence[str], who: str) -> list[str]:
    by_metric = {value.metric: value for value in values}
    cells = [as_printed(by_metric[m]) if m in by_metric else NONE for m in metrics]
    count = values[0].n_replicates
    name = f"{who if who == 'reference' else f'paper, {values[0].source}'}: {values[0].name}"
    return [name, *cells, NONE, NONE, NONE if count is None else str(count)]


def _method_row(results: Results, contest: Contest, method: str, metrics: Sequence[str]) -> list[str]:
    cells = [estimate_text(results.estimate(contest, method, metric), metric) for metric in metrics]
    costs = [results.estimate(contest, method, metric) for metric in ("seconds", "memory")]
    name = Bold(method_title(method)) if method in OURS else method_title(method)
    shown = [NONE if cost is None else format_number(cost.mean, 3) for cost in costs]
    return [name, *cells, *shown, str(len(results.runs(contest, method)))]


def _pair(seconds: Published | Estimate | None, error: Published | Estimate | None) -> str:
    if seconds is None and error is None:
        return NONE
    return " / ".join("?" if each is None else format_number(each.mean, 3) for each in (seconds, error))
