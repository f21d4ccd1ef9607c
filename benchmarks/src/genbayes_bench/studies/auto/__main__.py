"""Measure AutoSurrogate against specialists on identical splits; records are kept, what is missing is run.

python -m genbayes_bench.studies.auto run bgp2 friedman --records auto.jsonl         all replicates of two problems
python -m genbayes_bench.studies.auto run bgp2 --replicates 0:5 --records auto.jsonl some of them
python -m genbayes_bench.studies.auto table --records auto.jsonl                     means, paired differences, verdicts
python -m genbayes_bench.studies.auto budget                                         time, with and without limits
"""

from __future__ import annotations

import argparse

from genbayes_bench.studies.auto.budget import print_budget
from genbayes_bench.studies.auto.problems import PROBLEMS
from genbayes_bench.studies.auto.records import read_records, run_problem
from genbayes_bench.studies.auto.tables import print_tables


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["run", "table", "budget"])
    parser.add_argument("problems", nargs="*", choices=[[], *PROBLEMS], help="all unless named")
    parser.add_argument("--records", default="auto.jsonl", help="file that records are added to")
    parser.add_argument("--replicates", help="first:last, the last one excluded")
    parser.add_argument("--json", help="also write the table to this file")
    given = parser.parse_args()
    if given.what == "table":
        print_tables(read_records(given.records), given.json)
        return
    if given.what == "budget":
        print_budget()
        return
    for name in given.problems or PROBLEMS:
        problem = PROBLEMS[name]
        if problem.needs is not None and not problem.needs.is_dir():
            print(f"{name} needs the folder of benchmark data, which is absent; skipped")
            continue
        first, last = map(int, given.replicates.split(":")) if given.replicates else (0, problem.n_replicates)
        for replicate in range(first, last):
            run_problem(name, problem, replicate, given.records)


if __name__ == "__main__":
    main()
