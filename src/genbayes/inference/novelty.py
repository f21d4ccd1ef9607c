"""Whether an observation lies within what was simulated; a posterior far outside is extrapolated and means little.

Half of the simulations describe where responses lie, the other half says how far out a fresh one may be (split
conformal), so the rate of false alarms is known for any simulator. Works on the summaries that the posterior sees.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from genbayes.arrays import BoolArray, FloatArray
from genbayes.errors import InvalidInput, OutsideSimulations, UnreadableFile
from genbayes.persistence import FOREIGN, State
from genbayes.validation import check_finite, describe_rows

FALSE_ALARMS = 0.005  # share of prior-predictive draws flagged on average over fits, so that most keep below 1%
MOST_REFERENCE, MOST_SCORED = 2000, 5000
N_NEIGHBOURS = 5
TAIL = 0.99  # level of the one-sided spreads and of what is common for each distance
HARDLY_VARIES = 0.98  # share of simulations with the same value of a summary, from which on only its range counts
FEW, SLACK = 199, 1.25  # below so many scores the limit is the largest of them, moved out so far
SMALLEST_VARIANCE = 1e-8  # of the largest, along a direction in which simulations do not differ
MOST_NAMED = 3
ROW = "row"  # of an array


@dataclass(frozen=True)
class Novelty:
    """How far from all simulations each of o observations lies, as the largest of three distances.

    The first is the largest over the summaries of |s_j - median| / |farthest simulation on that side - median|: it
    finds single values beyond what was simulated. The others follow asinh of the summaries over their spread,
    and whitening: the norm, which finds unusual combinations, and the distance to the fifth-nearest simulation, which
    finds gaps. Each is divided by its 99% quantile.

    Attributes:
        centre: Medians, shape (p,).
        below, above: Spreads to either side of them, from the 1% and 99% quantiles, each (p,).
        lowest, highest: Range of the simulations that describe where responses lie, each (p,).
        mean: Mean of asinh(z), shape (p,).
        whitening: Matrix that whitens them, shape (p, p).
        points: Whitened simulations, shape (r, p).
        common: 99% quantiles of the distances, shape (3,).
        scores: Largest distance of each simulation of the other half, sorted, shape (m,).
    """

    centre: FloatArray
    below: FloatArray
    above: FloatArray
    lowest: FloatArray
    highest: FloatArray
    mean: FloatArray
    whitening: FloatArray
    points: FloatArray
    common: FloatArray
    scores: FloatArray

    @classmethod
    def fit(cls, summaries: FloatArray, rng: np.random.Generator) -> Novelty:
        """Learn from the summaries of simulations, shape (n, p), drawn from the prior.

        Example:
            >>> simulated = np.random.default_rng(0).normal(size=(1000, 2))
            >>> Novelty.fit(simulated, np.random.default_rng(1)).outside(np.array([[0.5, 1.0], [5.0, 0.0]]))
            array([False,  True])
        """
        rows = rng.permutation(len(summaries))
        half = len(rows) // 2
        body, rest = summaries[rows[:half]], summaries[rows[half : half + MOST_SCORED]]
        centre = np.median(body, axis=0)
        sd = body.std(axis=0)
        sd = np.where(sd > 0, sd, np.where(centre != 0, np.abs(centre), 1.0))
        ends = np.quantile(body, [1 - TAIL, TAIL], axis=0)
        least = 0.1 * sd  # a value that nearly all simulations share still has a spread
        below, above = np.maximum(centre - ends[0], least), np.maximum(ends[1] - centre, least)
        g = np.arcsinh(_standardise(body, centre, below, above))
        rare = np.mean(body == centre, axis=0) > HARDLY_VARIES
        mean, whitening = g.mean(axis=0), _whitening(g, ~rare)
        seen = (
            np.where(rare, summaries.min(axis=0), body.min(axis=0)),
            np.where(rare, summaries.max(axis=0), body.max(axis=0)),
        )
        points = ((g - mean) @ whitening)[:MOST_REFERENCE]
        unscaled = cls(
            centre, below, above, *seen, mean, whitening, points, np.ones(3), np.empty(0)
        )  # fmt: skip
        common = np.quantile(unscaled._distances(body[:MOST_REFERENCE], among=True), TAIL, axis=0)
        fitted = unscaled._with(np.maximum(common, 1e-12), np.empty(0))
        return fitted._with(fitted.common, np.sort(fitted.score(rest)))

    def score(self, summaries: FloatArray) -> FloatArray:
        """The largest of the three distances, each over what is common, (o, p) -> (o,)."""
        largest: FloatArray = (self._distances(summaries) / self.common).max(axis=1)
        return largest

    @property
    def limit(self) -> float:
        """Score beyond which an observation is outside."""
        m = len(self.scores)
        rank = max(1, int(FALSE_ALARMS * (m + 1)))
        return float(self.scores[-rank]) * (1.0 if m >= FEW else SLACK)

    def outside(self, summaries: FloatArray) -> BoolArray:
        """Which observations lie outside what was simulated, (o, p) -> (o,).

        A fresh prior-predictive draw is flagged with probability 0.5% at most from 400 simulations on, the average over
        fits; fits differ, the fewer simulations the more.
        """
        return np.asarray(self.score(summaries) > self.limit)

    def p_value(self, summaries: FloatArray) -> FloatArray:
        """Share of prior-predictive draws that lie as far out, (1 + #{scores >= s}) / (m + 1), (o, p) -> (o,)."""
        beyond = len(self.scores) - np.searchsorted(self.scores, self.score(summaries), side="left")
        return np.asarray((1 + beyond) / (len(self.scores) + 1))

    def warn(
        self, summaries: FloatArray, names: Sequence[str] | None = None, *, strict: bool = False, word: str = ROW
    ) -> BoolArray:
        """Warn of observations outside what was simulated, or refuse them if `strict`; says which they are.

        Args:
            summaries: One row an observation, shape (o, p).
            names: What the columns are called; y1, y2, ... by default.
            strict: Whether to raise `InvalidInput` instead.
            word: What an observation is called: a row, numbered from 0, or as a command line's table numbers them,
                from 1.

        Returns:
            Which observations are outside, shape (o,).
        """
        outside = self.outside(summaries)
        if outside.any():
            sentence = self._describe(summaries, outside, names or [f"y{j + 1}" for j in range(len(self.centre))], word)
            if strict:
                raise InvalidInput(f"y must lie within what was simulated, got {sentence}; check its units and order")
            refuse = "strict=True" if word == ROW else "--strict"
            warnings.warn(
                f"y lies outside what was simulated: {sentence}; its posterior is extrapolated. Check units and order, "
                f"or refuse such observations with {refuse}",
                OutsideSimulations,
                stacklevel=3,
            )
        return outside

    def _describe(self, summaries: FloatArray, outside: BoolArray, names: Sequence[str], word: str) -> str:
        rows = np.flatnonzero(outside)
        worst = rows[np.argmax(self.score(summaries[rows]))]
        reason, labels = self._reason(summaries[worst], names), np.arange(len(outside)) + (word != ROW)
        return (
            reason
            if len(outside) == 1
            else f"{describe_rows(outside, labels, word)}, in {word} {labels[worst]} {reason}"
        )

    def _reason(self, row: FloatArray, names: Sequence[str]) -> str:
        beyond = np.flatnonzero((row < self.lowest) | (row > self.highest))
        if not beyond.size:
            return "an unusual combination of usual values"
        reach = np.abs(self._reach(row[None])[0])
        worst: list[int] = sorted(beyond.tolist(), key=lambda j: -float(reach[j]))[:MOST_NAMED]
        said = [
            f"{names[j]} = {row[j]:.4g}, simulated from {self.lowest[j]:.4g} to {self.highest[j]:.4g}" for j in worst
        ]
        more = f"; and {len(beyond) - len(worst)} more" if len(beyond) > len(worst) else ""
        return "; ".join(said) + more

    def _distances(self, summaries: FloatArray, among: bool = False) -> FloatArray:
        """The three distances, shape (o, 3); `among` the reference points themselves, which are then left out."""
        from sklearn.neighbors import NearestNeighbors

        z = _standardise(summaries, self.centre, self.below, self.above)
        white = check_finite((np.arcsinh(z) - self.mean) @ self.whitening, "summaries of y among the simulations")
        wanted = min(N_NEIGHBOURS + among, len(self.points))
        nearest = NearestNeighbors(n_neighbors=wanted).fit(self.points).kneighbors(white)[0][:, -1]
        return np.column_stack([np.abs(self._reach(summaries)).max(axis=1), np.linalg.norm(white, axis=1), nearest])

    def _reach(self, summaries: FloatArray) -> FloatArray:
        """Where each summary lies between the median, 0, and the farthest simulation on its side, -1 or 1, (o, p)."""
        below, above = (
            np.maximum(self.centre - self.lowest, self.below),
            np.maximum(self.highest - self.centre, self.above),
        )
        return _standardise(summaries, self.centre, below, above)

    def _with(self, common: FloatArray, scores: FloatArray) -> Novelty:
        return Novelty(**{**self.__dict__, "common": common, "scores": scores})

    def to_state(self) -> State:
        """All arrays."""
        return State("Novelty", arrays=dict(self.__dict__))

    @classmethod
    def from_state(cls, state: State) -> Novelty:
        """What `to_state` described."""
        p = len(state.array("centre", (None,)))
        shapes: dict[str, tuple[int | None, ...]] = dict.fromkeys(("centre", "below", "above"), (p,))
        shapes |= dict.fromkeys(("lowest", "highest", "mean"), (p,))
        shapes |= {"whitening": (p, p), "points": (None, p), "common": (3,), "scores": (None,)}
        positive = ("below", "above", "common")
        novelty = cls(**{name: state.array(name, shape, positive=name in positive) for name, shape in shapes.items()})
        if not len(novelty.points) or not len(novelty.scores):
            raise UnreadableFile(f"the simulations in the model file must be there, got none; {FOREIGN}")
        return novelty


def _standardise(rows: FloatArray, centre: FloatArray, below: FloatArray, above: FloatArray) -> FloatArray:
    away = rows - centre
    z: FloatArray = np.where(away < 0, away / below, away / above)
    return z


def _whitening(g: FloatArray, used: BoolArray) -> FloatArray:
    """Columns v_j / sqrt(lambda_j) from the eigenvectors of the covariance of g, (p, p); zero for what is not used."""
    white = np.zeros((g.shape[1], g.shape[1]))
    if used.any():
        values, vectors = np.linalg.eigh(np.atleast_2d(np.cov(g[:, used], rowvar=False)))
        floor = max(float(values.max()) * SMALLEST_VARIANCE, 1e-12)
        white[np.ix_(used, used)] = vectors / np.sqrt(np.maximum(values, floor))
    return white
