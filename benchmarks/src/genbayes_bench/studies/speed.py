"""Speed: what fits, predictions, imports and asks take, against the targets of the core.

`make bench-speed` runs all of it in about an hour on two cores; `make bench-speed BASE=commit` compares two commits.
"""

from __future__ import annotations

import json
import math
import multiprocessing
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from statistics import median
from typing import Any

import numpy as np

from genbayes.arrays import FloatArray
from genbayes_bench.problems import Split, draw_bgp, draw_friedman
from genbayes_bench.studies.lines import Line, Part, timed

LIMIT = 60.0  # seconds that one fit of a model may take
GRACE = 30.0  # seconds for start-up, prediction and drawing the data
ROWS = (100, 300, 1_000, 3_000, 10_000, 30_000, 100_000)
MODELS = {
    "QuantileSurrogate": "genbayes",
    **dict.fromkeys(
        ["StationaryGP", "HeteroskedasticGP", "ModularJumpGP", "DeepGP", "SparseGP", "BoostedQuantiles"],
        "genbayes.models",
    ),
    **dict.fromkeys(["QuantileForest", "NaturalGradientBoosting"], "genbayes_bench.rivals"),
}


def measure_import() -> Iterator[Line]:
    """`import genbayes` in a fresh interpreter, the best of five."""
    probe = "import time; s = time.perf_counter(); import genbayes; print(time.perf_counter() - s)"
    best = min(float(_run(probe)) for _ in range(5))
    yield Line("import genbayes", f"{best:.3f} s", "under 0.3 s", best < 0.3)


def measure_prediction() -> Iterator[Line]:
    """10,000 rows at 99 levels against the matrix products of f_1 alone, the least it could cost."""
    import torch

    from genbayes import QuantileSurrogate

    def products(hidden: torch.Tensor, weight: torch.Tensor, n: int) -> None:
        for _ in range(n):
            torch.mm(hidden, weight)

    split, tau = draw_friedman(0, 500, 10_000), np.arange(1, 100) / 100
    kinds: dict[str, dict[str, Any]] = {"paper": {"recipe": "paper"}, "fast, one member": {"n_members": 1}, "fast": {}}
    for name, settings in kinds.items():
        model = QuantileSurrogate(n_epochs=2, random_state=0, **settings).fit(split.X_train, split.y_train)
        shape = model.settings_.shape
        # one product of chunks that stay in the cache, for every row, level and member
        hidden, weight = torch.rand(2_000, shape.n_merge), torch.rand(shape.n_merge, shape.n_merge)
        n = len(split.X_test) * len(tau) * shape.n_members // len(hidden)
        products(hidden, weight, n // 10)
        model.predict_quantiles(split.X_test[:100], tau)
        least = min(timed(partial(products, hidden, weight, n))[1] for _ in range(5))
        ours = min(timed(partial(model.predict_quantiles, split.X_test, tau))[1] for _ in range(5))
        units = f"{name}: {shape.n_members} x {shape.n_merge} units"
        what = f"10,000 rows x 99 levels over the products of f_1 alone ({units})"
        detail = f"{ours:.3f} s against {least:.3f} s"
        yield Line(what, f"{ours / least:.2f} times", "at most 1.5", ours / least <= 1.5, detail)


def measure_members() -> Iterator[Line]:
    """Five members trained together against five fits one after another."""
    split = draw_friedman(0, 1_000, 10)
    fit = partial(_fit_network, split, n_epochs=100)
    fit(seed=9, n_members=1)  # warm up
    apart = sum(timed(partial(fit, seed=seed, n_members=1))[1] for seed in range(5))
    _, together = timed(partial(fit, n_members=5))
    what = "five members together over five fits one after another, n = 1,000"
    ratio, detail = together / apart, f"{together:.1f} s against {apart:.1f} s"
    yield Line(what, f"{ratio:.2f}", "at most 0.9", ratio <= 0.9, detail)


def measure_threads() -> Iterator[Line]:
    """A fit with the default setting while other processes keep half of the cores busy, against one thread."""
    import torch

    fit = partial(_fit_network, draw_friedman(0, 2_000, 10), n_epochs=60)
    cores, before = sorted(os.sched_getaffinity(0)), torch.get_num_threads()
    fit()
    busy = [multiprocessing.Process(target=_keep_busy, args=(core,), daemon=True) for core in cores[: len(cores) // 2]]
    for process in busy:
        process.start()
    try:
        default = min(timed(fit)[1] for _ in range(3))
        kept = torch.get_num_threads() == before
        torch.set_num_threads(1)
        single = min(timed(fit)[1] for _ in range(3))
    finally:
        torch.set_num_threads(before)
        for process in busy:
            process.terminate()
    what, ratio = "fit beside a busy core, default threads over one thread", default / single
    detail = f"{default:.1f} s against {single:.1f} s; setting restored: {kept}"
    yield Line(what, f"{ratio:.2f}", "no slower (1.05)", ratio <= 1.05 and kept, detail)


def _keep_busy(core: int) -> None:
    os.sched_setaffinity(0, {core})
    while True:
        pass


SCALING = """
import json, resource, sys, time
from genbayes import QuantileSurrogate
from genbayes_bench.problems import draw_friedman
warm = draw_friedman(0, 500, 10)
QuantileSurrogate(n_epochs=1, random_state=0).fit(warm.X_train, warm.y_train)
split = draw_friedman(0, int(sys.argv[1]), 10)
data = split.X_train.nbytes + split.y_train.nbytes
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
start = time.perf_counter()
QuantileSurrogate(n_epochs=10, random_state=0).fit(split.X_train, split.y_train)
seconds = time.perf_counter() - start
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
print(json.dumps([seconds, (peak - before) / 2**20, data / 2**20]))
"""


def measure_scaling() -> Iterator[Line]:
    """Growth of time and memory with the number of rows, at equal epochs; each size in a process of its own."""
    sizes = (2_000, 6_000, 20_000, 90_000)
    seconds, memory, data = zip(*(json.loads(_run(SCALING, str(n))) for n in sizes), strict=True)
    exponent = math.log(seconds[-1] / seconds[0]) / math.log(sizes[-1] / sizes[0])
    course = ", ".join(f"n={n:,}: {s:.1f} s" for n, s in zip(sizes, seconds, strict=True))
    what = "time growth, n = 2,000 to 90,000, equal epochs: exponent"
    yield Line(what, f"{exponent:.2f}", "at most 1.05", exponent <= 1.05, course)
    extra, detail = memory[-1] - data[-1], f"grew by {memory[-1]:.0f} MB, data {data[-1]:.0f} MB"
    what = "memory of a fit beyond the data, n = 90,000"
    yield Line(what, f"{max(extra, 0):.0f} MB", "at most 300 MB", extra <= 300, detail)


def measure_race(n_seeds: int = 5, n_epochs: int = 3000) -> Iterator[Line]:
    """How much sooner `fast` reaches the test CRPS of `paper`: wall time, same threads, same rows.

    One network against one network: `paper` trains one with one hidden layer in f_x, so the race is run by one such
    network of `fast`, with larger batches and steps than an ensemble would use, since a single small network leaves the
    processor idle. The default of `fast`, five members and a choice of depth, is then timed for comparison.
    """
    problems: Mapping[str, Callable[[int], Split]] = {
        "BGP d=2, n=1600": partial(draw_bgp, 2),
        "Friedman d=10, n=2000": draw_friedman,
    }
    one = {"n_members": 1, "n_layers": 1, "batch_size": 256, "learning_rate": 0.01}
    lengths = (20, 40, 60, 80, 100, 120, 140, 160, 200, 240, 300)  # epochs of `fast`, tried in turn
    for name, draw in problems.items():
        splits = [draw(100 + seed) for seed in range(n_seeds)]
        _fit_all(splits[:1], n_epochs=1)  # warm up
        goal, slow = _fit_all(splits, recipe="paper", n_epochs=n_epochs)
        for length in lengths:
            crps, quick = _fit_all(splits, n_epochs=length, **one)
            if crps <= goal or length == lengths[-1]:
                break
        what = f"{name}: time of paper ({n_epochs} epochs) over time of fast to reach its CRPS ({n_seeds} seeds)"
        detail = f"paper {goal:.4f} in {slow:.1f} s; fast {crps:.4f} in {quick:.2f} s ({length} epochs)"
        met = crps <= goal and slow / quick >= 10
        yield Line(what, f"{slow / quick:.1f} times", "at least 10 times", met, detail)
        crps, quick = _fit_all(splits)
        detail = f"paper {goal:.4f} in {slow:.1f} s; default fast {crps:.4f} in {quick:.1f} s"
        what = f"{name}: the same for the default of fast, run to its end"
        yield Line(what, f"{slow / quick:.1f} times", detail=detail)


MODEL = """
import importlib, json, sys, time
from genbayes_bench.problems import draw_friedman
home, name, *sizes = sys.argv[1:]
make = getattr(importlib.import_module(home), name)
for n in map(int, sizes):
    split = draw_friedman(0, n, 1000)
    print(json.dumps(["start", n]), flush=True)
    begin = time.perf_counter()
    model = make(random_state=0).fit(split.X_train, split.y_train)
    fitted = time.perf_counter()
    there = model.predict_distribution(split.X_test)
    there.mean(), there.interval(0.9)
    print(json.dumps(["done", n, fitted - begin, time.perf_counter() - fitted]), flush=True)
"""


def measure_models() -> Iterator[Line]:
    """Fit and prediction time of every model against the number of rows, as far as each gets in 60 s.

    Friedman's function in ten inputs; prediction is of 1,000 new rows, mean and 90% interval.
    """
    for name in MODELS:
        timings = time_model(name)
        n, fit, predict = ([t[i] for t in timings] for i in range(3))
        course = ", ".join(f"n={rows:,.0f}: {seconds:.2g} s" for rows, seconds, _ in timings)
        detail = f"fit {course}; 1,000 rows predicted in {', '.join(f'{seconds:.2g} s' for seconds in predict)}"
        reached = f"n = {n[-1]:,.0f}" if n else "nothing"
        series = {"n": n, "fit": fit, "predict": predict}
        yield Line(f"{name}: largest n fitted within {LIMIT:.0f} s", reached, "reported", None, detail, series)


def time_model(name: str, sizes: tuple[int, ...] = ROWS, limit: float = LIMIT) -> list[tuple[float, ...]]:
    """Rows, seconds to fit and to predict, in a process of its own that is stopped when a fit takes too long."""
    command = [sys.executable, "-W", "ignore", "-c", MODEL, MODELS[name], name, *map(str, sizes)]
    found = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        watch = threading.Timer(limit + GRACE, process.kill)
        watch.start()
        assert process.stdout is not None
        for line in process.stdout:
            watch.cancel()
            event, *timing = json.loads(line)
            if event == "done":
                found.append(tuple(timing))
                if timing[1] > limit:
                    process.kill()
            watch = threading.Timer(limit + GRACE, process.kill)
            watch.start()
        watch.cancel()
    return [timing for timing in found if timing[1] <= limit]


ASK = """
import json, math, sys, time
from genbayes import Campaign
def simulate(x):
    return math.sin(5 * x["a"]) + x["b"] * x["c"]
n_runs, n_asks, folder = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
inputs = {"a": (0.0, 1.0), "b": (0.0, 1.0), "c": (0.0, 1.0)}
campaign = Campaign.create(f"sqlite:///{folder}/a.db", "a", inputs, n_initial=n_runs, random_state=0)
for trial in campaign.ask(n_runs):
    campaign.tell(trial, simulate(trial.x))
seconds = []
for _ in range(n_asks):
    start = time.perf_counter()
    trial = campaign.ask()
    seconds.append(time.perf_counter() - start)
    campaign.tell(trial, simulate(trial.x))
print(json.dumps(seconds))
"""


def measure_ask(n_runs: int = 300, n_later: int = 5) -> Iterator[Line]:
    """The first ask of a fresh process, which has everything to import and to fit, and those that follow."""
    with tempfile.TemporaryDirectory() as folder:
        first, *later = json.loads(_run(ASK, str(n_runs), str(1 + n_later), folder))
    about = f"ask with {n_runs} runs told, 3 inputs"
    yield Line(f"{about}: the first", f"{first:.2f} s", detail="imports and the first fit included")
    course = ", ".join(f"{seconds:.2f}" for seconds in later)
    yield Line(f"{about}: those after it", f"{median(later):.2f} s", detail=f"median of {course}")


def measure_acquisitions(n: int = 250) -> Iterator[Line]:
    """Runs chosen by an ensemble one at a time, each told before the next is chosen; the simulator costs nothing.

    As many as in the paper's rocket problem, by as many networks (section 4.3).
    """
    from genbayes import Box
    from genbayes.design import ModelProposer
    from genbayes.design.ensemble import RandomizedPriors

    def simulate(X: FloatArray) -> FloatArray:
        """A smooth response with a step."""
        return np.asarray(np.sin(5 * X[:, 0]) + X[:, 1] * X[:, 2] + (X[:, 0] > 0.5))

    space, rng, nothing = Box.unit(3), np.random.default_rng(0), np.empty((0, 3))
    proposer, n_first, n_networks = ModelProposer(RandomizedPriors(3)), 50, 3
    X = space.latin_hypercube(n_first, rng)
    y, seconds = simulate(X), []
    for _ in range(n):
        U, taken = timed(partial(proposer.propose, space, X, y, nothing, 1, rng))
        X, y = np.vstack([X, U]), np.append(y, simulate(U))
        seconds.append(round(taken, 3))
    what = f"{n} acquisitions one at a time from {n_first} runs, 3 inputs, {n_networks} networks"
    detail = f"{median(seconds):.2f} s each (median), {max(seconds):.2f} s at most"
    series = {"runs": [float(i) for i in range(n_first, n_first + n)], "seconds": seconds}
    yield Line(what, f"{sum(seconds):.0f} s", detail=detail, series=series)


def measure_budget(n: int = 2_000) -> Iterator[Line]:
    """What choosing costs: time of AutoSurrogate over that of one network and one GP, and whether limits are kept."""
    from genbayes import AutoSurrogate, QuantileSurrogate
    from genbayes.models import StationaryGP

    split = draw_friedman(0, n, 100)
    models = (QuantileSurrogate, StationaryGP, AutoSurrogate)
    network, gp, auto = (timed(partial(model(random_state=0).fit, split.X_train, split.y_train))[1] for model in models)
    ratio, detail = auto / (network + gp), f"{auto:.0f} s against {network:.1f} + {gp:.1f} s"
    what = f"AutoSurrogate over one network and one GP, Friedman, n = {n:,}"
    yield Line(what, f"{ratio:.1f} times", "at most 15", ratio <= 15, detail)
    for limit in (10.0, 30.0, 60.0):
        model = AutoSurrogate(time_limit=limit, random_state=0)
        _, took = timed(partial(model.fit, split.X_train, split.y_train))
        most = limit + max(0.1 * limit, 5.0)
        yield Line(f"AutoSurrogate, time_limit={limit:g}", f"{took:.1f} s", f"at most {most:g} s", took <= most)


TWO_FITS = """
import json, sys, time
import numpy as np
from genbayes import AutoSurrogate
name, n, n_jobs = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
rng = np.random.default_rng(1)
X, noise = rng.uniform(size=(n, 6)), rng.standard_normal(n)
a, b, c, d, *_ = X.T
y = {
    "two regimes": np.where(a + 0.5 * np.sin(3 * b) > 0.8, 4 + 3 * c**2 - d, 2 * np.cos(4 * b) + a - 2) + 0.3 * noise,
    "noisy": 8 * np.cos(3 * a * b) + 12 * (c - 0.4) ** 2 + 6 * d + noise,
    "smooth": np.exp(a * b) + np.sin(5 * c) * d + 0.05 * noise,
    "uneven": np.sin(5 * a) + b + (0.05 + 0.6 * c**2) * noise,
}[name]
seconds = []
for _ in range(2):
    begin = time.perf_counter()
    model = AutoSurrogate(n_jobs=n_jobs, random_state=0).fit(X, y)
    seconds.append(time.perf_counter() - begin)
print(json.dumps([*seconds, model.predict_quantiles(X[:50], [0.1, 0.5, 0.9]).tolist()]))
"""


def measure_jobs(sizes: tuple[int, ...] = (1_000, 2_000), n_repetitions: int = 3) -> Iterator[Line]:
    """AutoSurrogate with one job against two, by the clock: the first fit of a process, and one after it.

    One and two alternate; the best of the repetitions counts. The machine has to be idle otherwise, with two cores.
    """
    for name in ("two regimes", "noisy", "smooth", "uneven"):
        for n in sizes:
            first, later, found = ({1: math.inf, 2: math.inf} for _ in range(3))
            for _ in range(n_repetitions):
                for n_jobs in (1, 2):
                    one, two, found[n_jobs] = json.loads(_run(TWO_FITS, name, str(n), str(n_jobs)))
                    first[n_jobs], later[n_jobs] = min(first[n_jobs], one), min(later[n_jobs], two)
            what = f"AutoSurrogate, {name}, n = {n:,}: one job over two, seconds by the clock"
            detail = f"{later[1]:.1f} s over {later[2]:.1f} s; first fit of a process {first[1] / first[2]:.2f}; "
            detail += "same answer" if found[1] == found[2] else "ANOTHER ANSWER"
            detail += f"; load {os.getloadavg()[0]:.1f}"
            met = later[1] >= 1.7 * later[2] and found[1] == found[2]
            yield Line(what, f"{later[1] / later[2]:.2f} times", "at least 1.7", met, detail)


LARGE = """
import json, resource, sys, time
import numpy as np
from genbayes import AutoSurrogate, QuantileSurrogate
from genbayes_bench.problems import draw_friedman
auto, n = sys.argv[1] == "auto", int(sys.argv[2])
split = draw_friedman(0, n, 5_000)
model = AutoSurrogate(n_jobs=2, random_state=0) if auto else QuantileSurrogate(random_state=0)
clock, cpu = time.perf_counter(), time.process_time()
model.fit(split.X_train, split.y_train)
clock, cpu = time.perf_counter() - clock, time.process_time() - cpu
megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
error = float(np.sqrt(np.mean((model.predict(split.X_test) - split.f_test) ** 2)))
crps = [float(m.predict_distribution(split.X_test).crps(split.y_test).mean())
        for m in (model, *(model.combination_.models if auto else ()))]
print(json.dumps([clock, cpu, megabytes, error, crps]))
"""


def measure_large() -> Iterator[Line]:
    """Friedman's function with noise: the network on 1,000,000 runs, AutoSurrogate on 20,000, in minutes."""
    _, cpu, megabytes, error, _ = json.loads(_run(LARGE, "network", "1000000"))
    what = "QuantileSurrogate, 1,000,000 x 10: RMSE to f"
    yield Line(what, f"{error:.3f}", "at most 0.075", error <= 0.075, f"{cpu:.0f} cpu s, {megabytes:,.0f} MB")
    clock, cpu, megabytes, error, (crps, *each) = json.loads(_run(LARGE, "auto", "20000"))
    detail = f"{cpu:.0f} cpu s; CRPS {crps:.4f}, its best part alone {min(each):.4f}; RMSE to f {error:.3f}"
    what = "AutoSurrogate, 20,000 x 10, n_jobs=2: by the clock"
    yield Line(what, f"{clock:.0f} s", "at most 300 s", clock <= 300 and crps <= 1.005 * min(each), detail)


def _run(probe: str, *words: str) -> str:
    """What a piece of Python prints in a process of its own."""
    return subprocess.run([sys.executable, "-c", probe, *words], stdout=subprocess.PIPE, text=True, check=True).stdout


def _fit_network(split: Split, seed: int = 0, **settings: Any) -> Any:
    from genbayes import QuantileSurrogate

    return QuantileSurrogate(random_state=seed, **settings).fit(split.X_train, split.y_train)


def _fit_all(splits: list[Split], **settings: Any) -> tuple[float, float]:
    """Mean test CRPS and mean wall time of a fit over the seeds."""
    crps, seconds = [], []
    for seed, split in enumerate(splits):
        model, took = timed(partial(_fit_network, split, seed, **settings))
        crps.append(model.predict_distribution(split.X_test).crps(split.y_test).mean())
        seconds.append(took)
    return float(np.mean(crps)), float(np.mean(seconds))


PARTS: Mapping[str, Part] = {
    "import": measure_import,
    "prediction": measure_prediction,
    "members": measure_members,
    "threads": measure_threads,
    "scaling": measure_scaling,
    "race": measure_race,
    "models": measure_models,
    "ask": measure_ask,
    "acquisitions": measure_acquisitions,
    "budget": measure_budget,
    "jobs": measure_jobs,
    "large": measure_large,
}
