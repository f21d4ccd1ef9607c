"""The recipe "fast": members that check each other, stopped in time, and as wide as unseen rows ask for.

1. A short pilot finds inputs that hardly matter; they are dimmed (`measure_relevance`).
2. Members learn together in one stacked network. Each holds out a fifth of the rows, member j the fold j mod 5, so
   that five members together use every row and every row was unseen by one of them. Where runs were repeated on
   purpose it is a tenth of the inputs with all their runs: new inputs is what the model will be asked for.
3. The running mean of each member's weights is scored on its own fold as training goes on; the best is kept, and
   all stop when none improves; a member that is still improving fast when its run ends goes on, twice as long. So the
   data choose the length, which regularises a network more than anything else.
4. The first two members try a shallow network, a deep one, and a shallow one whose inputs are scaled by their
   relevance; what does best on their folds is used for all, the deep one only if it is clearly better: it overfits
   more, and two folds are a noisy judge. Jumps want it, smooth surfaces the others.
5. Where runs are many, inputs were dimmed, or a plan that may yet win is still improving fast at the end of its run,
   there may be fine detail, which a pilot does not see: a deep network that also sees Fourier features of all inputs
   and drops nothing out is tried.
6. The same folds tell how far the quantiles should lie apart (`choose_spread`).

Every choice uses training rows only. The measurements behind the constants are in docs/recipe.md.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from genbayes.arrays import FloatArray
from genbayes.data.folds import draw_member_folds_by_input
from genbayes.metrics import paired_difference
from genbayes.models.base import ScaledRuns
from genbayes.models.network.ensemble import choose_spread
from genbayes.models.network.fit import IQNSettings, Rows, Trained, as_tensors, begin_iqn, fit_iqn
from genbayes.models.network.iqn import NetworkShape, PriorIQN, join_members
from genbayes.models.network.loss import LossWeights
from genbayes.models.network.rival import OutOfReachEarly, Rival, Standing
from genbayes.progress import Report, show_progress
from genbayes.seeding import torch_generator
from genbayes.training import Training, TrainingSettings, choose_batch_size

if TYPE_CHECKING:
    from genbayes.models.network.surrogate import QuantileSurrogate

N_MERGE = 64  # where x meets tau a narrow layer is enough, and there each row counts n_tau times
DEEP = 3  # hidden layers of f_x
LEARNING_RATE = 5e-3
AVERAGING = 0.99
ROW_VISITS = 320_000  # rows seen in the longest run on few rows
MOST_VISITS = 4_000_000  # rows seen where training goes on because held-out rows ask for it
FEWEST_EPOCHS, MOST_EPOCHS = 40, 4_000
VISITS_OF_MANY = 6_000_000  # rows seen where runs are so many that 40 epochs would end long before they are annealed
PATIENCE = 6
MEMBERS_TO_A_LATE_ONE = 5  # the last of five to improve may take as long as all the others, for a fifth of a share
MOST_CHECKS = 250  # of held-out rows in a run: a long one needs fewer, and more patience between them
MOST_ONE_HOT = 12  # a category with more levels is embedded
MIN_JUDGES = 2  # members whose held-out rows decide between plans, at least
STEPS_TO_SEE = 100  # after which plans are compared at equal steps
STEPS_TO_HOPE = 200  # after which they can be forecast
STEPS_TO_SETTLE = 300  # after which forecasts decide if a score falls no more
STEPS_TO_DECIDE = 500  # after which forecasts decide in any case
CAUTION = 0.8  # share of the fall of a score that an extrapolation promises and that comes
BOLD = 2.0  # times that a challenger is granted before it is given up
FARTHEST = 8.0  # times the run so far that an end may be off when forecasts decide
LARGEST_FALL = 0.3  # share of a score that a forecast may take off: steep falls are extrapolated too boldly
SLOWEST_SHRINK = 0.8  # of the falls of a score; a larger one would promise a fall without end
STEPS_TO_YIELD = 150  # after which training may yield to a rival
RUNS_FOR_DETAIL = 300  # from which on Fourier features are tried before training yields: of fewer they are memorised
MANY_RUNS = 4_000  # from which on fine detail is looked for in any case
N_FOURIER = 64  # of the network for fine detail; 32 and 128 did slightly worse
FULL = 0.2  # an input of at least this relevance keeps its scale; below, it fades with the square
ALL_ALIKE = 0.7  # where every input has at least this relevance, scaling by it changes nothing


def train_fast(
    model: QuantileSurrogate, runs: ScaledRuns, rng: np.random.Generator, rival: Rival | None = None
) -> Trained:
    """Train by the recipe "fast"; what the user has set is not chosen.

    Args:
        model: The surrogate whose arguments are followed.
        runs: Scaled runs.
        rng: Source of all randomness.
        rival: Another model; `OutOfReach` is raised if it is.
    """
    started = time.perf_counter()
    rows, settings = as_tensors(runs, model.device), fast_settings(model, runs)
    n_members, device = settings.shape.n_members, rows.Z.device
    # one stream for each purpose, so that member j does not depend on the number of members
    rng_pilot, rng_folds, rng_members = rng.spawn(3)
    held = draw_member_folds_by_input(runs.Z, max(n_members, MIN_JUDGES), rng_folds, runs.blocks)
    aside = torch.as_tensor(held, device=device)
    seeds = [int(child.integers(2**63 - 1)) for child in rng_members.spawn(len(aside))]
    relevance = np.ones(settings.shape.n_inputs)
    if not settings.shape.n_fourier:  # a pilot does not see what they do
        with show_progress("finding the inputs that matter", bool(model.verbose)) as report:
            relevance = measure_relevance(rows, rng_pilot, settings.training.n_epochs, report)
    plans = possible_plans(settings, relevance, model.n_layers, device)
    is_open = len(plans) > 1 and model.n_epochs is None and model.n_fourier is None
    n_racing = n_members if len(plans) == 1 else len(aside)
    race = Race(rows, aside[:n_racing], seeds[:n_racing], bool(model.verbose), rival)
    chosen = race.run(plans, fourier_plan(plans, model.dropout) if is_open else None)
    history = replace(chosen.training.finish(), seconds=time.perf_counter() - started)
    network = join_members([chosen.network], n_members)
    spread = choose_spread(network, rows, aside[:n_members])
    used = replace(chosen.plan.settings, shape=network.shape)
    return Trained(network, used, history, spread, relevance, aside[:n_members].cpu().numpy())


def fast_settings(model: QuantileSurrogate, runs: ScaledRuns) -> IQNSettings:
    """Sizes and training settings of the recipe "fast" for these runs; a shorter run takes longer steps."""
    n = len(runs.y)
    n_hidden = int(model.n_hidden or 0)
    # columns that a category is embedded into, by the rule of thumb of tabular networks: 1.6 levels^0.56
    sizes = [(start, stop, round(1.6 * (stop - start) ** 0.56)) for start, stop in runs.blocks]
    shape = NetworkShape(
        n_inputs=runs.Z.shape[1],
        n_members=int(model.n_members or 5),
        n_hidden=n_hidden or 128,
        n_layers=int(model.n_layers or DEEP),
        n_merge=min(n_hidden or N_MERGE, N_MERGE),
        n_cosines=int(model.n_cosines),
        n_fourier=int(model.n_fourier or 0),
        blocks=tuple(block for block in sizes if block[1] - block[0] > MOST_ONE_HOT),
    )
    fewest = int(np.clip(VISITS_OF_MANY // n, 1, FEWEST_EPOCHS))
    longest = int(np.clip(ROW_VISITS // n, fewest, MOST_EPOCHS))
    n_epochs = int(model.n_epochs or longest)
    batch_size = int(model.batch_size or choose_batch_size(n, 128, 1024))
    training = TrainingSettings(
        n_epochs=n_epochs,
        batch_size=batch_size,
        learning_rate=float(model.learning_rate or LEARNING_RATE * np.clip(longest / n_epochs, 1.0, 2.0)),
        weight_decay=float(model.weight_decay),
        warmup=0.03,
        averaging=AVERAGING,
        steps_between_checks=max(50, n * n_epochs // batch_size // MOST_CHECKS),
        patience=PATIENCE,
        n_late=shape.n_members // MEMBERS_TO_A_LATE_ONE,
        # R rounds of n_epochs, 2 n_epochs, 4 n_epochs, ... are (2^R - 1) n_epochs in all
        n_rounds=1 if model.n_epochs else max(1, int(np.log2(MOST_VISITS / (n * n_epochs) + 1))),
    )
    dropout = 0.05 if model.dropout is None else float(model.dropout)
    return IQNSettings(shape, model.weights_, training, n_tau=4, dropout=dropout, prior_scale=float(model.prior_scale))


def measure_relevance(
    rows: Rows, rng: np.random.Generator, most_epochs: int | None = None, report: Report | None = None
) -> FloatArray:
    """How much each input matters, by a short pilot network whose penalty lets whole inputs go (group lasso).

    The neural cousin of a Gaussian process's length scales: the norm of an input's first-layer weights, relative to the
    largest. Only scales of inputs are taken from the pilot, so no penalty distorts the final fit.

    Args:
        rows: Scaled runs.
        rng: Seeds the pilot.
        most_epochs: Length of the run that the pilot serves, which is no longer itself.
        report: Called with (step, steps, loss) now and then.

    Returns:
        Relevance, the largest 1, shape (p,); ones where there are two inputs or one: so few are there because they
        matter.
    """
    n_inputs, batch_size, n_steps = rows.Z.shape[1], 128, 400
    if n_inputs <= 2:
        return np.ones(n_inputs)
    n_epochs = min(max(1, n_steps // -(-len(rows.y) // batch_size)), most_epochs or n_steps)
    settings = IQNSettings(
        NetworkShape(n_inputs, n_hidden=64, n_layers=2, n_merge=32),
        LossWeights(0.0, 0.0, 1.0),
        TrainingSettings(n_epochs, batch_size, learning_rate=4e-3, warmup=0.05),
        n_tau=4,
    )
    network, _ = fit_iqn(
        rows,
        settings,
        [torch_generator(rng)],
        penalty=lambda network: 0.01 * network.trained.input_norms().sum(dim=1),
        report=report,
    )
    norms = network.trained.input_norms()[0].detach().cpu().double().numpy()
    return np.asarray(norms / norms.max())


def dim_inert_inputs(relevance: FloatArray) -> Tensor:
    """Factor for each input: 1 for those that matter, (r / FULL)^2 for those that hardly do, shape (p,).

    Example:
        >>> dim_inert_inputs(np.array([1.0, 0.2, 0.02]))
        tensor([1.0000, 1.0000, 0.0100])
    """
    return torch.as_tensor(np.minimum(relevance / FULL, 1.0) ** 2, dtype=torch.float32)


@dataclass(frozen=True)
class Plan:
    """One way to train the members.

    Attributes:
        name: What it is called on the progress bar.
        settings: Sizes and training settings.
        input_scale: What inputs are multiplied by, shape (p,).
        is_deep: Whether it has more freedom than the others, which it must earn.
    """

    name: str
    settings: IQNSettings
    input_scale: Tensor
    is_deep: bool = False


def possible_plans(
    settings: IQNSettings, relevance: FloatArray, n_layers: int | None, device: torch.device
) -> list[Plan]:
    """Shallow or deep, and inputs only dimmed where they are inert or scaled by their relevance throughout."""
    dimmed = dim_inert_inputs(relevance).to(device)
    if n_layers is not None:
        return [Plan(f"{n_layers}-layer", settings, dimmed)]
    shallow, deep = (replace(settings, shape=replace(settings.shape, n_layers=n)) for n in (1, DEEP))
    plans = [Plan("shallow", shallow, dimmed), Plan("deep", deep, dimmed, is_deep=True)]
    if relevance.min() < ALL_ALIKE:
        plans.append(Plan("smooth", shallow, torch.as_tensor(relevance, dtype=torch.float32, device=device)))
    return plans


def fourier_plan(plans: Sequence[Plan], dropout: float | None) -> Plan:
    """The deep plan with Fourier features, no input dimmed, and, unless the user has set it, without dropout.

    The pilot takes an input for inert along which the response only changes quickly. Dropout is noise that a response
    of little noise has to be seen through.
    """
    deep = next(plan for plan in plans if plan.is_deep)
    shape = deep.settings.shape
    shape = replace(shape, n_fourier=max(N_FOURIER, shape.n_inputs))  # one an input at least
    settings = replace(deep.settings, shape=shape, dropout=float(dropout or 0.0))
    return replace(deep, name="Fourier", settings=settings, input_scale=torch.ones_like(deep.input_scale))


class Runner:
    """All members trained by a plan, as far as they have come.

    Attributes:
        plan: How.
        network: The members.
        training: Their run.
        is_over: Whether the run has come to its end.
    """

    def __init__(self, plan: Plan, network: PriorIQN, training: Training, weight: Tensor) -> None:
        self.plan, self.network, self.training = plan, network, training
        self.weight = weight.double().cpu().numpy().ravel()
        self.is_over = False
        self._laps = training.laps()

    @property
    def scores(self) -> FloatArray:
        """CRPS at every row that each member held out, with the member's best weights so far, shape (K a,)."""
        assert self.training.best.row_scores is not None
        return np.asarray(self.training.best.row_scores.double().cpu().numpy().ravel())

    @property
    def score(self) -> float:
        """Mean of the scores."""
        return float(np.average(self.scores, weights=self.weight))

    def advance(self, n_checks: int) -> None:
        """Train until held-out rows have been scored so many times more, or to the end."""
        for _ in range(n_checks):
            if next(self._laps, self) is self:
                self.is_over = True
                return

    @property
    def is_ripe(self) -> bool:
        """Whether its end can be told: it is over, has run long enough, or has not improved in its last third."""
        best, epoch, n_steps = self.training.best, self.training.epoch, self.training.n_steps
        has_settled = n_steps >= STEPS_TO_SETTLE and best.best_at(2 / 3 * epoch) <= best.best_at(epoch)
        return self.is_over or n_steps >= STEPS_TO_DECIDE or has_settled

    def forecast(self, boldness: float = 1.0) -> float:
        """The score to expect at the end of the present round.

        Falls from 4/9 to 2/3 and from there to the whole of the run so far are taken to go on shrinking by the same
        factor each time that the run grows by a half; an end that is far off is not forecast.

        Args:
            boldness: Factor of the fall to come.
        """
        best, epoch, end = self.training.best, self.training.epoch, self.training.end_of_round
        first, second, present = (best.best_at(share * epoch) for share in (4 / 9, 2 / 3, 1.0))
        is_far_off = self.training.n_steps >= STEPS_TO_DECIDE and end > FARTHEST * epoch
        if self.is_over or is_far_off or second <= present or first <= second:
            return present
        shrink = min((second - present) / (first - second), SLOWEST_SHRINK)
        n_more = max(0.0, math.log(end / epoch) / math.log(1.5))
        fall = (second - present) * shrink * (1 - shrink**n_more) / (1 - shrink)
        return float(present - min(boldness * CAUTION * fall, LARGEST_FALL * present))


def best_of(runners: Sequence[Runner]) -> Runner:
    """The runner with the best forecast, a deep one only if ahead of the others by a standard error of the scores.

    A deep network overfits more, and held-out rows that also choose its length are a little too kind to it.
    """
    in_order = sorted(runners, key=lambda runner: runner.forecast())
    best = in_order[0]
    simple = next((each for each in in_order if not each.plan.is_deep), best)
    _, error = paired_difference(best.scores, simple.scores, best.weight)
    return best if best.forecast() < simple.forecast() - error else simple


@dataclass(frozen=True)
class Race:
    """Plans raced against each other by the rows that the members hold out, the losers given up on the way.

    Attributes:
        rows: Scaled runs.
        aside: Row numbers that each member holds out, shape (K, a).
        seeds: Seed of each member.
        verbose: Whether to show progress.
        rival: Another model; None for none.
        unjudged: What is to be compared with it once its scores are known.
    """

    rows: Rows
    aside: Tensor
    seeds: list[int]
    verbose: bool
    rival: Rival | None = None
    unjudged: list[Standing] = field(default_factory=list)

    def enter(self, plan: Plan, report: Report | None) -> Runner:
        """Members of a plan, ready to run."""
        shape = replace(plan.settings.shape, n_members=len(self.aside))
        settings = replace(plan.settings, shape=shape)
        generators = [torch.Generator().manual_seed(seed) for seed in self.seeds]
        network, training = begin_iqn(
            self.rows, settings, generators, input_scale=plan.input_scale, aside=self.aside, report=report
        )
        return Runner(plan, network, training, self.rows.weight[self.aside])

    def run(self, plans: Sequence[Plan], fourier: Plan | None = None) -> Runner:
        """The plan that serves all members best on the rows they held out, trained to its end.

        The first plan runs until its end can be forecast; each of the others then challenges the leader. Where runs are
        many, inputs were dimmed, or the leader is still improving fast at the end of a round, the plan with Fourier
        features does so too.
        """
        with show_progress("training the networks", self.verbose) as report:
            is_dimmed = bool((plans[0].input_scale < 1).any())
            is_tried = fourier is not None and (len(self.rows.y) >= MANY_RUNS or is_dimmed)
            try:
                return self._race(plans, fourier, is_tried, report)
            except OutOfReachEarly:
                if fourier is None or not is_tried or len(self.rows.y) < RUNS_FOR_DETAIL:
                    raise
            self.unjudged.clear()
            return self._race([fourier, *plans[1:]], None, False, report)  # it may see detail that a plain one misses

    def _race(self, plans: Sequence[Plan], fourier: Plan | None, is_tried: bool, report: Report | None) -> Runner:
        leader = self.enter(plans[0], report)
        while not leader.is_ripe:
            leader.advance(1)
            self.require_reach(leader, is_early=True)
        for plan in plans[1:]:
            leader = self.challenge(leader, self.enter(plan, report))
        if fourier is not None and is_tried:
            leader = self.challenge(leader, self.enter(fourier, report))
            fourier = None
        while not leader.is_over:
            self.require_reach(leader)
            leader.advance(1)
            if fourier is not None and leader.training.is_unfinished:
                leader = self.challenge(leader, self.enter(fourier, report))
                fourier = None
        self._judge()
        return leader

    def challenge(self, leader: Runner, other: Runner) -> Runner:
        """The one that is expected to do better; the other is given up as soon as it is clear that it will not.

        A challenger is given up while it is behind the leader's present score and even a bold forecast falls short of
        the leader's end; a simple one only if it is also behind where the leader stood after as many steps, a deep one,
        which starts sooner, also if it is behind there. Ahead in the end, it wins unless the leader, going on, makes
        its better forecast true.
        """
        while not other.is_ripe:
            other.advance(1)
            if self.rival is not None and self.rival.is_known:
                self._judge()  # what was trained in the meantime may be out of the question
            n_steps, then = other.training.n_steps, leader.training.best.best_at(other.training.epoch)
            is_behind = n_steps >= STEPS_TO_SEE and other.score > then
            is_short = n_steps >= STEPS_TO_HOPE and other.score > leader.score
            is_short = is_short and other.forecast(BOLD) > leader.forecast()
            if (is_behind or is_short) if other.plan.is_deep else (is_behind and is_short):
                return leader
        while not leader.is_over and other.score < leader.score and leader.forecast() < other.forecast():
            leader.advance(1)
        return best_of([leader, other])

    def require_reach(self, leader: Runner, is_early: bool = False) -> None:
        """Raise `OutOfReach` where the rival is; one that is not known yet is compared with later."""
        if self.rival is None or leader.training.n_steps < STEPS_TO_YIELD:
            return
        self.unjudged.append(self._standing(leader, is_early))
        if self.rival.is_known:
            self._judge()

    def _standing(self, leader: Runner, is_early: bool) -> Standing:
        best, epoch = leader.training.best, leader.training.epoch
        fallen, to_come = best.best_at(2 / 3 * epoch) / best.best_at(epoch), leader.forecast(BOLD) / best.best_at(epoch)
        return Standing(leader.scores, leader.weight, epoch, math.log(fallen), to_come, leader.is_ripe, is_early)

    def _judge(self) -> None:
        """Compare with the rival, in the order in which it would have been had it been known; waits for it."""
        for standing in self.unjudged:
            assert self.rival is not None  # what stands here was noted for it
            standing.require_reach(self.rival.scores[self.aside.cpu().numpy().ravel()])
        self.unjudged.clear()
