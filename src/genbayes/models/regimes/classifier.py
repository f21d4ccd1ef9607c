"""A classifier of the regimes from x, and its honest probabilities at the rows it was learnt from (paper section 4.2).

"Classifier accuracy is the key bottleneck", and no one classifier is best for a plane among noise, a star on a fine
grid and ten inputs alike. So a committee: a GP whose length scales say which inputs matter, and on inputs weighted by
that a linear one, a support vector machine and, where runs are many, small deep networks. Each predicts rows it has not
seen; `probabilities` weighs them by that; and those same out-of-fold probabilities are what a model on top should be
trained on, since new inputs will be unseen too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from genbayes.arrays import FloatArray, IntArray
from genbayes.data.folds import draw_stratified_folds
from genbayes.data.scaling import InputScaler
from genbayes.errors import InvalidInput, UnreadableFile
from genbayes.models.regimes.gp_classifier import GPScores, fit_gp_scores
from genbayes.models.regimes.probabilities import LinearScores, Member, Stack, fit_linear, fit_stack, steepness
from genbayes.models.regimes.svm import KernelScores, KernelTrials, walk
from genbayes.persistence import State
from genbayes.progress import Report
from genbayes.threads import share_out

FEWEST_INPUTS = 4  # distinct ones: two on either side of a boundary, so that one of a side can be left out
MANY_ROWS = 2_000  # from here on networks are asked too; with fewer they add next to nothing and take longest
LEAST_RELEVANCE = 1e-3  # of an input, as a share of the most relevant one's
MIN_WEIGHT = 1e-3  # a classifier whose scores move the sum of all by less than this share is left out


def _restore_perceptrons(state: State, d: int, k: int) -> Member:
    from genbayes.models.regimes.perceptron import PerceptronScores  # torch loads only where there are networks

    return PerceptronScores.from_state(state, d, k)


@dataclass(frozen=True)
class Reordered:
    """A member whose regimes have changed places: regime j was `order[j]`, shape (k,)."""

    member: Member
    order: IntArray

    @classmethod
    def of(cls, member: Member, order: IntArray) -> Member:
        """The member itself where the order is as it was."""
        return member if (order == np.arange(len(order))).all() else cls(member, order)

    def scores(self, Z: FloatArray) -> FloatArray:
        """Scores of the regimes, (n, p) -> (n, k)."""
        return self.member.scores(Z)[:, self.order]

    def to_state(self) -> State:
        """The order and the member."""
        return State("Reordered", {}, {"order": self.order}).with_part("member", self.member.to_state())


def _restore_reordered(state: State, d: int, k: int) -> Member:
    order, part = state.whole_array("order", (k,), below=k), state.nested("member")
    if len(np.unique(order)) < k or part.kind not in MEMBERS:
        raise UnreadableFile(f"the model file must name {k} regimes in some order, got {order.tolist()}")
    return Reordered(MEMBERS[part.kind](part, d, k), order)


MEMBERS: dict[str, Callable[[State, int, int], Member]] = {
    "LinearScores": LinearScores.from_state,
    "KernelScores": KernelScores.from_state,
    "GPScores": GPScores.from_state,
    "PerceptronScores": _restore_perceptrons,
    "Reordered": _restore_reordered,
}  # the only members a file may name


@dataclass(frozen=True)
class RegimeClassifier:
    """Probability of each regime at an input.

    Attributes:
        scaler: Standardises the inputs.
        members: The classifiers.
        stack: How their scores become probabilities.
        front: From inputs as they are given to those that it was learnt from; None if these are the same.
    """

    scaler: InputScaler
    members: tuple[Member, ...]
    stack: Stack
    front: InputScaler | None = None

    @classmethod
    def unscaled(cls, member: GPScores, stack: Stack) -> RegimeClassifier:
        """The classifier of one member that has learnt from inputs as they are."""
        p = member.vectors.shape[1]
        return cls(InputScaler(np.zeros(p), np.ones(p), tuple(range(p))), (member,), stack)

    @property
    def names(self) -> tuple[str, ...]:
        """What the members are."""
        own = [member.member if isinstance(member, Reordered) else member for member in self.members]
        return tuple(type(member).__name__.removesuffix("Scores").lower() for member in own)

    @property
    def relevance(self) -> FloatArray:
        """How much each input that it has learnt from matters, the most relevant 1, shape (p,)."""
        inverse = 1 / self.scaler.scale
        return np.asarray(inverse / inverse.max())

    def probabilities(self, X: FloatArray) -> FloatArray:
        """Probability of each regime, (n, d) -> (n, k)."""
        Z = self.scaler.transform(X if self.front is None else self.front.transform(X))
        return self.stack.probabilities([member.scores(Z) for member in self.members])

    def in_order(self, order: IntArray) -> RegimeClassifier:
        """The same with its regimes in another order, shape (k,)."""
        members = tuple(Reordered.of(member, order) for member in self.members)
        return replace(self, members=members, stack=replace(self.stack, offset=self.stack.offset[order]))

    def to_state(self) -> State:
        """Scales, members and stack."""
        arrays = {"center": self.scaler.center, "scale": self.scaler.scale}
        arrays |= {"offset": self.stack.offset, "slope": self.stack.slope}
        values: dict[str, Any] = {"n_members": len(self.members)}
        if self.front is not None:
            values["front"] = [list(self.front.numeric), [list(pair) for pair in self.front.categorical]]
            arrays |= {"front_center": self.front.center, "front_scale": self.front.scale}
        state = State("RegimeClassifier", values, arrays)
        for j, member in enumerate(self.members):
            state = state.with_part(f"member{j}", member.to_state())
        return state

    @classmethod
    def from_state(cls, state: State, d: int, k: int) -> RegimeClassifier:
        """The classifier of k regimes from d inputs that a file describes."""
        front = _restored_front(state, d)
        d = d if front is None else front.n_outputs
        scaler = InputScaler(state.array("center", (d,)), state.array("scale", (d,), positive=True), tuple(range(d)))
        parts = [state.nested(f"member{j}") for j in range(state.count("n_members", at_least=1))]
        for part in parts:
            if part.kind not in MEMBERS:
                raise UnreadableFile(f"the model file must name a known classifier, got {part.kind!r}")
        members = tuple(MEMBERS[part.kind](part, d, k) for part in parts)
        return cls(scaler, members, Stack(state.array("offset", (k,)), state.array("slope", (len(members),))), front)


def _restored_front(state: State, d: int) -> InputScaler | None:
    """The first scaler of d inputs that a file describes, if it has one."""
    if "front" not in state.values:
        return None
    columns, coded = state.typed("front", tuple[tuple[int, ...], tuple[tuple[int, int], ...]])
    if sorted([*columns, *(j for j, _ in coded)]) != list(range(d)) or any(size < 1 for _, size in coded):
        raise UnreadableFile(f"the classifier in the model file must have {d} inputs, got {len(columns) + len(coded)}")
    center, scale = (
        state.array("front_center", (len(columns),)),
        state.array("front_scale", (len(columns),), positive=True),
    )
    return InputScaler(center, scale, columns, coded)


def fit_classifier(
    X: FloatArray,
    evidence: FloatArray,
    label: FloatArray,
    weight: FloatArray,
    rng: np.random.Generator,
    report: Report | None = None,
) -> tuple[RegimeClassifier, FloatArray]:
    """Learn the regimes from the inputs.

    Args:
        X: Inputs, shape (n, d).
        evidence: Log density of each response in each regime, the largest of a row 0, shape (n, k).
        label: Probability of each regime given the response alone, shape (n, k).
        weight: Positive weights, shape (n,).
        rng: Draws the folds and trains the networks.
        report: Called with (step, steps, loss) while the networks train.

    Returns:
        The classifier, and for each row the probabilities it gave before it had seen that row, shape (n, k).
    """
    rng_folds, rng_rows, rng_networks, rng_gp = rng.spawn(4)
    scaler = InputScaler.learn(X, weight)
    Z = scaler.transform(X)
    folds = draw_stratified_folds(Z, label.argmax(axis=1), rng_folds)
    gp, gp_unseen = fit_gp_scores(Z, label, weight, folds, rng_gp)
    relevance = relevance_of(gp.length)
    scaler, gp, Z = replace(scaler, scale=scaler.scale / relevance), gp.rescaled(relevance), Z * relevance
    trials = KernelTrials(Z, evidence, label, weight, folds, rng_rows.permutation(len(Z)))

    def learn_linear() -> tuple[Member, FloatArray]:
        scores = np.empty(evidence.shape)
        for rows in folds:
            others = np.setdiff1d(np.arange(len(Z)), rows)
            scores[rows] = fit_linear(Z[others], evidence[others], weight[others]).scores(Z[rows])
        return fit_linear(Z, evidence, weight), scores

    def learn_kernel() -> tuple[Member, FloatArray]:
        place = walk(trials.loss)
        return trials.fit(place), trials.out_of_fold(place)

    def learn_networks() -> tuple[Member, FloatArray]:
        from genbayes.models.regimes.perceptron import fit_perceptrons

        networks = fit_perceptrons(Z, evidence, weight, folds, rng_networks, report)
        return networks, networks.out_of_fold(Z, folds)

    ways = [learn_networks, learn_kernel, learn_linear][0 if len(Z) >= MANY_ROWS else 1 :]  # the longest first
    members, unseen = map(list, zip(*share_out(lambda learn: learn(), ways)[::-1], strict=True))
    members, unseen = [*members[:2], gp, *members[2:]], [*unseen[:2], gp_unseen, *unseen[2:]]
    prior_sd = steepness(evidence, weight)
    stack, _ = fit_stack(unseen, evidence, weight, prior_sd)
    influence = stack.slope * np.array([scores.std() for scores in unseen])
    chosen = np.flatnonzero(influence >= max(MIN_WEIGHT * influence.sum(), float(np.finfo(np.float64).tiny)))
    chosen = chosen if len(chosen) else np.zeros(1, np.int64)  # inputs that tell nothing: one member, of slope 0
    stack, _ = fit_stack([unseen[j] for j in chosen], evidence, weight, prior_sd)
    classifier = RegimeClassifier(scaler, tuple(members[j] for j in chosen), stack)
    return classifier, stack.probabilities([unseen[j] for j in chosen])


def relevance_of(length: FloatArray) -> FloatArray:
    """Factors of the inputs, mean square 1, that make their length scales equal; an inert input keeps a thousandth.

    Example:
        >>> relevance_of(np.array([1.0, 1.0, 2.0])).round(2)
        array([1.15, 1.15, 0.58])
    """
    inverse = 1 / length
    inverse = np.maximum(inverse, LEAST_RELEVANCE * inverse.max())
    return np.asarray(inverse / np.sqrt(np.mean(inverse**2)))


def require_distinct(X: FloatArray, wanted_by: str) -> None:
    """Refuse inputs, shape (n, d), of which too few differ for a boundary to be learnt from them."""
    n_distinct = len(np.unique(X, axis=0))
    if n_distinct < FEWEST_INPUTS:
        raise InvalidInput(
            f"X must have at least {FEWEST_INPUTS} distinct rows for {wanted_by} to learn a boundary from, "
            f"got {n_distinct}; add runs at other inputs, or do without"
        )
