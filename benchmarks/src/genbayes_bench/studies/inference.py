"""Study of posteriors: our estimator and sbi's flows on the same simulations of the same tasks."""

from __future__ import annotations

from genbayes_bench.problems.inference import TASKS
from genbayes_bench.studies.study import Study

INFERENCE = Study(
    title="Posteriors of simulators, ours and sbi's",
    problems=tuple(task.name for task in TASKS),
    methods=("posterior", "sbi-nsf", "sbi-maf", "posterior-rounds", "posterior-sbc"),
    score="c2st",
)
