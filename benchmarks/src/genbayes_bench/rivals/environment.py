"""The rivals' own environment: packages whose requirements do not go with ours, called as a program.

`make rivals` puts sbi and AutoGluon into `.rivals` of the clone, or set GENBAYES_RIVALS to a virtual environment that
has them. Arrays go over and come back as `.npz` files that hold no objects; `foreign` is what runs there.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import numpy as np

from genbayes.arrays import FloatArray
from genbayes.errors import GenBayesError
from genbayes_bench.limits import VARIABLES
from genbayes_bench.rivals.process import run_program

VARIABLE = "GENBAYES_RIVALS"
OF_CLONE = Path(__file__).parents[4] / ".rivals"  # of a clone, whose package lies in benchmarks/src
ONE_HOUR = 3600.0


class RivalMissing(GenBayesError, ImportError):
    """The rivals' environment, or a package in it, is not installed."""


class RivalFailed(GenBayesError, RuntimeError):
    """A rival stopped with an error, or answered with something else than was asked."""


@dataclass(frozen=True)
class Answer:
    """What a rival handed back.

    Attributes:
        arrays: Its arrays, by name.
        facts: Its cpu seconds ("fit_seconds", "draw_seconds"), "versions", and what else it tells of itself.
    """

    arrays: Mapping[str, FloatArray]
    facts: Mapping[str, Any]


def find_environment() -> Path | None:
    """The folder of the rivals' environment, or None if there is none."""
    folder = Path(os.environ.get(VARIABLE) or OF_CLONE)
    return folder if _python(folder).exists() else None


def why_missing(package: str) -> str | None:
    """Why a package of the rivals' environment cannot be called, or None if it can.

    Example:
        >>> why_missing("no_such_package")
        'no_such_package is not in the environment of the rivals; make rivals installs it'
    """
    folder = find_environment()
    places = [] if folder is None else [*folder.glob("lib/python*/site-packages"), folder / "Lib/site-packages"]
    if any((place / package).is_dir() for place in places):
        return None
    return f"{package} is not in the environment of the rivals; make rivals installs it"


def call_rival(
    name: str,
    package: str,
    arrays: Mapping[str, FloatArray],
    settings: Mapping[str, Any],
    timeout: float = ONE_HOUR,
) -> Answer:
    """Run a rival on arrays, on one thread.

    Args:
        name: Of the rival in `foreign.RIVALS`.
        package: That it needs.
        arrays: What it is given, by name.
        settings: Plain values.
        timeout: Seconds after which it is ended.

    Returns:
        Its arrays and facts.
    """
    reason, folder = why_missing(package), find_environment()
    if reason is not None or folder is None:
        raise RivalMissing(reason or f"{package} must be in the environment of the rivals; make rivals installs it")
    one_thread = {**dict.fromkeys(VARIABLES, "1"), "PYTHONPATH": "", "PYTHONWARNINGS": "ignore"}
    with (
        tempfile.TemporaryDirectory(prefix="genbayes-rival-") as place,
        as_file(files(__package__) / "foreign.py") as script,
    ):
        np.savez(Path(place) / "in.npz", allow_pickle=False, **{key: np.asarray(v) for key, v in arrays.items()})
        (Path(place) / "settings.json").write_text(json.dumps(dict(settings)), encoding="utf-8")
        try:
            spoken = run_program([str(_python(folder)), "-P", str(script), name], Path(place), timeout, one_thread)
        except subprocess.TimeoutExpired:
            raise RivalFailed(f"{name} must end within {timeout:g} seconds, got no answer; raise the timeout") from None
        if spoken.code:
            raise RivalFailed(f"{name} must run to its end, got exit code {spoken.code}: {spoken.last_message()}")
        return _read(Path(place), name)


def _read(folder: Path, name: str) -> Answer:
    try:
        with np.load(folder / "out.npz", allow_pickle=False) as file:
            arrays = dict(file)
        facts = json.loads((folder / "facts.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        raise RivalFailed(f"{name} must answer with out.npz and facts.json, got {error}") from error
    wrong = [key for key, value in arrays.items() if not np.isfinite(value).all()]
    if wrong:
        raise RivalFailed(f"{name} must answer with finite numbers, got NaN or infinity in {wrong[0]!r}")
    return Answer(arrays, facts)


def _python(folder: Path) -> Path:
    return folder / "Scripts/python.exe" if sys.platform == "win32" else folder / "bin/python"
