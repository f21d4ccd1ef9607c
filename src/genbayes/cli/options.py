"""Options that several commands share, options that carry more than one value, and what the library calls them.

Each parser turns what a user typed into what the library expects, or raises `InvalidInput` in the words of the
command line; what the values mean is checked where they are used, and `name_options` translates that.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from genbayes.errors import InvalidInput

if TYPE_CHECKING:
    import pandas as pd

    from genbayes.arrays import FloatArray

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object for scripts.")]
Jobs = Annotated[int | None, typer.Option(metavar="N", help="Cores to use, -1 for all; for the automatic choice.")]
DropMissing = Annotated[bool, typer.Option("--drop-missing", help="Leave rows with missing cells out, and count them.")]
ModelFile = Annotated[Path, typer.Argument(metavar="MODEL", help="Model file that fit wrote.")]
Inputs = Annotated[str | None, typer.Option(metavar="A,B,...", help="Input columns; all but the target unless given.")]
Categorical = Annotated[str | None, typer.Option(metavar="A,B,...", help="Inputs that are categories.")]
ResponseBounds = Annotated[
    str | None, typer.Option(metavar="LOWER,UPPER", help="Bounds of the response; either may be left out: 0,")
]
RunsFile = Annotated[Path, typer.Argument(metavar="RUNS", help="Table of runs, one per row: CSV, Parquet or .xlsx.")]
Seed = Annotated[int, typer.Option(min=0, metavar="N", help="Seed of all random choices.")]
TimeLimit = Annotated[
    float | None, typer.Option(metavar="SECONDS", help="Time that a fit may take, for the automatic choice.")
]
Page = Annotated[Path | None, typer.Option(metavar="PAGE", help="Also write an HTML page with pictures.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but warnings and errors.")]
Target = Annotated[str, typer.Option(metavar="COLUMN", help="Column that holds the response.")]


# Arguments of the library whose options are spelt in another way than with dashes.
RENAMED = {
    "n_epochs": "--epochs",
    "n_jobs": "--jobs",
    "n_members": "--members",
    "n_samples": "--samples",
    "random_state": "--seed",
    "tau": "--quantiles",
    "y_bounds": "--bounds",
}
# `categorical`, categorical=, n_members=5 and y_bounds=(0, None) as the library writes them; no user's word in quotes.
DROP, LEAVE_OUT = "; drop or repair them", "; repair them, or leave such rows out with --drop-missing"
MOST_DRAWN = 20_000_000  # numbers in all rows together: about 400 MB of CSV
NAMED = re.compile(r"`(\w+)`|(?<![-'\w])([a-z_]+)=(?:\[[^]]*\]|\([^)]*\)|'?([\w.-]*)'?)")


def option_of(argument: str) -> str:
    """The option that sets an argument of the library.

    Example:
        >>> option_of("y_bounds"), option_of("time_limit")
        ('--bounds', '--time-limit')
    """
    return RENAMED.get(argument, "--" + argument.replace("_", "-"))


def name_options(sentence: str, options: Collection[str], typed: Collection[str]) -> str:
    """A sentence of the library's with options in place of the arguments that they set.

    Args:
        sentence: What is wrong: `<argument> must <rule>, got <value>; <what to do>`.
        options: Those that the command has; advice may name each of them.
        typed: Words of the command line; only an option among them can be what is wrong.

    Example:
        >>> name_options("tau must lie below 1, got 2.0", ["--quantiles"], ["--quantiles", "2"])
        '--quantiles must lie below 1, got 2.0'
        >>> name_options("X must be numeric, got text; name it in categorical=", ["--categorical"], [])
        'X must be numeric, got text; name it in --categorical'
    """

    def advise(found: re.Match[str]) -> str:
        option = option_of(found[1] or found[2])
        return f"{option} {found[3] or ''}".strip() if option in options else found[0]

    if "--drop-missing" in options and " must not be missing, " in sentence:
        sentence = sentence.replace(DROP, LEAVE_OUT)
    argument, must, rest = NAMED.sub(advise, sentence).partition(" must ")
    is_typed = option_of(argument) in {word.partition("=")[0] for word in typed} & set(options)
    return (option_of(argument) if is_typed else argument) + must + rest


def read_runs(path: Path, **columns: list[str] | None) -> pd.DataFrame:
    """A table in which all `columns` stand that options name; asked before anything is loaded that takes seconds."""
    from genbayes.data import read_table
    from genbayes.data.columns import require_column

    table = read_table(path)
    for option, names in columns.items():
        for name in names or ():
            require_column(name, table, option)
    return table


def with_text(table: pd.DataFrame, path: Path, surrogate: Any, target: str | None = None) -> pd.DataFrame:
    """The table of a path as a fitted model knows its categories: 01 is the text '01' where fit has seen text."""
    from pandas.api.types import is_string_dtype

    from genbayes.data import read_table
    from genbayes.data.columns import input_names, text_categories

    names = input_names(surrogate, [name for name in table.columns if name != target])
    text = [name for name in text_categories(surrogate, names) if name in table.columns]
    return table if all(is_string_dtype(table[name]) for name in text) else read_table(path, text)


def split_runs(
    table: pd.DataFrame, target: str, inputs: list[str] | None, categorical: list[str] | None, drop_missing: bool
) -> tuple[pd.DataFrame, FloatArray, int]:
    """Inputs, (n, d), and responses, (n,), of a table of runs with enough rows to learn from; how many were dropped."""
    from genbayes.data import split_target
    from genbayes.data.matrix import MIN_ROWS

    X, y = split_target(table, target, inputs, categorical or [], "drop" if drop_missing else "error")
    if len(y) < MIN_ROWS:
        raise InvalidInput(f"At least {MIN_ROWS} runs are needed; the table has {len(y)}")
    return X, y, len(table) - len(y)


def require_room(n: int, n_rows: int, option: str, n_columns: int = 1) -> None:
    """Refuse more numbers than a table can sensibly hold, n draws of n_columns for each row, before any is drawn.

    Example:
        >>> require_room(10**9, 2, "--samples")
        Traceback (most recent call last):
        genbayes.errors.InvalidInput: --samples must be at most 10,000,000 for 2 rows, got 1,000,000,000; ask for fewer
    """
    if n * n_rows * n_columns > MOST_DRAWN:
        most = MOST_DRAWN // (n_rows * n_columns)
        rows = f"{n_rows:,} row{'s' if n_rows > 1 else ''}"
        of_each = f" of {n_columns} parameters" if n_columns > 1 else ""
        raise InvalidInput(f"{option} must be at most {most:,} for {rows}{of_each}, got {n:,}; ask for fewer")


def load_surrogate(path: Path) -> Any:
    """The surrogate in a model file; a posterior, which answers another question, is refused."""
    from genbayes import load

    found = load(path)
    if not hasattr(found, "predict_distribution"):
        name = type(found).__name__
        raise InvalidInput(f"MODEL must be a file that fit wrote, got {name} in {path.name}; try genbayes infer sample")
    return found


def parse_names(text: str | None) -> list[str] | None:
    """Names separated by commas.

    Example:
        >>> parse_names("gas, valve")
        ['gas', 'valve']
    """
    if text is None:
        return None
    return [name.strip() for name in text.split(",") if name.strip()]


def parse_levels(text: str) -> list[float]:
    """Different quantile levels separated by commas.

    Example:
        >>> parse_levels("0.05,0.95")
        [0.05, 0.95]
    """
    levels = _numbers(text, "--quantiles", "levels such as 0.05,0.5,0.95")
    if len(set(levels)) < len(levels):
        raise InvalidInput(f"--quantiles must be different levels, got {text!r}; name each once")
    return levels


def parse_bounds(text: str | None) -> tuple[float | None, float | None] | None:
    """A lower and an upper bound, either of which may be left out.

    Example:
        >>> parse_bounds("0,")
        (0.0, None)
    """
    if text is None:
        return None
    ends = [end.strip() for end in text.split(",")]
    if len(ends) != 2 or not any(ends):
        raise InvalidInput(
            f"--bounds must be two numbers, either of which may be left out, got {text!r}; try 0,1 or 0,"
        )
    lower, upper = (_numbers(end, "--bounds", "numbers such as 0,1 or 0,")[0] if end else None for end in ends)
    return lower, upper


def parse_weights(text: str | None) -> str | tuple[float, ...] | None:
    """The name of a set of loss weights, or the three weights.

    Example:
        >>> parse_weights("0.3,0.3,0.4")
        (0.3, 0.3, 0.4)
    """
    if text is None or "," not in text:
        return text
    weights = _numbers(text, "--weights", "a name or three numbers such as 0.3,0.3,0.4")
    if len(weights) != 3:
        raise InvalidInput(f"--weights must be a name or three numbers, got {text!r}; try 0.3,0.3,0.4")
    return tuple(weights)


def shell_word(path: str | Path) -> str:
    """A path as one would type it.

    Example:
        >>> shell_word("my runs.csv")
        "'my runs.csv'"
    """
    from shlex import quote

    return quote(str(path))


def _numbers(text: str, option: str, rule: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError as error:
        raise InvalidInput(f"{option} must be {rule}, got {text!r}") from error
