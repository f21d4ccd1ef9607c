"""`genbayes demo`: the motorcycle data from table to report, in under a minute, by the automatic choice."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from genbayes.cli.console import (
    interruptible,
    print_json,
    print_news,
    print_next,
    print_scores,
    print_sentence,
    print_start,
    standard_output,
)
from genbayes.cli.fitting import HELD_OUT, model_maker, tell_out_of_fold
from genbayes.cli.options import AsJson, Jobs, TimeLimit

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from rich.text import Text

    from genbayes.arrays import FloatArray
    from genbayes.auto import AutoSurrogate

INPUT, TARGET = "times", "accel"
SEED = 0
WIDTH = 64  # characters of the picture
FAN_TAU = (0.05, 0.25, 0.5, 0.75, 0.95)
SHADES = {" ": "", "░": "blue", "▒": "bright_blue", "━": "bold white", "•": "bold yellow"}


def demo(
    report: Annotated[Path, typer.Option(metavar="PAGE", help="HTML page to write.")] = Path("demo-report.html"),
    time_limit: TimeLimit = None,
    jobs: Jobs = None,
    as_json: AsJson = False,
) -> None:
    """Fit the bundled motorcycle data, score the fit and write a report."""
    print_start("Motorcycle crash tests: the acceleration of a rider's head after impact.", as_json)
    from genbayes.data import hold_out, load_motorcycle, split_target
    from genbayes.report import write_assessment
    from genbayes.validation import check_jobs
    from genbayes.writing import check_writable

    check_writable(report)
    make = model_maker(None, {"time_limit": time_limit, "n_jobs": check_jobs(jobs)}, SEED, quiet=as_json)
    table = load_motorcycle()
    X, y = split_target(table, TARGET)
    learn, held = hold_out(len(y), HELD_OUT, SEED)
    print_news(f"Choosing a surrogate on {len(learn)} runs; {len(held)} are held out for scoring.", as_json)
    started = time.perf_counter()
    with interruptible("no report was written"):
        model = make().fit(X.iloc[learn], y[learn])
        seconds = round(time.perf_counter() - started, 3)
        beyond = tell_out_of_fold(model.report_, len(held))
        scores = write_assessment(
            report,
            model,
            X.iloc[held],
            y[held],
            title="Motorcycle crash tests",
            scored_on=f"{len(held)} of {len(y)} runs, held out at random",
            target="head acceleration (g)",
            notes=[beyond, "Data: Silverman (1985), from the R package MASS."],
            everywhere=X,
        )
    if as_json:
        chosen = {"chosen": model.report_.chosen, "reason": model.report_.reason}
        print_json({"rows": len(y), "seconds": seconds, **chosen, "report": str(report), "scores": scores.to_dict()})
        return
    _print_fan(model, table)
    titles = [entry.title for entry in model.report_.entries if entry.weight > 0]
    print_sentence(f"Chosen on {len(learn)} runs: {', '.join(titles)}", style="bold")
    print_sentence(f"{model.report_.reason}\n")
    print_scores(scores, f"Fitted in {seconds:.1f} s; scored on the {len(held)} runs held out")
    print_sentence(beyond)
    print_next(
        f"Open {report} in a browser, or fit a table of your own:",
        "genbayes fit runs.csv --target y -o model.gb --report report.html",
    )


def _print_fan(model: AutoSurrogate, table: pd.DataFrame) -> None:
    """Acceleration of the head over time, if the terminal can show it."""
    import numpy as np
    import pandas as pd
    from rich.text import Text

    console = standard_output()
    if not console.encoding.lower().startswith("utf"):
        return
    seen, response = table[INPUT].to_numpy(float), table[TARGET].to_numpy(float)
    times = np.linspace(seen.min(), seen.max(), WIDTH)
    q = model.predict_quantiles(pd.DataFrame({INPUT: times}), list(FAN_TAU))
    left, right = f"{times[0]:g} ms", f"{times[-1]:g} ms"
    console.print(Text("\nHead acceleration (g) after impact", style="bold"))
    console.print(draw_fan(times, q, seen, response))
    console.print(Text(f"      {left}{right:>{WIDTH - len(left)}}", style="dim"))
    console.print(Text("      • runs   ━ median   ▒ 50%   ░ 90%\n", style="dim"))


def draw_fan(x: FloatArray, q: FloatArray, x_seen: FloatArray, y_seen: FloatArray, n_lines: int = 16) -> Text:
    """Lines of text with the fan of q, one character column for each x.

    Args:
        x: Increasing, evenly spaced inputs, shape (n,).
        q: Quantiles at the levels `FAN_TAU`, shape (n, 5).
        x_seen: Inputs of observed points within the range of x, shape (m,).
        y_seen: Their responses, shape (m,).
        n_lines: Height of the picture.

    Example:
        >>> import numpy as np
        >>> x, q = np.array([0.0, 1.0]), np.array([[0.0, 1.0, 2.0, 3.0, 4.0]] * 2)
        >>> print(draw_fan(x, q, np.array([1.0]), np.array([4.0]), n_lines=5).plain)
           4 ┤░•
             │▒▒
             │━━
             │▒▒
           0 ┤░░
             └──
    """
    import numpy as np

    low, high = min(q.min(), y_seen.min()), max(q.max(), y_seen.max())
    height = (high - low) or 1.0
    lines = np.rint((high - q) / height * (n_lines - 1)).astype(int)  # 0 is the top line
    cells = np.full((n_lines, len(x)), " ")
    for column, (p05, p25, p50, p75, p95) in enumerate(lines):
        cells[p95 : p05 + 1, column] = "░"
        cells[p75 : p25 + 1, column] = "▒"
        cells[p50, column] = "━"
    column_seen = np.rint((x_seen - x[0]) / (x[-1] - x[0]) * (len(x) - 1)).astype(int)
    line_seen = np.rint((high - y_seen) / height * (n_lines - 1)).astype(int)
    cells[line_seen, column_seen] = "•"
    picture = _paint(cells, low, high)
    picture.append(f"     └{'─' * len(x)}", style="dim")
    return picture


def _paint(cells: np.ndarray[tuple[int, int], np.dtype[np.str_]], low: float, high: float) -> Text:
    from rich.text import Text

    labels = {0: f"{high:4.0f} ┤", len(cells) - 1: f"{low:4.0f} ┤"}
    picture = Text()
    for number, line in enumerate(cells):
        picture.append(labels.get(number, "     │"), style="dim")
        for character in line:
            picture.append(character, style=SHADES[character])
        picture.append("\n")
    return picture
