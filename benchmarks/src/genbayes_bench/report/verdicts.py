"""Lines of the summary: for each problem the paper's numbers, ours and the strongest baseline's, and who wins.

One line a problem and score, as in the paper's Table 7. Friedman's function has two lines: scored on noise-free
responses as the paper does, and on noisy ones, which is what a forecast is for.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from genbayes_bench.paper_values import OTHER_UNITS, STANDS_FOR, SUMMARY, Published, SummaryRow, published
from genbayes_bench.report.labels import OURS, baselines_among
from genbayes_bench.statistics import Contest, Difference, Estimate, Results, Verdict, comparable_contests


@dataclass(frozen=True)
class Line:
    """One problem by one score.

    Attributes:
        contest: Problem and size.
        metric: The score.
        rival: The baseline that the paper compares with here; None if it has no such problem.
        paper_rival: What the paper reports for it.
        paper_ours: What the paper reports for its own method.
        estimates: Mean scores of all methods that were run.
        strongest: The baseline of the lowest mean score; None if none was run.
        against_strongest: Each of our methods against it.
        against_rival: Each of our methods against the paper's choice of baseline.
    """

    contest: Contest
    metric: str
    rival: str | None
    paper_rival: Published | None
    paper_ours: Published | None
    estimates: Mapping[str, Estimate]
    strongest: str | None
    against_strongest: Mapping[str, Difference]
    against_rival: Mapping[str, Difference]


def summary_lines(results: Results) -> list[Line]:
    """All lines, problems of the paper first and in its order."""
    order = list(dict.fromkeys(row.problem for row in SUMMARY))

    def place(contest: Contest) -> tuple[int, str]:
        name = STANDS_FOR.get(contest.problem, contest.problem)
        return (order.index(name) if name in order else len(order), contest.problem)

    contests = sorted(comparable_contests(results), key=place)
    lines = [_line(results, contest, metric) for contest in contests for metric in _metrics(contest)]
    return [line for line in lines if line.estimates]


def paper_value(contest: Contest, method: str, metric: str, protocol: str) -> Published | None:
    """What the paper reports here: at the same size, or, in the paper's protocol, at the only size it has."""
    found = published(contest.problem, method, metric, contest.n_train)
    if found is None and protocol == "paper" and len(_paper_sizes(contest.problem)) == 1:
        return published(contest.problem, method, metric)
    return found


def augments_nothing(results: Results, contest: Contest) -> bool:
    """Whether GBC-Aug found one regime only, so that it is GBC: every score that both have is the same."""
    plain, augmented = (results.scores(contest, method, "crps") for method in ("gbc", "gbc-aug"))
    both = set(plain) & set(augmented)
    return bool(both) and all(plain[replicate] == augmented[replicate] for replicate in both)


def count_verdicts(lines: Sequence[Line], method: str, against: str = "strongest") -> dict[Verdict, int]:
    """How often a method wins, ties and loses against the strongest baseline, or against the paper's choice.

    Args:
        lines: Lines of one score a problem; further ones of the same problem are left out.
        method: One of ours.
        against: "strongest" or "rival".
    """
    counts: dict[Verdict, int] = {"win": 0, "tie": 0, "loss": 0}
    for line in lines:
        found = line.against_strongest if against == "strongest" else line.against_rival
        if line.metric == "crps" and method in found:
            counts[found[method].verdict] += 1
    return counts


def _metrics(contest: Contest) -> list[str]:
    """The proper score of every problem, after the paper's own where that is another CRPS."""
    row = _paper_row(contest.problem)
    return ["crps_f", "crps"] if row is not None and row.metric == "crps_f" else ["crps"]


def _paper_row(problem: str) -> SummaryRow | None:
    name = STANDS_FOR.get(problem, problem)
    return next((row for row in SUMMARY if row.problem == name), None)


def _paper_sizes(problem: str) -> set[int]:
    name = STANDS_FOR.get(problem, problem)
    return {row.n_train for row in SUMMARY if row.problem == name}


def _line(results: Results, contest: Contest, metric: str) -> Line:
    row = _paper_row(contest.problem)
    idle = "gbc-aug" if augments_nothing(results, contest) else None
    found = {m: results.estimate(contest, m, metric) for m in results.methods(contest) if m != idle}
    estimates = {method: value for method, value in found.items() if value is not None}
    strongest = results.strongest(contest, baselines_among(estimates), metric)
    rival = None if row is None or row.rival not in estimates else row.rival
    printed = (
        {}
        if row is None or contest.problem in OTHER_UNITS
        else {m: paper_value(contest, m, metric, results.protocol) for m in (row.rival, row.method)}
    )
    return Line(
        contest=contest,
        metric=metric,
        rival=rival,
        paper_rival=printed.get(row.rival) if row else None,
        paper_ours=printed.get(row.method) if row else None,
        estimates=estimates,
        strongest=strongest,
        against_strongest=_against(results, contest, metric, strongest, estimates),
        against_rival=_against(results, contest, metric, rival, estimates),
    )


def _against(
    results: Results, contest: Contest, metric: str, rival: str | None, among: Collection[str]
) -> dict[str, Difference]:
    """Those of our methods that are among some, each against the rival."""
    if rival is None:
        return {}
    found = {method: results.compare(contest, method, rival, metric) for method in OURS if method in among}
    return {method: difference for method, difference in found.items() if difference is not None}
