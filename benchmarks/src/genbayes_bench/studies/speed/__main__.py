"""Run the measurements, all or those named on the command line, and print one table.

python -m genbayes_bench.studies.speed                 everything, about an hour on two cores
python -m genbayes_bench.studies.speed members import  some of it
python -m genbayes_bench.studies.speed --json out.json also as a file
"""

from __future__ import annotations

from genbayes_bench.studies.speed.accuracy import measure_bgp, measure_friedman, measure_motorcycle
from genbayes_bench.studies.speed.importing import measure_import
from genbayes_bench.studies.speed.members import measure_members
from genbayes_bench.studies.speed.models import measure_models
from genbayes_bench.studies.speed.prediction import measure_prediction
from genbayes_bench.studies.speed.race import measure_race
from genbayes_bench.studies.speed.scaling import measure_scaling
from genbayes_bench.studies.speed.table import run_parts
from genbayes_bench.studies.speed.threads import measure_threads

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
