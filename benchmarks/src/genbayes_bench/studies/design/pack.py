"""Design records as records of `genbayes bench`, so that its report tells them: names, curve, and what differs.

The functions are those of genbayes_bench.problems; initial runs, noise and test sets are drawn here, from other
streams, so a replicate is not the one of the same number there, and its record says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from genbayes.errors import InvalidInput
from genbayes_bench.designs import CHOSEN, is_sequential
from genbayes_bench.problems import PROBLEMS as BENCH_PROBLEMS
from genbayes_bench.problems import PROTOCOLS
from genbayes_bench.problems.problem import PAPER
from genbayes_bench.record import Record, merge_records, pack_records
from genbayes_bench.studies.design.methods import METHODS
from genbayes_bench.studies.design.problems import PROBLEMS, DesignProblem
from genbayes_bench.studies.design.records import read_records

__all__ = ["PACKED", "pack", "to_record", "to_records"]

PACKED = Path("benchmarks/results/paper")
BENCH_NAMES = {"exp2d": "exp2d_gbc", "hl20": "rocket_hl20"}  # the others have the same name
BENCH_METRICS = {"exp2d": "rmse_f"}  # scored on the noise-free response; where there is no noise, that is rmse
BENCH_METHODS = {"auto": CHOSEN, "gbc-al": "al-gbc"}  # the others keep theirs, after "al-"
COSTS = "fit_seconds is the time of the whole design, predictions included; peak memory was not measured."
FORMULA = (
    "Initial runs are a Latin hypercube of {n_initial}, scores are on {n_test:,} uniform points; both are drawn by "
    "benchmarks/design, so the replicate is not that of the same number in genbayes bench run."
)
TABLE = (
    "{n_test} rows are set aside to score on, where genbayes bench run has {n_bench}; runs are chosen among the other "
    "rows, {n_initial} random ones to begin with. Rows are drawn by benchmarks/design, so the replicate is not that of "
    "the same number in genbayes bench run."
)


def pack(path: str, folder: Path, problems: Sequence[str] | None = None) -> list[Path]:
    """Add the records of a file to the packed ones of a results folder and say what was done.

    Of two records of one design, problem and replicate the later one counts, or the last one packed where their times
    are not known; so doing it again changes nothing.
    """
    records, complaints = to_records(read_records(path), problems)
    if not records:
        raise InvalidInput(f"--records must name a file of design records, got none in {path!r}; run makes some")
    files = pack_records(_latest(merge_records(records, folder), records), folder)
    for sentence in complaints:
        print(sentence)
    print(f"{len(records)} records of designs in {len(files)} files of {folder}: {', '.join(p.name for p in files)}")
    return files


def _latest(merged: Sequence[Record], packed: Sequence[Record]) -> list[Record]:
    """The merged records, of each sequential design only the last to finish; of equally late ones that packed now."""
    now = {record.key for record in packed}
    designs = sorted(filter(is_sequential, merged), key=lambda record: (record.finished, record.key in now))
    return [r for r in merged if not is_sequential(r)] + list({_job(record): record for record in designs}.values())


def to_records(
    lines: Sequence[dict[str, Any]], problems: Sequence[str] | None = None
) -> tuple[list[Record], list[str]]:
    """Records of these lines, of some problems or all, the last one where several are of one design; and complaints."""
    records: dict[tuple[str, ...], Record] = {}
    complaints = []
    for line in lines:
        name, method = str(line.get("problem")), str(line.get("method"))
        if problems is not None and name not in problems:
            continue
        try:
            record = to_record(line)
        except InvalidInput as error:
            complaints.append(f"a record was left out: {error}")
            continue
        if method not in METHODS:
            complaints.append(f"the design {method!r} is not known here; it is kept as {record.method!r}")
        records[_job(record)] = record
    return list(records.values()), list(dict.fromkeys(complaints))


def to_record(line: dict[str, Any]) -> Record:
    """One line of design records as a record of `genbayes bench`."""
    name, method = str(line.get("problem")), str(line.get("method"))
    if name not in PROBLEMS:
        raise InvalidInput(f"problem must be one of {', '.join(PROBLEMS)}, got {name!r}")
    missing = [key for key in ("method", "replicate", "n", "error", "seconds") if key not in line]
    curve = [] if missing else [line["n"], line["error"]]
    if not all(isinstance(each, list) and each for each in curve) or len(set(map(len, curve))) != 1:
        raise InvalidInput(f"a design record must have a method, a replicate, a curve and its time, got {line!r:.80}")
    problem, bench = PROBLEMS[name], BENCH_NAMES.get(name, name)
    metric = BENCH_METRICS.get(name, problem.metric.lower())
    return Record(
        problem=bench,
        protocol=PAPER,
        method=BENCH_METHODS.get(method, f"al-{method}"),
        replicate=line["replicate"],
        seed=line["replicate"],
        n_train=line["n"][-1],
        n_test=problem.n_test,
        n_inputs=BENCH_PROBLEMS[bench].n_inputs,
        scores={metric: line["error"][-1]},
        fit_seconds=round(line["seconds"], 3),
        predict_seconds=0.0,
        peak_memory_mb=0.0,
        settings={},
        versions=line.get("versions", {}),
        detail={
            "curve": {"n": line["n"], metric: line["error"]},
            "ask_seconds": line.get("ask_seconds"),
            "held_out": line.get("scores"),
            "note": _note(problem, bench, line["n"][0]),
        },
        error=None,
        finished=line.get("finished", ""),  # not known of the first records
    )


def _note(problem: DesignProblem, bench: str, n_initial: int) -> str:
    """What differs from the same problem in `genbayes bench run`, and what the costs mean."""
    n_bench = next(protocol.n_test for protocol in PROTOCOLS if protocol.problem == bench)
    told = TABLE if problem.is_table else FORMULA
    return f"{told.format(n_initial=n_initial, n_test=problem.n_test, n_bench=n_bench)} {COSTS}"


def _job(record: Record) -> tuple[str, ...]:
    """What a later record replaces, however many runs it ended with."""
    return record.problem, record.protocol, record.method, str(record.replicate)
