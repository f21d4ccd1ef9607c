"""The runner: records are made once, kept whatever happens, and the same however many are made at once."""

from __future__ import annotations

import re
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
from joblib import parallel_config, register_parallel_backend
from joblib._parallel_backends import ThreadingBackend

from genbayes.errors import InvalidInput, UnwritableFile
from genbayes_bench import runner as runner_module
from genbayes_bench.locks import lock, lock_path
from genbayes_bench.record import find_records, read_records, record_path
from genbayes_bench.runner import Progress

KEY = ("tiny", "paper", "bell", 30, 0)


def logged(folder: Path) -> list[str]:
    log = folder / "log"
    return log.read_text().splitlines() if log.exists() else []


# what is run


def test_every_replicate_becomes_a_record_that_says_how_it_was_made(run, tmp_path) -> None:
    summary = run()
    assert [r.replicate for r in summary.records] == [0, 1, 2]
    assert summary.n_made == 3
    assert read_records(tmp_path / "results") == sorted(summary.records, key=lambda r: r.key)
    record = summary.records[2]
    assert (record.seed, record.n_train, record.n_test, record.n_inputs) == (7, 30, 20, 2)
    assert record.settings["random_state"] == 7
    assert record.settings["n_threads"] >= 1
    assert {"genbayes", "torch", "numpy", "python"} <= set(record.versions)
    assert record.peak_memory_mb > 1
    assert set(record.scores) >= {"crps", "rmse", "coverage", "width", "rmse_f", "crps_f", "coverage_f", "ratio"}


def test_only_what_is_missing_is_run(run, monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("TINY_LOG", str(tmp_path / "log"))
    run(replicates=range(2))
    again = run()
    assert (again.n_made, len(again.records)) == (1, 3)
    assert len(logged(tmp_path)) == 3


def test_a_half_written_record_is_told_and_made_again(run, tmp_path) -> None:
    run()
    path = record_path(tmp_path / "results", KEY)
    path.write_text(path.read_text()[:100])
    summary = run()
    assert summary.n_made == 1
    assert "half-written" in summary.complaints[0]
    assert find_records(tmp_path / "results")[1] == []


def test_scores_are_the_same_however_many_run_at_once(run, tmp_path) -> None:
    scores = []
    for n_jobs in (1, 2):
        records = run("tiny", "tiny_other", n_jobs=n_jobs, results=tmp_path / str(n_jobs)).records
        scores.append({r.key: r.scores for r in records})
    assert scores[0] == scores[1]
    assert len(scores[1]) == 6


def test_threads_are_shared_out_among_jobs(run, monkeypatch, tmp_path) -> None:
    monkeypatch.setattr("joblib.cpu_count", lambda: 8)
    with parallel_config(backend="threading"):
        records = run(n_jobs=4).records
    assert {r.settings["n_threads"] for r in records} == {2}
    told = run(n_threads=3, results=tmp_path / "told").records
    assert {r.settings["n_threads"] for r in told} == {3}


@pytest.mark.parametrize("tells_at_once", [True, False])
def test_the_backend_that_joblib_is_configured_with_does_the_work(run, tells_at_once) -> None:
    used = []

    class Noted(ThreadingBackend):
        supports_return_generator = tells_at_once

        def submit(self, func, callback=None):
            used.append(func)
            return super().submit(func, callback)

    register_parallel_backend("noted", Noted)
    with parallel_config(backend="noted", n_jobs=2):
        assert run(n_jobs=None).n_made == 3
    assert len(used) == 3


def test_a_cluster_of_dask_does_the_work_unchanged(run) -> None:
    distributed = pytest.importorskip("distributed")
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster), parallel_config(backend="dask"):
        assert run(n_jobs=None).n_made == 3
        assert run(n_jobs=None).n_made == 0


def test_progress_says_how_far_the_run_is_and_how_long_it_may_take(run) -> None:
    told: list[Progress] = []
    run(on_progress=told.append)
    assert [progress.n_done for progress in told] == [0, 1, 2, 3]
    assert told[0].seconds_left is None
    assert told[1].seconds_left is not None
    assert told[-1].seconds_left == 0


# what goes wrong


@pytest.mark.parametrize(
    ("method", "error"),
    [("broken", "RuntimeError: it never works"), ("mute", "FloatingPointError: crps, .* NaN or infinity")],
)
def test_a_failing_method_is_a_record_with_its_error(run, method, error) -> None:
    summary = run(methods=[method, "bell"])
    failed = summary.failed
    assert len(failed) == len(summary.records) - 3 == 3
    assert re.fullmatch(error, failed[0].error or "")
    assert failed[0].scores == {}


def test_a_failure_is_tried_again_only_on_request(run) -> None:
    run(methods=["broken"])
    assert run(methods=["broken"]).n_made == 0
    time.sleep(1.1)  # records know the second in which they were made
    assert run(methods=["broken"], retry_failed=True).n_made == 3


def test_a_process_that_dies_costs_one_record(run) -> None:
    summary = run(methods=["fatal", "slow"], n_jobs=2, replicates=range(1))
    assert {r.method: r.error is None for r in summary.records} == {"fatal": False, "slow": True}
    assert "without a word" in (summary.failed[0].error or "")


def test_a_full_disk_is_one_sentence_and_loses_nothing(run, monkeypatch, tmp_path) -> None:
    run(replicates=range(1))
    monkeypatch.setattr(runner_module.shutil, "disk_usage", lambda path: SimpleNamespace(free=2**20))
    told = "16 MB to spare, got 1 MB; free some; 1 of 3 records are safe, run the same"
    with pytest.raises(UnwritableFile, match=told):
        run()
    monkeypatch.undo()
    assert run().n_made == 2


def test_a_record_that_cannot_be_written_stops_the_run(run, monkeypatch) -> None:
    full = UnwritableFile("path must be writable, got 'x'; No space left on device")
    monkeypatch.setattr(runner_module, "write_record", Mock(side_effect=full))
    with pytest.raises(UnwritableFile, match="No space left on device; 0 of 3 records are safe"):
        run()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"methods": ["bel"]}, "method must be a known name, got 'bel'; did you mean 'bell'\\?"),
        ({"methods": []}, "methods must name at least one"),
        ({"files": ["no.py"]}, "--with must name a Python file"),
    ],
)
def test_bad_input_is_refused_before_any_work(run, options, message, tmp_path) -> None:
    with pytest.raises(InvalidInput, match=message):
        run(**options)
    assert not (tmp_path / "results").exists()


# several runners, and sudden ends


def test_a_record_that_somebody_is_making_is_waited_for(run, tmp_path, wait_for) -> None:
    results = tmp_path / "results"
    run(replicates=range(1, 3))
    held, told = threading.Event(), []

    def hold() -> None:
        with lock(lock_path(results, KEY)):
            held.set()
            wait_for(lambda: any(progress.waiting for progress in told))

    with ThreadPoolExecutor() as threads:
        holding = threads.submit(hold)
        held.wait()
        summary = run(on_progress=told.append)
        holding.result()
    assert summary.n_made == 1
    assert len(summary.records) == 3


def test_two_runners_share_the_work_and_do_nothing_twice(start, tmp_path) -> None:
    runners = [start("tiny", "tiny_other", "--methods", "slow", "--replicates", "6", "--jobs", "1") for _ in range(2)]
    assert [runner.wait(timeout=120) for runner in runners] == [0, 0], (tmp_path / "err").read_text()
    assert len(read_records(tmp_path / "results")) == 12
    assert len(logged(tmp_path)) == 12


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_killed_run_goes_on_where_it_was(start, tmp_path, jobs, wait_for) -> None:
    words = ("tiny", "--methods", "slow", "--replicates", "8", "--jobs", jobs)
    killed = start(*words)
    wait_for(lambda: len(list((tmp_path / "results").glob("records/*/*.json"))) >= 2)
    killed.kill()
    killed.wait()
    before = read_records(tmp_path / "results")
    assert 2 <= len(before) < 8
    assert start(*words).wait(timeout=120) == 0, (tmp_path / "err").read_text()
    after = read_records(tmp_path / "results")
    assert len(after) == 8
    assert [r for r in after if r.key in {b.key for b in before}] == before  # nothing was made a second time
    assert len(logged(tmp_path)) <= 8 + int(jobs)  # only what was running had to be repeated


def test_children_of_a_killed_run_end_with_it(start, tmp_path, wait_for) -> None:
    killed = start("tiny", "--methods", "slow", "--replicates", "40", "--jobs", "2")
    wait_for(lambda: len(logged(tmp_path)) >= 2)
    killed.kill()
    killed.wait()
    time.sleep(2.5)  # they look every second
    n = len(logged(tmp_path))
    time.sleep(1.0)
    assert len(logged(tmp_path)) == n < 40


REGISTERING = """
import numpy as np
from genbayes import Normal, register_model
from sklearn.base import BaseEstimator

class Flat(BaseEstimator):
    def __init__(self, random_state=None):
        self.random_state = random_state
    def fit(self, X, y):
        self.loc, self.scale = float(np.mean(y)), float(np.std(y))
        return self
    def predict_distribution(self, X):
        return Normal(loc=np.full(len(X), self.loc), scale=np.full(len(X), self.scale))

register_model("flat", Flat)
"""


def test_a_model_that_a_file_registers_is_a_method_in_worker_processes_too(run, tmp_path) -> None:
    file = tmp_path / "flat.py"
    file.write_text(REGISTERING)
    summary = run("jump1d", protocol="quick", methods=["flat"], n_jobs=2, files=[str(file)])
    assert [record.error for record in summary.records] == [None, None]
