"""Where responses jump: the classifier of the regimes, GBC-Aug and its rivals.

python -m genbayes_bench.studies.jumps                            everything; an hour and more on one core
python -m genbayes_bench.studies.jumps classifier honesty         some of it
python -m genbayes_bench.studies.jumps aug --replicates 10        more replicates
python -m genbayes_bench.studies.jumps aug --problem Star  on one of Phantom, Star, "Phantom stand-in", "Star stand-in"
python -m genbayes_bench.studies.jumps classifier --json out.json also as a file
"""

from __future__ import annotations

import argparse
import sys
from functools import partial

from genbayes_bench.studies.jumps.accuracy import measure_classifier
from genbayes_bench.studies.jumps.comparison import measure_aug, measure_honesty, measure_mix, measure_plain
from genbayes_bench.studies.jumps.data import FORMULAS, STANDINS, each_problem
from genbayes_bench.studies.speed.table import run_parts

PARTS = {
    "classifier": measure_classifier,
    "aug": measure_aug,
    "plain": measure_plain,
    "mix": measure_mix,
    "honesty": measure_honesty,
}


if __name__ == "__main__":
    own = argparse.ArgumentParser(add_help=False)
    own.add_argument("--replicates", type=int, default=3)
    own.add_argument("--problem", action="append", choices=[*FORMULAS, *STANDINS])
    chosen, sys.argv[1:] = own.parse_known_args()
    problems = each_problem(chosen.problem or [*FORMULAS, *STANDINS])
    parts = {name: partial(measure, problems, chosen.replicates) for name, measure in PARTS.items()}
    run_parts(parts, "Jumps of genbayes", __doc__ or "")
