"""Surrogates: scikit-learn regressors that return distributions."""

from genbayes.surrogate.estimator import QuantileSurrogate

__all__ = ["QuantileSurrogate"]
