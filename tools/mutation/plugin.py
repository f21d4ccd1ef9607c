"""pytest plugin of the run with probes: writes down which mutants each test reaches.

What a fixture, a cached function or the import of a test's file has reached counts for every test that uses it, and so
does the time that a fixture took: a test that is run alone has to wait for it.
"""

from __future__ import annotations

import functools
import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import _mutant_probe as probe  # type: ignore[import-not-found]  # written beside the package in the copy
import pytest
from hypothesis import Phase, settings

FOLDER = Path(os.environ["MUTANT_REACHED"])
WORKER = os.environ.get("PYTEST_XDIST_WORKER", "main")
BY_FIXTURE: dict[Any, set[int]] = {}
BY_FILE: dict[str, set[int]] = {}
SECONDS: dict[Any, float] = {}  # of a fixture, those it asks for not counted
SET_UP: list[Any] = []  # fixtures set up by the running test
NESTED = [0.0]  # seconds of the fixtures set up within the one under way
STATE: dict[str, Any] = {"seconds": 0.0, "passed": True}

settings.register_profile(
    "mutants", derandomize=True, database=None, deadline=None, phases=[Phase.explicit, Phase.generate]
)
settings.load_profile("mutants")


def _recorded(call: Callable[[], Any]) -> tuple[Any, set[int]]:
    """Run something; what it reached also counts for what it is a part of."""
    probe.reached.append(set())
    try:
        return call(), probe.reached[-1]
    finally:
        mine = probe.reached.pop()
        probe.reached[-1] |= mine


def _cache(function: Callable[..., Any]) -> Callable[..., Any]:
    """Like functools.cache, except that a stored result counts as reaching what it took to compute it."""
    inner = functools.lru_cache(maxsize=None)(lambda *a, **k: _recorded(lambda: function(*a, **k)))

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        result, reached = inner(*args, **kwargs)
        probe.reached[-1] |= reached
        return result

    wrapper.cache_clear, wrapper.cache_info = inner.cache_clear, inner.cache_info  # type: ignore[attr-defined]
    return wrapper


def pytest_configure(config: pytest.Config) -> None:
    if WORKER == "main" and config.getoption("numprocesses", None):
        return  # the controller runs no test
    probe.owner = os.getpid()
    os.environ["MUTANT_HITS"] = str(FOLDER / f"{WORKER}.hits")
    functools.cache = _cache  # type: ignore[assignment]


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Iterator[None]:
    probe.reached.append(set())
    try:
        return (yield)
    finally:
        BY_FILE.setdefault(collector.nodeid.split("::")[0], set()).update(probe.reached.pop())


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: Any) -> Iterator[None]:
    probe.reached.append(set())
    NESTED.append(0.0)
    began = time.monotonic()
    try:
        return (yield)
    finally:
        BY_FIXTURE[fixturedef] = mine = probe.reached.pop()
        probe.reached[-1] |= mine
        whole = time.monotonic() - began
        SECONDS[fixturedef] = whole - NESTED.pop()
        NESTED[-1] += whole
        SET_UP.append(fixturedef)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    probe.reached[:] = [set()]
    NESTED[:], SET_UP[:] = [0.0], []
    STATE.update(seconds=0.0, passed=True)
    hits = Path(os.environ["MUTANT_HITS"])
    hits.unlink(missing_ok=True)
    result = yield
    mutants = set(probe.reached[-1]) | BY_FILE.get(item.nodeid.split("::")[0], set())
    info = getattr(item, "_fixtureinfo", None)
    for definitions in info.name2fixturedefs.values() if info else ():
        for each in definitions:
            mutants |= BY_FIXTURE.get(each, set())
            STATE["seconds"] += 0.0 if each in SET_UP else SECONDS.get(each, 0.0)
    if hits.exists():
        mutants |= {int(line) for line in hits.read_text().split()}
    STATE["seconds"] = round(STATE["seconds"], 3)
    line = {"test": item.nodeid, "mutants": sorted(mutants), **STATE}
    with (FOLDER / f"{WORKER}.jsonl").open("a") as file:
        file.write(json.dumps(line) + "\n")
    return result


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    STATE["seconds"] += report.duration
    STATE["passed"] = STATE["passed"] and report.passed
