"""Damaged model files by the thousand: none may give anything but our error, 200 MB, or a second.

    python tools/fuzz.py run                      five minutes, `make fuzz`
    python tools/fuzz.py run --cases 200000       until that case; stopped, it goes on where it was
    python tools/fuzz.py show                     what was found, grouped by where it was raised
    python tools/fuzz.py again                    every finding once more, with today's code

Small files of every registered model class are damaged knowing their structure (`fuzzing/damage.py`) and given a right
checksum. Each is loaded and used in a process with a limit on memory (200 MB above what it has) and one second of
processor time. Whatever is not a `GenBayesError` is a finding, kept with its number (the same number is the same file)
in `.fuzz/`. Exits with 1 if there are findings.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "MKL", "OPENBLAS")} | {"MALLOC_ARENA_MAX": "1"}
if __name__ == "__main__" and any(os.environ.get(name) != value for name, value in ONE_THREAD.items()):
    os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | ONE_THREAD)

from fuzzing.cases import FUZZER_BROKEN, keep_finding, run_cases, try_file  # noqa: E402
from fuzzing.makers import make_files  # noqa: E402

FRESH_AFTER = 20_000  # cases of one process, so that what it has left behind is no finding
# Seconds at one case after which a process is ended from outside: of its processor time, for a busy machine is no
# finding, and of the wall, for who waits for ever uses none
STUCK, ASLEEP = 20.0, 600.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["run", "show", "again", "worker"])
    parser.add_argument("--folder", type=Path, default=Path(".fuzz"), help="where files, counts and findings are kept")
    parser.add_argument("--cases", type=int, help="stop at this case; without it, after --minutes")
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="classes whose names begin so")
    parser.add_argument("--fresh", action="store_true", help="forget counts and findings, and make the files anew")
    parser.add_argument("--range", type=int, nargs=2, default=(0, 0), help=argparse.SUPPRESS)
    args = parser.parse_args()
    folder = args.folder / f"seed-{args.seed}{args.only}"
    if args.what == "worker":
        run_cases(sorted((args.folder / "files").glob(f"{args.only}*.gb")), args.seed, *args.range, folder)
        return 0
    if args.fresh:
        shutil.rmtree(args.folder, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    if args.what == "run":
        run(args, folder)
    if args.what == "again":
        return run_again(folder)
    return show(folder)


def run(args: argparse.Namespace, folder: Path) -> None:
    """Run cases until their number or the time is reached, past any that ends its process."""
    make_files(args.folder / "files", args.only)
    first, end = cases_done(folder), time.monotonic() + 60 * args.minutes
    last = args.cases or 10**9
    while first < last and (args.cases or time.monotonic() < end):
        passed = ["--folder", str(args.folder), "--seed", str(args.seed), "--only", args.only]
        numbers = ["--range", str(first), str(min(last, first + FRESH_AFTER))]
        worker = subprocess.Popen([sys.executable, __file__, "worker", *passed, *numbers])
        ended_by = watch(worker, folder, None if args.cases else end)
        first = cases_done(folder)
        if ended_by:
            stuck_at = int((folder / "at").read_text().split()[0])
            keep_finding(folder, stuck_at, "", ended_by, ended_by)
            with (folder / "counts.jsonl").open("a") as lines:
                lines.write(json.dumps({"until": stuck_at + 1, "counts": {f"? finding: {ended_by}": 1}}) + "\n")
            first = stuck_at + 1


def watch(worker: subprocess.Popen[bytes], folder: Path, end: float | None) -> str:
    """Wait for a worker; a word if a case ended it or had to be ended, empty if it came to its end or to ours."""
    at, last, since, spent = folder / "at", "", time.monotonic(), 0.0
    at.write_text("")
    while worker.poll() is None:
        time.sleep(0.2)
        now, used = at.read_text(), processor_seconds(worker.pid)
        if now != last:
            last, since, spent = now, time.monotonic(), used
        stuck = bool(now) and (used - spent > STUCK or time.monotonic() - since > ASLEEP)
        if stuck or (end is not None and time.monotonic() > end):
            worker.kill()
            worker.wait()
            return "Stuck" if stuck else ""
    if worker.returncode == FUZZER_BROKEN:
        raise SystemExit("the damage itself must not fail, got an error; repair tools/fuzzing/damage.py")
    if worker.returncode and not at.read_text():
        raise SystemExit("the files themselves must load before they are damaged, got an error")
    return "Crashed" if worker.returncode else ""


def processor_seconds(pid: int) -> float:
    """Processor time that a process has used, 0 once it has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except FileNotFoundError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def cases_done(folder: Path) -> int:
    """How many cases have been counted."""
    lines = (folder / "counts.jsonl").read_text().splitlines() if (folder / "counts.jsonl").exists() else []
    return max((json.loads(line)["until"] for line in lines), default=0)


def show(folder: Path) -> int:
    """Print counts by outcome and by class, and findings grouped by where they were raised; 1 if there are any."""
    counts = Counter[str]()
    if (folder / "counts.jsonl").exists():
        for line in (folder / "counts.jsonl").read_text().splitlines():
            counts.update(json.loads(line)["counts"])
    outcomes = Counter[str]()
    for key, n in counts.items():
        outcomes[key.partition(" ")[2].partition(":")[0]] += n
    told = ", ".join(f"{n:,} {what}" for what, n in outcomes.most_common())
    names = {key.partition(" ")[0] for key in counts} - {"?"}
    print(f"{sum(counts.values()):,} damaged files of {len(names)} kinds: {told or 'none yet'}")
    by_net = Counter({key.partition(" ")[0]: n for key, n in counts.items() if key.endswith("by the net")})
    print("by the net:", ", ".join(f"{name} {n}" for name, n in by_net.most_common(5)) or "none")
    found = findings(folder)
    groups: dict[str, list[int]] = {}
    for each in found:
        groups.setdefault(each["kind"] + "\n" + each["trace"].strip()[-700:], []).append(each["case"])
    for trace, cases in sorted(groups.items(), key=lambda item: -len(item[1])):
        print(f"\n--- {len(cases)} cases, the first {cases[0]}: {trace}")
    return 1 if found else 0


def findings(folder: Path) -> list[dict[str, str]]:
    path = folder / "findings.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def run_again(folder: Path) -> int:
    """Load and use every file that was a finding; those that still are one are kept."""
    left = []
    for each in findings(folder):
        path = folder / f"finding-{each['case']}.gb"
        if not path.exists():
            continue
        try:
            print(f"case {each['case']} of {each['file']}: {try_file(path)}")
        except Exception as error:  # still a finding; shown
            print(f"case {each['case']} of {each['file']}: STILL {type(error).__name__}: {error}")
            left.append(each)
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main())
