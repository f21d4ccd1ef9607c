"""The shared folder: data that may not be passed on with the package, found beside the repository or where told.

Problems that need a file of it are skipped, with the reason, where it is absent.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from genbayes.errors import UnreadableFile

if TYPE_CHECKING:
    import pandas as pd


VARIABLE = "GENBAYES_SHARED"
BESIDE = Path(__file__).parents[5] / "shared"  # ../shared of a clone, whose package lies in benchmarks/src


def shared_path(name: str) -> Path | None:
    """Where a file of the shared folder lies, or None if there is none.

    Args:
        name: Path below the folder, such as "data/uci/yacht.csv".

    Example:
        >>> shared_path("data/no-such-file.csv") is None
        True
    """
    folder = os.environ.get(VARIABLE)
    path = (Path(folder) if folder else BESIDE) / name
    return path if path.is_file() else None


def why_absent(name: str) -> str | None:
    """Why a file of the shared folder cannot be read, or None if it can.

    Example:
        >>> why_absent("data/no-such-file.csv")
        'its file data/no-such-file.csv is not in the folder of shared data; set GENBAYES_SHARED to that folder'
    """
    if shared_path(name) is not None:
        return None
    return f"its file {name} is not in the folder of shared data; set {VARIABLE} to that folder"


def read_shared(name: str) -> pd.DataFrame:
    """The table in a file of the shared folder, kept in memory; not to be changed."""
    return _read(shared_file(name))


def shared_file(name: str) -> Path:
    """Where a file of the shared folder lies; `UnreadableFile` if there is none."""
    path = shared_path(name)
    if path is None:
        raise UnreadableFile(f"{name} must be in the folder of shared data, got none; set {VARIABLE} to that folder")
    return path


@cache
def _read(path: Path) -> pd.DataFrame:
    from genbayes.data import read_table

    return read_table(path)
