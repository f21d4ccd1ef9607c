"""The report: records to tables, figures and sentences, once, and then to a page, Markdown or files; it never trains.

Everything is read from a results folder; torch is not even imported. How it looks as HTML is in `page`.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from genbayes.errors import InvalidInput
from genbayes.plotting.style import default_settings
from genbayes.writing import write_atomically
from genbayes_bench.designs import is_sequential
from genbayes_bench.record import SOURCE, Record, find_records, make_folder
from genbayes_bench.report.figures import (
    Picture,
    draw_jump,
    draw_landscape,
    draw_learning,
    draw_more_learning,
    draw_motorcycle,
    draw_ranks,
    draw_ratios,
    draw_scaling,
    draw_surface,
)
from genbayes_bench.report.labels import OURS, method_title, metrics_of, problem_title
from genbayes_bench.report.learning import learning_table, leave_out_malformed, other_designs_table
from genbayes_bench.report.notes import ABOUT_THE_PAPER, notes_of
from genbayes_bench.report.plots import save_picture
from genbayes_bench.report.posteriors import c2st_table, posterior_tables
from genbayes_bench.report.tables import (
    Table,
    autogluon_table,
    count_table,
    failure_table,
    problem_table,
    scaling_table,
    summary_table,
    to_markdown,
)
from genbayes_bench.report.verdicts import Line, count_verdicts, summary_lines
from genbayes_bench.statistics import STUDIES_OF_SIZE, Results, note_of

DIFFERENCES, ABOUT = "Where our numbers differ from the paper's", "About the paper's numbers"
QUICK_NOTE = (
    "These are quick runs: two replicates of smaller problems. They show that everything works, not who is better; "
    "the paper's values are shown only where the sizes agree."
)
DESIGNS_NOTE = (
    "sequential designs. Their runs were chosen, so they stand under active learning and are counted nowhere else."
)


@dataclass(frozen=True)
class Report:
    """Everything the report says, before it has a form.

    Attributes:
        results: The records.
        lines: The lines of the summary.
        headline: What it comes to, in a few sentences.
        notes: What a reader should know of these records.
        overview: Tables of all problems.
        problems: One table a problem.
        standing: Pictures of all problems together.
        figures: The paper's figures, and learning curves of the problems that have none in it.
        differences: One sentence a row that disagrees with the paper.
        about: What a reader should know of the paper's own numbers.
    """

    results: Results
    lines: Sequence[Line]
    headline: str
    notes: Sequence[str]
    overview: Sequence[Table]
    problems: Sequence[Table]
    standing: Sequence[Picture]
    figures: Sequence[Picture]
    differences: Sequence[str]
    about: Sequence[str]


def read_report(folder: str | os.PathLike[str], protocol: str | None = None) -> Report:
    """The report on a results folder.

    Args:
        folder: Where `genbayes bench run` keeps its records, or `pack` gathered them.
        protocol: "paper" or "quick"; None for the paper's where there are records of it.

    Returns:
        The report; files that are no records of this version are named in its notes.
    """
    place = Path(folder)
    if not place.is_dir():
        raise InvalidInput(f"RESULTS must be a folder with records, got {str(place)!r}, which is not one")
    records, complaints = find_records(place)
    if not records:
        what = f"; {complaints[0]}" if complaints else "; genbayes bench run quick makes some"
        raise InvalidInput(f"RESULTS must hold records, got none in {str(place)!r}{what}")
    return build_report(records, protocol, complaints)


def build_report(records: Sequence[Record], protocol: str | None = None, complaints: Sequence[str] = ()) -> Report:
    """The report on some records.

    Args:
        records: Records of any protocol.
        protocol: The one to report; None for the paper's where there are records of it.
        complaints: Sentences on what could not be read.

    Returns:
        The report; records whose learning curve cannot be read are left out and named in its notes.
    """
    sound, left_out = leave_out_malformed(records)
    if left_out and not sound:
        raise InvalidInput(f"records must not be empty, got none that can be read; {left_out[0]}")
    results = Results(sound, protocol)
    lines = summary_lines(results)
    with default_settings():
        standing = [draw_landscape(lines), draw_ratios(results), draw_ranks(results)]
        figures = [draw_jump(results), draw_motorcycle(results), draw_surface(results), draw_scaling(results)]
        figures += [
            draw_learning(results, 5, "rocket"),
            draw_learning(results, 6, "grace"),
            draw_more_learning(results),
        ]
    return Report(
        results=results,
        lines=lines,
        headline=headline(lines, results.posteriors),
        notes=[*_notes(results), *complaints, *left_out],
        overview=_overview(results, lines),
        problems=_problems(results, lines),
        standing=standing,
        figures=figures,
        differences=notes_of(results),
        about=ABOUT_THE_PAPER,
    )


def headline(lines: Sequence[Line], posteriors: Sequence[Record] = ()) -> str:
    """Wins, ties and losses in words."""
    counted = []
    for method in OURS:
        counts = count_verdicts(lines, method)
        n = sum(counts.values())
        if n:
            counted.append(
                f"{method_title(method)} wins {counts['win']}, ties {counts['tie']} and loses {counts['loss']} of {n}"
            )
    if not counted and posteriors:
        return " ".join(c2st_table(posteriors).notes[1:]) or "No task has records of ours and of a flow."
    if not counted:
        return "No problem has records of a method of ours and of a baseline, so nobody wins yet."
    beginning = "Against the strongest baseline of each problem, by CRPS on responses that no method has seen"
    return f"{beginning}: {'; '.join(counted)}."


def write_markdown(report: Report, path: str | os.PathLike[str]) -> Path:
    """Write all tables and sentences as Markdown, whole or not at all."""
    parts = ["# Benchmarks", report.headline, *report.notes]
    parts += [to_markdown(table, level=2) for table in report.overview]
    if report.differences:
        parts += [f"## {DIFFERENCES}", _bullets(report.differences)]
    parts += [f"## {ABOUT}", _bullets(report.about), "## Problem by problem"]
    parts += [to_markdown(table) for table in report.problems]
    return write_atomically(path, ("\n\n".join(parts) + "\n").encode())


def save_figures(report: Report, folder: str | os.PathLike[str]) -> list[Path]:
    """Write every figure as PNG and as SVG into a folder, which is made if it is not there."""
    place = make_folder(folder, "--figures")
    with default_settings():
        return [
            save_picture(picture.figure, place / f"{picture.name}.{kind}")
            for picture in (*report.standing, *report.figures)
            if picture.figure is not None
            for kind in ("png", "svg")
        ]


def _overview(results: Results, lines: Sequence[Line]) -> list[Table]:
    counted = [summary_table(lines), count_table(lines)] if lines or not results.posteriors else []
    found = [*counted, autogluon_table(results, lines), learning_table(results), other_designs_table(results)]
    found.append(failure_table(results) if results.failures else None)
    posteriors = [table for table in posterior_tables(results.posteriors) if table.rows]
    return [*(table for table in found if table is not None), *posteriors]


def _problems(results: Results, lines: Sequence[Line]) -> list[Table]:
    """Tables in the order of the summary, then the study of scale."""
    contests = list(dict.fromkeys(line.contest for line in lines))
    tables = [problem_table(results, contest, metrics_of(contest.problem)) for contest in contests]
    for study in STUDIES_OF_SIZE:
        sizes = results.of_problem(study)
        tables += [scaling_table(results, sizes)] if sizes else []
    return tables


def _notes(results: Results) -> list[str]:
    names = sorted({problem_title(record.problem) for record in results.records})
    notes = [f"{len(results.records):,} records of {len(names)} problems, protocol {results.protocol!r}."]
    if results.designs:
        notes.append(f"{len(results.designs):,} of them are of {DESIGNS_NOTE}")
    if results.protocol == "quick":
        notes.append(QUICK_NOTE)
    threads = sorted(
        {str(record.settings["n_threads"]) for record in results.records if "n_threads" in record.settings}
    )
    versions = sorted({record.versions.get("genbayes", "?") for record in results.records if record.versions})
    if versions:
        notes.append(
            f"Computed with genbayes {', '.join(versions)}{_sources(results)}"
            + (f" on {' or '.join(threads)} thread(s) a fit." if threads else ".")
        )
    emulation = [record for record in results.records if not is_sequential(record)]
    for (problem, note), n in Counter((record.problem, note_of(record)) for record in emulation).items():
        if note:
            notes.append(
                f"{problem_title(problem)}, {n:,} of its records: {note}; they are paired with one another only."
            )
    if emulation:
        hours = sum(record.fit_seconds + record.predict_seconds for record in emulation) / 3600
        notes.append(f"Fitting and scoring took {hours:.1f} hours in all, one job after another; designs not counted.")
    if results.failures:
        notes.append(f"Runs that failed: {len(results.failures)}; they are listed below and count for nobody.")
    return notes


def _sources(results: Results) -> str:
    """By how many states of the source code, which change more often than the version."""
    known = [record.versions[SOURCE] for record in results.records if SOURCE in record.versions]
    unknown = sum(bool(record.versions) for record in results.records) - len(known)
    parts = [f"{len(set(known)):,} states of its source" if len(set(known)) > 1 else ""]
    parts.append(f"{unknown:,} records by states that were not noted" if unknown and known else "")
    return f" ({'; '.join(part for part in parts if part)})" if any(parts) else ""


def _bullets(sentences: Sequence[str]) -> str:
    return "\n".join(f"- {sentence}" for sentence in sentences)
