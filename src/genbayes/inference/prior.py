"""Priors: what is known of a simulator's parameters before anything is observed.

A prior is a list of frozen SciPy distributions, one a parameter and independent, or a joint normal or t distribution,
or a `Box`, on which it is uniform. All are held as one `Prior`, which draws, has a density and can be written to a file
as names and numbers.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from genbayes.arrays import BoolArray, FloatArray
from genbayes.data import Box
from genbayes.data.box import Linear, Log
from genbayes.errors import InvalidInput, PriorAssumed, UnreadableFile
from genbayes.inference.named import as_table, in_order, names_of
from genbayes.validation import check_array, describe_rows, suggest

ACCEPTED = "frozen SciPy distributions (one per parameter), a frozen multivariate_normal or multivariate_t, or a Box"
JOINT = ("multivariate_normal", "multivariate_t")


@dataclass(frozen=True)
class Prior:
    """The distribution of theta (k,) before an observation; made by `as_prior`.

    Attributes:
        names: What the parameters are called, k of them.
        margins: The distribution of each parameter, frozen SciPy ones.
        joint: A frozen multivariate normal or t distribution; None where the parameters are independent.
    """

    names: tuple[str, ...]
    margins: tuple[Any, ...]
    joint: Any = field(default=None)

    @classmethod
    def of(cls, margins: Sequence[Any], names: Sequence[str]) -> Prior:
        """Independent parameters with these frozen distributions, checked; names of another number are not used."""
        used = _names(names, len(margins))
        for margin, name in zip(margins, used, strict=True):
            _check_margin(margin, name)
        return cls(used, tuple(margins))

    @property
    def k(self) -> int:
        """Number of parameters."""
        return len(self.names)

    @cached_property
    def lower(self) -> FloatArray:
        """Lower ends of the support, (k,); -inf where there is none."""
        return np.array([margin.support()[0] for margin in self.margins], dtype=np.float64)

    @cached_property
    def upper(self) -> FloatArray:
        """Upper ends of the support, (k,); inf where there is none."""
        return np.array([margin.support()[1] for margin in self.margins], dtype=np.float64)

    def sample(self, n: int, rng: np.random.Generator) -> FloatArray:
        """Independent draws, shape (n, k).

        Example:
            >>> as_prior(Box.unit(2)).sample(3, np.random.default_rng(0)).shape
            (3, 2)
        """
        if self.joint is not None:
            return np.asarray(self.joint.rvs(size=n, random_state=rng), dtype=np.float64).reshape(n, self.k)
        return np.column_stack([margin.rvs(size=n, random_state=rng) for margin in self.margins])

    def log_prob(self, theta: ArrayLike) -> FloatArray:
        """Log density at each row, (n, k) -> (n,); -inf outside the support.

        Example:
            >>> as_prior(Box({"a": (0.0, 2.0)})).log_prob([[1.0], [3.0]]).round(4)
            array([-0.6931,    -inf])
        """
        values = self._rows(theta)
        if self.joint is not None:
            return np.asarray(self.joint.logpdf(values), dtype=np.float64).reshape(len(values))
        terms = [margin.logpdf(values[:, j]) for j, margin in enumerate(self.margins)]
        return np.asarray(np.sum(terms, axis=0), dtype=np.float64)

    def cdf(self, theta: ArrayLike) -> FloatArray:
        """Distribution functions of the margins, (n, k) -> (n, k)."""
        values = self._rows(theta)
        return np.column_stack([margin.cdf(values[:, j]) for j, margin in enumerate(self.margins)])

    def contains(self, theta: ArrayLike) -> BoolArray:
        """Which rows lie in the support, its ends included, (n, k) -> (n,).

        Example:
            >>> as_prior(Box.unit(1)).contains([[0.0], [1.5]])
            array([ True, False])
        """
        values = self._rows(theta)
        return np.asarray(((values >= self.lower) & (values <= self.upper)).all(axis=1))

    def take(self, theta: Any) -> FloatArray:
        """Parameters as users give them, (n, k) inside the support, or why they are none.

        A data frame is read by the names of its columns, which must be those of the prior, in any order; by position
        where columns or parameters are only numbered.

        Example:
            >>> as_prior(Box.unit(1)).take([[0.5], [1.5]])
            Traceback (most recent call last):
            genbayes.errors.InvalidInput: theta must lie in the prior's support, got 1 of 2 rows (row 1) outside; ...
        """
        values = self._rows(theta)
        outside = ~self.contains(values)
        if outside.any():
            raise InvalidInput(
                f"theta must lie in the prior's support, got {describe_rows(outside)} outside; "
                "drop them or widen the prior"
            )
        return values

    def to_dict(self) -> dict[str, Any]:
        """Names and numbers only; `from_dict` takes them back.

        Example:
            >>> as_prior(Box({"a": (0.0, 2.0)})).to_dict()
            {'names': ['a'], 'margins': [{'name': 'uniform', 'numbers': [0.0, 2.0]}]}
        """
        if self.joint is not None:
            return {"names": list(self.names), "joint": _joint_to_dict(self.joint)}
        return {"names": list(self.names), "margins": [_margin_to_dict(margin) for margin in self.margins]}

    @classmethod
    def from_dict(cls, kept: Mapping[str, Any]) -> Prior:
        """The prior that `to_dict` described; the names of distributions are looked up in a list of known ones."""
        try:
            names = [str(name) for name in kept["names"]]
            if "joint" in kept:
                return _of_joint(_joint_from_dict(kept["joint"]), names)
            return Prior.of([_margin_from_dict(margin) for margin in kept["margins"]], names)
        except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
            raise UnreadableFile(
                f"the file must describe a prior, got none ({error}); it is damaged or foreign"
            ) from error

    def _rows(self, theta: Any) -> FloatArray:
        """Finite numbers of shape (n, k)."""
        is_frame = hasattr(theta, "columns")
        values = np.asarray(in_order(theta, self.names, "theta"), dtype=object if is_frame else None)
        if values.ndim == 1 and self.k == 1:
            values = values[:, None]
        rows = check_array(values, "theta", "(n, k)")
        if rows.shape[1] != self.k:
            raise InvalidInput(f"theta must have {self.k} columns, one per parameter of the prior, got {rows.shape[1]}")
        return rows


def as_prior(prior: Any, theta: Any = None) -> Prior:
    """A prior from what users pass.

    Args:
        prior: A list of frozen SciPy distributions, one a parameter, or a dictionary of them by name; a frozen
            `multivariate_normal` or `multivariate_t`; a `Box`, uniform on each axis (of the logarithm, for `Log`);
            None for the box that theta fills.
        theta: Simulated parameters (n, k), needed for None; columns of a data frame or keys of a
            dictionary name the parameters.

    Example:
        >>> from scipy import stats
        >>> prior = as_prior({"rate": stats.gamma(2.0), "shift": stats.norm(0, 3)})
        >>> prior.names, prior.lower.tolist()
        (('rate', 'shift'), [0.0, -inf])
    """
    if isinstance(prior, Prior):
        return prior
    theta = as_table(theta, "theta")
    columns = names_of(theta)
    if prior is None:
        return _box_of(theta, columns)
    if isinstance(prior, Box):
        return Prior.of([_of_input(name, kind) for name, kind in prior.inputs.items()], prior.names)
    if _is_joint(prior):
        return _of_joint(prior, columns)
    if isinstance(prior, Mapping) and prior:
        return Prior.of(list(prior.values()), [str(name) for name in prior])
    if isinstance(prior, Sequence) and not isinstance(prior, str) and prior:
        return Prior.of(list(prior), columns)
    if hasattr(prior, "dist") and hasattr(prior, "ppf"):
        return Prior.of([prior], columns)
    raise InvalidInput(f"prior must be {ACCEPTED}, got {_describe(prior)}{_what_to_do(prior)}")


def _of_joint(joint: Any, names: Sequence[str]) -> Prior:
    """A joint distribution with its margins: normal, or t with the same degrees of freedom."""
    from scipy import stats

    mean, spread, df = _joint_numbers(joint)
    try:
        if not (np.isfinite(mean).all() and np.isfinite(spread).all() and df > 0):
            raise np.linalg.LinAlgError
        np.linalg.cholesky(spread)
    except np.linalg.LinAlgError:
        raise InvalidInput(
            "prior must be proper with a covariance of full rank, got one that is singular or not finite; "
            "drop parameters that others determine"
        ) from None
    sd = np.sqrt(np.diag(spread))
    margins = [stats.norm(m, s) if np.isinf(df) else stats.t(df, m, s) for m, s in zip(mean, sd, strict=True)]
    return Prior(_names(names, len(mean)), tuple(margins), joint)


def _names(given: Sequence[str], k: int) -> tuple[str, ...]:
    if len(given) == k and len(set(given)) == k:
        return tuple(given)
    return tuple(f"theta{j + 1}" for j in range(k))


def _box_of(theta: Any, columns: Sequence[str]) -> Prior:
    """Uniform on the box that theta fills, with a warning that says so."""
    if theta is None:
        raise InvalidInput(f"prior must be {ACCEPTED}, got None without simulated theta; pass one")
    values = check_array(np.asarray(theta), "theta", "(n,)" if np.ndim(theta) == 1 else "(n, k)")
    values = values[:, None] if values.ndim == 1 else values
    names = _names(columns, values.shape[1])
    lower, upper = values.min(axis=0, initial=np.inf), values.max(axis=0, initial=-np.inf)
    for name, low, high in zip(names, lower, upper, strict=True):
        if not low < high:
            raise InvalidInput(f"theta must vary, got the same value of {name!r} in every row; drop it or pass a prior")
    shown = ", ".join(f"{name} in [{a:.4g}, {b:.4g}]" for name, a, b in zip(names, lower, upper, strict=True))
    warnings.warn(
        f"no prior was passed; taken as uniform on the box that theta fills: {shown}", PriorAssumed, stacklevel=3
    )
    return as_prior(Box(dict(zip(names, zip(lower.tolist(), upper.tolist(), strict=True), strict=True))))


def _of_input(name: str, kind: Any) -> Any:
    """The uniform distribution of an input of a box; of its logarithm where the scale is logarithmic."""
    from scipy import stats

    if isinstance(kind, Log):
        return stats.loguniform(kind.lower, kind.upper)
    if isinstance(kind, Linear):
        return stats.uniform(kind.lower, kind.upper - kind.lower)
    raise InvalidInput(
        f"prior must be continuous, got {type(kind).__name__} for {name!r}; give it bounds (lower, upper) or fix it"
    )


def _check_margin(margin: Any, name: str) -> None:
    """Refuse what is not a frozen, proper, continuous, scalar distribution that SciPy has by name."""
    dist = getattr(margin, "dist", None)
    if hasattr(dist, "pmf") or hasattr(margin, "pmf"):
        raise InvalidInput(f"prior must be continuous, got a discrete distribution for {name!r}; fix it or smooth it")
    if dist is None or not hasattr(margin, "ppf"):
        raise InvalidInput(f"prior must be {ACCEPTED}, got {_describe(margin)} for {name!r}{_what_to_do(margin)}")
    if known_distributions().get(dist.name) is None or type(dist) is not type(known_distributions()[dist.name]):
        raise InvalidInput(
            f"prior must be made of distributions that SciPy has by name, got {_describe(dist)} for {name!r}; "
            "a file keeps the name and the numbers"
        )
    numbers = _numbers(margin)
    if any(np.size(number) != 1 for number in numbers):
        raise InvalidInput(
            f"prior must have one distribution a parameter, got a vector of them for {name!r}; list them"
        )
    values = tuple(float(np.squeeze(number)) for number in numbers)
    # a shape may be infinite, as the end of truncnorm(a, inf); location and scale may not
    proper = bool(np.isfinite(values[-2:]).all()) and not np.isnan(values).any() and values[-1] > 0
    quartiles = margin.ppf([0.25, 0.75]) if proper else np.full(2, np.nan)
    if not np.isfinite(quartiles).all() or not quartiles[0] < quartiles[1]:
        raise InvalidInput(
            f"prior must be proper, got {dist.name}{values} for {name!r}, whose numbers or quartiles are not finite; "
            "give it finite numbers, a far bound where there is none, and a positive scale"
        )


@lru_cache(maxsize=1)
def known_distributions() -> dict[str, Any]:
    """The continuous distributions that SciPy has by name; the only ones that are read from a file.

    Example:
        >>> known_distributions()["norm"].name
        'norm'
    """
    from scipy import stats

    found = {name: getattr(stats, name) for name in dir(stats) if not name.startswith("_")}
    return {name: value for name, value in found.items() if isinstance(value, stats.rv_continuous)}


def _numbers(margin: Any) -> tuple[Any, ...]:
    """Shape parameters, location and scale of a frozen distribution, in the order that SciPy takes them."""
    shapes, loc, scale = margin.dist._parse_args(*margin.args, **margin.kwds)
    return (*shapes, loc, scale)


def _margin_to_dict(margin: Any) -> dict[str, Any]:
    numbers = [float(np.squeeze(number)) for number in _numbers(margin)]
    return {"name": margin.dist.name, "numbers": [x if np.isfinite(x) else str(x) for x in numbers]}  # JSON has no inf


def _margin_from_dict(kept: Mapping[str, Any]) -> Any:
    name, known = kept["name"], known_distributions()
    if name not in known:
        raise ValueError(f"{name!r} is no known distribution{suggest(name, known)}")
    return known[name](*(float(number) for number in kept["numbers"]))


def _is_joint(prior: Any) -> bool:
    return type(prior).__name__.removesuffix("_frozen") in JOINT and type(prior).__module__.startswith("scipy.")


def _joint_numbers(joint: Any) -> tuple[FloatArray, FloatArray, float]:
    """Location (k,), covariance or shape matrix (k, k) and degrees of freedom, infinite for the normal."""
    if type(joint).__name__.startswith("multivariate_t"):
        return np.atleast_1d(joint.loc), np.atleast_2d(joint.shape), float(joint.df)
    return np.atleast_1d(joint.mean), np.atleast_2d(joint.cov), float("inf")


def _joint_to_dict(joint: Any) -> dict[str, Any]:
    mean, spread, df = _joint_numbers(joint)
    return {"loc": mean.tolist(), "spread": spread.tolist(), "df": None if np.isinf(df) else df}


def _joint_from_dict(kept: Mapping[str, Any]) -> Any:
    from scipy import stats

    loc, spread = np.asarray(kept["loc"], dtype=np.float64), np.asarray(kept["spread"], dtype=np.float64)
    if kept["df"] is None:
        return stats.multivariate_normal(loc, spread)
    return stats.multivariate_t(loc, spread, df=float(kept["df"]))


def _describe(given: Any) -> str:
    return type(given).__name__ if not isinstance(given, (str, int, float, list, tuple, dict)) else repr(given)


def _what_to_do(given: Any) -> str:
    if hasattr(given, "freeze"):
        return "; freeze it with its numbers, as in scipy.stats.norm(0, 1)"
    return ""
