"""A progress bar with the time left and the current loss, on standard error, only where somebody can see it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

Report = Callable[[int, int, float], None]  # step, number of steps, loss


@contextmanager
def show_progress(title: str, visible: bool) -> Iterator[Report | None]:
    """A function to report (step, steps, loss) to, drawn as a bar inside the block; None when nothing is shown.

    Example:
        >>> with show_progress("fitting", visible=False) as report:
        ...     report is None
        True
    """
    if not visible:
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (
        TextColumn("[progress.description]{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:3.0f}%"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        TextColumn("loss {task.fields[loss]}"),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=None, loss="...")

        def report(step: int, n_steps: int, loss: float) -> None:
            bar.update(task, completed=step, total=n_steps, loss=f"{loss:.4f}")

        yield report


@contextmanager
def show_count(title: str, visible: bool) -> Iterator[Callable[[int, int, str], None]]:
    """A function to report (done, all, note) to, drawn as a bar with the time left inside the block.

    Example:
        >>> with show_count("simulating", visible=False) as report:
        ...     report(10, 100, "nothing is shown")
    """
    if not visible:
        yield lambda done, all_of_them, note: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("[progress.description]{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}", markup=False),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=None, note="")
        yield lambda done, all_of_them, note: bar.update(task, completed=done, total=all_of_them, note=note)


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
