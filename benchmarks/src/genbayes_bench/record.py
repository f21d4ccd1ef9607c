"""Record: what one method did on one replicate of one problem, and the folder that such records are kept in.

While a benchmark runs, each record is a small JSON file of its own below `records/`, written atomically; `pack` gathers
them into one file of JSON lines a problem. Readers need not care which.
"""

from __future__ import annotations

import json
import math
import os
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from genbayes.errors import GenBayesWarning, InvalidInput, UnwritableFile
from genbayes.writing import jsonable, write_atomically

FORMAT = 1
SOURCE = "source"  # in `Record.versions`: a fingerprint of the package's own code
LOOSE = "records"  # folder of the records that are not packed yet
LONG_AGO = 3_600.0  # seconds: no file takes that long to write

Key = tuple[str, str, str, int, int]  # problem, protocol, method, n_train, replicate


class UnreadRecord(GenBayesWarning):
    """A file of a results folder was left out, since it holds no record of this version."""


class OtherFormat(InvalidInput):
    """A record was written by another version of this library."""


@dataclass(frozen=True)
class Record:
    """Scores and costs of one method on one replicate.

    Attributes:
        problem: Name in `PROBLEMS`.
        protocol: "paper" or "quick".
        method: Name in `METHODS`, or in `DESIGNS` where the runs were chosen one by one.
        replicate: Number of the replicate, from 0.
        seed: Seed of the method.
        n_train: Runs learnt from.
        n_test: Runs scored on.
        n_inputs: Inputs of a run.
        scores: "crps", "rmse", "coverage" and "width" of 90% intervals, and where they make sense "rmspe", "rmse_f"
            (against the noise-free response), "crps_f" and "coverage_f" (scored on it) and "ratio" (CRPS over that of
            the true distribution).
        fit_seconds: Cpu seconds to fit (records before November 19, 2026: by the clock).
        predict_seconds: Time to predict and score.
        peak_memory_mb: Highest memory of the process during the job, in MB.
        settings: Parameters of the model, and n_threads.
        versions: Versions of what computed it, and under `SOURCE` a fingerprint of genbayes' own code.
        detail: What the method tells of itself; may be empty.
        error: What went wrong; scores are then empty.
        finished: Time, ISO 8601, UTC.
        format: Version of this table.
    """

    problem: str
    protocol: str
    method: str
    replicate: int
    seed: int
    n_train: int
    n_test: int
    n_inputs: int
    scores: Mapping[str, float]
    fit_seconds: float
    predict_seconds: float
    peak_memory_mb: float
    settings: Mapping[str, Any]
    versions: Mapping[str, str]
    detail: Mapping[str, Any]
    error: str | None
    finished: str
    format: int = FORMAT

    @property
    def key(self) -> Key:
        """What tells records apart: problem, protocol, method, n_train and replicate."""
        return self.problem, self.protocol, self.method, self.n_train, self.replicate

    def to_json(self) -> str:
        """One line of JSON; what JSON cannot say (NaN, infinity) becomes null."""
        return json.dumps(jsonable({f.name: getattr(self, f.name) for f in fields(self)}), allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Record:
        """The record that `to_json` wrote; `InvalidInput` says what is wrong with any other text."""
        try:
            given = json.loads(text)
        except ValueError as error:
            raise InvalidInput("a record must be a JSON object, got a damaged or half-written one") from error
        names = {f.name for f in fields(cls)}
        if not isinstance(given, dict) or "format" not in given:
            raise InvalidInput("a record must be a JSON object with the field 'format', got something else")
        if given["format"] != FORMAT:
            raise OtherFormat(
                f"a record must be of format {FORMAT}, got format {given['format']!r}; "
                "use the version of genbayes that wrote it, or another folder"
            )
        missing = sorted(names - set(given))
        if missing:
            raise InvalidInput(f"a record must have all fields, got none named {missing[0]!r}")
        _check_types(given)
        return cls(**{name: given[name] for name in names})


def _check_types(given: dict[str, Any]) -> None:
    """Refuse fields of another kind than the table says, so that readers may trust them."""
    kinds: dict[str, tuple[type, ...]] = dict.fromkeys(("problem", "protocol", "method", "finished"), (str,))
    kinds |= dict.fromkeys(("replicate", "seed", "n_train", "n_test", "n_inputs"), (int,))
    kinds |= dict.fromkeys(("fit_seconds", "predict_seconds", "peak_memory_mb"), (int, float))
    kinds |= dict.fromkeys(("scores", "settings", "versions", "detail"), (dict,))
    for name, kind in kinds.items():
        if not isinstance(given[name], kind) or isinstance(given[name], bool):
            raise InvalidInput(f"{name} of a record must be {kind[0].__name__}, got {given[name]!r}")
        if isinstance(given[name], float) and not math.isfinite(given[name]):  # json reads what JSON may not say
            raise InvalidInput(f"{name} of a record must be finite, got {given[name]!r}")
    if not all(isinstance(value, str) for value in given["versions"].values()):
        raise InvalidInput(f"versions of a record must be text, got {given['versions']!r}")
    if not isinstance(given["error"], str | None):
        raise InvalidInput(f"error of a record must be text or null, got {given['error']!r}")
    if not all(value is None or is_finite_number(value) for value in given["scores"].values()):
        raise InvalidInput(f"scores of a record must be finite numbers, got {given['scores']!r}")
    given["scores"] = {name: float(value) for name, value in given["scores"].items() if value is not None}


def is_finite_number(value: Any) -> bool:
    """Whether a value of JSON is a finite number.

    Example:
        >>> [is_finite_number(value) for value in (1, 0.5, True, float("nan"), "1", None)]
        [True, True, False, False, False, False]
    """
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def record_path(folder: Path, key: Key) -> Path:
    """Where the loose record of `key` lies.

    Example:
        >>> record_path(Path("results"), ("bgp2", "paper", "gp", 1600, 3)).as_posix()
        'results/records/bgp2/paper-gp-n1600-r3.json'
    """
    problem, protocol, method, n_train, replicate = key
    return folder / LOOSE / problem / f"{protocol}-{method}-n{n_train}-r{replicate}.json"


def write_record(folder: Path, record: Record) -> Path:
    """Write one record, whole or not at all, and return its file."""
    path = record_path(Path(folder), record.key)
    path.parent.mkdir(parents=True, exist_ok=True)
    return write_atomically(path, (record.to_json() + "\n").encode())


def read_records(folder: Path) -> list[Record]:
    """All records of a results folder, loose and packed, in the order of their keys.

    Where two have the same key, a success counts before a failure, then the one that finished later. A half-written or
    foreign one is left out with a warning of class `UnreadRecord`.

    Example:
        >>> read_records(Path("no-such-folder"))
        []
    """
    records, complaints = find_records(folder)
    for sentence in complaints:
        warnings.warn(sentence, UnreadRecord, stacklevel=2)
    return records


def make_folder(path: str | os.PathLike[str], name: str, given: str | None = None) -> Path:
    """The folder, made with those above it if it is not there.

    Args:
        path: Where.
        name: What the user knows it as, for the error.
        given: The path that the user gave, where that is another one.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     make_folder(Path(folder) / "a" / "b", "figures").name
        'b'
    """
    folder = Path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        shown = str(folder) if given is None else given
        raise UnwritableFile(f"{name} must be a folder that can be written, got {shown!r}; {error.strerror}") from error
    return folder


def open_results(folder: Path) -> tuple[list[Record], list[str]]:
    """Like `find_records`, for a folder to add records to: it is made if absent, and refused if another version's.

    What a killed writer left behind long ago is removed.
    """
    folder = Path(folder)
    make_folder(folder / LOOSE, "results", str(folder))
    for part in (folder / LOOSE).glob("*/.*.part"):
        with suppress(OSError):
            if time.time() - part.stat().st_mtime > LONG_AGO:
                part.unlink()
    return find_records(folder, strict=True)


def find_records(folder: Path, *, strict: bool = False) -> tuple[list[Record], list[str]]:
    """The records of a folder and a sentence for each file or line that is none; `strict` refuses other versions."""
    best: dict[Key, Record] = {}
    complaints = []
    for path in _files(Path(folder)):
        found, sentences = _read(path, strict)
        complaints += sentences
        for record in found:
            _keep_better(best, record)
    return sorted(best.values(), key=lambda record: record.key), complaints


def _read(path: Path, strict: bool) -> tuple[list[Record], list[str]]:
    """The records of one file, loose or packed, and a sentence for each part that is none."""
    try:
        text = path.read_text(errors="replace")
    except OSError as error:
        return [], [f"{path} was left out: {error.strerror}"]
    records, complaints = [], []
    for place, part in _parts(path, text):
        try:
            records.append(Record.from_json(part))
        except InvalidInput as error:
            if strict and isinstance(error, OtherFormat):
                raise OtherFormat(f"{place}: {error}") from error
            complaints.append(f"{place} was left out: {error}")
    return records, complaints


def _files(folder: Path) -> list[Path]:
    """Packed records first, then loose ones."""
    return [*sorted(folder.glob("*.jsonl")), *sorted((folder / LOOSE).glob("*/*.json"))]


def _parts(path: Path, text: str) -> Iterator[tuple[str, str]]:
    """Each text that should be a record, with the place where it stands."""
    if path.suffix == ".json":
        yield str(path), text
        return
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip():
            yield f"line {number} of {path}", line


def _keep_better(best: dict[Key, Record], record: Record) -> None:
    """Keep the record unless a better one of its key is there: a success before a failure, then the later one."""
    known = best.get(record.key)
    if known is None or (known.error is None, known.finished) <= (record.error is None, record.finished):
        best[record.key] = record


def merge_records(records: Sequence[Record], target: Path) -> list[Record]:
    """These records, and those of the target on the same problems; of two with one key, the better or later one.

    A line of the target that is no record of this version would be lost by writing its file anew, so it is refused.
    """
    problems = {record.problem for record in records}
    for path in (_packed_path(Path(target), problem) for problem in sorted(problems)):
        complaints = _read(path, strict=True)[1] if path.exists() else []
        if complaints:
            raise InvalidInput(f"{complaints[0]}; packing would lose it, so mend that line or move it elsewhere first")
    best: dict[Key, Record] = {}
    for record in (*find_records(target, strict=True)[0], *records):
        if record.problem in problems:
            _keep_better(best, record)
    return list(best.values())


def merge_results(source: Path, target: Path) -> tuple[list[Record], list[str]]:
    """Records of the source folder merged with those of the target, and a sentence for each that could not be read."""
    if not Path(source).is_dir():
        raise InvalidInput(f"results must be a folder of records, got {str(source)!r}; genbayes bench run makes one")
    records, complaints = find_records(source, strict=True)
    if not records:
        raise InvalidInput(f"results must hold records, got none in {str(source)!r}; genbayes bench run makes some")
    return merge_records(records, target), complaints


def pack_records(records: Iterable[Record], folder: Path) -> list[Path]:
    """Write records as one file of JSON lines a problem, in the order of their keys, and return the files."""
    by_problem: dict[str, list[Record]] = {}
    for record in sorted(records, key=lambda record: record.key):
        by_problem.setdefault(record.problem, []).append(record)
    make_folder(Path(folder), "FOLDER to pack into")
    return [
        write_atomically(_packed_path(Path(folder), name), "".join(r.to_json() + "\n" for r in own).encode())
        for name, own in by_problem.items()
    ]


def _packed_path(folder: Path, problem: str) -> Path:
    return folder / f"{problem}.jsonl"
