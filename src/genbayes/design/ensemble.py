"""An ensemble of quantile networks that runs are chosen by: GBC-AL of the paper, section 4.3.

Members are trained together in one stack; the paper uses three. A new run continues from the present weights with a
short schedule; from scratch only when runs have grown by half. What the ensemble does not know is what its members
disagree on, and they disagree by their randomized priors (Osband, Aslanides & Cassirer 2018).
"""

from __future__ import annotations

import copy
from typing import Self

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from genbayes.arrays import FloatArray
from genbayes.data.folds import assign_member_folds
from genbayes.data.scaling import ResponseScaler
from genbayes.design.acquisition import NORMAL_WIDTH, covariance_of_members, taper
from genbayes.design.interface import DesignModel
from genbayes.distribution import Normal, QuantileFunction
from genbayes.models.network import DEFAULT, IQNSettings, NetworkShape, PriorIQN, Rows, fit_iqn, held_out_scores
from genbayes.models.network.ensemble import distribution_of_run, member_quantiles
from genbayes.models.network.fit import Penalty
from genbayes.models.protocols import Of
from genbayes.threads import single_thread
from genbayes.training import TrainingSettings
from genbayes.validation import check_count

SPREAD = float(np.sqrt(12))  # brings a uniform input on (0, 1) to standard deviation 1
N_STEPS = 1000  # of a training from scratch, at most; it stops when the held-out runs say so
N_STEPS_MORE = 60  # of one that goes on after a new run, at the same rate: a warm restart (Loshchilov & Hutter 2017)
GROWTH = 1.5  # training starts from scratch when runs have grown by this factor


class NetworkEnsemble(DesignModel):
    """Stacked quantile networks; a kind says what makes its members differ.

    Covariances between inputs are those of the members' medians, damped over the distance n^(-1/p) between neighbouring
    runs.

    Args:
        n_members: Ensemble size K.
        n_steps: Training steps from scratch, at most.
        n_steps_more: Training steps after a new run.

    Attributes:
        network_: The members.
        scaler_: The scale of the responses.
    """

    network_: PriorIQN
    scaler_: ResponseScaler
    prior_scale: float = 0.0
    _rows: Rows  # on the networks' scale
    _n_fitted: int  # runs at the last training from scratch
    _imagined: FloatArray | None = None
    _reference: tuple[FloatArray, FloatArray] | None = None  # inputs, and the members' medians there

    def __init__(self, n_members: int = 3, n_steps: int = N_STEPS, n_steps_more: int = N_STEPS_MORE) -> None:
        self.n_members = n_members
        self.n_steps = n_steps
        self.n_steps_more = n_steps_more

    def fit(self, X: FloatArray, y: FloatArray, rng: np.random.Generator) -> Self:
        """Train new members together."""
        check_count(self.n_members, "n_members", at_least=2)
        self.scaler_ = ResponseScaler.learn(y, np.ones(len(y)), (None, None))
        seeds = [int(child.integers(2**62)) for child in rng.spawn(self.n_members)]
        generators = [torch.Generator().manual_seed(seed) for seed in seeds]
        shape = NetworkShape(X.shape[1], self.n_members, n_hidden=64, n_layers=2, n_merge=32)
        self.network_ = PriorIQN(shape, generators, self.prior_scale)
        self.network_.adapt_to(self.scaled(X))
        self._n_fitted = len(y)
        return self._train(X, y, self.n_steps, rng)

    def update(self, X: FloatArray, y: FloatArray, rng: np.random.Generator) -> Self:
        """Go on from the present weights; from scratch when runs have grown by half."""
        if len(y) >= GROWTH * self._n_fitted:
            return self.fit(X, y, rng)
        return self._train(X, y, self.n_steps_more, rng)

    def _train(self, X: FloatArray, y: FloatArray, n_steps: int, rng: np.random.Generator) -> Self:
        """Train the members on all runs, each holding out its fifth of them."""
        n, batch_size = len(y), 128
        t = torch.as_tensor(self.scaler_.transform(y), dtype=torch.float32)
        self._rows = Rows(self.scaled(X), t, torch.ones(n))
        self._imagined = self._reference = None
        training = TrainingSettings(
            n_epochs=max(1, n_steps // max(1, -(-(n - n // 5) // batch_size))),
            batch_size=batch_size,
            learning_rate=2e-2,  # high, for the steps are few
            warmup=0.05,
            averaging=0.98,
            steps_between_checks=30,
            patience=5,
        )
        children = rng.spawn(self.n_members + 1)
        generators = [torch.Generator().manual_seed(int(child.integers(2**62))) for child in children[1:]]
        with single_thread():  # so small a network only loses by a second thread
            fit_iqn(
                self._rows,
                IQNSettings(self.network_.shape, DEFAULT, training, n_tau=2, prior_scale=self.prior_scale),
                generators,
                network=self.network_,
                aside=torch.as_tensor(assign_member_folds(n, self.n_members)),
                row_weight=self._row_weight(n, children[0]),
                penalty=self._penalty(n),
            )
        return self

    def _row_weight(self, n: int, rng: np.random.Generator) -> Tensor | None:
        """Weight of each run in each member's loss, shape (K, n); None for 1."""
        return None

    def _penalty(self, n: int) -> Penalty | None:
        """What is added to each member's loss; None for nothing."""
        return None

    def predict_distribution(self, X: ArrayLike, of: Of = "run") -> QuantileFunction | Normal:
        """The members' mixture for a new run at each row, (n, p); with "mean" the distribution of their medians."""
        X = np.asarray(X, dtype=np.float64)
        if of == "mean":
            medians = self.predict_members(X)
            return Normal(medians.mean(axis=0), medians.std(axis=0, ddof=1))
        q = member_quantiles(self.network_, self.scaled(X).numpy())
        return distribution_of_run(q.unsqueeze(0), self.scaler_)

    def predict_members(self, X: ArrayLike) -> FloatArray:
        """Each member's median, those of imagined runs taken into account, (n, p) -> (K, n)."""
        X = np.asarray(X, dtype=np.float64)
        return self._drawn_together(X, self._quantiles(X)[..., 1])

    def score_unseen(self) -> FloatArray:
        """CRPS of each run by a member that held it out, in units of y, NaN where none did, shape (n,)."""
        n = len(self._rows.y)
        aside = assign_member_folds(n, self.n_members)
        found = held_out_scores(self.network_, self._rows, torch.as_tensor(aside)).double().numpy()
        scores = np.full(n, np.nan)
        scores[aside.ravel()] = self.scaler_.scale * found.ravel()
        return scores

    def variance_reduction(self, X: FloatArray, reference: FloatArray) -> FloatArray:
        """mean_r cov(r, x)^2 / (var(x) + noise(x)) by the members' joint medians, (n, p), (r, p) -> (n,)."""
        if self._reference is None or self._reference[0] is not reference:  # kept while the same one is asked for
            self._reference = (reference, self.predict_members(reference))
        q = self._quantiles(X)
        F, G = self._drawn_together(X, q[..., 1]), self._reference[1]
        covariance = covariance_of_members(F, G, taper(X, reference, self._radius))
        noise = (((q[..., 2] - q[..., 0]) / NORMAL_WIDTH) ** 2).mean(axis=0)
        variance = F.var(axis=0, ddof=1) + noise
        return np.asarray((covariance**2).mean(axis=1) / np.maximum(variance, np.finfo(np.float64).tiny))

    def draw_path(self, X: FloatArray, rng: np.random.Generator) -> FloatArray:
        """The median of a member drawn at random, (n, p) -> (n,)."""
        return np.asarray(self.predict_members(X)[rng.integers(self.n_members)])

    def imagine(self, X: FloatArray) -> Self:
        """A copy whose members agree on runs at X, and nearly so within the distance between neighbours."""
        updated = copy.copy(self)
        updated._imagined = X if self._imagined is None else np.vstack([self._imagined, X])
        updated._reference = None
        return updated

    def scaled(self, X: FloatArray) -> Tensor:
        """Inputs of the unit cube as the networks see them, (n, p) -> (n, p)."""
        return torch.as_tensor((X - 0.5) * SPREAD, dtype=torch.float32)

    def _quantiles(self, X: FloatArray) -> FloatArray:
        """Each member's 5%, 50% and 95% quantiles in units of y, (n, p) -> (K, n, 3)."""
        with single_thread():
            q = self.network_.quantiles(self.scaled(X), torch.tensor([0.05, 0.5, 0.95])).sort(dim=-1).values
        return self.scaler_.inverse(q.double().numpy())

    @property
    def _radius(self) -> float:
        """Distance between neighbouring runs were they spread evenly over the cube, n^(-1/p)."""
        n, p = self._rows.Z.shape
        return float(n ** (-1 / p))

    def _drawn_together(self, X: FloatArray, medians: FloatArray) -> FloatArray:
        """Medians (K, n), closer near imagined runs x_j: deviations times prod_j sqrt(1 - t(x, x_j)^2)."""
        if self._imagined is None:
            return medians
        left = np.prod(np.sqrt(1 - taper(X, self._imagined, self._radius) ** 2), axis=1)
        middle = medians.mean(axis=0)
        return np.asarray(middle + left * (medians - middle))


class RandomizedPriors(NetworkEnsemble):
    """Members that are each the sum of a trained network and a frozen random one, G_k = g_k + alpha g_{0,k}.

    Where there are runs g_k learns to cancel its prior; where there are none it cannot, so members differ there,
    however many runs there are elsewhere.

    Args:
        n_members: Ensemble size K; the paper's is 3.
        prior_scale: Size alpha of the prior, in standard deviations of y; the paper's is 0.5.
        n_steps: Training steps from scratch, at most.
        n_steps_more: Training steps after a new run.

    Example:
        >>> X = np.linspace(0, 0.5, 20)[:, None]
        >>> model = RandomizedPriors(n_steps=50).fit(X, np.sin(6 * X[:, 0]), np.random.default_rng(0))
        >>> near, far = model.predict_members(np.array([[0.25], [1.0]])).std(axis=0)
        >>> bool(far > near)
        True
    """

    def __init__(
        self,
        n_members: int = 3,
        prior_scale: float = 0.5,
        n_steps: int = N_STEPS,
        n_steps_more: int = N_STEPS_MORE,
    ) -> None:
        super().__init__(n_members, n_steps, n_steps_more)
        self.prior_scale = prior_scale
