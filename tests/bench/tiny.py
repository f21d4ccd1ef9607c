"""A tiny problem and methods that behave well and badly, loaded by the runner like a user's own file.

Each fit adds a line to the file that the environment variable TINY_LOG names, so that tests can count them.
"""

from __future__ import annotations

import os
import signal
import time

import numpy as np

from genbayes.distribution import Normal
from genbayes_bench import Method, Problem, Protocol, Split


def draw(replicate: int, n_train: int, n_test: int) -> Split:
    rng = np.random.default_rng([99, replicate])
    X = rng.uniform(size=(n_train + n_test, 2))
    y = X[:, 0] + 0.1 * rng.standard_normal(len(X))
    return Split(X[:n_train], y[:n_train], X[n_train:], y[n_train:], X[n_train:, 0], 0.1)


class Bell:
    """The same Gaussian everywhere, with a draw of its own so that its seed matters."""

    def __init__(self, random_state: int, seconds: float = 0.0) -> None:
        self.random_state, self.seconds = random_state, seconds

    def get_params(self, deep: bool = True) -> dict[str, object]:
        return {"random_state": self.random_state, "seconds": self.seconds}

    def fit(self, X: np.ndarray, y: np.ndarray) -> Bell:
        with open(os.environ.get("TINY_LOG", os.devnull), "a") as log:
            log.write(f"{type(self).__name__} {self.seconds} {self.random_state}\n")
        time.sleep(self.seconds)
        self.loc = float(np.mean(y)) + 0.01 * np.random.default_rng(self.random_state).standard_normal()
        self.scale = float(np.std(y))
        return self

    def predict_distribution(self, X: np.ndarray) -> Normal:
        return Normal(loc=np.full(len(X), self.loc), scale=np.full(len(X), self.scale))


class Broken(Bell):
    def fit(self, X: np.ndarray, y: np.ndarray) -> Bell:
        raise RuntimeError("it never\nworks")


class Mute(Bell):
    """Predicts nothing that can be scored."""

    def predict_distribution(self, X: np.ndarray) -> Normal:
        law = super().predict_distribution(X)
        law.crps = lambda y: np.full(len(y), np.nan)  # type: ignore[method-assign]
        return law


class Fatal(Bell):
    """Ends its process without a word, as the system does with one that runs out of memory."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> Bell:
        super().fit(X, y)
        os.kill(os.getpid(), signal.SIGKILL)
        return self


TINY = Problem("tiny", "a tiny problem", n_inputs=2, draw=draw, source="tests")
OTHER = Problem("tiny_other", "another one", n_inputs=2, draw=draw, source="tests", jumps=True)
FULL = tuple(
    Protocol(name, n_train=30, n_test=20, n_replicates=3, methods=("bell",), seed=5) for name in ("tiny", "tiny_other")
)
METHODS = (
    Method("bell", "a bell", lambda seed, case: Bell(seed)),
    Method("slow", "a slow bell", lambda seed, case: Bell(seed, 0.25)),
    Method("broken", "fails", lambda seed, case: Broken(seed)),
    Method("mute", "scores NaN", lambda seed, case: Mute(seed)),
    Method("fatal", "dies", lambda seed, case: Fatal(seed)),
    Method(
        "jumper", "jumps", lambda seed, case: Bell(seed), why_not=lambda case: None if case.problem.jumps else "no jump"
    ),
)
