"""One case after another in a process of its own, with a limit on memory and time: what became of each."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import traceback
import warnings
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

from fuzzing.damage import damaged
from fuzzing.makers import inputs_for, kept
from genbayes import load
from genbayes.errors import GenBayesError, UnreadableFile
from genbayes.models.protocols import gives_mean
from genbayes.models.registry import registered_models

SECONDS = 1.0  # of processor time a case may take, so that a busy machine is no finding
MORE_MEMORY = 200 * 2**20  # bytes of address space above what the process has when it starts
NET = "must describe a complete"  # said where a loader stated no rule and its error was caught in the end
NO_MEMORY = ("can't allocate memory", "not enough memory", "Unable to allocate")
FUZZER_BROKEN = 70  # exit code of a process whose damage could not be made
TAU = [0.05, 0.5, 0.95]


class OutOfTime(BaseException):
    """A case took longer than its second."""


class NotANumber(Exception):
    """A model answered NaN and said nothing."""


def case_bytes(files: list[Any], seed: int, number: int) -> tuple[str, bytes]:
    """The damaged file of a case, and the name of the file that was damaged."""
    name, kind, values, arrays = files[number % len(files)]
    return name, damaged(kind, values, arrays, np.random.default_rng([seed, number]))


def read_files(paths: list[Path]) -> list[Any]:
    """Name, class, values and arrays of every file."""
    return [(path.stem, *kept(path)) for path in paths]


def use(model: Any) -> None:
    """What a user does with a loaded model."""
    if hasattr(model, "condition"):
        use_posterior(model)
        return
    X = inputs_for(model)
    labels = getattr(getattr(model, "groups_", None), "labels", ())
    groups = {"groups": [labels[0]] * len(X)} if labels else {}
    answers = [model.predict_distribution(X, **groups)]
    if gives_mean(model) and model.knows_mean:
        answers.append(model.predict_distribution(X, of="mean"))
    for answer in answers:
        if np.isnan(answer.ppf(TAU)).any() or np.isnan(answer.mean()).any() or np.isnan(answer.std()).any():
            raise NotANumber("a prediction is NaN")
    model.extrapolates(X)
    model.summary()
    if hasattr(model, "report_"):
        str(model.report_)
    if getattr(model, "failure_", None) is not None:
        model.predict_failure_probability(X)


def use_posterior(model: Any) -> None:
    """What a user does with a loaded estimator of posteriors."""
    posterior = model.condition(np.full((2, *model.summary_.tail_), 0.1))
    if np.isnan(posterior.sample(20, random_state=0)).any():
        raise NotANumber("a draw is NaN")
    if np.isnan(posterior.log_prob(np.full((2, model.prior_.k), 0.2))).any():
        raise NotANumber("a density is NaN")


def try_file(path: Path) -> str:
    """What became of a file: refused by a rule, refused by the net, refused in use, or answered; else it raises."""
    try:
        model = load(path)
    except UnreadableFile as error:
        require_memory(error)
        is_stated = NET not in str(error) or isinstance(error.__cause__, GenBayesError)
        return "refused" if is_stated else "refused by the net"
    try:
        use(model)
    except GenBayesError as error:
        require_memory(error)
        return "refused in use"
    return "answered"


def require_memory(error: BaseException) -> None:
    """An error of ours must not hide that memory ran out."""
    chain: BaseException | None = error
    while chain is not None:
        if isinstance(chain, MemoryError) or any(words in str(chain) for words in NO_MEMORY):
            raise MemoryError(str(error)) from error
        chain = chain.__cause__


def run_cases(paths: list[Path], seed: int, first: int, last: int, folder: Path) -> None:
    """Run cases, first <= number < last; findings and counts are added to files in a folder."""
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    files = read_files(paths)
    for path in paths:
        use(load(path))  # loads every library, so that the limit counts what a case takes
    for entry in registered_models().values():
        entry.load_class()  # which a damaged file of another class may name
    _limit_memory()
    signal.signal(signal.SIGPROF, _time_is_up)
    counts, at = Counter[str](), os.open(folder / "at", os.O_WRONLY | os.O_CREAT)
    place = Path(tempfile.mkdtemp()) / "case.gb"
    for number in range(first, last):
        os.pwrite(at, f"{number:12d}".encode(), 0)
        try:
            name, content = case_bytes(files, seed, number)
        except Exception as error:  # ours, not the loaders': no finding
            traceback.print_exception(error)
            sys.exit(FUZZER_BROKEN)
        place.write_bytes(content)
        outcome = _outcome(place, name, number, folder)
        counts[f"{name} {outcome}"] += 1
        if (number + 1) % 100 == 0 or number + 1 == last:
            with (folder / "counts.jsonl").open("a") as lines:
                lines.write(json.dumps({"until": number + 1, "counts": counts}) + "\n")
            counts.clear()
    shutil.rmtree(place.parent)


def _outcome(place: Path, name: str, number: int, folder: Path) -> str:
    try:
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        return try_file(place)
    except (Exception, OutOfTime) as error:
        signal.setitimer(signal.ITIMER_PROF, 0)
        keep_finding(folder, number, name, type(error).__name__, "".join(traceback.format_exception(error)[-6:]))
        (folder / f"finding-{number}.gb").write_bytes(place.read_bytes())
        return f"finding: {type(error).__name__}"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def keep_finding(folder: Path, number: int, name: str, kind: str, trace: str) -> None:
    """Add a finding to the list."""
    with (folder / "findings.jsonl").open("a") as lines:
        lines.write(json.dumps({"case": number, "file": name, "kind": kind, "trace": trace}) + "\n")


def _limit_memory() -> None:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + MORE_MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def _time_is_up(number: int, frame: FrameType | None) -> None:
    raise OutOfTime(f"more than {SECONDS} s")
