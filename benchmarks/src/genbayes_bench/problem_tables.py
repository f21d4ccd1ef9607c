"""Tables of one problem: what the paper, R's packages and our records say; scaling."""

from __future__ import annotations

from collections.abc import Sequence

from genbayes.report.page import format_number
from genbayes_bench.labels import OURS, in_order, method_title, score_name, standin_of
from genbayes_bench.lines import augments_nothing, paper_value
from genbayes_bench.paper_values import OTHER_UNITS, PAPER, REFERENCE, STANDS_FOR, Published
from genbayes_bench.summary import Contest, Estimate, Results
from genbayes_bench.table import MARK, NONE, Bold, Table, as_printed, contest_title, estimate_text

__all__ = ["problem_table", "scaling_table"]

NO_REGIMES = "GBC-Aug found one regime only, so it is plain GBC here and not counted."


def problem_table(results: Results, contest: Contest, metrics: Sequence[str]) -> Table:
    """Everything about one problem: what the paper and R report, then our records, one row a method."""
    shown = [m for m in metrics if any(results.scores(contest, method, m) for method in results.methods(contest))]
    name = STANDS_FOR.get(contest.problem, contest.problem)
    head = ("method", *(score_name(metric) for metric in shown), "seconds to fit", "peak MB", "replicates")
    rows = []
    told = () if contest.problem in OTHER_UNITS else ((PAPER, "paper"), (REFERENCE, "reference"))
    for values, who in told:
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
    told = [method for method in ("gp", "gbc-paper") if any(paper_value(c, method, "rmse_f", "") for c in contests)]
    head = ["n", *(f"paper: {method_title(m)}" for m in told), *(method_title(m) for m in methods)]
    rows = []
    for contest in contests:
        theirs = [_pair(*(paper_value(contest, m, metric, "") for metric in ("seconds", "rmse_f"))) for m in told]
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
    told = [NONE if cost is None else format_number(cost.mean, 3) for cost in costs]
    return [name, *cells, *told, str(len(results.runs(contest, method)))]


def _pair(seconds: Published | Estimate | None, error: Published | Estimate | None) -> str:
    if seconds is None and error is None:
        return NONE
    return " / ".join("?" if each is None else format_number(each.mean, 3) for each in (seconds, error))
