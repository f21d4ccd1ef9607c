"""Files a command is about to write, checked before any long work, so that none is lost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from genbayes.errors import InvalidInput

__all__ = ["check_paths"]


def check_paths(reads: Sequence[Path], writes: Mapping[str, Path | None]) -> None:
    """Refuse a path that cannot be written, or that would overwrite a file of the same command line.

    Args:
        reads: Files that the command reads.
        writes: Files that it writes, by the option that names them; None where the option was not given.
    """
    from genbayes.writing import check_writable

    taken = {path.resolve(): "the files that are read" for path in reads}
    for option, path in writes.items():
        if path is None:
            continue
        place = check_writable(path).resolve()
        if place in taken:
            raise InvalidInput(f"{option} must differ from {taken[place]}, got {str(path)!r} for both")
        taken[place] = option
