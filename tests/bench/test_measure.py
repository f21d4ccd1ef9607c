"""Measuring: scores by their definitions, threads given back, failures told."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import warnings
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest
import torch
from threadpoolctl import threadpool_info

from genbayes import AutoSurrogate, Normal
from genbayes.metrics import crps_normal
from genbayes_bench.limits import limit_threads
from genbayes_bench.measure import known_versions, measure, record_failure, score
from genbayes_bench.methods import Method
from genbayes_bench.plan import Job
from genbayes_bench.problems import Split
from genbayes_bench.record import SOURCE, Record
from genbayes_bench.registry import load_registry

REGISTRY = load_registry([str(Path(__file__).with_name("tiny.py"))])
TINY = REGISTRY.problems["tiny"]
JOB = Job("tiny", "paper", "bell", 30, 0)


def split_of(y: np.ndarray, f: np.ndarray | None = None, noise_sd: float | None = None) -> Split:
    X = np.zeros((len(y), 1))
    return Split(X, y, X, y, f, noise_sd)


def test_the_true_law_has_ratio_one_and_its_closed_form_crps() -> None:
    rng = np.random.default_rng(0)
    f = rng.standard_normal(500)
    split = split_of(f + 0.5 * rng.standard_normal(500), f, 0.5)
    scores = score(Normal(loc=f, scale=np.full(500, 0.5)), split)
    crps = np.mean(crps_normal(f, np.full(500, 0.5), split.y_test))
    expected = {"ratio": 1, "crps": crps, "width": 2 * 1.6448536 * 0.5, "rmse_f": 0, "coverage_f": 1}
    assert {name: scores[name] for name in expected} == pytest.approx(expected, rel=1e-6, abs=0)


def test_scoring_on_the_truth_rewards_what_is_too_narrow() -> None:
    rng = np.random.default_rng(1)
    f = rng.standard_normal(2_000)
    split = split_of(f + rng.standard_normal(2_000), f, 1.0)
    narrow, honest = (score(Normal(loc=f, scale=np.full(2_000, s)), split) for s in (0.3, 1.0))
    assert narrow["crps_f"] < honest["crps_f"]
    assert narrow["crps"] > honest["crps"]


@pytest.mark.parametrize(
    ("y", "has"), [([1.0, 2.0], True), ([-1.0, -2.0], True), ([-1.0, 1.0], False), ([0.0, 1.0], False)]
)
def test_percentages_are_of_responses_of_one_sign(y, has) -> None:
    scores = score(Normal(loc=np.ones(2), scale=np.ones(2)), split_of(np.array(y)))
    assert ("rmspe" in scores) is has
    assert not {"rmse_f", "crps_f", "ratio"} & set(scores)


def test_threads_are_limited_in_the_block_and_given_back() -> None:
    def threads() -> tuple[int, str | None, list[int]]:
        pools = [pool["num_threads"] for pool in threadpool_info()]
        return torch.get_num_threads(), os.environ.get("OMP_NUM_THREADS"), pools

    before = threads()
    with limit_threads(1):
        assert threads() == (1, "1", [1] * len(before[2]))
    assert threads() == before


MEMORY = """
import numpy as np
from genbayes_bench.limits import watch_memory
for n in (1, 40_000_000, 1):  # 320 MB
    with watch_memory() as used:
        np.ones(n)
    print(used.mb)
"""


def test_memory_of_the_block_is_found() -> None:
    """In a process of its own, whose memory nothing else moves."""
    done = subprocess.run([sys.executable, "-c", MEMORY], capture_output=True, text=True, check=True)
    little, much, after = map(float, done.stdout.split())
    assert much > little + 250
    if Path("/proc/self/clear_refs").exists():
        assert after < much - 250


def measure_own(make, job: Job = JOB) -> Record:
    """The record of a method of one's own."""
    return measure(replace(job, method="own"), replace(REGISTRY, methods={"own": Method("own", "mine", make)}))


def test_warnings_are_kept_in_the_record() -> None:
    class Warns(type(REGISTRY.methods["bell"].make(0, None))):
        def fit(self, X, y):
            for _ in range(3):
                warnings.warn("this is thin", UserWarning, stacklevel=1)
            return super().fit(X, y)

    assert measure_own(lambda seed, case: Warns(seed)).detail["warnings"] == ["UserWarning: this is thin"]


def test_a_model_that_cannot_be_made_is_a_failure_too() -> None:
    record = measure_own(Mock(side_effect=ImportError("no engine")))
    assert record.error == "ImportError: no engine"
    assert record.scores == {}
    assert (record.n_test, record.n_inputs) == (20, 2)


def test_a_traceback_names_no_folders() -> None:
    record = measure(replace(JOB, method="broken"), REGISTRY)
    assert record.detail["traceback"][-1].startswith("tiny.py, line ")
    assert "/" not in "".join(record.detail["traceback"])


def measure_drawn(draw) -> Record:
    """The record of a problem of one's own."""
    return measure(JOB, replace(REGISTRY, problems={"tiny": replace(TINY, draw=draw)}))


def test_a_problem_that_draws_the_wrong_number_of_runs_is_told_and_what_is_known_of_the_data_kept() -> None:
    record = measure_drawn(lambda replicate, n, m: TINY.draw(replicate, n + 1, m))
    assert "must draw 30 runs to learn from, got 31" in (record.error or "")
    record = measure_drawn(lambda replicate, n, m: replace(TINY.draw(replicate, n, m), note="seeded"))
    assert record.detail["note"] == "seeded"


def test_a_job_that_left_no_word_can_be_recorded_with_the_state_of_the_code() -> None:
    record = record_failure(JOB, REGISTRY, "it died")
    assert (record.key, record.error, record.scores) == (JOB.key, "it died", {})
    assert re.fullmatch(r"[0-9a-f]{12}", record.versions[SOURCE])
    assert record.versions == known_versions()


def test_a_selection_says_what_it_chose() -> None:
    candidates = ["gp", "het-gp"]
    job = Job("jump1d", "quick", "own", 40, 1)
    record = measure_own(lambda seed, case: AutoSurrogate(candidates=candidates, random_state=seed), job)
    assert record.error is None
    assert sum(record.detail["weights"].values()) == pytest.approx(1, abs=0.01)
    assert sorted(record.detail["out_of_fold"]) == candidates
