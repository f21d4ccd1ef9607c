"""Studies on the command line.

python -m genbayes_bench.studies ablations --protocol part --results benchmarks/results/ablations  its tables
python -m genbayes_bench.studies ablations --protocol part --results ... --into docs/ablations.md  put into a page
python -m genbayes_bench.studies speed                       everything, about an hour on two cores
python -m genbayes_bench.studies speed members import        some of it
python -m genbayes_bench.studies yardsticks --json out.json  also as a file
python -m genbayes_bench.studies kriging untouched-100-exact  StationaryGP against R's emulators
python -m genbayes_bench.studies regimes curve-300 untouched-curve-1000  CRPS over that of the true distribution
python -m genbayes_bench.studies posteriors sample series    posteriors of sets and series against exact ones
python -m genbayes_bench.studies calibration gp --draws 25   how often intervals hold; all parts, few draws: minutes
python -m genbayes_bench.studies speed models --plot times.png

Records of a study are made by genbayes bench run NAME; what is measured here is measured when it is asked for.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path

from genbayes.errors import GenBayesError
from genbayes_bench.record import read_records
from genbayes_bench.studies import STUDIES
from genbayes_bench.studies.lines import Part, run_parts
from genbayes_bench.studies.tables import make_tables, put_into

MEASURED = ("speed", "jumps", "regimes", "yardsticks", "grid-crps", "kriging", "posteriors", "calibration")
DRAWN = ("calibration", "regimes")  # whose lines may be of more draws, or fewer


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("study", choices=[*STUDIES, *MEASURED], metavar="study", help=", ".join([*STUDIES, *MEASURED]))
    parser.add_argument("parts", nargs="*", help="parts of what is measured; all unless named")
    parser.add_argument("--results", type=Path, default=Path("benchmarks-results"), help="folder of the records")
    parser.add_argument("--protocol", default="paper", help="paper, part or quick")
    parser.add_argument("--into", type=Path, help="page between whose marks the tables are put")
    parser.add_argument("--json", type=Path, help="also write what is measured to this file")
    parser.add_argument("--plot", type=Path, help="draw the times of the models to this file")
    parser.add_argument("--draws", type=int, help="draws of a line, for calibration and regimes; few unless told")
    given = parser.parse_args(words)
    if given.draws is not None and (given.draws < 2 or given.study not in DRAWN):
        which = " and ".join(DRAWN)
        parser.error(f"--draws must be at least 2, and is for the studies {which}, got {given.draws} for {given.study}")
    try:
        if given.study in STUDIES:
            show(make_tables(STUDIES[given.study], read_records(given.results), given.protocol), given.into)
            return
        parts = parts_of(given.study, given.draws)
        unknown = [name for name in given.parts if name not in parts]
        if unknown:
            parser.error(f"{given.study} has the parts {', '.join(parts)}, got {unknown[0]!r}")
        chosen = {name: parts[name] for name in given.parts or parts}
        run_parts(chosen, f"genbayes, {given.study}", given.json, given.plot)
    except GenBayesError as error:
        parser.error(str(error))


def show(tables: str, page: Path | None) -> None:
    if page is None:
        print(tables or "There are no records of this study and protocol yet; genbayes bench run makes some.")
    elif tables:
        put_into(page, tables)


def parts_of(study: str, n_draws: int | None = None) -> Mapping[str, Part]:
    """The parts of what is measured; torch loads only now."""
    from genbayes_bench.studies import calibration, jumps, kriging, posteriors, regimes, speed, yardsticks

    return {
        "speed": speed.PARTS,
        "jumps": jumps.PARTS,
        "regimes": regimes.make_parts(n_draws),
        "yardsticks": yardsticks.PARTS,
        "kriging": kriging.PARTS,
        "posteriors": posteriors.PARTS,
        "calibration": calibration.make_parts(n_draws),
        "grid-crps": {"grid-crps": yardsticks.measure_grid},
    }[study]


if __name__ == "__main__":
    main()
