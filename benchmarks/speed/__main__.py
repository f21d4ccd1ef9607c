"""Run the measurements, all or those named on the command line, and print one table.

python -m benchmarks.speed                 everything, about an hour on two cores
python -m benchmarks.speed members import  some of it
python -m benchmarks.speed --json out.json also as a file
"""

from __future__ import annotations

from benchmarks.speed.accuracy import measure_bgp, measure_friedman, measure_motorcycle
from benchmarks.speed.importing import measure_import
from benchmarks.speed.members import measure_members
from benchmarks.speed.models import measure_models
from benchmarks.speed.prediction import measure_prediction
from benchmarks.speed.race import measure_race
from benchmarks.speed.scaling import measure_scaling
from benchmarks.speed.table import run_parts
from benchmarks.speed.threads import measure_threads

PARTS = {
    "import": measure_import,
    "prediction": measure_prediction,
    "members": measure_members,
    "threads": measure_threads,
    "scaling": measure_scaling,
    "bgp": measure_bgp,
    "friedman": measure_friedman,
    "motorcycle": measure_motorcycle,
    "race": measure_race,
    "models": measure_models,
}


if __name__ == "__main__":
    run_parts(PARTS, "genbayes", __doc__ or "")
