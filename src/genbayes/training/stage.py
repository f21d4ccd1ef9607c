"""A line that says what is being done, on standard error, only where somebody can see it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["show_stage"]


@contextmanager
def show_stage(title: str, visible: bool) -> Iterator[Callable[[str], None]]:
    """A function to call with what is about to be done; inside the block it is shown with a clock.

    Example:
        >>> with show_stage("choosing", visible=False) as announce:
        ...     announce("nothing is shown")
    """
    if not visible:
        yield lambda what: None
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=None)
        yield lambda what: bar.update(task, description=f"{title}: {what}")
