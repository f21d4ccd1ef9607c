"""From scaled runs to a fitted network: the objectives of the two recipes, and training by the recipe "paper".

`recipe="paper"` follows sections 3.3 and 5.1 to the letter and is the yardstick: one hidden layer of 256 units, the
full batch, one level a step, the loss as printed, Adam at 1e-3, cosine annealing, 3,000 epochs. `recipe="fast"` is our
own: mini-batches, several stratified levels for each row that share f_x, and the unbiased loss, forward and backward
written out by hand (`FastStep`); its settings and what it tries are in `plans`. Arguments of the surrogate have been
checked by `fit`; None leaves a choice to the recipe.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypedDict, Unpack

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import embedding

from genbayes.arrays import FloatArray, IntArray
from genbayes.errors import InvalidInput
from genbayes.models.base import ScaledRuns
from genbayes.models.network.ensemble import check_held_out
from genbayes.models.network.iqn import IQN, NetworkShape, PriorIQN, StackedLinear, cosine_embedding
from genbayes.models.network.loss import LossWeights, level_weight, three_term_loss
from genbayes.models.network.rival import Rival
from genbayes.progress import Report, show_progress
from genbayes.seeding import torch_generator
from genbayes.training import History, Training, TrainingSettings, differentiate
from genbayes.training.loop import Objective

if TYPE_CHECKING:
    from genbayes.models.network.surrogate import QuantileSurrogate

N_LEVELS = 4096  # of training, at midpoints (i + 1/2) / 4096: finer than data resolve, and their cosines are a table
ROWS_A_GROUP, MIN_GROUPS = 16, 8  # rows that share their levels, fewer in small batches
STEPS_AT_ONCE = 64  # whose levels are drawn together: a call costs as much as its numbers
POOL = 1 << 20  # Bernoulli draws of each member that dropout masks are read from, at other places in every step
STRIDE = 611_953  # prime: places where masks begin, far apart from step to step

Penalty = Callable[[PriorIQN], Tensor]


class Further(TypedDict, total=False):
    """Arguments of `begin_iqn` that may be left out."""

    network: PriorIQN | None
    input_scale: Tensor | None
    aside: Tensor | None
    row_weight: Tensor | None
    penalty: Penalty | None
    report: Report | None


@dataclass(frozen=True)
class IQNSettings:
    """What to train and how.

    Attributes:
        shape: Sizes of the network.
        weights: Weights of the three loss terms.
        training: Length, rate and portions of the run.
        n_tau: Levels drawn for each row of a mini-batch; None is the paper's single level for the whole batch.
        dropout: Share of f_x's hidden units silenced at random in each step.
        prior_scale: Size of the randomized prior in standard deviations of y; 0 for none.
    """

    shape: NetworkShape
    weights: LossWeights
    training: TrainingSettings
    n_tau: int | None = None
    dropout: float = 0.0
    prior_scale: float = 0.0


@dataclass(frozen=True)
class Rows:
    """Scaled runs as tensors: inputs (n, p), responses (n,), weights of mean 1 (n,)."""

    Z: Tensor
    y: Tensor
    weight: Tensor


@dataclass(frozen=True)
class Trained:
    """What a recipe comes to.

    Attributes:
        network: The members.
        settings: What they were trained with.
        history: How that went.
        spread: Factor by which quantiles are moved away from their median.
        relevance: How much each network input matters, the largest 1, shape (p,).
        aside: Row numbers that each member held out, shape (K, a); a = 0 for none.
    """

    network: PriorIQN
    settings: IQNSettings
    history: History
    spread: float
    relevance: FloatArray
    aside: IntArray


def begin_iqn(
    rows: Rows,
    settings: IQNSettings,
    generators: Sequence[torch.Generator],
    *,
    network: PriorIQN | None = None,
    input_scale: Tensor | None = None,
    aside: Tensor | None = None,
    row_weight: Tensor | None = None,
    penalty: Penalty | None = None,
    report: Report | None = None,
) -> tuple[PriorIQN, Training]:
    """Members and their training, ready to run on the rows.

    Args:
        rows: Scaled runs.
        settings: What to train and how.
        generators: One per member: its weights, its order of rows, its levels, its masks.
        network: Members to go on from, trained in place; None for new ones.
        input_scale: What each member multiplies its inputs by, shape (K, 1, p) or broadcasting to it.
        aside: Row numbers that each member does not learn from but is scored on, shape (K, a); each member then
            keeps the weights with its best score.
        row_weight: Further weight of each row in each member's loss, shape (K, n); None for 1.
        penalty: The network to what is added to each member's loss, shape (K,).
        report: Called with (step, steps, loss) now and then.
    """
    n, n_members = len(rows.y), settings.shape.n_members
    if network is None:
        network = PriorIQN(settings.shape, generators, settings.prior_scale).to(rows.Z.device)
        network.adapt_to(rows.Z, input_scale)
    weight = rows.weight.expand(n_members, n) if row_weight is None else rows.weight * row_weight
    make = paper_objective if settings.n_tau is None else FastStep
    objective: Objective = make(network, rows, weight, settings, generators)
    learn = [torch.arange(n)] * n_members
    if aside is not None:
        learn = [learn[0][torch.ones(n, dtype=torch.bool).index_fill_(0, held, False)] for held in aside.cpu()]
    training = Training(
        objective if penalty is None else _penalised(objective, penalty, network),
        [p for p in network.parameters() if p.requires_grad],
        learn,
        settings.training,
        generators,
        held_out=None if aside is None or aside.shape[1] == 0 else (lambda: check_held_out(network, rows, aside)),
        report=report,
    )
    return network, training


def fit_iqn(
    rows: Rows, settings: IQNSettings, generators: Sequence[torch.Generator], **more: Unpack[Further]
) -> tuple[PriorIQN, History]:
    """Train all members on the rows, from beginning to end; arguments as those of `begin_iqn`.

    Returns:
        The fitted network and the course of its training.
    """
    network, training = begin_iqn(rows, settings, generators, **more)
    for _ in training.laps():
        pass
    return network, training.finish()


def _penalised(objective: Objective, penalty: Penalty, network: PriorIQN) -> Objective:
    """An objective plus a penalty on the weights; its gradient is added to that of the objective."""

    def with_penalty(batch: Tensor) -> Tensor:
        loss, added = objective(batch), penalty(network)
        added.sum().backward()
        return loss + added.detach()

    return with_penalty


def train_paper(
    model: QuantileSurrogate, runs: ScaledRuns, rng: np.random.Generator, rival: Rival | None = None
) -> Trained:
    """The paper to the letter, unless the user says otherwise; the bias of its loss is left, a rival not looked at."""
    if model.batch_size is not None:
        raise InvalidInput(f"batch_size must be None with recipe='paper', got {model.batch_size}; use recipe='fast'")
    n_hidden, n_inputs = int(model.n_hidden or 256), runs.Z.shape[1]
    shape = NetworkShape(
        n_inputs=n_inputs,
        n_members=int(model.n_members or 1),
        n_hidden=n_hidden,
        n_layers=int(model.n_layers or 1),
        n_merge=n_hidden,
        n_cosines=int(model.n_cosines),
        n_fourier=int(model.n_fourier or 0),
    )
    training = TrainingSettings(
        n_epochs=int(model.n_epochs or 3000),
        learning_rate=float(model.learning_rate or 1e-3),
        weight_decay=float(model.weight_decay),
    )
    dropout, prior_scale = float(model.dropout or 0.0), float(model.prior_scale)
    settings = IQNSettings(shape, model.weights_, training, dropout=dropout, prior_scale=prior_scale)
    generators = [torch_generator(child) for child in rng.spawn(shape.n_members)]
    with show_progress("fitting", bool(model.verbose)) as report:
        network, history = fit_iqn(as_tensors(runs, model.device), settings, generators, report=report)
    nothing = np.empty((shape.n_members, 0), dtype=np.int64)
    return Trained(network, settings, history, 1.0, np.ones(n_inputs), nothing)


def as_tensors(runs: ScaledRuns, device: str) -> Rows:
    """The runs as single-precision tensors, weights scaled to mean 1; device "auto" is the GPU where there is one."""
    if device == "cuda" and not torch.cuda.is_available():
        raise InvalidInput("device must be available, got 'cuda' on a machine without it; use device='auto'")
    place = torch.device("cuda" if device != "cpu" and torch.cuda.is_available() else "cpu")
    weight = runs.weight / runs.weight.mean()
    Z, y, w = (torch.as_tensor(part, dtype=torch.float32, device=place) for part in (runs.Z, runs.y, weight))
    if not bool(torch.isfinite(y).all() and torch.isfinite(Z).all()):
        raise InvalidInput("X and y must fit single precision after scaling, got larger values; look for outliers")
    return Rows(Z, y, w)


def paper_objective(
    network: PriorIQN, rows: Rows, weight: Tensor, settings: IQNSettings, generators: Sequence[torch.Generator]
) -> Objective:
    """Mean three-term loss of the whole batch at one level a step, (K,); weight has shape (K, n)."""
    Z, y = rows.Z.expand(len(weight), -1, -1), rows.y.unsqueeze(-1)
    masks = Masks(1 - settings.dropout, settings.shape.widths, generators, rows.Z.device)

    def loss(batch: Tensor) -> Tensor:
        assert batch.shape[1] == len(rows.y), "the paper trains on the full batch"
        tau = torch.stack([torch.rand(1, 1, generator=g) for g in generators]).to(rows.Z.device)
        phi = cosine_embedding(tau, settings.shape.n_cosines)
        mu, q = network.predict_heads(Z, phi, masks.draw(len(rows.y)))
        return (weight.unsqueeze(-1) * three_term_loss(y, mu, q, tau, settings.weights)).mean(dim=(1, 2))

    return differentiate(loss)


class FastStep:
    """Losses of a mini-batch, row numbers (K, b) -> (K,), and their gradients, left in the parameters.

    The network of paper section 3.2 and the unbiased loss, for all members k at once; b rows in g groups of s, t levels
    for each group, N = b t residuals:

        h_0 = z * scale, [h_0, sin(h_0 W_f + b_f)] with Fourier features       (K, b, p)
        h_i = relu(h_{i-1} W_i + b_i) * mask_i                                 (K, b, H)    f_x
        f   = relu(phi(tau) W_tau + b_tau)                                     (K, g t, H)  f_tau, once for a group
        m   = h * f                                                            (K, N, H)    where x and tau meet
        r   = relu(m W_1 + b_1)                                                (K, N, H)    f_1
        (mu, q) = r W_out + b_out + alpha prior                                (K, N) each
        loss = mean w [w_1 |y - mu| + c(tau) rho_tau(y - q)]                   (K,)

    Gradients run back through the same lines in reverse; d_x below is d loss / d x. Everything is written into buffers
    that are kept, and no graph is recorded: half the time of automatic differentiation, the same numbers (a test
    compares them term by term). Levels shared by the rows of a group make f_tau cost nothing; they are dealt out so
    that the g t levels of a step are one from each of g t equal strata of (0, 1), each group having one from each of t
    strata.

    Args:
        network: What is trained; its parameters' gradients must be there to write into.
        rows: Scaled runs.
        weight: Weight of each row in each member's loss, shape (K, n).
        settings: Loss weights, levels a row, dropout.
        generators: One per member, for its levels and masks.
    """

    def __init__(
        self,
        network: PriorIQN,
        rows: Rows,
        weight: Tensor,
        settings: IQNSettings,
        generators: Sequence[torch.Generator],
    ) -> None:
        assert settings.n_tau is not None
        self.network, self.iqn, self.rows, self.weight = network, network.trained, rows, weight
        self.n_tau, self.location = settings.n_tau, settings.weights.location
        device = rows.Z.device
        self.tau = (torch.arange(N_LEVELS, device=device) + 0.5) / N_LEVELS
        self.phi = cosine_embedding(self.tau, settings.shape.n_cosines)
        self.of_level = level_weight(self.tau, settings.weights)
        self.levels = _Levels(self.n_tau, generators, device)
        self.masks = Masks(1 - settings.dropout, settings.shape.widths, generators, device)
        self.f_x = [layer for layer in self.iqn.f_x if isinstance(layer, StackedLinear)]
        self.buffers: dict[str, Tensor] = {}

    @torch.no_grad()
    def __call__(self, batch: Tensor) -> Tensor:
        """Forward, backward."""
        (members, n), t = batch.shape, self.n_tau
        s = max(1, min(ROWS_A_GROUP, n // MIN_GROUPS))
        if n % s:
            batch = torch.cat([batch, batch[:, : -n % s]], dim=1)  # whole groups; what is added counts nothing
        b, g = batch.shape[1], batch.shape[1] // s
        level = self.levels.draw(g)  # (K, g t)
        phi, shape = embedding(level, self.phi), (members, g, 1, t)  # rows of a table, sooner than by an index
        tau, c = self.tau.take(level).view(shape), self.of_level.take(level).view(shape)
        Z, y, w = embedding(batch, self.rows.Z), self.rows.y.take(batch), self.weight.gather(1, batch)
        w[:, n:] = 0
        share = w.view(members, g, s, 1) / (n * t)

        # forward
        inputs = _Inputs(self.iqn, Z)
        masks = self.masks.draw(b)
        hidden = [inputs.h]
        for i, layer in enumerate(self.f_x):
            h = self._affine(f"h{i}", hidden[-1], layer)
            torch.relu_(h)
            hidden.append(h if masks is None else h.mul_(masks[i]))
        H = hidden[-1].shape[-1]
        f = torch.relu_(self._affine("f", phi, self.iqn.f_tau))
        h_g, f_g = hidden[-1].view(members, g, s, 1, H), f.view(members, g, 1, t, H)
        m = torch.mul(h_g, f_g, out=self._buffer("m", (members, g, s, t, H))).view(members, b * t, H)
        r = torch.relu_(self._affine("r", m, self.iqn.f_1))
        W_out = self.iqn.f_out.weight
        out = torch.bmm(
            W_out.mT, r.mT, out=self._buffer("out", (members, 2, b * t))
        )  # a product with N columns is quick
        out += self.iqn.f_out.bias.mT
        if self.network.prior is not None:
            out += self._prior(Z, phi, g)
        e = y.view(members, 1, g, s, 1) - out.view(members, 2, g, s, t)  # of mu and of q

        # backward
        d_out = self._buffer("d_out", out.shape)
        d_mu, d_q = d_out.view(e.shape).unbind(1)
        torch.sign(e[:, 0], out=d_mu).mul_(-self.location * share)
        torch.lt(e[:, 1], 0, out=d_q).sub_(tau).mul_(c * share)
        loss = -(d_out.view(e.shape) * e).sum(dim=(1, 2, 3, 4))  # |e| and rho_tau(e) are their slopes times e
        gradient(self.iqn.f_out.weight).copy_(torch.bmm(d_out, r).mT)
        torch.sum(d_out, dim=2, out=gradient(self.iqn.f_out.bias).view(members, 2))
        d_r = torch.bmm(d_out.mT, W_out.mT, out=self._buffer("d_r", r.shape))
        d_m = self._back(d_r, r, m, self.iqn.f_1, into=r).view(members, g, s, t, H)  # r and m have served, and are
        d_f = torch.mul(d_m, h_g, out=m.view(d_m.shape)).sum(dim=2)  # in the cache
        d_h = torch.sum(d_m.mul_(f_g), dim=3, out=self._buffer("d_h", (members, g, s, H)))
        self._back(d_f.view(members, g * t, H), f, phi, self.iqn.f_tau)
        d_h = d_h.view(members, b, H)
        for i in reversed(range(len(self.f_x))):
            if masks is not None:
                d_h.mul_(self.masks.scale)  # where a mask is 0, h_i is, and `_back` lets nothing pass
            is_needed = i > 0 or inputs.has_weights
            into = self._buffer(f"d_h{i}", hidden[i].shape) if is_needed else None
            d_h = self._back(d_h, hidden[i + 1], hidden[i], self.f_x[i], into)
        if inputs.has_weights:
            inputs.back(d_h)
        return loss

    def _buffer(self, name: str, shape: tuple[int, ...] | torch.Size) -> Tensor:
        kept = self.buffers.get(name)
        if kept is None or kept.shape != shape:
            kept = self.buffers[name] = self.phi.new_empty(shape)
        return kept

    def _affine(self, name: str, h: Tensor, layer: StackedLinear) -> Tensor:
        """H W + b into a buffer, (K, n, i) -> (K, n, o)."""
        W, bias = layer.weight, layer.bias
        return torch.baddbmm(bias, h, W, out=self._buffer(name, (*h.shape[:2], W.shape[2])))

    def _back(self, d: Tensor, out: Tensor, h: Tensor, layer: StackedLinear, into: Tensor | None = None) -> Tensor:
        """Back through out = relu(h W + b): gradients of W and b, and of h where there is room for it.

        Args:
            d: Gradient of out, shape (K, n, o); overwritten.
            out: The layer's output, zero where it was cut off.
            h: Its input, shape (K, n, i).
            layer: The layer.
            into: Where the gradient of h is written, which may be `out`; None if nobody needs it.
        """
        torch.ops.aten.threshold_backward.grad_input(d, out, 0, grad_input=d)
        torch.bmm(h.mT, d, out=gradient(layer.weight))
        torch.sum(d, dim=1, keepdim=True, out=gradient(layer.bias))
        return d if into is None else torch.bmm(d, layer.weight.mT, out=into)

    def _prior(self, Z: Tensor, phi: Tensor, g: int) -> Tensor:
        """What the frozen prior adds to mu and q, (K, 2, N)."""
        network, prior = self.network, self.network.prior
        assert prior is not None
        members, b = Z.shape[:2]
        h, f = prior.features(Z), torch.relu(prior.f_tau(phi))
        h_g, f_g = h.view(members, g, b // g, 1, -1), f.view(members, g, 1, self.n_tau, -1)
        m = torch.mul(h_g, f_g, out=self._buffer("m_0", (members, g, b // g, self.n_tau, h.shape[-1])))
        out = prior.f_out(torch.relu_(self._affine("r_0", m.view(members, b * self.n_tau, -1), prior.f_1))).mT
        added: Tensor = network.prior_scale / network.prior_size * (out - network.prior_center)
        return added


def gradient(parameter: torch.nn.Parameter) -> Tensor:
    """The tensor that holds a parameter's gradient, to be written into."""
    assert parameter.grad is not None, "FlatWeights gives every parameter its gradient"
    return parameter.grad


class _Inputs:
    """What f_x sees of scaled rows: one-hot blocks replaced by their embeddings, Fourier features appended."""

    def __init__(self, iqn: IQN, Z: Tensor) -> None:
        self.iqn, shape = iqn, iqn.shape
        self.has_weights = bool(shape.blocks) or iqn.fourier is not None
        self.scaled = Z * iqn.input_scale
        self.h = self.columns = iqn.embed(self.scaled)
        if iqn.fourier is not None:
            self.angle = torch.baddbmm(iqn.fourier.bias, self.columns, iqn.fourier.weight)
            self.h = torch.cat([self.columns, torch.sin(self.angle)], dim=-1)

    def back(self, d: Tensor) -> None:
        """Gradients of frequencies, phases and embeddings, given that of h, (K, b, p')."""
        fourier, n_columns = self.iqn.fourier, self.columns.shape[-1]
        d_columns = d[..., :n_columns]
        if fourier is not None:
            d_angle = d[..., n_columns:] * torch.cos(self.angle)
            torch.bmm(self.columns.mT, d_angle, out=gradient(fourier.weight))
            torch.sum(d_angle, dim=1, keepdim=True, out=gradient(fourier.bias))
            d_columns = d_columns + torch.bmm(d_angle, fourier.weight.mT)
        at = 0  # column of h at which a block's embedding begins
        last = 0
        for layer, (start, stop, size) in zip(self.iqn.embeddings, self.iqn.shape.blocks, strict=True):
            assert isinstance(layer, StackedLinear)
            at += start - last
            d_block = d_columns[..., at : at + size]
            torch.bmm(self.scaled[..., start:stop].mT, d_block, out=gradient(layer.weight))
            torch.sum(d_block, dim=1, keepdim=True, out=gradient(layer.bias))
            at, last = at + size, stop


class _Levels:
    """Levels of each step, drawn for many steps at once, each member from its own stream."""

    def __init__(self, n_tau: int, generators: Sequence[torch.Generator], device: torch.device) -> None:
        self.n_tau, self.generators, self.device = n_tau, generators, device
        self.waiting: list[Tensor] = []
        self.n_groups = 0

    def draw(self, n_groups: int) -> Tensor:
        """Numbers of the levels of one step, (K, g t): cell perm(j) of the g cells of each of t strata for group j."""
        if not self.waiting or n_groups != self.n_groups:
            self.n_groups = n_groups
            drawn = torch.stack([self._draw_many(n_groups, g) for g in self.generators], dim=1)
            self.waiting = list(drawn.to(self.device).unbind(0))
        return self.waiting.pop()

    def _draw_many(self, n_groups: int, generator: torch.Generator) -> Tensor:
        shape = STEPS_AT_ONCE, n_groups, self.n_tau
        cell = torch.rand(shape, generator=generator).argsort(dim=1)  # a permutation of the groups in every stratum
        place = (cell + torch.rand(shape, generator=generator)) / n_groups  # within the stratum, in (0, 1)
        level = (torch.arange(self.n_tau) + place) / self.n_tau * N_LEVELS
        return level.long().clamp_(max=N_LEVELS - 1).view(STEPS_AT_ONCE, -1)


class Masks:
    """Dropout masks, each member from its own stream.

    Bernoulli draws are made once per member and read from other places in every step: drawing them afresh costs as much
    as the matrix products.
    """

    def __init__(
        self, keep: float, widths: Sequence[int], generators: Sequence[torch.Generator], device: torch.device
    ) -> None:
        self.keep, self.widths, self.generators, self.device = keep, widths, generators, device
        self.scale = float(torch.ones(()) / keep)  # of the units that are kept
        self.pools: Tensor | None = None
        self.n_drawn = 0

    def draw(self, rows: int) -> list[Tensor] | None:
        """Masks for the hidden layers of f_x, each (K, b, width); None without dropout."""
        if self.keep == 1:
            return None
        if self.pools is None:
            size = max(POOL, 2 * rows * max(self.widths))
            pools = torch.empty(len(self.generators), size)
            for pool, generator in zip(pools, self.generators, strict=True):
                pool.bernoulli_(self.keep, generator=generator)
            self.pools = pools.div_(self.keep).to(self.device)
        masks = []
        for width in self.widths:
            self.n_drawn += 1
            first = self.n_drawn * STRIDE % (self.pools.shape[1] - rows * width)
            masks.append(self.pools[:, first : first + rows * width].view(-1, rows, width))
        return masks
