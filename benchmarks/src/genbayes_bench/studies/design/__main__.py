"""Sequential design on the paper's problems or their stand-ins; records are kept, what is missing is run.

python -m genbayes_bench.studies.design run exp2d rocket --records design.jsonl  ours and random runs, all replicates
python -m genbayes_bench.studies.design run grace --replicates 0:3 --methods auto,deep-gp  some of them, other methods
python -m genbayes_bench.studies.design table --records design.jsonl  errors, paired differences, runs saved
python -m genbayes_bench.studies.design pack --records design.jsonl -o benchmarks/results/paper  for bench report
python -m genbayes_bench.studies.design speed  how long asks and acquisitions take
"""

from __future__ import annotations

import argparse
from pathlib import Path

from genbayes.errors import InvalidInput, UnwritableFile
from genbayes_bench.studies.design.methods import METHODS
from genbayes_bench.studies.design.pack import PACKED, pack
from genbayes_bench.studies.design.problems import PROBLEMS
from genbayes_bench.studies.design.records import read_records, run_replicate
from genbayes_bench.studies.design.speed import N_ACQUISITIONS, OUTPUT, measure_speed
from genbayes_bench.studies.design.tables import print_table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["run", "table", "pack", "speed"])
    parser.add_argument("problems", nargs="*", choices=[[], *PROBLEMS], help="all unless named")
    parser.add_argument("--records", default="design.jsonl", help="file that records are added to")
    parser.add_argument("--replicates", default="0:10", help="first:last, the last one excluded")
    parser.add_argument("--methods", default="auto,random", help=f"of {', '.join(METHODS)}")
    parser.add_argument("--acquisitions", type=int, default=N_ACQUISITIONS, help="of `speed`")
    parser.add_argument(
        "-o", "--output", type=Path, help=f"folder that `pack` adds to, {PACKED}, or file that `speed` writes, {OUTPUT}"
    )
    given = parser.parse_args()
    if given.what == "speed":
        try:
            measure_speed(given.acquisitions, given.output or OUTPUT)
        except UnwritableFile as error:
            parser.error(str(error))
        return
    if given.what == "table":
        print_table(read_records(given.records))
        return
    if given.what == "pack":
        try:
            pack(given.records, given.output or PACKED, given.problems or None)
        except InvalidInput as error:
            parser.error(str(error))
        return
    first, last = map(int, given.replicates.split(":"))
    for replicate in range(first, last):  # one replicate of everything before the second
        for name in given.problems or PROBLEMS:
            problem = PROBLEMS[name]
            if problem.absent is not None:
                print(f"{name} is skipped: {problem.absent}")
                continue
            for method in given.methods.split(","):
                run_replicate(name, problem, method, replicate, given.records)


if __name__ == "__main__":
    main()
