"""Run the yardsticks of the baselines, all or those named, and print one table.

python -m genbayes_bench.studies.baselines                 everything, about half an hour on two cores
python -m genbayes_bench.studies.baselines bgp motorcycle  some of it
python -m genbayes_bench.studies.baselines --json out.json also as a file
"""

from __future__ import annotations

from genbayes_bench.studies.baselines import yardsticks
from genbayes_bench.studies.baselines.data import REFERENCE
from genbayes_bench.studies.baselines.sidebyside import measure_side_by_side
from genbayes_bench.studies.speed.table import run_parts

PARTS = {
    "bgp": yardsticks.measure_bgp,
    "friedman": yardsticks.measure_friedman,
    "motorcycle": yardsticks.measure_motorcycle,
    "jump": yardsticks.measure_jump,
    "deep": yardsticks.measure_deep,
    "side-by-side": measure_side_by_side,
}
WITHOUT_REFERENCE = ("friedman", "side-by-side")


if __name__ == "__main__":
    parts = PARTS
    if not REFERENCE.is_dir():
        print("The folder of reference scores is absent: only the parts that need none are run.")
        parts = {name: PARTS[name] for name in WITHOUT_REFERENCE}
    run_parts(parts, "Baselines of genbayes", __doc__ or "")
