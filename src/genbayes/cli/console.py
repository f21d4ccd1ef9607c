"""How the command line speaks: results to standard output, everything else to standard error.

Standard output is for what was asked (a table, or one JSON object with `--json`) and may be piped; progress, news,
warnings and errors go to standard error. An error is one sentence.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from genbayes.errors import InvalidInput
from genbayes.writing import OBEYED, jsonable, visible

if TYPE_CHECKING:
    from rich.console import Console

    from genbayes.diagnostics import Assessment

BARS = "▁▂▃▄▅▆▇█"
GAP = 3  # spaces between the columns of a table; one more stands at each end of a line
CRPS_IN_WORDS = (
    "CRPS: the average distance between prediction and outcome, in the unit of the response; smaller is better."
)


class StoppedError(RuntimeError):
    """Ctrl-C, with a sentence on what became of the files."""


@contextmanager
def interruptible(outcome: str) -> Iterator[None]:
    """Turn Ctrl-C within the block into `StoppedError`, which says what became of the files."""
    try:
        yield
    except KeyboardInterrupt as error:
        raise StoppedError(f"stopped by Ctrl-C; {outcome}") from error


def standard_output() -> Console:
    """Where results go."""
    from rich.console import Console

    return Console(highlight=False)


def standard_error() -> Console:
    """Where news, warnings and errors go."""
    from rich.console import Console

    return Console(stderr=True, highlight=False)


def shows_progress(quiet: bool = False) -> bool:
    """Whether a progress bar would be seen: only on a terminal, and only if not asked to be quiet."""
    return not quiet and sys.stderr.isatty()


def print_error(sentence: str) -> None:
    """One line `Error: ...` on standard error, never wrapped, so that scripts can read it."""
    _say("Error:", "bold red", sentence)


def print_warning(sentence: str) -> None:
    """One line `Warning: ...` on standard error."""
    _say("Warning:", "bold yellow", sentence)


def print_news(sentence: str, quiet: bool = False) -> None:
    """One line on standard error about what is being done."""
    if not quiet:
        from rich.text import Text

        standard_error().print(Text(visible(sentence), style="dim"), soft_wrap=True)


def print_start(sentence: str, quiet: bool = False) -> None:
    """The first line on a terminal, before anything heavy is loaded; a pipe, which nobody watches, gets none."""
    print_news(sentence, quiet=not shows_progress(quiet))


def print_json(answer: Mapping[str, object]) -> None:
    """One JSON object on standard output; what JSON cannot say (NaN, infinity) becomes null."""
    text = json.dumps(jsonable(answer), ensure_ascii=False, allow_nan=False)
    print(OBEYED.sub(lambda found: f"\\u{ord(found[0]):04x}", text))  # JSON has spelt out only some of them


def print_facts(title: str, facts: Mapping[str, str]) -> None:
    """A title and a column of names and values, the values wrapped within their column."""
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="cyan", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in facts.items():
        grid.add_row(Text(f"  {visible(name)}"), Text(visible(value)))
    console = standard_output()
    console.print(Text(visible(title), style="bold"), soft_wrap=True)
    console.print(grid)


def print_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]], *, note: str = "") -> None:
    """A small table with its title above and a note below; what looks like a number stands to the right."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    cells = [list(row) for row in rows]
    table = Table(box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False)
    for i, column in enumerate(columns):
        numbers = all(row[i][:1] in "-0123456789" for row in cells)
        table.add_column(Text(visible(column)), justify="right" if numbers else "left", overflow="fold")
    for row in cells:
        table.add_row(*[Text(visible(cell)) for cell in row])
    console = standard_output()
    if title:
        console.print(Text(visible(title), style="bold"), soft_wrap=True)
    console.print(table)
    if note:
        print_sentence(note, style="dim")


def column_widths(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> list[int]:
    """How wide each column of a table is where no cell is broken.

    Example:
        >>> column_widths(["x", "mean"], [["0.25", "1"], ["-0.25", "2"]])
        [5, 4]
    """
    from rich.cells import cell_len

    return [max(cell_len(visible(cell)) for cell in cells) for cells in zip(columns, *rows, strict=True)]


def print_sentence(sentence: str, style: str = "") -> None:
    """Prose on standard output: wrapped between words for a reader, on one line for a pipe."""
    from rich.text import Text

    console = standard_output()
    console.print(Text(visible(sentence), style=style), soft_wrap=not console.is_terminal)


def print_next(*commands: str) -> None:
    """What one might type next."""
    from rich.text import Text

    console = standard_output()
    console.print(Text("\nNext", style="bold"))
    for command in commands:
        console.print(Text(f"  {visible(command)}", style="green"), soft_wrap=True)


def route_warnings() -> None:
    """Show Python warnings as one line each; call within `warnings.catch_warnings`, which undoes it."""

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        print_warning(" ".join(str(message).split()))

    warnings.showwarning = show


def _say(word: str, style: str, sentence: str) -> None:
    from rich.text import Text

    one_line = visible(" ".join(sentence.split()))
    standard_error().print(Text.assemble((word, style), " ", one_line), soft_wrap=True)


def check_paths(reads: Sequence[Path], writes: Mapping[str, Path | None]) -> None:
    """Refuse a path that cannot be written, or that would overwrite a file of the same command line.

    Args:
        reads: Files that the command reads.
        writes: Files that it writes, by the option that names them; None where the option was not given.
    """
    from genbayes.writing import check_writable

    taken = {Path(os.path.realpath(path)): "the files that are read" for path in reads}
    for option, path in writes.items():
        if path is None:
            continue
        place = Path(os.path.realpath(check_writable(path)))
        if place in taken:
            raise InvalidInput(f"{option} must differ from {taken[place]}, got {str(path)!r} for both")
        taken[place] = option


def print_scores(assessment: Assessment, title: str) -> None:
    """The scores of a model on rows it has not seen."""
    s = assessment.to_dict()
    low, high = s["coverage_90_expected"]
    parts = s["diagnostics"]["crps_decomposition"]
    rows = [
        ("CRPS", f"{s['crps']:.4g} ± {s['crps_se']:.2g}", f"{s['crps_reference']:.4g} if the inputs are ignored"),
        (
            "miscalibration",
            f"{parts['miscalibration']:.4g}",
            f"part of the CRPS; about {parts['by_chance']:.2g} is expected by chance",
        ),
        ("discrimination", f"{parts['discrimination']:.4g}", f"of {parts['uncertainty']:.4g}, explained by the inputs"),
        ("RMSE", f"{s['rmse']:.4g}", "error of the predicted mean"),
        ("50% intervals", f"hold {s['coverage_50']:.0%}", f"{s['width_50']:.4g} wide"),
        (
            "90% intervals",
            f"hold {s['coverage_90']:.0%}",
            f"{s['width_90']:.4g} wide; {low:.0%} to {high:.0%} expected",
        ),
        ("PIT", draw_bars(s["pit_counts"]), "flat when calibrated"),
    ]
    note = f"{CRPS_IN_WORDS}\n{s['diagnostics']['sentence']}"
    print_table(title, ["", f"{s['n']:,} rows", ""], rows, note=note)


def draw_bars(counts: Sequence[float]) -> str:
    """A histogram one character high.

    Example:
        >>> draw_bars([0, 2, 4])
        '▁▅█'
    """
    most = max(counts)
    return "".join(BARS[round(count / most * (len(BARS) - 1))] if most else BARS[0] for count in counts)
