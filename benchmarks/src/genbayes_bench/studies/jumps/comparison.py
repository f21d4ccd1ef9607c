"""GBC-Aug against the paper's plain network and the modular jump GP; honest features against in-sample ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from genbayes import BoundaryFeatures, QuantileSurrogate
from genbayes.data.dataset import Dataset
from genbayes.metrics import coverage
from genbayes.models import ModularJumpGP
from genbayes_bench.problems import Split, draw_bgp
from genbayes_bench.studies.jumps.accuracy import told
from genbayes_bench.studies.jumps.data import Problems
from genbayes_bench.studies.speed.result import Result, timed

__all__ = ["measure_aug", "measure_honesty", "measure_mix", "measure_plain"]

N_FEW = 1_000  # rows of the comparison of features
N_PLAIN = 1  # replicates of the paper's recipe, which takes by far the longest


def make_aug() -> QuantileSurrogate:
    return QuantileSurrogate(features=BoundaryFeatures(), random_state=0)


def measure_aug(problems: Problems, n_replicates: int) -> Iterator[Result]:
    """GBC-Aug and the jump GP on every problem."""
    for name, draw in problems:
        splits = [draw(replicate) for replicate in range(n_replicates)]
        aug, detail = score(make_aug, splits)
        yield Result(f"{name}: CRPS of GBC-Aug", told(aug, 5), "reported", None, detail)
        jump, detail = score(lambda: ModularJumpGP(random_state=0), splits)
        yield Result(f"{name}: CRPS of ModularJumpGP", told(jump, 5), "reported", None, detail)
        yield against_jump(name, aug - jump)


def measure_plain(problems: Problems, n_replicates: int) -> Iterator[Result]:
    """The paper's plain network, which is slow, against GBC-Aug on a few of the splits."""
    for name, draw in problems:
        splits = [draw(replicate) for replicate in range(min(n_replicates, N_PLAIN))]
        aug, _ = score(make_aug, splits)
        plain, detail = score(lambda: QuantileSurrogate(recipe="paper", random_state=0), splits)
        ratio = float(plain.mean() / aug.mean())
        detail = f"CRPS of the plain network {plain.mean():.5f}, of GBC-Aug {aug.mean():.5f}; {detail}"
        what = f'{name}: CRPS of recipe="paper" without features over GBC-Aug\'s'
        yield Result(what, f"{ratio:.2f}", "at least 2", ratio >= 2, detail)


def measure_mix(problems: Problems, n_replicates: int) -> Iterator[Result]:
    """GBC-Aug with laws mixed over regimes, our default, and with the probability shown to the network, the paper's."""
    for name, draw in problems:
        splits = [draw(replicate) for replicate in range(n_replicates)]
        mixed, _ = score(make_aug, splits)
        shown, _ = score(lambda: QuantileSurrogate(features=BoundaryFeatures(mix=False), random_state=0), splits)
        detail = f"mixed {told(mixed, 5)}, shown {told(shown, 5)}"
        what = f"{name}: CRPS of GBC-Aug with mix=False minus that with mix=True"
        yield Result(what, told(shown - mixed, 5), "reported", None, detail)


def against_jump(name: str, difference: np.ndarray) -> Result:
    """No worse: the mean difference lies within two standard errors of zero, or below."""
    error = difference.std(ddof=1) / np.sqrt(len(difference)) if len(difference) > 1 else 0.0
    what = f"{name}: CRPS of GBC-Aug minus ModularJumpGP's"
    return Result(what, told(difference, 5), "at most 2 standard errors", bool(difference.mean() <= 2 * error))


def score(make: Callable[[], Any], splits: list[Split]) -> tuple[np.ndarray, str]:
    """CRPS on each split; coverage of 90% intervals and seconds of a fit, in words."""
    found, hits, seconds = [], [], []
    for split in splits:
        model, took = timed(lambda split=split: make().fit(split.X_train, split.y_train))
        law = model.predict_distribution(split.X_test)
        found.append(law.crps(split.y_test).mean())
        hits.append(coverage(*law.interval(0.9), split.y_test))
        seconds.append(took)
    detail = f"coverage {np.mean(hits):.3f}, {np.mean(seconds):.0f} s a fit, {len(splits)} replicate(s)"
    return np.array(found), detail


def measure_honesty(problems: Problems, n_replicates: int) -> Iterator[Result]:
    """The same network on out-of-fold probabilities of the training rows and on in-sample ones.

    On 1,000 of the rows and on BGP, where the classifier errs often enough for honesty to matter.
    """
    bgp = {f"BGP d={d}": partial(draw_bgp, d) for d in (2, 3, 4)}
    for name, draw in [*problems, *bgp.items()]:
        found = np.array([honest_and_seen(draw(replicate)) for replicate in range(n_replicates)])
        detail = f"out-of-fold {told(found[:, 0], 5)}, in-sample {told(found[:, 1], 5)}"
        what = f"{name}, n at most {N_FEW:,}: CRPS with in-sample probabilities minus that with out-of-fold ones"
        yield Result(what, told(found[:, 1] - found[:, 0], 5), "reported", None, detail)


def honest_and_seen(split: Split) -> tuple[float, float]:
    """CRPS of the network on out-of-fold and on in-sample probabilities."""
    data, boundary = Dataset.merged(split.X_train[:N_FEW], split.y_train[:N_FEW]), BoundaryFeatures()
    honest = boundary.fit_transform(data, np.random.default_rng(0))
    Z_test, scores = boundary.transform(split.X_test), []
    for Z in (honest, boundary.transform(data.X)):
        model = QuantileSurrogate(random_state=0).fit(Z, data.y)
        scores.append(float(model.predict_distribution(Z_test).crps(split.y_test).mean()))
    return scores[0], scores[1]
