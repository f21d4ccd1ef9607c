"""run_r: runs go to R as files of numbers, R fits and predicts, and its answer comes back checked, as laws.

A fitted R object has no life outside R, so fit and prediction are one call and nothing is kept or saved.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from genbayes.arrays import FloatArray
from genbayes.baselines.base import Of
from genbayes.distribution import Normal
from genbayes.errors import InvalidInput
from genbayes.seeding import RandomState, as_generator
from genbayes.tabular.door import MIN_ROWS, require_variation
from genbayes.validation import check_array, check_choice, check_nonnegative, check_targets
from genbayes_bench.rivals.r.models import PACKAGES, RModel
from genbayes_bench.rivals.r.process import RFailed, RMissing, Spoken, find_rscript, run_script

__all__ = ["RPrediction", "available", "run_r"]

ONE_HOUR = 3600.0
LOOK = 60.0  # seconds for R to start and look at its libraries, even on a busy machine
ALL_DIGITS = "%.17g"  # a double survives the way to text and back
MISSING_PACKAGE = 3  # exit code of fit_predict.R


@dataclass(frozen=True)
class RPrediction:
    """What an R model predicts at n new inputs, in the units of y.

    Attributes:
        mean: Means, shape (n,).
        variance: Variances of a new run, noise included, shape (n,).
        latent: Variances of what the model knows of E[y | x], shape (n,); None where R does not tell.
        seed: What `set.seed` was given, to repeat the run in R.
        messages: What R wrote on its error stream, its warnings above all.

    Example:
        >>> there = RPrediction(np.zeros(2), np.full(2, 4.0), np.ones(2), seed=1, messages="")
        >>> there.law().std(), there.law(of="mean").std()
        (array([2., 2.]), array([1., 1.]))
    """

    mean: FloatArray
    variance: FloatArray
    latent: FloatArray | None
    seed: int
    messages: str

    def law(self, of: Of = "run") -> Normal:
        """Normal laws of a new run, or (of="mean") of what the model knows of E[y | x], one per row."""
        check_choice(of, "of", ["run", "mean"])
        variance = self.variance if of == "run" else self.latent
        if variance is None:
            raise InvalidInput("of must be 'run' for this R model, got 'mean'; R returned one variance, noise included")
        return Normal(loc=self.mean, scale=np.sqrt(variance))


def available() -> dict[str, str]:
    """Versions of those of the packages hetGP, deepgp and laGP that R has; empty without R.

    Example:
        >>> set(available()) <= {"hetGP", "deepgp", "laGP"}
        True
    """
    if find_rscript() is None:
        return {}
    with tempfile.TemporaryDirectory(prefix="genbayes-r-") as folder:
        spoken = run_script("packages.R", PACKAGES, Path(folder), LOOK)
    if spoken.code:
        raise RFailed(f"R must list its packages, got exit code {spoken.code}: {spoken.last_message()}")
    pairs = [line.split() for line in spoken.output.splitlines()]
    return {pair[0]: pair[1] for pair in pairs if len(pair) == 2 and pair[0] in PACKAGES}


def run_r(
    model: RModel,
    X: Any,
    y: Any,
    X_new: Any,
    *,
    scale: bool = True,
    timeout: float = ONE_HOUR,
    random_state: RandomState = None,
) -> RPrediction:
    """Fit a model of an R package to runs and predict at new inputs, in one call of `Rscript`.

    Args:
        model: What to fit: `RHomGP()`, `RHetGP()`, `RDeepGP()` or `RLocalGP()`.
        X: Inputs, numbers, shape (n, d).
        y: Responses, shape (n,).
        X_new: Where to predict, shape (m, d).
        scale: Whether R sees inputs mapped to [0, 1] by the range of X and responses of mean 0 and variance 1, as the
            packages' manuals advise and the priors of deepgp assume; False passes the numbers as they are.
        timeout: Seconds after which R is ended.
        random_state: Seed from which that of R is drawn.

    Returns:
        Means and variances, shape (m,) each, in the units of y.

    Example:
        >>> from genbayes_bench.rivals.r import RHomGP
        >>> X = np.linspace(0, 1, 20)[:, None]
        >>> if "hetGP" in available():  # the example is for readers without R, too
        ...     there = run_r(RHomGP(), X, np.sin(6 * X[:, 0]), [[0.5]], random_state=0)
        ...     assert abs(there.mean[0] - np.sin(3.0)) < 0.01
    """
    if not isinstance(model, RModel):
        raise InvalidInput(f"model must be an R model such as RHetGP(), got {model!r}")
    check_nonnegative(timeout, "timeout", strictly=True)
    X, y, X_new = _check_runs(X, y, X_new)
    seed = int(as_generator(random_state).integers(2**31 - 1))
    units = _Units.learn(X, y) if scale else _Units.unchanged(X.shape[1])
    with tempfile.TemporaryDirectory(prefix="genbayes-r-") as name:
        folder = Path(name)
        for file, values in [("X", units.into(X)), ("y", units.standardise(y)), ("X_new", units.into(X_new))]:
            np.savetxt(folder / f"{file}.csv", values, fmt=ALL_DIGITS, delimiter=",")
        spoken = run_script("fit_predict.R", [str(seed), *model.arguments()], folder, timeout)
        _check_end(spoken, model)
        answer = _read(folder / "prediction.csv", model, len(X_new))
    variance = answer[:, 1:].sum(axis=1) * units.spread**2
    latent = answer[:, 1] * units.spread**2 if model.knows_mean else None
    return RPrediction(units.center + units.spread * answer[:, 0], variance, latent, seed, spoken.messages)


@dataclass(frozen=True)
class _Units:
    """The units in which R sees the runs: (X - lower) / width and (y - center) / spread."""

    lower: FloatArray
    width: FloatArray
    center: float
    spread: float

    @classmethod
    def learn(cls, X: FloatArray, y: FloatArray) -> _Units:
        width = np.ptp(X, axis=0)
        return cls(X.min(axis=0), np.where(width > 0, width, 1.0), float(y.mean()), float(y.std()))

    @classmethod
    def unchanged(cls, d: int) -> _Units:
        return cls(np.zeros(d), np.ones(d), 0.0, 1.0)

    def into(self, X: FloatArray) -> FloatArray:
        return (X - self.lower) / self.width

    def standardise(self, y: FloatArray) -> FloatArray:
        return (y - self.center) / self.spread


def _check_runs(X: Any, y: Any, X_new: Any) -> tuple[FloatArray, FloatArray, FloatArray]:
    X, X_new = check_array(X, "X", "(n, d)"), check_array(X_new, "X_new", "(m, d)")
    if len(X) < MIN_ROWS:
        raise InvalidInput(f"X must have at least {MIN_ROWS} rows, got {len(X)}")
    if X_new.shape[1] != X.shape[1] or not len(X_new):
        raise InvalidInput(f"X_new must have rows of {X.shape[1]} inputs, as X has, got shape {X_new.shape}")
    y = check_targets(y, len(X))
    require_variation(y, len(y))
    return X, y, X_new


def _check_end(spoken: Spoken, model: RModel) -> None:
    """Turn a bad end of R into an error of ours."""
    if spoken.code == MISSING_PACKAGE:
        raise RMissing(
            f"the R package {model.package} must be installed for {type(model).__name__}, got none in R's libraries; "
            f'run install.packages("{model.package}") in R'
        )
    if spoken.code:
        said = spoken.last_message()
        raise RFailed(f"{type(model).__name__} must run to its end in R, got exit code {spoken.code}: {said}")


def _read(path: Path, model: RModel, n: int) -> FloatArray:
    """R's answer: mean and variances of n rows; latent and noise apart where the model tells them apart."""
    shape = (n, 3 if model.knows_mean else 2)
    rule = f"R must answer {shape[0]} rows of {shape[1]} finite numbers with variances of at least 0"
    if not path.is_file():
        raise RFailed(f"{rule}, got no file")
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    try:
        answer = np.array([[float(word) for word in line.split(",")] for line in lines])
    except ValueError as error:
        raise RFailed(f"{rule}, got a table that is none of numbers: {error}") from error
    if answer.shape != shape:
        raise RFailed(f"{rule}, got shape {answer.shape}")
    bad = ~np.isfinite(answer).all(axis=1) | (answer[:, 1:] < 0).any(axis=1)
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise RFailed(f"{rule}, got {answer[row].tolist()} in row {row}; the fit may have failed numerically")
    return answer
