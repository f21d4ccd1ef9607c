"""Every public model, a campaign and the reports on fixed seeds: are their numbers those of another commit?

Only promised names are used, so this very file runs on an older commit too. To compare two commits on one machine
(another processor may round differently), write with the environment of the one and check with that of the other:

    git worktree add build/before COMMIT && make -C build/before .venv/.ready
    build/before/.venv/bin/python tools/freeze.py write build/frozen.npz
    .venv/bin/python tools/freeze.py check build/frozen.npz

`check` prints, for each item, whether its numbers are equal to the bit, equal to rounding (within `--tolerance`,
relative to the largest number of the array), different or missing, and exits with 1 on a difference or a missing item.
Where an item looks for a maximum, rounding is magnified by the search: there a thousand times the tolerance is allowed.
`--only PATTERN` runs the items whose name contains or matches it. Everything runs on one thread. Of pages the numbers
in tables and tiles and the shapes in figures are compared; their words are kept as a note only (`--words` shows them).
What is computed stands in `tools/frozen`.
"""

from __future__ import annotations

import argparse
import fnmatch
import hashlib
import os
import re
import sys
import time
import warnings
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "MKL", "OPENBLAS", "NUMEXPR")}
ENVIRONMENT = ONE_THREAD | {"MPLBACKEND": "Agg", "PYTHONHASHSEED": "0", "COLUMNS": "100", "NO_COLOR": "1"}
if __name__ == "__main__" and any(os.environ.get(name) != value for name, value in ENVIRONMENT.items()):
    os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | ENVIRONMENT)  # threads are counted at import

import numpy as np  # noqa: E402

from frozen.items import ITEMS, Values  # noqa: E402

DEFAULT_FILE = Path("build") / "frozen.npz"
MODULES = ("models", "campaigns", "pages")
ROUNDING = 1e-9
SEARCHES, MAGNIFIED = ("campaign.", "acquisition."), 1_000


def compute(pattern: str) -> Iterator[tuple[str, Values | str, float]]:
    """Name, numbers (or why there are none) and processor seconds of each item that matches."""
    import torch

    torch.set_num_threads(1)
    for module in MODULES:
        import_module(f"frozen.{module}")
    for name, function in ITEMS.items():
        if pattern not in name and not fnmatch.fnmatch(name, pattern):
            continue
        start = time.process_time()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                values: Values | str = {key: np.asarray(value) for key, value in function().items()}
        except Exception as error:  # shown in the table
            values = f"{type(error).__name__}: {error}"
        yield name, values, time.process_time() - start


def digest(values: Values) -> str:
    """A short hash of an item, words left out."""
    found = hashlib.sha256()
    for key in sorted(key for key in values if not key.endswith("~")):
        found.update(key.encode() + np.ascontiguousarray(values[key]).tobytes())
    return found.hexdigest()[:12]


def write(path: Path, pattern: str) -> int:
    """Compute and store; items already stored that do not match stay."""
    import genbayes

    stored: Values = dict(np.load(path)) if path.exists() and pattern else {}
    n_failed = 0
    for name, values, seconds in compute(pattern):
        if isinstance(values, str):
            n_failed += 1
            print(f"{name:42} {seconds:6.1f} s  FAILED  {values[:200]}", flush=True)
            continue
        stored = {key: value for key, value in stored.items() if not key.startswith(f"{name}/")}
        stored |= {f"{name}/{key}": value for key, value in values.items()}
        print(f"{name:42} {seconds:6.1f} s  {digest(values)}", flush=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        np.savez_compressed(file, **stored)
    print(f"{len({key.partition('/')[0] for key in stored})} items of {Path(genbayes.__file__).parent} in {path}")
    return int(n_failed > 0)


def difference(new: Any, old: Any) -> float:
    """0 for equal to the bit; else the largest difference as a share of the largest number; inf for other shapes."""
    if new.shape != old.shape or new.dtype.kind != old.dtype.kind:
        return np.inf
    if new.tobytes() == old.tobytes() or (new.dtype.kind in "US" and np.array_equal(new, old)):
        return 0.0
    if new.dtype.kind not in "fiub" or not np.array_equal(np.isfinite(new), np.isfinite(old)):
        return np.inf
    known = np.isfinite(old)
    new, old = new[known].astype(float), old[known].astype(float)
    scale = float(np.abs(old).max(initial=0.0)) or 1.0
    return max(float(np.abs(new - old).max(initial=0.0)) / scale, np.finfo(float).tiny)  # the sign of a zero


def verdict(values: Values, old: Values, tolerance: float) -> tuple[str, list[str]]:
    """What to say of an item, and the arrays that are not equal to the bit."""
    gone = [f"{key} is missing" for key in old if key not in values and not key.endswith("~")]
    told = {key: difference(values[key], old[key]) for key in old if key in values and not key.endswith("~")}
    worst = max(told.values(), default=0.0)
    order = sorted(told.items(), key=lambda pair: -pair[1])
    moved = [f"{key} {'shape or words' if d == np.inf else f'{d:.1e}'}" for key, d in order if d > 0]
    if gone or worst > tolerance:
        return "DIFFERENT", gone + moved
    return ("rounding", moved) if worst > 0 else ("equal", [])


def check(path: Path, pattern: str, tolerance: float, *, words: bool) -> int:
    """Compute, compare and print a table."""
    import genbayes

    print(f"{Path(genbayes.__file__).parent} against {path}")
    stored = np.load(path)
    old: dict[str, Values] = {}
    for key in stored.files:
        name, _, part = key.partition("/")
        old.setdefault(name, {})[part] = stored[key]
    counts: dict[str, int] = {}
    for name, values, seconds in compute(pattern):
        if isinstance(values, str):
            said, moved = "MISSING", [values[:300]]
        elif name not in old:
            said, moved = "not stored", []
        else:
            said, moved = verdict(values, old[name], tolerance * (MAGNIFIED if name.startswith(SEARCHES) else 1))
        counts[said] = counts.get(said, 0) + 1
        print(f"{name:42} {seconds:6.1f} s  {said:10}  {'; '.join(moved[:6])}", flush=True)
        if words and isinstance(values, dict) and "words~" in values and name in old:
            show_words(str(old[name]["words~"][0]), str(values["words~"][0]))
    print(", ".join(f"{n} {said}" for said, n in counts.items()))
    return int(bool(counts.keys() & {"DIFFERENT", "MISSING"}))


def show_words(old: str, new: str) -> None:
    """Sentences of a page that changed."""
    before, after = (re.split(r"(?<=[.!?]) ", text) for text in (old, new))
    for sign, sentences, others in (("-", before, after), ("+", after, before)):
        for sentence in sentences:
            if sentence not in others:
                print(f"    {sign} {sentence}")


def main() -> int:
    """Parse the arguments, write or check."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=["write", "check", "list"])
    parser.add_argument("file", type=Path, nargs="?", default=DEFAULT_FILE)
    parser.add_argument("--only", default="", metavar="PATTERN", help="items whose name contains or matches it")
    parser.add_argument("--tolerance", type=float, default=ROUNDING, metavar="RTOL")
    parser.add_argument("--words", action="store_true", help="show sentences of pages that changed")
    given = parser.parse_args()
    if given.action == "list":
        for module in MODULES:
            import_module(f"frozen.{module}")
        print("\n".join(ITEMS))
        return 0
    if given.action == "write":
        return write(given.file, given.only)
    return check(given.file, given.only, given.tolerance, words=given.words)


if __name__ == "__main__":
    sys.exit(main())
