"""`genbayes bench`: the commands of the second distribution, genbayes-bench, where it is installed."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Annotated

import typer

from genbayes.errors import MissingExtra

HELP = "Measure methods on benchmark problems; stop and go on at any time."


def mount(app: typer.Typer) -> None:
    """Give `genbayes` its command `bench`, or one that says how to get it."""
    if find_spec("genbayes_bench"):
        from genbayes_bench.cli import app as bench

        app.add_typer(bench, name="bench")
    else:
        app.command("bench", help=HELP, context_settings={"ignore_unknown_options": True})(missing)


def missing(words: Annotated[list[str] | None, typer.Argument(hidden=True)] = None) -> None:
    """Refuse, with the way out."""
    raise MissingExtra(
        "genbayes-bench must be installed for genbayes bench, got none; "
        "in a clone of the repository: pip install -e benchmarks"
    )
