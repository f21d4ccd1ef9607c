"""Sequential designs: methods that choose their runs one by one, and how one is played against a problem.

Ours, the same model on random runs, the deep GP with ALC, and the ensembles of the paper's Supplement D. Their runs
were chosen, so they compete with nobody who was given runs: the report shows them under active learning and nowhere
else. A record of one keeps its learning curve, the score after every so many runs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal
from typing import Protocol as Interface

import numpy as np

from genbayes.arrays import FloatArray
from genbayes.metrics import rmse, rmspe
from genbayes_bench.problems.design import Sequential, Start
from genbayes_bench.problems.problem import PAPER, Case
from genbayes_bench.record import Record

CHOSEN, RANDOM = "al", "al-random"  # ours, and the same model without the choice
STREAM = 607
N_CANDIDATES, N_REFERENCE = 200, 200  # of the deep GP's ALC, as in the reference runs of R's deepgp
NOTE = (
    "{} initial runs and {} test points are drawn from streams of their own, so the replicate is not that of the same "
    "number for methods that are given their runs; fit_seconds is the time of the whole design, predictions included."
)


class Chooser(Interface):
    """Chooses the next run and predicts; inputs are in the unit cube."""

    def choose(self, X: FloatArray, y: FloatArray, rng: np.random.Generator) -> FloatArray:
        """The next point, shape (1, d)."""

    def predict(self, X: FloatArray, y: FloatArray, X_test: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Predictive means at test points from these runs."""


@dataclass(frozen=True)
class Design:
    """A method that chooses its runs.

    Attributes:
        name: Its key in records and on the command line.
        title: What people call it, short enough for a legend.
        make: Start of a replicate and what the deep GP is told of the noise, to who chooses.
        stream: What its random numbers are drawn from, beside the replicate.
        last: Which number of runs of `Sequential` it goes on to.
        random: Name of the same model on random runs; None where there is none.
        chooses: Whether it chooses at all; random runs are what choices are held against.
    """

    name: str
    title: str
    make: Callable[[Start, str], Chooser]
    stream: str
    last: Literal["n_runs", "n_random", "n_deep"] = "n_runs"
    random: str | None = None
    chooses: bool = True
    family = "design"
    most_replicates = 10  # a design takes minutes

    def sizes(self, case: Case) -> tuple[int, ...]:
        """The number of runs at the end, where there is a start."""
        sequential = case.problem.sequential
        return (case.n_train if sequential is None else getattr(sequential, self.last),)

    def why_not(self, case: Case) -> str | None:
        """Why it does not apply, or None if it does."""
        if case.problem.sequential is None:
            return "its runs cannot be chosen one by one"
        return None if case.protocol.name == PAPER else "designs are measured at their full size only"


def play(design: Design, sequential: Sequential, replicate: int) -> tuple[dict[str, float], dict[str, Any]]:
    """Choose runs one by one, and score predictions at the checkpoints.

    Args:
        design: Who chooses.
        sequential: The problem's initial runs and checkpoints.
        replicate: Number of the replicate.

    Returns:
        The last score, and what the record keeps: learning curve, seconds of an ask, held-out scores, n_test, a note.
    """
    start = sequential.start(replicate)
    rng = np.random.default_rng([STREAM, replicate, *design.stream.encode()])
    chooser, last = design.make(start, sequential.noise), getattr(sequential, design.last)
    score = rmspe if sequential.metric == "rmspe" else rmse
    X, y = start.X, start.y
    n: list[int] = []
    scores: list[float] = []
    asks: list[float] = []
    while True:
        if len(y) in sequential.checkpoints:
            n.append(len(y))
            scores.append(float(score(chooser.predict(X, y, start.X_test, rng), start.y_test)))
        if len(y) >= last:
            break
        asked = time.process_time()
        u = chooser.choose(X, y, rng)
        asks.append(time.process_time() - asked)
        X, y = np.vstack([X, u]), np.append(y, start.simulate(u))
    model = getattr(getattr(chooser, "proposer", None), "model_", None)
    return {sequential.metric: scores[-1]}, {
        "curve": {"n": n, sequential.metric: scores},
        "ask_seconds": {"mean": float(np.mean(asks)), "max": float(np.max(asks))},
        "held_out": getattr(model, "scores_", {}),
        "n_test": len(start.y_test),
        "note": NOTE.format(len(start.y), len(start.y_test)),
    }


class ByModel:
    """A `ModelProposer`; with `is_random` it only predicts, and the runs are drawn at random."""

    def __init__(self, start: Start, is_random: bool = False, **settings: Any) -> None:
        from genbayes.design import ModelProposer

        self.start, self.is_random = start, is_random
        self.proposer = ModelProposer(candidates=start.candidates, **settings)

    def choose(self, X: FloatArray, y: FloatArray, rng: np.random.Generator) -> FloatArray:
        """The proposal, or a random point."""
        space, candidates = self.start.space, self.start.candidates
        if not self.is_random:
            return self.proposer.propose(space, X, y, np.empty((0, X.shape[1])), 1, rng)
        if candidates is None:
            return space.uniform(1, rng)
        left = left_over(candidates, X)
        return left[[int(rng.integers(len(left)))]]

    def predict(self, X: FloatArray, y: FloatArray, X_test: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Means of the proposer's model."""
        return self.proposer.learn(self.start.space, X, y, rng).predict(X_test)


class ByDeepGP:
    """Two-layer deep GP with active learning Cohn (Sauer, Gramacy & Higdon 2023); goes on from its last draw."""

    def __init__(self, start: Start, noise: str) -> None:
        from genbayes.models import DeepGP

        rng = np.random.default_rng(0)
        self.start = start
        self.model = DeepGP(noise=noise, n_samples=50, n_burn_in=1_000, thinning=5, warm_start=True, random_state=rng)
        self.n_known = 0

    def choose(self, X: FloatArray, y: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Of some random candidates, that of the largest reduction of variance."""
        self._learn(X, y)
        candidates = self.start.space.uniform(N_CANDIDATES, rng)
        if self.start.candidates is not None:
            left = left_over(self.start.candidates, X)
            candidates = left[rng.permutation(len(left))[:N_CANDIDATES]]
        score = self.model.variance_reduction(candidates, self.start.space.sobol(N_REFERENCE, rng))
        return candidates[[int(score.argmax())]]

    def predict(self, X: FloatArray, y: FloatArray, X_test: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Means of the deep GP."""
        self._learn(X, y)
        return np.asarray(self.model.predict(X_test))

    def _learn(self, X: FloatArray, y: FloatArray) -> None:
        if len(y) != self.n_known:
            self.model.fit(X, y)
            self.model.set_params(n_burn_in=25)  # 275 steps of the chain for each further run
            self.n_known = len(y)


def left_over(candidates: FloatArray, X: FloatArray) -> FloatArray:
    """The candidates that are not among the runs.

    Example:
        >>> left_over(np.array([[1.0], [2.0]]), np.array([[1.0]]))
        array([[2.]])
    """
    known = {row.tobytes() for row in np.ascontiguousarray(X)}
    return candidates[[row.tobytes() not in known for row in np.ascontiguousarray(candidates)]]


def _ensemble(name: str, *, is_random: bool = False) -> Callable[[Start, str], Chooser]:
    """An ensemble of Supplement D: its disagreement chooses, itself predicts."""

    def make(start: Start, noise: str) -> Chooser:
        from genbayes.design import RandomizedPriors, disagreement
        from genbayes_bench import rivals

        model = RandomizedPriors() if name == "RandomizedPriors" else getattr(rivals, name)()
        if is_random:
            return ByModel(start, is_random=True, model=model)
        return ByModel(start, model=model, acquisition=disagreement)

    return make


_GBC = "RandomizedPriors"
_ALL = (
    Design(CHOSEN, "ModelProposer, chosen runs", lambda start, noise: ByModel(start), "auto", random=RANDOM),
    Design(
        RANDOM,
        "same model, random runs",
        lambda start, noise: ByModel(start, is_random=True),
        "random",
        last="n_random",
        chooses=False,
    ),
    Design("al-deep-gp", "Deep GP with ALC", ByDeepGP, "deep-gp", last="n_deep"),
    Design("al-gbc", "GBC-AL as in the paper", _ensemble(_GBC), "gbc-al", random="al-gbc-random"),
    Design("al-gbc-random", "GBC networks, random runs", _ensemble(_GBC, is_random=True), "gbc-random", chooses=False),
    Design("al-bootstrap", "bootstrapped networks", _ensemble("Bootstrap"), "bootstrap"),
    Design("al-anchored", "anchored networks", _ensemble("Anchored"), "anchored"),
    Design("al-sngp", "SNGP", _ensemble("SNGP"), "sngp"),
    Design("al-laplace", "last-layer Laplace", _ensemble("LastLayerLaplace"), "laplace"),
)
DESIGNS: Mapping[str, Design] = {design.name: design for design in _ALL}


def is_sequential(record: Record) -> bool:
    """Whether a record is of a sequential design: by its name, or by the learning curve that it keeps."""
    curve = record.detail.get("curve")
    return record.method in DESIGNS or (isinstance(curve, Mapping) and "n" in curve)


def chooses(method: str) -> bool:
    """Whether a sequential design chooses its runs; one that is not known here does.

    Example:
        >>> chooses("al"), chooses("al-random"), chooses("al-of-somebody")
        (True, False, True)
    """
    return method not in DESIGNS or DESIGNS[method].chooses
