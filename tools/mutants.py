"""How strong the tests are: a seeded sample of changed expressions, and which of them a test notices.

    python tools/mutants.py sample --seed 0 --count 300 -o tools/mutants/sample.json
    python tools/mutants.py find tools/mutants/sample.json [--renames tools/mutants/renames.json]
    python tools/mutants.py run tools/mutants/sample.json -o records.jsonl [--root DIR] [--jobs 1]
    python tools/mutants.py compare tools/mutants/sample.json tools/mutants/before.jsonl records.jsonl

A mutant is a comparison, sum, product, constant, condition, extreme, sign or returned value that is changed. It is
known by its function, its statement and its expression, so that it is found again after files have been moved, joined
and renamed (`--renames` is a JSON table of names); what is no longer there is recorded as gone, with a reason, which
`--reasons`, a JSON table by id, may say better.

`run` first runs the suite once on a copy that reports which tests reach which mutants (`--map` keeps that), then, for
each mutant, only those, quickest first, until one fails. It may be stopped at any time: what is in the records is not
tried again. DIR must not change meanwhile: give it a worktree of its own. A test that fails without a mutant kills
none. `compare` says which mutants were killed and no longer are.

Kept beside this file, in `mutants/`: `sample.json`, `before.jsonl`, the records before the files were rearranged, and
`renames.json`, names that have changed since.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from mutation.probes import map_tests, read_map
from mutation.running import Runner
from mutation.sampling import draw_sample
from mutation.sites import Index, Mutant, Site, sites_under

NOTICED = ("killed", "timeout")


def sample(args: argparse.Namespace) -> None:
    """Draw mutants."""
    mutants = draw_sample(args.root, args.seed, args.count)
    args.output.write_text("[\n" + ",\n".join(json.dumps(each.to_json()) for each in mutants) + "\n]\n")
    print(f"{len(mutants)} mutants, {args.output.stat().st_size:,} bytes")


def run(args: argparse.Namespace) -> None:
    """Try mutants; those already in the records are left out."""
    until = time.monotonic() + 3600 * args.hours
    root = args.root.resolve()
    found = _find(args, root)
    sites = {name: site for name, (site, _) in found.items() if site is not None}
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        map_file = args.map or args.output.with_suffix(".map.jsonl")
        if not map_file.exists():
            map_tests(root, sites, Path(folder), map_file, max(2, args.jobs))
        runner = Runner(root, Path(folder), read_map(map_file), args.seconds_per_mutant, args.jobs)
        unreliable = {""}
        while unreliable:  # the second time without tests that fail when nothing is changed
            for record in runner.run({k: v for k, v in sites.items() if k not in _read(args.output)}, until):
                _append(args.output, {**record, "found": found[record["id"]][1]})
            killers = {each["by"] for each in _read(args.output).values() if each["outcome"] == "killed"}
            unreliable = runner.find_unreliable(killers)
            runner.reaches = [each for each in runner.reaches if each.test not in unreliable]
            kept = [each for each in _read(args.output).values() if each.get("by") not in unreliable]
            args.output.write_text("".join(json.dumps(each) + "\n" for each in kept))
            if unreliable:
                print("fail with nothing changed:", *sorted(unreliable), sep="\n  ")
    _print_counts(args.output)


def find(args: argparse.Namespace) -> None:
    """Print where mutants are that are not found as they were, without trying any."""
    mutants, found = _read_sample(args.sample), _look_for(args, args.root)
    for name, (site, how) in found.items():
        if how != "exact":
            was, now = mutants[name], None if site is None else site.mutant
            print(f"{name}  {how}\n    {was.file} {was.function}: {was.statement}\n    {was.before}  ->  {was.after}")
            if now is not None:
                print(f"    {now.file} {now.function}: {now.statement}\n    {now.before}  ->  {now.after}")
    print(f"{sum(site is not None for site, _ in found.values())} of {len(found)} are found")


def _look_for(args: argparse.Namespace, root: Path) -> dict[str, tuple[Site | None, str]]:
    """Where the mutants are now, by their ids, or why they are nowhere."""
    wanted = _read_sample(args.sample)
    if args.killed_in:
        known = _read(args.killed_in)
        wanted = {name: mutant for name, mutant in wanted.items() if known.get(name, {}).get("outcome") in NOTICED}
    index = Index(sites_under(root), json.loads(args.renames.read_text()) if args.renames else None)
    return {name: index.find(mutant) for name, mutant in wanted.items()}


def _find(args: argparse.Namespace, root: Path) -> dict[str, tuple[Site | None, str]]:
    """Where the mutants are now; those that are gone are recorded."""
    found, recorded = _look_for(args, root), _read(args.output)
    reasons = json.loads(args.reasons.read_text()) if args.reasons else {}
    for name, (site, why) in found.items():
        if site is None and name not in recorded:
            _append(args.output, {"id": name, "outcome": "gone", "reason": reasons.get(name, why)})
    return found


def compare(args: argparse.Namespace) -> None:
    """Print what was killed before and is not now."""
    mutants, before, after = _read_sample(args.sample), _read(args.before), _read(args.after)
    for name, mutant in mutants.items():
        was, now = (records.get(name, {}).get("outcome", "not tried") for records in (before, after))
        if was in NOTICED and now not in NOTICED:
            print(f"{name}  {now:12} {after.get(name, {}).get('reason', '')}")
            print(f"    {mutant.function}: {mutant.statement}\n    {mutant.before}  ->  {mutant.after}")
            print(f"    was killed by {before[name].get('by', 'a test that did not end')}")
    _print_counts(args.before)
    _print_counts(args.after)


def _read_sample(path: Path) -> dict[str, Mutant]:
    listed = [Mutant(**{key: each[key] for key in each if key != "id"}) for each in json.loads(path.read_text())]
    return {each.id: each for each in listed}


def _read(path: Path) -> dict[str, dict[str, Any]]:
    lines = path.read_text().splitlines() if path.exists() else []
    return {each["id"]: each for each in map(json.loads, lines)}


def _append(path: Path, record: dict[str, Any]) -> None:
    with path.open("a") as file:
        file.write(json.dumps(record) + "\n")


def _print_counts(path: Path) -> None:
    counts = Counter(each["outcome"] for each in _read(path).values())
    print(f"{path}:", ", ".join(f"{n} {outcome}" for outcome, n in counts.most_common()))


def _add_search(command: argparse.ArgumentParser) -> None:
    command.add_argument("sample", type=Path)
    command.add_argument("--root", type=Path, default=Path.cwd(), help="the project; the current folder unless told")
    command.add_argument("--renames", type=Path, help="JSON table, old name to new")
    command.add_argument("--killed-in", type=Path, help="records: only mutants that were killed there")


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("sample", help="draw mutants")
    command.add_argument("--root", type=Path, default=Path.cwd(), help="the project; the current folder unless told")
    command.add_argument("--seed", type=int, default=0)
    command.add_argument("--count", type=int, default=300)
    command.add_argument("-o", "--output", type=Path, required=True)
    command.set_defaults(call=sample)
    command = commands.add_parser("find", help="say where they are now, without trying any")
    _add_search(command)
    command.set_defaults(call=find)
    command = commands.add_parser("run", help="try them")
    _add_search(command)
    command.add_argument("-o", "--output", type=Path, required=True, help="records, a line each; continued if there")
    command.add_argument("--map", type=Path, help="which tests reach which mutants; made if not there")
    command.add_argument("--reasons", type=Path, help="JSON table, id to the reason why its code is gone")
    command.add_argument("--jobs", type=int, default=1)
    command.add_argument("--seconds-per-mutant", type=float, default=60.0)
    command.add_argument("--hours", type=float, default=2.0, help="after which no mutant is begun")
    command.set_defaults(call=run)
    command = commands.add_parser("compare", help="what was killed before and is not now")
    for name in ("sample", "before", "after"):
        command.add_argument(name, type=Path)
    command.set_defaults(call=compare)
    args = parser.parse_args()
    args.call(args)


if __name__ == "__main__":
    main()
