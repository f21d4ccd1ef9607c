"""Where responses jump: the classifier of the regimes, GBC-Aug and its rivals.

python -m benchmarks.jumps                            everything; an hour and more on one core
python -m benchmarks.jumps classifier honesty         some of it
python -m benchmarks.jumps aug --replicates 10        more replicates
python -m benchmarks.jumps aug --problem Star         on one of Phantom, Star, "Phantom stand-in", "Star stand-in"
python -m benchmarks.jumps classifier --json out.json also as a file
"""

from __future__ import annotations

import argparse
import sys
from functools import partial

from benchmarks.jumps.accuracy import measure_classifier
from benchmarks.jumps.comparison import measure_aug, measure_honesty, measure_mix, measure_plain
from benchmarks.jumps.data import FORMULAS, STANDINS, each_problem
from benchmarks.speed.table import run_parts

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
