"""Is this tree as fast as another commit? Fits, predictions and asks, alternated between two processes.

`make bench-speed BASE=COMMIT` makes a worktree of the commit under build/, with its own environment by its own
Makefile, and keeps it for the next time (`git worktree remove` takes it away). `BASE_DIR=FOLDER` uses a worktree that
is there, `REPETITIONS=N` says how often. One long-lived process a tree, one thread each, never both at once; each
repetition runs a case on both with the same seed, in alternating order. Printed are processor seconds, the ratio
present / base (geometric mean over repetitions, with its standard error), and whether both came to the same numbers: a
ratio of different computations says little.

`--untouched network` or `--untouched auto` asks instead whether a change that may move numbers cost accuracy: one of
the two on formulas that no setting was chosen on (`genbayes_bench.problems.untouched`), the repetitions being draws.
Then the ratio of the CRPS on new runs is printed beside that of the seconds, and in the end which formulas are worse
by a paired t-test, Holm's correction applied.
"""

from __future__ import annotations

import argparse
import contextlib
import fnmatch
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "MKL", "OPENBLAS", "NUMEXPR")}

Case = Callable[[int], tuple[float, float]]  # seed to processor seconds and a number that the computation came to


# ----------------------------------------------------------------------------------------------- what a process can run


def timed(action: Callable[[], Any]) -> tuple[float, Any]:
    """Processor seconds of an action, and what it returns."""
    start = time.process_time()
    found = action()
    return time.process_time() - start, found


def friedman(n: int, seed: int) -> tuple[Any, Any]:
    """Friedman's function of ten inputs, five of which matter."""
    import numpy as np

    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 10))
    y = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4]
    return X, y + rng.standard_normal(n)


def jumping(n: int, seed: int) -> tuple[Any, Any]:
    """Two smooth regimes with a curved boundary."""
    import numpy as np

    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 2))
    inside = (X[:, 0] - 0.5) ** 2 + (X[:, 1] - 0.4) ** 2 < 0.1
    return X, np.where(inside, 9.0, 0.0) + np.sin(4 * X[:, 0]) + 0.5 * rng.standard_normal(n)


def fit_case(make: Callable[[int], Any], data: Callable[[int, int], tuple[Any, Any]], n: int) -> Case:
    """Fit a model to n rows."""

    def run(seed: int) -> tuple[float, float]:
        X, y = data(n, seed)
        seconds, model = timed(lambda: make(seed).fit(X, y))
        return seconds, float(model.predict(X[:20]).mean())

    return run


def make_network(seed: int) -> Any:
    """A quantile network as a user gets it."""
    from genbayes import QuantileSurrogate

    return QuantileSurrogate(random_state=seed)


def make_augmented(seed: int) -> Any:
    """A quantile network with boundary features."""
    from genbayes import BoundaryFeatures, QuantileSurrogate

    return QuantileSurrogate(features=BoundaryFeatures(), random_state=seed)


def make_gp(seed: int) -> Any:
    """A stationary GP."""
    from genbayes.baselines import StationaryGP

    return StationaryGP(random_state=seed)


def make_auto(seed: int) -> Any:
    """AutoSurrogate with a few candidates of each kind."""
    from genbayes import AutoSurrogate

    return AutoSurrogate(candidates=["gp", "gp-smooth", "het-gp", "iqn-shallow"], n_folds=2, random_state=seed)


@cache
def fitted_network() -> Any:
    """One network for all predictions."""
    return make_network(0).set_params(n_epochs=20, n_members=3).fit(*friedman(200, 0))


def predict(seed: int) -> tuple[float, float]:
    """Predict 10,000 rows."""
    model, (X, _) = fitted_network(), friedman(10_000, seed)
    seconds, dist = timed(lambda: model.predict_distribution(X))
    more, ends = timed(lambda: dist.interval(0.9))
    return seconds + more, float(ends[1].mean())


def ask(seed: int) -> tuple[float, float]:
    """Five asks beyond the initial design, told one after another; the telling is not timed."""
    return campaign(seed)[0], campaign(seed)[2]


def tell(seed: int) -> tuple[float, float]:
    """25 tells of one campaign."""
    return campaign(seed)[1], campaign(seed)[2]


@cache
def campaign(seed: int) -> tuple[float, float, float]:
    """Seconds of five asks, seconds of all tells, the last input proposed."""
    from genbayes import Campaign

    asking = telling = 0.0
    with tempfile.TemporaryDirectory() as folder:
        space = {f"x{j}": (0.0, 1.0) for j in range(3)}
        made = Campaign.create(f"sqlite:///{folder}/a.db", "a", space, n_initial=20, random_state=seed)
        for i in range(25):
            seconds, trial = timed(made.ask)
            asking += seconds if i >= 20 else 0.0
            y = math.sin(5 * trial.x["x0"]) + trial.x["x1"] * trial.x["x2"]
            telling += timed(lambda trial=trial, y=y: made.tell(trial, y=y))[0]
        return asking, telling, float(trial.x["x0"])


def untouched_case(which: str, name: str) -> Case:
    """A network or an automatic choice fitted to a formula that nothing was chosen on; the number is its CRPS."""

    def run(seed: int) -> tuple[float, float]:
        from genbayes import AutoSurrogate, QuantileSurrogate
        from genbayes_bench.problems.untouched import UNTOUCHED

        problem = UNTOUCHED[name]
        split = problem.draw(seed)
        make = {"network": QuantileSurrogate, "auto": AutoSurrogate}[which]
        model = make(random_state=seed, categorical=list(problem.categorical) or None)
        seconds, _ = timed(lambda: model.fit(split.X_train, split.y_train))
        return seconds, float(model.predict_distribution(split.X_test).crps(split.y_test).mean())

    return run


def untouched_names(which: str) -> list[str]:
    """Names of the cases of `--untouched`."""
    from genbayes_bench.problems.untouched import UNTOUCHED

    return [f"{which}: {name}" for name in UNTOUCHED]


def find_case(name: str) -> Case:
    """The case of a name."""
    which, _, problem = name.partition(": ")
    return CASES[name] if name in CASES else untouched_case(which, problem)


CASES: dict[str, Case] = {
    "network, two regimes, n = 150": fit_case(make_network, jumping, 150),
    "network, Friedman, n = 200": fit_case(make_network, friedman, 200),
    "network with boundary features, n = 150": fit_case(make_augmented, jumping, 150),
    "stationary GP, Friedman, n = 300": fit_case(make_gp, friedman, 300),
    "AutoSurrogate, four candidates, n = 60": fit_case(make_auto, friedman, 60),
    "predict_distribution, 10,000 rows": predict,
    "ask, five beyond the initial design": ask,
    "tell, 25 trials": tell,
}


def serve() -> None:
    """Run cases named on standard input, one JSON line each, until it ends."""
    answers = os.fdopen(os.dup(1), "w")  # what the library prints goes elsewhere
    os.dup2(2, 1)
    import torch

    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    for line in sys.stdin:
        name, seed = json.loads(line)
        print(json.dumps(find_case(name)(seed)), file=answers, flush=True)


# ---------------------------------------------------------------------------------------------------- the two processes


class Child:
    """A process that runs cases on one tree."""

    def __init__(self, python: Path, tree: Path) -> None:
        environment = (
            os.environ
            | ONE_THREAD
            | {"PYTHONPATH": os.pathsep.join([str(tree / "src"), str(ROOT / "benchmarks" / "src")])}
        )
        command = [str(python), str(Path(__file__).resolve()), "--serve"]
        self._process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def run(self, name: str, seed: int) -> tuple[float, float]:
        """Processor seconds and number of one case."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([name, seed]) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise SystemExit(f"{name!r} failed in {self._process.args[0]}; its traceback is above")  # type: ignore[index]
        seconds, number = json.loads(answer)
        return seconds, number

    def close(self) -> None:
        """Let the process end."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


@contextlib.contextmanager
def children(base: Path) -> Iterator[tuple[Child, Child]]:
    """The process of the base, and that of this tree."""
    pair = Child(base / ".venv" / "bin" / "python", base), Child(Path(sys.executable), ROOT)
    try:
        yield pair
    finally:
        for child in pair:
            child.close()


def make_worktree(commit: str) -> Path:
    """A worktree of a commit under build/, with its own environment."""
    git = ["git", "-C", str(ROOT)]
    parse = [*git, "rev-parse", "--short", f"{commit}^{{commit}}"]
    told = subprocess.run(parse, check=False, capture_output=True, text=True)
    if told.returncode:
        raise SystemExit(f"BASE must be a commit of this repository, got {commit!r}: {told.stderr.strip()}")
    folder = ROOT / "build" / f"base-{told.stdout.strip()}"
    if not folder.exists():
        subprocess.run([*git, "worktree", "prune"], check=True)
        subprocess.run([*git, "worktree", "add", "--detach", str(folder), commit], check=True)
    subprocess.run(["make", "-C", str(folder), ".venv/.ready"], check=True)
    return folder


# -------------------------------------------------------------------------------------------------------------- report


def compare(base: Path, pattern: str, n: int) -> dict[str, dict[str, Any]]:
    """Seconds and numbers of each case on both trees, printed as they come."""
    names = [name for name in CASES if pattern in name or fnmatch.fnmatch(name, pattern)]
    width = max(len(name) for name in names) if names else 0
    print(f"{'case'.ljust(width)}  {'base s':>9}  {'now s':>9}  {'ratio':>6}     SE  numbers")
    found: dict[str, dict[str, Any]] = {}
    with children(base) as pair:
        for name in names:
            for child in pair:
                child.run(name, 0)  # imports and caches
            runs: list[list[tuple[float, float]]] = [[], []]
            for seed in range(1, n + 1):
                for which in (0, 1) if seed % 2 else (1, 0):
                    runs[which].append(pair[which].run(name, seed))
            found[name] = summarise(*runs)
            one = found[name]
            error = "" if one["se"] is None else f"{one['se']:6.3f}"
            row = f"{one['base']:9.4f}  {one['now']:9.4f}  {one['ratio']:6.3f} {error:>6}  {one['numbers']}"
            print(f"{name.ljust(width)}  {row}", flush=True)
    return found


def summarise(base: list[tuple[float, float]], now: list[tuple[float, float]]) -> dict[str, Any]:
    """Mean seconds, geometric mean of the ratios with its standard error, and whether the numbers are the same.

    Example:
        >>> summarise([(1.0, 5.0), (1.0, 6.0)], [(2.0, 5.0), (0.5, 6.0)])["ratio"]
        1.0
    """
    logs = [math.log(b[0] / a[0]) for a, b in zip(base, now, strict=True)]
    ratio = math.exp(statistics.fmean(logs))
    apart = max(abs(b[1] - a[1]) / (abs(a[1]) or 1.0) for a, b in zip(base, now, strict=True))
    return {
        "base": statistics.fmean(seconds for seconds, _ in base),
        "now": statistics.fmean(seconds for seconds, _ in now),
        "ratio": ratio,
        "se": ratio * statistics.stdev(logs) / math.sqrt(len(logs)) if len(logs) > 1 else None,
        "numbers": "equal" if apart == 0 else f"differ by {apart:.0e}",
    }


def compare_untouched(base: Path, which: str, n: int) -> dict[str, dict[str, Any]]:
    """Seconds and CRPS of each formula on both trees, printed as they come, then what they come to together."""
    from scipy.stats import ttest_1samp

    print(f"{'formula'.ljust(20)}  {'base s':>7}  {'now s':>7}  {'seconds':>8}  {'CRPS':>7}  {'SE':>6}  now / base")
    found: dict[str, dict[str, Any]] = {}
    with children(base) as pair:
        for name in untouched_names(which):
            runs: list[list[tuple[float, float]]] = [[], []]
            for seed in range(n):
                for side in (0, 1) if seed % 2 else (1, 0):
                    runs[side].append(pair[side].run(name, seed))
            one = summarise(*runs)
            logs = [math.log(b[1] / a[1]) for a, b in zip(*runs, strict=True)]
            one["crps"], one["p"] = math.exp(statistics.fmean(logs)), 1.0
            one["crps_se"] = statistics.stdev(logs) / math.sqrt(n) if n > 1 else math.nan
            if n > 1 and one["crps_se"] > 0:
                one["p"] = float(ttest_1samp(logs, 0.0, alternative="greater").pvalue)
            found[name] = one
            row = (
                f"{one['base']:7.1f}  {one['now']:7.1f}  {one['ratio']:8.3f}  {one['crps']:7.4f}  {one['crps_se']:6.4f}"
            )
            print(f"{name.ljust(20)}  {row}", flush=True)
    seconds, crps = (math.exp(statistics.fmean(math.log(one[k]) for one in found.values())) for k in ("ratio", "crps"))
    print(f"geometric means: seconds {seconds:.3f}, CRPS {crps:.4f}; {tell_worse(found)}")
    return found


def tell_worse(found: dict[str, dict[str, Any]]) -> str:
    """Which formulas are worse at 5% by Holm's correction of the p-values.

    Example:
        >>> tell_worse({"a": {"p": 0.001}, "b": {"p": 0.04}, "c": {"p": 0.5}})
        'worse at 5% after Holm: a'
    """
    worse = []
    for rank, (name, one) in enumerate(sorted(found.items(), key=lambda pair: pair[1]["p"])):
        if one["p"] > 0.05 / (len(found) - rank):
            break
        worse.append(name)
    return f"worse at 5% after Holm: {', '.join(worse) or 'none'}"


def main() -> None:
    """Parse the arguments, compare, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--base", metavar="COMMIT", help="the commit to compare with")
    which.add_argument("--base-dir", type=Path, metavar="FOLDER", help="a worktree with its .venv, used as it is")
    which.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--repetitions", type=int, default=10, metavar="N", help="pairs of runs of each case")
    parser.add_argument("--only", default="", metavar="PATTERN", help="cases whose name contains or matches it")
    parser.add_argument("--untouched", choices=["network", "auto"], help="compare accuracy on formulas instead")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the numbers")
    given = parser.parse_args()
    if given.serve:
        serve()
        return
    base = make_worktree(given.base) if given.base else given.base_dir.resolve()
    if given.untouched:
        found = compare_untouched(base, given.untouched, given.repetitions)
    else:
        found = compare(base, given.only, given.repetitions)
    if given.json is not None:
        given.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
