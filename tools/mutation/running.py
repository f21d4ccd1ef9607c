"""Whether a test notices a mutant: the tests that reach it, quickest first, in a child that ends at the first failure.

The parent has imported everything that is slow to import except the project itself, and forks a child for each mutant.
"""

from __future__ import annotations

import faulthandler
import gc
import json
import os
import shutil
import signal
import sys
import time
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from mutation.copies import compile_project, copy_project, environment, import_folders
from mutation.probes import Reach
from mutation.sites import Site, apply_change

SLOW_TO_IMPORT = (
    *("numpy", "scipy.stats", "scipy.optimize", "scipy.spatial", "scipy.interpolate", "scipy.signal", "pandas"),
    *(
        "sklearn.ensemble",
        "sklearn.svm",
        "sklearn.model_selection",
        "sklearn.utils.estimator_checks",
        "torch",
        "torch.func",
    ),
    *("hypothesis", "hypothesis.extra.numpy", "matplotlib.pyplot", "sqlalchemy", "sqlalchemy.orm", "typer.testing"),
    *("rich.console", "rich.table", "joblib", "safetensors.torch", "pyarrow.parquet", "lightgbm", "scoringrules"),
)
SLOWEST = 20.0  # seconds of a test that is left out
MOST = 600  # tests for one mutant
HANGS, PATIENCE = 20.0, 90.0  # a test that takes 20 times as long as without a mutant and 90 s more is taken to hang
GRACE = 120.0  # seconds beyond its time after which a child is ended
LONG = 1800.0  # seconds for the tests that killed a mutant, all of them, without it


def order_tests(reaches: Sequence[Reach], mutant: str) -> list[Reach]:
    """Tests that reach a mutant, quickest first; the quickest case of every test function before further cases."""
    known = [each for each in reaches if mutant in each.mutants and each.seconds <= SLOWEST]
    quick = sorted(known, key=lambda each: each.seconds)
    by_function: dict[str, Reach] = {}
    for each in quick:
        by_function.setdefault(each.test.split("[")[0], each)
    first = list(by_function.values())
    names = {each.test for each in first}
    return [*first, *(each for each in quick if each.test not in names)][:MOST]


def import_what_is_slow() -> None:
    """Import the libraries, so that children have them."""
    os.environ.update(OMP_NUM_THREADS="1", MPLBACKEND="Agg")
    for name in SLOW_TO_IMPORT:
        try:
            import_module(name)
        except ImportError:
            continue
    from hypothesis import Phase, settings

    quick = [Phase.explicit, Phase.generate]  # a failure need not be made small
    settings.register_profile("mutants", derandomize=True, database=None, deadline=None, phases=quick)
    settings.load_profile("mutants")
    gc.freeze()


@dataclass(eq=False)
class Watch:
    """pytest plugin of a child: runs some tests in their order until one fails or the time is over."""

    tests: Sequence[Reach]
    seconds: float
    under_way: Path
    failed: list[str] = field(default_factory=list)
    n_run: int = 0
    is_late: bool = False

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        place = {each.test: number for number, each in enumerate(self.tests)}
        items[:] = sorted((each for each in items if each.nodeid in place), key=lambda each: place[each.nodeid])
        self.limits = {each.test: HANGS * each.seconds + PATIENCE for each in self.tests}
        self.until = time.monotonic() + self.seconds

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.failed.append(f"the import of {report.nodeid}")

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.n_run += 1
        self.under_way.write_text(nodeid)
        faulthandler.dump_traceback_later(self.limits[nodeid], exit=True)  # ends the process, with code 1

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed.append(report.nodeid)

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> None:
        if time.monotonic() > self.until:
            self.is_late = True
            item.session.shouldstop = "the time is over"


def run_tests(tests: Sequence[Reach], seconds: float, stop: bool = True) -> dict[str, Any]:
    """Run tests in this process, whose folder is a copy of the project."""
    watch = Watch(tests, seconds, Path(f"{Path.cwd()}.now"))
    files = list(dict.fromkeys(each.test.split("::")[0] for each in tests))
    words = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:faulthandler", f"--basetemp={Path.cwd()}.tmp"]
    words += ["-W", "ignore::pytest.PytestAssertRewriteWarning", *(["-x"] if stop else [])]
    code = pytest.main([*words, *files], plugins=[watch])
    faulthandler.cancel_dump_traceback_later()
    if not watch.failed and not watch.n_run:
        return {"failed": [], "error": f"no test was run, pytest ended with {code!r}"}
    return {"failed": watch.failed, "n_run": watch.n_run, "is_late": watch.is_late}


class Child:
    """A forked process in a copy of the project; its answer is read from a file."""

    def __init__(self, copy: Path, seconds: float, work: Callable[[], dict[str, Any]]) -> None:
        self.answer, self.under_way = copy.with_suffix(".json"), copy.with_suffix(".now")
        for old in (self.answer, self.under_way):
            old.unlink(missing_ok=True)
        self.began, self.limit = time.monotonic(), seconds
        self.pid = os.fork()
        if self.pid == 0:
            _work_in(copy, self.answer, work)

    @property
    def age(self) -> float:
        return time.monotonic() - self.began

    def poll(self) -> dict[str, Any] | None:
        """The answer; None while there is none."""
        ended, status = os.waitpid(self.pid, os.WNOHANG)
        if not ended and self.age < self.limit:
            return None
        _end_group(self.pid)  # the child, and what tests may have left behind
        if not ended:
            os.waitpid(self.pid, 0)
        if self.answer.exists():
            return dict(json.loads(self.answer.read_text()))
        hangs = not ended or os.waitstatus_to_exitcode(status) == 1
        test = self.under_way.read_text() if self.under_way.exists() else "the import of the tests"
        return {"failed": [] if hangs else [test], "hangs": test if hangs else None}


def _work_in(copy: Path, answer: Path, work: Callable[[], dict[str, Any]]) -> None:
    """What the child does: never returns."""
    try:
        os.setsid()
        os.chdir(copy)
        os.environ.update(environment(copy))
        sys.path[:0] = [str(copy), *import_folders(copy)]  # as python -m pytest does
        sys.modules["__main__"] = ModuleType("__main__")  # processes that tests start need not import this tool
        nowhere = os.open(copy.with_suffix(".log"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        for stream in (1, 2):
            os.dup2(nowhere, stream)
        result = work()
        part = answer.with_suffix(".part")
        part.write_text(json.dumps(result))
        part.replace(answer)
    finally:
        os._exit(0)


def _end_group(pid: int) -> None:
    """End a child and what it has started; it leads a group of its own."""
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


class Runner:
    """Mutants tried one after the other, or some at once, each slot with a copy of its own."""

    def __init__(self, root: Path, folder: Path, reaches: Sequence[Reach], seconds: float, jobs: int) -> None:
        self.root, self.reaches, self.seconds = root, list(reaches), seconds
        import_what_is_slow()
        self.copies = [copy_project(root, folder / f"copy{number}") for number in range(jobs)]
        for copy in self.copies:
            compile_project(copy)

    def run(self, sites: Mapping[str, Site], until: float) -> Iterator[dict[str, Any]]:
        """A record for each mutant, as they come; none is begun after `until`."""
        waiting, free = deque(sites), list(self.copies)
        running: list[tuple[str, Path, Child, int]] = []
        while running or (waiting and time.monotonic() < until):
            while waiting and free and time.monotonic() < until:
                name = waiting.popleft()
                tests = order_tests(self.reaches, name)
                if tests:
                    copy = free.pop()
                    running.append((name, copy, self._start(copy, sites[name], tests), len(tests)))
                else:
                    yield {"id": name, "outcome": "not reached"}
            time.sleep(0.05)
            for name, copy, child, n_tests in list(running):
                answer = child.poll()
                if answer is not None:
                    running.remove((name, copy, child, n_tests))
                    shutil.copyfile(self.root / sites[name].mutant.file, copy / sites[name].mutant.file)
                    free.append(copy)
                    yield _record(name, answer, n_tests, child.age)

    def _start(self, copy: Path, site: Site, tests: Sequence[Reach]) -> Child:
        source = (self.root / site.mutant.file).read_text()
        (copy / site.mutant.file).write_text(apply_change(source, site.number))
        return Child(copy, self.seconds + GRACE, lambda: run_tests(tests, self.seconds))

    def find_unreliable(self, names: Collection[str]) -> set[str]:
        """Tests that fail in a child though nothing is changed."""
        tests = [each for each in self.reaches if each.test in names]
        child = Child(self.copies[0], LONG, lambda: run_tests(tests, LONG, stop=False))
        while (answer := child.poll()) is None:
            time.sleep(0.2)
        return {*answer["failed"], *([answer["hangs"]] if answer.get("hangs") else [])}


def _record(name: str, answer: Mapping[str, Any], n_tests: int, seconds: float) -> dict[str, Any]:
    record: dict[str, Any] = {"id": name, "outcome": "survived", "seconds": round(seconds, 1), "tests": n_tests}
    if answer["failed"]:
        return {**record, "outcome": "killed", "by": answer["failed"][0]}
    if answer.get("hangs"):
        return {**record, "outcome": "timeout", "by": answer["hangs"]}
    if "error" in answer:
        return {**record, "outcome": "error", "reason": answer["error"]}
    return {**record, "run": answer["n_run"]}
