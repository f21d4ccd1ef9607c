"""`genbayes predict`: mean, spread, quantiles and draws for each row of a table."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from genbayes.cli.console import (
    GAP,
    check_paths,
    column_widths,
    print_facts,
    print_json,
    print_table,
    print_warning,
    standard_output,
)
from genbayes.cli.options import AsJson, DropMissing, ModelFile, load_surrogate, parse_levels, require_room, with_text
from genbayes.errors import InvalidInput

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from genbayes.arrays import FloatArray
    from genbayes.distribution import PredictiveDistribution


SHOWN_ROWS = 20  # of a table printed in a terminal


def predict(
    model: ModelFile,
    new: Annotated[Path, typer.Argument(metavar="NEW", help="Table of inputs, one per row: CSV, Parquet or .xlsx.")],
    quantiles: Annotated[str, typer.Option(metavar="A,B,...", help="Levels between 0 and 1.")] = "0.05,0.5,0.95",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="TABLE", help="Table to write: CSV or Parquet.")
    ] = None,
    mean: Annotated[bool, typer.Option(help="Whether to give mean and standard deviation.")] = True,
    samples: Annotated[int, typer.Option(min=0, metavar="N", help="Random draws for each row.")] = 0,
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Seed of the draws.")] = 0,
    drop_missing: DropMissing = False,
    as_json: AsJson = False,
) -> None:
    """Predict the distribution of the response at new inputs.

    Example: genbayes predict model.gb new.csv --quantiles 0.05,0.5,0.95 -o out.csv
    """
    import numpy as np

    from genbayes.data import check_table_path, read_table, write_table
    from genbayes.data.columns import drop_missing as leave_out
    from genbayes.data.columns import input_names, take_inputs
    from genbayes.models.base import ROWS_AT_ONCE
    from genbayes.seeding import as_generator

    levels = parse_levels(quantiles)
    require_room(samples, 1, "--samples")
    check_paths([model, new], {"--output": output})
    if output is not None:
        check_table_path(output)
    surrogate = load_surrogate(model)
    table = with_text(read_table(new), new, surrogate)
    if drop_missing:
        table = leave_out(table, input_names(surrogate, list(table.columns)))
    require_room(samples, len(table), "--samples")
    X = take_inputs(surrogate, table)
    far = int(surrogate.extrapolates(X).sum())
    rng = as_generator(seed)
    pieces = [
        _answers(surrogate.predict_distribution(some), levels, mean=mean, n_samples=samples, rng=rng)
        for some in (X[start : start + ROWS_AT_ONCE] for start in range(0, max(len(X), 1), ROWS_AT_ONCE))
    ]
    answers = {name: np.concatenate([piece[name] for piece in pieces]) for name in pieces[0]}
    if far:
        print_warning(f"{far:,} of {len(X):,} rows lie far from every training input; trust their predictions less")
    result = _join(table, answers, new.name)
    if output is not None:
        write_table(result, output)
    if as_json:
        print_json(_as_json(result, output, far))
    elif output is not None:
        print_facts(f"Predicted {len(result):,} rows", {"table": str(output), "new columns": ", ".join(answers)})
    else:
        _show(result, list(answers))


def _answers(
    distribution: PredictiveDistribution,
    levels: list[float],
    *,
    mean: bool,
    n_samples: int,
    rng: np.random.Generator,
) -> dict[str, FloatArray]:
    """New columns by name, of which each level has its own."""
    import numpy as np

    names = [f"q{np.format_float_positional(level, trim='-')}" for level in levels]
    answers = {"mean": distribution.mean(), "sd": distribution.std()} if mean else {}
    answers |= dict(zip(names, distribution.ppf(levels).T, strict=True))
    if n_samples:
        draws = distribution.sample(n_samples, random_state=rng).T
        answers |= {f"sample_{i}": column for i, column in enumerate(draws, start=1)}
    return answers


def _join(table: pd.DataFrame, answers: dict[str, FloatArray], name: str) -> pd.DataFrame:
    import pandas as pd

    clash = next((column for column in answers if column in table.columns), None)
    if clash is not None:
        raise InvalidInput(
            f"the table must have no column {clash!r}, which the prediction adds, got one in {name!r}; rename it"
        )
    return pd.concat([table, pd.DataFrame(answers, index=table.index)], axis=1)


def _as_json(result: pd.DataFrame, output: Path | None, far: int) -> dict[str, object]:
    answer: dict[str, object] = {"rows": len(result), "columns": list(result.columns), "extrapolating": far}
    if output is not None:
        return answer | {"output": str(output)}
    return answer | {"predictions": json.loads(result.to_json(orient="records", double_precision=15))}


def _show(result: pd.DataFrame, answers: list[str]) -> None:
    """A table for a reader, with the columns that the terminal has room for; CSV for a pipe."""
    if not sys.stdout.isatty():
        print(result.to_csv(index=False, lineterminator="\n"), end="")
        return
    rows = [[_cell(value) for value in row] for row in result.head(SHOWN_ROWS).itertuples(index=False)]
    names = [str(name) for name in result.columns]
    kept = _fitting(column_widths(names, rows), len(answers))
    hidden = {"rows": len(result) - len(rows), "columns": len(names) - len(kept)}
    more = " and ".join(f"{n:,} more {what if n > 1 else what[:-1]}" for what, n in hidden.items() if n)
    note = f"and {more}; -o out.csv writes them all" if more else ""
    print_table("", [names[j] for j in kept], [[row[j] for j in kept] for row in rows], note=note)


def _fitting(widths: list[int], n_answers: int) -> list[int]:
    """Which columns fit on a line of the terminal: first the answers, which stand last, then inputs in their order."""
    room, kept = standard_output().width - 2, list[int]()  # a space at each end
    n_others = len(widths) - n_answers
    for j in [*range(n_others, len(widths)), *range(n_others)]:
        if kept and widths[j] > room:
            break
        kept.append(j)
        room -= widths[j] + GAP
    return sorted(kept)


def _cell(value: object) -> str:
    return f"{value:.5g}" if isinstance(value, float) else str(value)
