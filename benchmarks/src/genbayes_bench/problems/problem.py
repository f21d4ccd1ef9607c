"""Problem, Protocol and Split: where runs come from, how a problem is measured, and one replicate of it, as values.

The protocol "paper" is what the paper did, or would have done had it had the problem; "part" spends less on a fit, to
compare variants of a model; "quick" shows in minutes whether everything works.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from genbayes.arrays import FloatArray
from genbayes_bench.problems.shared import why_absent

if TYPE_CHECKING:
    from genbayes_bench.problems.design import Sequential
    from genbayes_bench.problems.inference import Task

PAPER, PART, QUICK = "paper", "part", "quick"
MAIN = ("gbc", "gbc-aug", "auto", "gp", "het-gp", "jump-gp", "boosted")  # methods of every problem where they apply
SLOW = ("gbc-paper", "gbc-paper-single")  # last within a replicate, and in the paper's protocol only


@dataclass(frozen=True)
class Split:
    """Training and test runs of one replicate.

    Attributes:
        X_train: Training inputs, shape (n, d).
        y_train: Training responses, shape (n,).
        X_test: Test inputs, shape (m, d).
        y_test: Noisy test responses, shape (m,).
        f_test: Noise-free test responses, shape (m,), where the truth is known.
        noise_sd: Standard deviation of the noise, where it is known and constant.
        note: What a reader of the scores should know of the data; empty for nothing.
    """

    X_train: FloatArray
    y_train: FloatArray
    X_test: FloatArray
    y_test: FloatArray
    f_test: FloatArray | None = None
    noise_sd: float | None = None
    note: str = ""

    def first(self, n_train: int, n_test: int) -> Split:
        """The first runs of either part; rows must be in random order, so that these are a random part.

        Example:
            >>> import numpy as np
            >>> split = Split(np.zeros((9, 1)), np.arange(9.0), np.zeros((5, 1)), np.arange(5.0))
            >>> split.first(3, 2).y_train
            array([0., 1., 2.])
        """
        return replace(
            self,
            X_train=self.X_train[:n_train],
            y_train=self.y_train[:n_train],
            X_test=self.X_test[:n_test],
            y_test=self.y_test[:n_test],
            f_test=None if self.f_test is None else self.f_test[:n_test],
        )


Draw = Callable[[int, int, int], Split]  # replicate, n_train, n_test


@dataclass(frozen=True)
class Problem:
    """A problem that methods are measured on; how many runs is for the protocol to say.

    Attributes:
        name: Its key in records and on the command line.
        title: What it is, for people.
        n_inputs: Inputs of a run, d.
        draw: Replicate, n_train and n_test to a split; the same for the same arguments, whatever else is drawn.
        source: Where its definition comes from.
        standin: What it stands in for, as a sentence; None if it is the real thing.
        kind: "emulation"; "design" if its paper chooses the runs one by one, though it may still be run as emulation,
            on runs that nobody chose; "inference" if parameters are learnt from outputs, its runs are simulations then
            and its responses have k columns.
        jumps: Whether the response has regimes between which it jumps.
        needs: File below the shared folder without which it cannot be drawn, or None.
        sequential: How its runs are chosen one by one, for methods that choose them; None if nobody may.
        inference: Prior, simulator and true posteriors, for methods that infer parameters; None if nothing is inferred.

    Example:
        >>> import numpy as np
        >>> def draw(replicate: int, n_train: int, n_test: int) -> Split:
        ...     X = np.random.default_rng(replicate).uniform(size=(n_train + n_test, 1))
        ...     return Split(X[:n_train], X[:n_train, 0] ** 2, X[n_train:], X[n_train:, 0] ** 2)
        >>> Problem("square", "x squared", n_inputs=1, draw=draw, source="these docs").draw(0, 5, 3).y_test.shape
        (3,)
    """

    name: str
    title: str
    n_inputs: int
    draw: Draw
    source: str
    standin: str | None = None
    kind: Literal["emulation", "design", "inference"] = "emulation"
    jumps: bool = False
    needs: str | None = None
    sequential: Sequential | None = None
    inference: Task | None = None

    @property
    def absent(self) -> str | None:
        """Why it cannot be drawn here, or None if it can."""
        return None if self.needs is None else why_absent(self.needs)


@dataclass(frozen=True)
class Protocol:
    """How a problem is measured.

    Attributes:
        problem: Name of the problem.
        n_train: Runs to learn from.
        n_test: Runs to score on.
        n_replicates: Replicates, numbered from 0.
        name: "paper", "part" or "quick".
        source: Table, figure or section of the paper.
        more_n_train: Further numbers of runs to learn from, for a study of scale.
        seed: Added to the replicate's number, seeds the method.
        metrics: Scores that tables show, the first one decides.
        methods: Methods to run unless others are named; those that do not apply are left out with a reason.
        paper_settings: Settings of the paper's recipe on this problem.
        n_paper: Largest number of runs the paper learnt from here; its recipe is not asked for more. None for any.
        time_limit: Seconds that AutoSurrogate may take; None for as long as it needs.
        n_epochs: Most epochs of our networks; None leaves it to their recipe.

    Example:
        >>> Protocol("bgp2", n_train=1600, n_test=400, n_replicates=20).quick().n_replicates
        2
    """

    problem: str
    n_train: int
    n_test: int
    n_replicates: int
    name: str = PAPER
    source: str = "not in the paper"
    more_n_train: tuple[int, ...] = ()
    seed: int = 0
    metrics: tuple[str, ...] = ("crps", "rmse", "coverage")
    methods: tuple[str, ...] = (*MAIN, "gbc-paper")
    paper_settings: Mapping[str, Any] = field(default_factory=dict)
    n_paper: int | None = None
    time_limit: float | None = None
    n_epochs: int | None = None

    @property
    def sizes(self) -> tuple[int, ...]:
        """Every number of runs to learn from."""
        return (self.n_train, *self.more_n_train)

    def part(self) -> Protocol:
        """Minutes a fit: at most 1,000 runs and 2,000 epochs, three replicates."""
        return replace(self._with_at_most(PART, 1_000), n_replicates=min(self.n_replicates, 3), n_epochs=2_000)

    def quick(self) -> Protocol:
        """Seconds a fit: at most 200 runs, 100 epochs, 5 s for AutoSurrogate; two replicates."""
        return replace(self._with_at_most(QUICK, 200), n_replicates=2, n_epochs=100, time_limit=5.0)

    def _with_at_most(self, name: str, n: int) -> Protocol:
        """The same under another name, with fewer runs and without the recipe of the paper."""
        methods = tuple(method for method in self.methods if method not in SLOW)
        n_train, n_test = min(self.n_train, n), min(self.n_test, n)
        return replace(self, name=name, n_train=n_train, more_n_train=(), n_test=n_test, methods=methods)


@dataclass(frozen=True)
class Case:
    """A problem under a protocol at one number of runs: what a method may know before it sees any.

    Attributes:
        problem: The problem.
        protocol: How it is measured.
        n_train: Runs to learn from.
    """

    problem: Problem
    protocol: Protocol
    n_train: int
