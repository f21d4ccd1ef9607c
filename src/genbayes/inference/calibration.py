"""Whether posteriors can be trusted: checks on pairs (theta, y) that the estimator has not seen.

If q(. | y) is the posterior, theta of a pair is one more draw from it, so that the rank of theta among draws is uniform
for any ordering: by a parameter (simulation-based calibration, Talts et al. 2018), by the density (joint), by the
distance to a reference point (TARP, Lemos et al. 2023). Bands are simultaneous and exact, from `metrics.bands`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from genbayes.arrays import FloatArray
from genbayes.diagnostics.diagnosis import TAU, Reliability, find, interval_reliability
from genbayes.metrics import share_band, share_p_value
from genbayes.persistence import State

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIGNIFICANT = 0.05  # chance that a calibrated estimator fails any of the checks
LEVELS = (0.5, 0.9, 0.95)  # coverages that are reported
DENSITY, DISTANCE = "joint density", "reference distance (TARP)"
SLIGHT = 0.02
FEW = 200  # pairs below which only gross errors show


def uniform_ranks(value: FloatArray, draws: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Ranks of values among draws on (0, 1), exactly uniform if value and draws are exchangeable.

    u = (#{draws < value} + V (1 + #{draws = value})) / (L + 1), V uniform.

    Args:
        value: One per row, shape (m,).
        draws: Shape (m, L).
        rng: For V.

    Returns:
        Shape (m,).

    Example:
        >>> uniform_ranks(np.array([2.5]), np.array([[1.0, 2.0, 3.0]]), np.random.default_rng(0)).round(3)
        array([0.659])
    """
    below = (draws < value[:, None]).sum(axis=1)
    equal = (draws == value[:, None]).sum(axis=1)
    ranks: FloatArray = (below + rng.uniform(size=len(value)) * (1 + equal)) / (draws.shape[1] + 1)
    return ranks


@dataclass(frozen=True)
class Check:
    """Ranks of held-out theta under one ordering of the posterior, and what they say.

    Attributes:
        name: The parameter, or what orders draws jointly.
        u: Ranks on (0, 1), shape (m,).
    """

    name: str
    u: FloatArray = field(repr=False)

    @property
    def is_margin(self) -> bool:
        """Whether draws are ordered by one parameter."""
        return self.name not in (DENSITY, DISTANCE)

    @cached_property
    def curve(self) -> Reliability:
        """Share of ranks below each level, with the simultaneous band."""
        share = np.mean(self.u[:, None] <= TAU, axis=0)
        return Reliability(TAU, share, *share_band(TAU, len(self.u)), share_p_value(share, TAU, len(self.u)))

    @property
    def p_value(self) -> float:
        """Chance that ranks of a calibrated estimator stray as far from uniform somewhere."""
        return self.curve.p_value

    def coverage(self, level: float) -> float:
        """Share of held-out theta in regions of a level: central intervals, highest density, or balls.

        Example:
            >>> Check("a", np.array([0.02, 0.3, 0.5, 0.8])).coverage(0.9)
            0.75
        """
        if self.is_margin:
            return float(np.mean(np.abs(2 * self.u - 1) <= level))
        return float(np.mean(self.u >= 1 - level if self.name == DENSITY else self.u <= level))

    @property
    def finding(self) -> str:
        """What is wrong, if the ranks are not uniform, with a number that shows it."""
        held = f"90% {self._regions} hold {100 * self.coverage(0.9):.3g}%"
        if not self.is_margin:
            excess = self.coverage(0.9) - 0.9
            return f"joint regions have the wrong size or shape ({held})" if abs(excess) < SLIGHT else (
                f"joint regions are too {'large' if excess > 0 else 'small'} ({held})"
            )  # fmt: skip
        weight, m = np.full(len(self.u), 1 / len(self.u)), len(self.u)
        found = find(self.curve, interval_reliability(self.u, self.u, weight, m), self.u, self.u, weight, m)
        words = {"narrow": "intervals too narrow", "wide": "intervals too wide", "low": "draws too low"}
        words |= {"high": "draws too high", "shape": "wrong shape"}
        above = 100 * float(np.mean(self.u > 0.5))
        what = " and ".join(words[each] for each in found) or "wrong shape"
        return f"{what} ({held}, {above:.3g}% lie above the median)"

    @property
    def _regions(self) -> str:
        return "intervals" if self.is_margin else "highest-density regions" if self.name == DENSITY else "balls"


@dataclass(frozen=True)
class CalibrationReport:
    """Calibration of a posterior estimator on held-out pairs.

    Attributes:
        checks: One a parameter, then jointly.
        n_draws: Draws per pair among which theta is ranked.
        n_outside: Pairs whose y would be flagged as outside the simulations.
        dropped: Simulations that failed or were left out, by reason.
    """

    checks: tuple[Check, ...]
    n_draws: int
    n_outside: int = 0
    dropped: Mapping[str, int] = field(default_factory=dict)

    @property
    def n_pairs(self) -> int:
        """Number of held-out pairs."""
        return len(self.checks[0].u)

    @property
    def p_values(self) -> dict[str, float]:
        """For each check, adjusted by Holm (1979) for looking at all of them."""
        return holm({check.name: check.p_value for check in self.checks})

    @property
    def calibrated(self) -> bool:
        """Whether no check fails at 5% after Holm."""
        return min(self.p_values.values()) > SIGNIFICANT

    def coverage(self, level: float) -> dict[str, float]:
        """Share of held-out theta in regions of a level, for each check."""
        return {check.name: check.coverage(level) for check in self.checks}

    @property
    def sentences(self) -> list[str]:
        """The verdict in plain words, one sentence a check that fails."""
        adjusted = self.p_values
        failed = [check for check in self.checks if adjusted[check.name] <= SIGNIFICANT]
        said = [f"{check.name}: {check.finding}; {_chance(adjusted[check.name])}." for check in failed]
        if not failed:
            said = [f"No sign of miscalibration in {self.n_pairs:,} held-out pairs ({len(self.checks)} checks)."]
        if self.n_pairs < FEW:
            said.append(f"With only {self.n_pairs} held-out pairs, large errors could go unnoticed.")
        if failed:
            said.append("Regions from posterior.region(level) are corrected for this on average over the prior.")
        return said + [
            f"{count:,} simulations were not used: {reason}." for reason, count in self.dropped.items() if count
        ]

    def __str__(self) -> str:
        return "\n".join(self.sentences)

    def to_dict(self) -> dict[str, Any]:
        """Everything but the ranks as plain numbers, words and lists, ready for JSON."""
        adjusted = self.p_values
        checks = [
            {
                "name": check.name,
                "p_value": check.p_value,
                "p_value_holm": adjusted[check.name],
                "coverage": {f"{level:g}": check.coverage(level) for level in LEVELS},
            }
            for check in self.checks
        ]
        return {
            "calibrated": self.calibrated,
            "n_pairs": self.n_pairs,
            "n_draws": self.n_draws,
            "n_outside": self.n_outside,
            "dropped": dict(self.dropped),
            "sentences": self.sentences,
            "checks": checks,
        }

    def plot(self) -> Figure:
        """Ranks of every check against their bands, one panel each; returns the figure."""
        from genbayes.plotting import plot_ranks

        return plot_ranks({check.name: check.curve for check in self.checks})

    def to_state(self) -> State:
        """Ranks and counts."""
        values = {"names": [check.name for check in self.checks], "n_draws": self.n_draws, "n_outside": self.n_outside}
        ranks = np.column_stack([check.u for check in self.checks])
        return State("CalibrationReport", {**values, "dropped": dict(self.dropped)}, {"u": ranks})

    @classmethod
    def from_state(cls, state: State) -> CalibrationReport:
        """What `to_state` described."""
        names = state.typed("names", list[str])
        u = state.array("u", (None, len(names)))
        checks = tuple(Check(name, u[:, j]) for j, name in enumerate(names))
        return cls(checks, state.count("n_draws"), state.count("n_outside"), state.typed("dropped", dict[str, int]))


def check_calibration(
    theta: FloatArray,
    draws: FloatArray,
    reference: FloatArray,
    rng: np.random.Generator,
    *,
    names: Sequence[str] | None = None,
    log_prob: tuple[FloatArray, FloatArray] | None = None,
    n_outside: int = 0,
    dropped: Mapping[str, int] | None = None,
) -> CalibrationReport:
    """Rank held-out parameters among draws of their posteriors.

    Args:
        theta: Parameters of m pairs that were not trained on, shape (m, k).
        draws: Draws from the posterior given y of each pair, shape (m, L, k).
        reference: A point for each pair that may depend on its y but not on its theta, shape (m, k); parameters of the
            training pair with the nearest y let the test see posteriors that ignore y.
        rng: Breaks ties of ranks.
        names: What the parameters are called.
        log_prob: Log densities at theta (m,) and at the draws (m, L); None where there are none.
        n_outside: Pairs flagged as outside the simulations.
        dropped: Simulations not used, by reason.

    Returns:
        The report.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> theta, draws = rng.normal(size=(400, 1)), rng.normal(size=(400, 99, 1))
        >>> check_calibration(theta, draws, rng.normal(size=(400, 1)), rng).calibrated
        True
        >>> print(check_calibration(theta, 0.5 * draws, rng.normal(size=(400, 1)), rng).sentences[0])
        theta1: intervals too narrow (90% intervals hold 58.2%, 47.8% lie above the median); a calibrated ...
    """
    k = theta.shape[1]
    called = list(names) if names is not None else [f"theta{j + 1}" for j in range(k)]
    checks = [Check(called[j], uniform_ranks(theta[:, j], draws[:, :, j], rng)) for j in range(k)]
    if log_prob is not None:
        checks.append(Check(DENSITY, uniform_ranks(*log_prob, rng)))
    scale = theta.std(axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    far = np.linalg.norm((theta - reference) / scale, axis=1)
    far_draws = np.linalg.norm((draws - reference[:, None]) / scale, axis=2)
    checks.append(Check(DISTANCE, uniform_ranks(far, far_draws, rng)))
    return CalibrationReport(tuple(checks), draws.shape[1], n_outside, dict(dropped or {}))


def nearest_reference(y: FloatArray, y_train: FloatArray, theta_train: FloatArray) -> FloatArray:
    """Parameters of the training pair whose summaries are nearest, a reference point for TARP, shape (m, k).

    Args:
        y: Summaries of the held-out pairs, shape (m, p).
        y_train: Summaries of training pairs, shape (n, p).
        theta_train: Their parameters, shape (n, k).
    """
    from sklearn.neighbors import NearestNeighbors

    sd = y_train.std(axis=0)
    sd = np.where(sd > 0, sd, 1.0)
    nearest = NearestNeighbors(n_neighbors=1).fit(y_train / sd).kneighbors(y / sd, return_distance=False)
    reference: FloatArray = theta_train[nearest[:, 0]]
    return reference


def holm(p_values: Mapping[str, float]) -> dict[str, float]:
    """P-values adjusted for looking at all n of them, the largest of (n - i + 1) p_(i) for i <= j; Holm (1979).

    Example:
        >>> holm({"a": 0.01, "b": 0.04, "c": 0.03})
        {'a': 0.03, 'b': 0.06, 'c': 0.06}
    """
    n, highest, adjusted = len(p_values), 0.0, {}
    for j, (name, p) in enumerate(sorted(p_values.items(), key=lambda pair: pair[1])):
        highest = max(highest, min(1.0, (n - j) * p))
        adjusted[name] = highest
    return {name: adjusted[name] for name in p_values}


def _chance(p_value: float) -> str:
    chance = "less than 0.1%" if p_value < 0.001 else f"about {100 * p_value:.2g}%"
    return f"a calibrated estimator would look this bad {chance} of the time"
