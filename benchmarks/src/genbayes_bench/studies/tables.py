"""Tables of studies: one row a problem and method, with the paired difference to the first method."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from genbayes.errors import InvalidInput
from genbayes_bench.problems.problem import PART
from genbayes_bench.record import Record
from genbayes_bench.report.labels import method_title, problem_title
from genbayes_bench.report.posteriors import posterior_tables
from genbayes_bench.report.tables import NONE, Table, estimate_text, relative_text, to_markdown
from genbayes_bench.statistics import compare, estimate
from genbayes_bench.studies.study import Study

BEGIN, END = "<!-- tables: begin -->", "<!-- tables: end -->"
OF_PART = "At most 1,000 runs to learn from and 2,000 epochs a fit."


def make_tables(studies: Iterable[Study], records: Sequence[Record], protocol: str) -> str:
    """Markdown of every study that has records of this protocol."""
    own = [record for record in records if record.protocol == protocol and record.error is None]
    tables: list[Table] = []
    for study in studies:
        crps = study.score == "crps"
        tables += [make_table(study, own, OF_PART if protocol == PART else "")] if crps else posterior_tables(own)
    return "\n\n".join(to_markdown(table) for table in tables if table.rows)


def make_table(study: Study, records: Sequence[Record], spent: str = "") -> Table:
    """One row a problem and method, with the paired difference to the first method.

    Args:
        study: The question.
        records: Records of one protocol; those of other methods and problems are left out.
        spent: What a fit was given, where that is less than in the paper.
    """
    paper = ["paper: CRPS"] if study.paper else []
    head = ["problem", "variant", "CRPS", "against the first", "RMSE", "90% coverage", *study.columns.values()]
    rows, first = [], study.names[0]
    for problem in study.problems:
        base = _scores(records, problem, first, "crps")
        for name in study.names:
            own = _scores(records, problem, name, "crps")
            if not own:
                continue
            difference = compare(own, base) if name != first else None
            shown = [_cell(_scores(records, problem, name, m), m) for m in ("rmse", "coverage", *study.columns)]
            against = NONE if difference is None else relative_text(difference)
            seconds = f"{estimate(_scores(records, problem, name, 'seconds').values()).mean:.3g}"
            printed = [study.paper.get((problem, name), NONE)] if study.paper else []
            cells = [
                problem_title(problem),
                method_title(name),
                _cell(own, "crps"),
                against,
                *shown,
                seconds,
                str(len(own)),
            ]
            rows.append([*cells, *printed])
    notes = [note for note in (spent, *_verdicts(study, records, first), study.note) if note]
    return Table(study.title, [*head, "seconds", "replicates", *paper], rows, notes)


def put_into(page: Path, tables: str) -> None:
    """Replace what stands between the two marks of a page."""
    text = page.read_text(encoding="utf-8")
    if BEGIN not in text or END not in text:
        raise InvalidInput(f"--into must name a page with the marks {BEGIN} and {END}, got {str(page)!r}")
    block = f"{BEGIN}\n{tables}\n{END}"
    page.write_text(re.sub(f"{BEGIN}.*{END}", lambda _: block, text, flags=re.DOTALL), encoding="utf-8")


def _scores(records: Iterable[Record], problem: str, method: str, metric: str) -> dict[int, float]:
    """A score by replicate; "seconds" is the time to fit."""
    own = [record for record in records if (record.problem, record.method) == (problem, method)]
    found = {r.replicate: r.fit_seconds if metric == "seconds" else r.scores.get(metric) for r in own}
    return {replicate: value for replicate, value in found.items() if value is not None}


def _cell(scores: Mapping[int, float], metric: str) -> str:
    return estimate_text(estimate(scores.values()), metric) if scores else NONE


def _verdicts(study: Study, records: Sequence[Record], method: str) -> list[str]:
    """Whether the first method reaches its targets, where there are records."""
    found = []
    for (problem, metric), limit in study.targets.items():
        scores = _scores(records, problem, method, metric)
        if scores:
            mean = estimate(scores.values()).mean
            verdict = "met" if mean <= limit else "NOT MET"
            found.append(f"{problem_title(problem)}, {metric} at most {limit:g}: {_cell(scores, metric)}, {verdict}.")
    return found
