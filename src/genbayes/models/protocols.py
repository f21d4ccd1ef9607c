"""What only some models can do, declared by protocols: code that needs an ability asks for it by `isinstance`.

A model of anybody's has an ability by having its methods; no base class is needed. Inputs X have shape (n, d), in the
form that the model takes; answers are in the units of y. `gives_mean` is the one question that an instance decides: a
network of one member has the method but nothing to say.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, Protocol, Self, TypeGuard, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from genbayes.arrays import BoolArray, FloatArray, IntArray
from genbayes.distribution import PredictiveDistribution

if TYPE_CHECKING:
    from genbayes.plotting.regimes import RegimeMapLike

Of = Literal["run", "mean"]  # the distribution of a new run, or of what is known of E[y | x]


@runtime_checkable
class Predicts(Protocol):
    """The least that a fitted model offers: one distribution for each row."""

    def predict_distribution(self, X: ArrayLike, /) -> PredictiveDistribution:
        """The distribution of a new run at each row of X."""


@runtime_checkable
class Fits(Predicts, Protocol):
    """A model that can be fitted: ours, or anybody's that follows scikit-learn."""

    def fit(self, X: ArrayLike, y: ArrayLike, /) -> Self:
        """Learn from runs; the fitted model is returned, which is the model itself."""


@runtime_checkable
class GivesMean(Protocol):
    """Knows what it does not know of E[y | x], apart from the noise of a run.

    Attributes:
        knows_mean: Whether this one, as it was fitted, can say so; ask by `gives_mean`.
    """

    @property
    def knows_mean(self) -> bool:
        """Whether `of="mean"` is answered."""

    def predict_distribution(self, X: ArrayLike, of: Of = "run") -> PredictiveDistribution:
        """As in `Predicts`; with of="mean" the distribution of E[y | x], epistemic only."""


def gives_mean(model: object) -> TypeGuard[GivesMean]:
    """Whether a model can be asked for `predict_distribution(X, of="mean")`.

    Example:
        >>> class Forest:
        ...     knows_mean = False
        ...
        ...     def predict_distribution(self, X, of="run"): ...
        >>> isinstance(Forest(), GivesMean), gives_mean(Forest())
        (True, False)
    """
    return isinstance(model, GivesMean) and bool(model.knows_mean)


@runtime_checkable
class HasMembers(Protocol):
    """An ensemble whose members can be asked one by one."""

    def predict_members(self, X: ArrayLike, /) -> FloatArray:
        """Each member's median, shape (K, n); K = 1 where there is no more than one."""


@runtime_checkable
class ReducesVariance(Protocol):
    """Knows how inputs hang together, so that a run here says something of there."""

    def variance_reduction(self, X: ArrayLike, reference: ArrayLike, /) -> FloatArray:
        """How much a run at each row of X lowers the mean variance over reference inputs, (r, d) -> (n,)."""


@runtime_checkable
class DrawsPaths(Protocol):
    """Can draw a whole function that it holds possible."""

    def draw_path(self, X: ArrayLike, rng: np.random.Generator, /) -> FloatArray:
        """One function at all rows jointly, shape (n,)."""


@runtime_checkable
class PredictsOutOfFold(Protocol):
    """Fitted once, it can tell what it would have said of its own runs had it not seen them.

    By closed forms (leave-one-out of a GP), or from members or folds that held rows out; ask by `gives_out_of_fold`.

    Attributes:
        knows_out_of_fold: Whether this one, with its settings, will be able to; known before it is fitted.
    """

    @property
    def knows_out_of_fold(self) -> bool:
        """Whether `predict_out_of_fold` can be asked."""

    def predict_out_of_fold(self, X: ArrayLike, y: ArrayLike, /) -> tuple[IntArray, PredictiveDistribution]:
        """Numbers of those rows of `fit`, shape (r,), that some part of it had not seen, and their distributions.

        X and y are the runs of `fit`, in any order; equal rows count as one.
        """


def gives_out_of_fold(model: object) -> TypeGuard[PredictsOutOfFold]:
    """Whether a model can be asked for `predict_out_of_fold` once it is fitted."""
    return isinstance(model, PredictsOutOfFold) and bool(model.knows_out_of_fold)


@runtime_checkable
class SpreadsItself(Protocol):
    """Its intervals are as wide as runs that it had not seen ask for, so that nobody widens them again.

    Attributes:
        spreads_itself: Whether this one, as it was fitted, has done so.
    """

    @property
    def spreads_itself(self) -> bool:
        """Whether its quantiles have been moved away from their median by its own left-out runs."""


@runtime_checkable
class BuildsOn(Protocol):
    """Begins with a model of another kind, and can be given one that is fitted to the same runs already.

    One of nearly the same runs may shorten its search.
    """

    def fit_on(self, base: object, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None, /) -> Self:
        """As `fit`, but with the base given; what it cannot use of it, it fits itself."""


@runtime_checkable
class YieldsToRival(Protocol):
    """Takes long to train, and can tell on the way that another model is out of its reach."""

    def fit_against(
        self, rival: ArrayLike, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None, /
    ) -> Self:
        """As `fit`, but raise `OutOfReach` once CRPS that a rival has at the runs, (n,) in the order of X, are.

        They may be `Awaited`: `np.asarray(rival)` then waits for a rival that is still being fitted.
        """


@runtime_checkable
class PredictsFailure(Protocol):
    """Knows where runs fail."""

    def predict_failure_probability(self, X: ArrayLike, /) -> FloatArray:
        """Probability that a run at each row fails, shape (n,)."""


@runtime_checkable
class KnowsTrainingInputs(Protocol):
    """Knows where it has learnt, and so where it guesses."""

    def extrapolates(self, X: ArrayLike, /) -> BoolArray:
        """Whether each row lies far from every training input, shape (n,)."""


@runtime_checkable
class HasSummary(Protocol):
    """Can say what was fitted and how."""

    def summary(self) -> dict[str, str]:
        """Lines for reports."""


@runtime_checkable
class MapsRegimes(Protocol):
    """Knows where regimes of the response lie."""

    def map_regimes(self, *, names: Sequence[str] | None = None) -> RegimeMapLike | None:
        """Probabilities of the regimes over the inputs that matter most, to be drawn; None where there is one.

        Args:
            names: Of the inputs, d of them; None for those seen in `fit`.
        """


@runtime_checkable
class SplitsRegimes(Protocol):
    """A fitted feature map that splits runs into regimes, in each of which a model is asked in turn.

    One whose `levels` have length 1 splits nothing, and the other methods are not called.
    """

    def conditioned(self, Z: FloatArray, /) -> FloatArray:
        """What a model should learn from, given the features of the runs just fitted, (n, p) -> (n, p)."""

    def alternatives(self, Z: FloatArray, /) -> tuple[FloatArray, list[FloatArray]]:
        """Probability of each regime, (n, k), and the features in each, k of (n, p)."""

    def standardised(self, y: FloatArray, /) -> FloatArray:
        """Responses of the runs just fitted, free of each regime's location and scale, (n,) -> (n,)."""

    def levels(self) -> tuple[FloatArray, FloatArray]:
        """Location and scale of each regime, (k,) each: what `standardised` takes out."""
