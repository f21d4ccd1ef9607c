"""GPInformedSurrogate: a GP finds the mean, a quantile network the shape of what is left.

A GP is hard to beat on smooth responses and knows only Gaussian noise; a network learns any shape and wastes runs on
what a GP sees at once. So y = m(x) + s(x) r: m and s are the GP's mean and standard deviation, the network learns the
distribution of r from leave-one-out residuals, r_i = (y_i - m_{-i}(x_i)) / s_{-i}(x_i), which are like those of new
runs; with few runs for each input, from residuals of GPs refitted without a tenth of the runs. Its quantiles are
averaged with those of the GP's normal distribution, with a weight that rows which the network had not seen allow: few
runs tell no shape, and where nothing but Gaussian noise is left, the GP's answer stands.

Noise may grow with the response, so that m is an input worth having where the GP explains something. It is the mean by
all runs, a function of x alone. The mean without run i lies beside it by a share of that very residual, m_{-i}(x_i) -
m(x_i) = -h_i (y_i - m_{-i}(x_i)): a network that sees x as well would read y_i off it. With few runs for each input
even the mean by all runs lies too near to them, and it is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri
from sklearn.utils.validation import check_is_fitted

from genbayes.arrays import FloatArray, IntArray
from genbayes.data.matrix import MIN_ROWS
from genbayes.data.weights import as_checked
from genbayes.distribution import Normal, PredictiveDistribution, QuantileFunction
from genbayes.distribution.quantile_function import GRID
from genbayes.errors import UnreadableFile
from genbayes.metrics import check_loss, is_clearly_better, stretch_table
from genbayes.models.base import ScaledRuns, ScaledSurrogate
from genbayes.models.gp import FittedGP, Replicates, fit_gp
from genbayes.models.gp.stationary import StationaryGP, with_refits
from genbayes.models.gp.widening import asked_spread, held_out_spread, optimism, widening
from genbayes.models.network import QuantileSurrogate
from genbayes.models.protocols import Of
from genbayes.persistence import FOREIGN, State
from genbayes.progress import show_progress
from genbayes.seeding import RandomState, as_generator
from genbayes.validation import check_choice, check_count

# Share of the variance of left-out runs that the GP must explain before its mean is an input of the network. Of pure
# noise it seems to explain up to 0.1 with 60 runs of five inputs; from 0.2 on the mean saved up to a fifth of the CRPS
# where noise grows with the response.
MIN_EXPLAINED = 0.15
SHARES = tuple(k / 20 for k in range(21))  # weights of the network that are tried


class GPInformedSurrogate(ScaledSurrogate):
    """Quantiles m(x) + s(x) G(tau, z): a GP's mean and standard deviation, and a network for the residual.

    G = (1 - w) c Phi^-1(tau) + w N(tau, z): the GP's own normal distribution and the network's, w by held-out runs.
    The network sees z = [x, m(x), log s(x)], so that noise may grow with the response itself; [x, log s(x)] where the
    GP explains less than 15% of the variance of runs left out, or was refitted without tenths of few runs.

    Args:
        n_layers: Hidden layers of the network's f_x; None lets it choose.
        n_members: Ensemble size of the network; None leaves it to its recipe.
        n_epochs: Passes over the residuals, at most; None leaves it to its recipe.
        categorical: Names or indices of inputs that are categories; they become one-hot columns.
        verbose: Whether to show a progress bar.
        random_state: Seed of everything random in `fit`.

    Attributes:
        gp_: The GP, on scaled inputs and responses.
        residuals_: The network of the standardised residuals.
        sees_mean_: Whether the GP's mean is among the network's inputs.
        share_: Weight w of the network beside the GP's normal distribution, between 0 and 1.
        spread_: Factor of the network's quantiles, for what the choice of length scales hides: `widening` of the GP, or
            of few runs, whose residuals are those of refits, what makes it as wide as the GP.
        gp_spread_: Factor c of the GP's standard deviation (`held_out_spread` of the GP).
        n_features_in_, feature_names_in_: Columns seen in `fit`.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> X = rng.uniform(size=(200, 1))
        >>> y = np.sin(6 * X[:, 0]) + 0.2 * rng.exponential(size=200)  # noise that is not Gaussian
        >>> model = GPInformedSurrogate(n_epochs=40, random_state=0).fit(X, y)
        >>> model.predict_quantiles(X[:3], [0.05, 0.5, 0.95]).shape
        (3, 3)
    """

    gp_: FittedGP
    residuals_: QuantileSurrogate
    sees_mean_: bool
    share_: float
    spread_: float
    gp_spread_: float

    def __init__(
        self,
        *,
        n_layers: int | None = 1,
        n_members: int | None = None,
        n_epochs: int | None = None,
        categorical: Sequence[str | int] | None = None,
        verbose: bool = False,
        random_state: RandomState = None,
    ) -> None:
        self.n_layers = n_layers
        self.n_members = n_members
        self.n_epochs = n_epochs
        self.categorical = categorical
        self.verbose = verbose
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn the distribution of y given x from runs.

        Args:
            X: Inputs, shape (n, d): an array, or a pandas or polars frame whose column names are remembered.
            y: Responses, shape (n,).
            sample_weight: Weights, shape (n,); a weight of 2 equals giving the row twice (see `ScaledSurrogate.fit`).

        Returns:
            The fitted surrogate.
        """
        return self.fit_on(None, X, y, sample_weight)

    def fit_on(
        self, base: StationaryGP | None, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """As `fit`, with the GP of a `StationaryGP` that was fitted to the same runs, which saves fitting it again."""
        for name in ("n_layers", "n_members", "n_epochs"):
            if getattr(self, name) is not None:
                check_count(getattr(self, name), name)
        rng_cover, rng_gp, rng_network = as_generator(self.random_state).spawn(3)
        data = self._take_runs(X, y, sample_weight)
        runs = self._learn_scales(data, rng_cover)
        if isinstance(base, StationaryGP) and base.fingerprint_ == self.fingerprint_:
            self.gp_ = base.gp_
        else:
            with show_progress("fitting the GP", bool(self.verbose)) as report:
                groups = Replicates.collect(runs.Z, runs.y, runs.weight)
                self.gp_ = with_refits(fit_gp(groups, rng_gp, report=report), groups, rng_gp)
        self.gp_spread_ = held_out_spread(self.gp_, runs.Z, runs.y, runs.weight)
        self.spread_ = self._network_spread(runs)
        m, s, r = self._left_out_residuals(runs.Z, runs.y)
        self.sees_mean_ = not self.gp_.is_refitted and _explained(m, runs, data.weight) > MIN_EXPLAINED
        inputs = self._network_inputs(runs.Z, s)
        self.residuals_ = self._fit_residuals(inputs, r, data.weight, rng_network)
        self.share_ = self._weigh_network(inputs, r, runs.weight)
        return self

    def _network_spread(self, runs: ScaledRuns) -> float:
        """What residuals of left-out runs hide from the network: the widening, or all that refits do not ask for."""
        if self.gp_.is_refitted and (asked := asked_spread(self.gp_, runs.Z, runs.y, runs.weight)):
            return self.gp_spread_ / asked
        return 1 + widening(self.gp_.length_scales, len(self.gp_.runs))

    def _weigh_network(self, inputs: FloatArray, r: FloatArray, weight: FloatArray) -> float:
        """The largest weight that residuals which members of the network held out do not clearly speak against.

        Its mean CRPS is within a standard error of the least, by paired differences: the doubt is the network's, for a
        member alone, without a fifth of the runs, is worse than all of them together.
        """
        rows, residual = self.residuals_.predict_out_of_fold(inputs, r)
        if not len(rows):
            return 1.0
        levels = (np.arange(49) + 0.5) / 49
        normal, network = self._both(residual, levels)
        tables = ((1 - w) * normal + w * network for w in SHARES)
        scores = [2 * check_loss(r[rows, None] - q, levels).mean(axis=1) for q in tables]
        weight = weight[rows]
        best = scores[int(np.argmin([each @ weight for each in scores]))]
        fair = [w for w, each in zip(SHARES, scores, strict=True) if not is_clearly_better(best, each, weight, 1.0)]
        return max(fair)

    def _fit_residuals(
        self, inputs: FloatArray, r: FloatArray, weight: FloatArray, rng: np.random.Generator
    ) -> QuantileSurrogate:
        network = QuantileSurrogate(
            n_layers=self.n_layers,
            n_members=self.n_members,
            n_epochs=self.n_epochs,
            verbose=self.verbose,
            random_state=int(rng.integers(2**31)),
        )
        k = -(-MIN_ROWS // len(r))  # fewer distinct runs than that were given as replicates; k shares of each are one
        return network.fit(
            np.tile(inputs, (k, 1)),
            np.tile(r, k),
            sample_weight=as_checked(np.tile(weight / k, k)),
        )

    def _left_out_residuals(self, Z: FloatArray, t: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Mean and sd of the GP without each run, and the standardised residual, for scaled runs; (n,) each."""
        m, latent, noise = self.gp_.leave_out(Z)
        s = np.sqrt(latent + noise)
        return m, s, np.clip((t - m) / s, -8.0, 8.0)  # one beyond is an outlier, and its size tells nothing more

    def _hidden(self, Z: FloatArray) -> float:
        """Share by which errors of new runs exceed those of runs left out, shape (n, p) -> a number; 0 of refits."""
        return 0.0 if self.gp_.is_refitted else optimism(Z)

    def _network_inputs(self, Z: FloatArray, s: FloatArray, m: FloatArray | None = None) -> FloatArray:
        """Z = [x, m, log s], or [x, log s], (n, p) -> (n, p + 2) or (n, p + 1); m where it is known already."""
        if not self.sees_mean_:
            return np.column_stack([Z, np.log(s)])
        return np.column_stack([Z, self.gp_.predict(Z)[0] if m is None else m, np.log(s)])

    @property
    def knows_out_of_fold(self) -> bool:
        """The GP leaves runs out in closed form, the network's members hold rows out."""
        return True

    def predict_out_of_fold(self, X: ArrayLike, y: ArrayLike) -> tuple[IntArray, PredictiveDistribution]:
        """Rows that a member of the network held out, and their distributions about the GP without them."""
        scaler, Z = self.response_scaler_, self._scaled(X)
        t = scaler.transform(np.asarray(y, dtype=np.float64))
        m, s, r = self._left_out_residuals(Z, t)
        rows, residual = self.residuals_.predict_out_of_fold(self._network_inputs(Z, s), r)
        q = m[rows, None] + s[rows, None] * self._joined(residual)
        away = q[:, len(GRID) // 2] - t[rows]
        return rows, QuantileFunction(GRID, scaler.inverse(q + self._hidden(Z) * away[:, None]))

    def predict_distribution(self, X: ArrayLike, of: Of = "run") -> PredictiveDistribution:
        """The predictive distribution at new inputs.

        Args:
            X: Inputs, shape (n, d), with the columns of `fit`.
            of: "run" for a new run at x; "mean" for what the GP knows of E[y | x], epistemic only.

        Returns:
            One distribution per row.
        """
        check_choice(of, "of", ["run", "mean"])
        check_is_fitted(self, "residuals_")
        return self._in_pieces(X, lambda X: self._distribution(self._scaled(X), of))

    def _distribution(self, Z: FloatArray, of: Of) -> QuantileFunction | Normal:
        mean, latent, noise = self.gp_.predict(Z)
        s = np.sqrt(latent + noise)
        residual = self.residuals_.predict_distribution(self._network_inputs(Z, s, mean))
        scaler = self.response_scaler_
        if of == "mean":
            sd = self.spread_ * scaler.scale * np.sqrt(latent)
            return Normal(loc=scaler.inverse(mean + self.share_ * s * residual.mean()), scale=sd)
        return QuantileFunction(GRID, scaler.inverse(mean[:, None] + s[:, None] * self._joined(residual)))

    def _joined(self, residual: PredictiveDistribution) -> FloatArray:
        """Quantiles of the standardised residuals at `GRID`, those of GP and network averaged, (n, m)."""
        normal, network = self._both(residual, GRID)
        return np.asarray((1 - self.share_) * normal + self.share_ * network)

    def _both(self, residual: PredictiveDistribution, levels: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Quantiles of the standardised residuals at symmetric levels by GP, (m,), and by network, (n, m)."""
        return self.gp_spread_ * ndtri(levels), stretch_table(residual.ppf(levels), self.spread_)

    def summary(self) -> dict[str, str]:
        """What was fitted and how, in words, for reports."""
        check_is_fitted(self, "residuals_")
        inner = self.residuals_.summary()
        return {
            "model": type(self).__name__,
            "distinct runs": str(self.n_rows_),
            "inputs": str(self.n_features_in_),
            "GP length scales": ", ".join(f"{length:.3g}" for length in self.gp_.parameters.length),
            "weight of the network": f"{self.share_:.0%}",
            "inputs of the network": "x, mean and spread of the GP" if self.sees_mean_ else "x and spread of the GP",
            "members": inner["members"],
            "hidden layers of f_x": inner["hidden layers of f_x"],
            "epochs": inner["epochs"],
        }

    def to_state(self) -> State:
        """What the fitted surrogate keeps in its file."""
        check_is_fitted(self, "residuals_")
        learnt = {"sees_mean": self.sees_mean_, "share": self.share_}
        spreads = {"spread": self.spread_, "gp_spread": self.gp_spread_}
        state = self._shared_state(**learnt, **spreads).with_part("gp", self.gp_.to_state())
        return state.with_part("residuals", self.residuals_.to_state())

    @classmethod
    def from_state(cls, state: State) -> Self:
        """The surrogate that a file describes."""
        model = cls._from_shared(state)
        model.gp_ = FittedGP.from_state(state.nested("gp"), model.input_scaler_.n_outputs)
        model.residuals_ = QuantileSurrogate.from_state(state.nested("residuals"))
        model.sees_mean_ = state.typed("sees_mean", bool) if "sees_mean" in state.values else True  # older files
        model.spread_ = state.number("spread", positive=True, at_most=1e9, default=1.0)
        model.gp_spread_ = state.number("gp_spread", positive=True, at_most=1e9, default=1.0)
        model.share_ = state.number("share", at_least=0, at_most=1, default=1.0)  # older files have the network alone
        wanted = model.input_scaler_.n_outputs + 1 + model.sees_mean_
        if model.residuals_.n_features_in_ != wanted or model.residuals_.coders_:
            raise UnreadableFile(
                f"the network in the model file must have {wanted} numeric inputs, got others; {FOREIGN}"
            )
        return model


def _explained(m: FloatArray, runs: ScaledRuns, weight: FloatArray) -> float:
    """Share of the variance of y that the means of a GP without each run explain, (n,) -> a number.

    1 - (1 + o)^2 sum w (y - m)^2 / sum w (y - mean)^2: errors of left-out runs are enlarged by o = `optimism`.
    """
    around = runs.y - np.average(runs.y, weights=weight)
    left = (1 + optimism(runs.Z)) * (runs.y - m)
    return 1 - float(weight @ left**2) / float(weight @ around**2)
