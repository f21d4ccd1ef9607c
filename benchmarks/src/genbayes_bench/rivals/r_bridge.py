"""R packages of Gaussian processes through `Rscript`, to check our own against: hetGP, deepgp, laGP, RobustGaSP, GpGp.

Optional: nothing else needs R. A model is a frozen description (`RHetGP()`): which package, which function, which
settings. `run_r` writes the runs as files of numbers, has `fit_predict.R` fit and predict in one call, since a fitted R
object has no life outside R, and checks what comes back. R is started without a shell, reads nothing from the terminal,
and is ended with all its workers when time is up or the user interrupts.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, fields
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from genbayes.arrays import FloatArray
from genbayes.data.matrix import MIN_ROWS, require_variation
from genbayes.distribution import Normal
from genbayes.errors import GenBayesError, InvalidInput
from genbayes.models.gp.deep import KERNELS, Kernel
from genbayes.models.protocols import Of
from genbayes.seeding import RandomState, as_generator
from genbayes.validation import check_array, check_choice, check_count, check_nonnegative, check_targets
from genbayes_bench.rivals.process import Spoken, run_program

# A user's start-up files may print, load packages or set seeds. Environment files are read: they name R's libraries.
OPTIONS = ("--no-save", "--no-restore", "--no-site-file", "--no-init-file")
PACKAGES = ("hetGP", "deepgp", "laGP", "RobustGaSP", "GpGp")
MIN_NEIGHBOURS = 7  # laGP begins with six neighbours and must add at least one
ONE_HOUR = 3600.0
LOOK = 60.0  # seconds for R to start and look at its libraries, even on a busy machine
ALL_DIGITS = "%.17g"  # a double survives the way to text and back
MISSING_PACKAGE = 3  # exit code of fit_predict.R


class RMissing(GenBayesError, ImportError):
    """R, or an R package, is not installed."""


class RFailed(GenBayesError, RuntimeError):
    """R stopped with an error, or answered with something else than was asked."""


class RTimedOut(GenBayesError, TimeoutError):
    """R did not finish in the time it was given."""


def find_rscript() -> str | None:
    """Where `Rscript` is, or None without R."""
    return shutil.which("Rscript")


def run_script(script: str, arguments: Sequence[str], folder: Path, timeout: float) -> Spoken:
    """Run a script of this folder in R, with `folder` as its working directory.

    Args:
        script: File name of the script.
        arguments: What the script gets, word by word.
        folder: Working directory of R.
        timeout: Seconds after which R is ended.

    Returns:
        Exit code, output and messages.
    """
    rscript = find_rscript()
    if rscript is None:
        raise RMissing(
            "Rscript must be on the PATH for genbayes_bench.rivals.r, got none; "
            f"install R and the packages {', '.join(PACKAGES)}"
        )
    with as_file(files(__package__) / script) as path:
        return _run([rscript, *OPTIONS, str(path), *arguments], folder, timeout)


def _run(command: list[str], folder: Path, timeout: float) -> Spoken:
    try:
        return run_program(command, folder, timeout, {"LANGUAGE": "en"})
    except OSError as error:
        raise RFailed(f"Rscript must start, got {error.strerror or error} from {command[0]!r}") from error
    except subprocess.TimeoutExpired:
        raise RTimedOut(
            f"timeout must leave R time to finish, got {timeout:g} seconds; raise it, or pass fewer runs"
        ) from None


@dataclass(frozen=True)
class RModel:
    """A model of an R package; its fields are settings, and None leaves a setting to the package."""

    name: ClassVar[str]  # of the function in fit_predict.R
    package: ClassVar[str]
    knows_mean: ClassVar[bool] = True  # whether R tells what it knows of E[y | x] from the noise of a run

    def arguments(self) -> list[str]:
        """Model, package and settings as words for R; numbers keep all their digits.

        Example:
            >>> RDeepGP(n_samples=50, nugget=1e-8).arguments()[:5]
            ['deepgp', 'deepgp', 'kernel=matern52', 'n_samples=50', 'n_burn_in=1000']
        """
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        words = [f"{name}={_word(value)}" for name, value in values.items() if value is not None]
        return [self.name, self.package, *words]


@dataclass(frozen=True)
class RHomGP(RModel):
    """`hetGP::mleHomGP`: a stationary GP with one length scale per input and a nugget, by maximum likelihood.

    Source: Binois, Gramacy & Ludkovski (2018), JCGS 27. Check of `StationaryGP`.

    Args:
        kernel: "matern52" or "squared-exponential".
    """

    name: ClassVar[str] = "homgp"
    package: ClassVar[str] = "hetGP"
    kernel: Kernel = "matern52"

    def __post_init__(self) -> None:
        check_choice(self.kernel, "kernel", KERNELS)


@dataclass(frozen=True)
class RHetGP(RHomGP):
    """`hetGP::mleHetGP`: as `RHomGP`, with a second GP for the logarithm of the noise variance.

    Where the likelihood prefers constant noise, the package itself falls back to `mleHomGP`. Check of
    `HeteroskedasticGP`.

    Args:
        kernel: "matern52" or "squared-exponential".
    """

    name: ClassVar[str] = "hetgp"


@dataclass(frozen=True)
class RDeepGP(RModel):
    """`deepgp::fit_two_layer`, `trim` and `predict` on one core: a two-layer deep GP by MCMC, without Vecchia.

    Source: Sauer, Gramacy & Higdon (2023), Technometrics 65. Check of our own deep GP, whose names of settings these
    are; the chain has n_burn_in + n_samples * thinning iterations, each of order n^3.

    Args:
        kernel: "matern52" or "squared-exponential", of both layers.
        n_samples: Draws kept.
        n_burn_in: Iterations before the first kept draw.
        thinning: Iterations per kept draw.
        nugget: Noise variance in units of the process variance, fixed (`true_g`); None to sample it.
    """

    name: ClassVar[str] = "deepgp"
    package: ClassVar[str] = "deepgp"
    kernel: Kernel = "matern52"
    n_samples: int = 200
    n_burn_in: int = 1000
    thinning: int = 10
    nugget: float | None = None

    def __post_init__(self) -> None:
        check_choice(self.kernel, "kernel", KERNELS)
        check_count(self.n_samples, "n_samples", at_least=2)  # R takes the variance of the draws' means
        check_count(self.n_burn_in, "n_burn_in")
        check_count(self.thinning, "thinning")
        if self.nugget is not None:
            check_nonnegative(self.nugget, "nugget", strictly=True)


@dataclass(frozen=True)
class RLocalGP(RModel):
    """`laGP::aGPsep`: a small squared-exponential GP per new input, on runs near it chosen by ALC; nugget estimated.

    Source: Gramacy & Apley (2015), JCGS 24. It returns one variance, noise included, so `of="mean"` is refused. Its
    distributions are Student-t; we take the normal ones of the same mean and variance.

    Args:
        n_neighbours: Runs in each small GP; one fewer than there are runs where that is less.
    """

    name: ClassVar[str] = "lagp"
    package: ClassVar[str] = "laGP"
    knows_mean: ClassVar[bool] = False
    n_neighbours: int = 50

    def __post_init__(self) -> None:
        check_count(self.n_neighbours, "n_neighbours", at_least=MIN_NEIGHBOURS)


@dataclass(frozen=True)
class RRobustGaSP(RModel):
    """`RobustGaSP::rgasp`: a separable Matern-5/2 GP, length scales at the mode under the reference prior.

    Source: Gu, Wang & Berger (2018), Annals of Statistics 46. Check of `StationaryGP`. It returns one standard
    deviation, noise included, so `of="mean"` is refused; of its Student-t distributions, we take the normal ones.

    Args:
        noise: "estimated" for a nugget beside the length scales; "none" for a simulator known to be deterministic.
    """

    name: ClassVar[str] = "rgasp"
    package: ClassVar[str] = "RobustGaSP"
    knows_mean: ClassVar[bool] = False
    noise: str = "estimated"

    def __post_init__(self) -> None:
        check_choice(self.noise, "noise", ["estimated", "none"])


@dataclass(frozen=True)
class RScaledVecchia(RModel):
    """The scaled Vecchia approximation by the functions of GpGp: Matern-5/2, a linear trend, 30 neighbours.

    Source: Katzfuss, Guinness & Lawrence (2022), SIAM/ASA Journal on Uncertainty Quantification 10. Check of
    `StationaryGP` for many runs. Inputs are ordered by maximin distance in units of the length scales.
    """

    name: ClassVar[str] = "vecchia"
    package: ClassVar[str] = "GpGp"


def _word(value: str | float) -> str:
    return value if isinstance(value, str) else f"{value:.17g}"


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
        >>> there.distribution().std(), there.distribution(of="mean").std()
        (array([2., 2.]), array([1., 1.]))
    """

    mean: FloatArray
    variance: FloatArray
    latent: FloatArray | None
    seed: int
    messages: str

    def distribution(self, of: Of = "run") -> Normal:
        """Normal distributions of a new run, or (of="mean") of what the model knows of E[y | x], one per row."""
        check_choice(of, "of", ["run", "mean"])
        variance = self.variance if of == "run" else self.latent
        if variance is None:
            raise InvalidInput("of must be 'run' for this R model, got 'mean'; R returned one variance, noise included")
        return Normal(loc=self.mean, scale=np.sqrt(variance))


def available() -> dict[str, str]:
    """Versions of those of `PACKAGES` that R has; empty without R.

    Example:
        >>> set(available()) <= set(PACKAGES)
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
        model: What to fit: `RHomGP()`, `RHetGP()`, `RDeepGP()`, `RLocalGP()`, `RRobustGaSP()` or `RScaledVecchia()`.
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
