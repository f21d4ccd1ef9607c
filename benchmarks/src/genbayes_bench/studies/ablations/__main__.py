"""The paper's ablations, measured; records are kept, what is missing is run.

python -m genbayes_bench.studies.ablations run --records ablations.jsonl  everything, 3 replicates; many hours
python -m genbayes_bench.studies.ablations run losses --problems phantom --replicates 0:5   some of it
python -m genbayes_bench.studies.ablations run --size part                                  fewer runs and epochs
python -m genbayes_bench.studies.ablations run --size small                                 to see that everything works
python -m genbayes_bench.studies.ablations table --size part                                the tables as Markdown
python -m genbayes_bench.studies.ablations table --size part --into docs/ablations.md       the same, put into a page
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from genbayes_bench.studies.ablations.ablation import SIZES, Ablation
from genbayes_bench.studies.ablations.classifiers import CLASSIFIERS
from genbayes_bench.studies.ablations.ensembles import ENSEMBLES
from genbayes_bench.studies.ablations.losses import LOSSES
from genbayes_bench.studies.ablations.records import read_records, run_ablation
from genbayes_bench.studies.ablations.routing import ROUTING
from genbayes_bench.studies.ablations.tables import make_tables, put_into

ABLATIONS: dict[str, Ablation] = {
    "losses": LOSSES,
    "ensembles": ENSEMBLES,
    "classifiers": CLASSIFIERS,
    "routing": ROUTING,
}


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["run", "table"])
    parser.add_argument("ablations", nargs="*", choices=[[], *ABLATIONS], help="all unless named")
    parser.add_argument("--records", type=Path, default=Path("ablations.jsonl"), help="file that records are added to")
    parser.add_argument("--replicates", default="0:3", help="first:last, the last one excluded")
    parser.add_argument("--problems", nargs="*", help="only these of an ablation's problems")
    parser.add_argument("--size", default="full", choices=SIZES, help="what a fit may spend; records are kept apart")
    parser.add_argument("--into", type=Path, help="page between whose marks the tables are put")
    given = parser.parse_args(words)
    size = SIZES[given.size]
    chosen = {name: ABLATIONS[name] for name in given.ablations or ABLATIONS}
    if given.what == "table":
        show(make_tables(chosen, read_records(given.records), size), given.into)
        return
    first, last = (int(end) for end in given.replicates.split(":"))
    for name, ablation in chosen.items():
        wanted = [p for p in ablation.problems if given.problems is None or p in given.problems]
        if wanted:
            run_ablation(name, ablation, range(first, last), given.records, size, wanted)


def show(tables: str, page: Path | None) -> None:
    if page is None:
        print(tables or "There are no records of this size yet.")
    elif tables:
        put_into(page, tables)


if __name__ == "__main__":
    main()
