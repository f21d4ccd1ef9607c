"""Surrogates: scikit-learn regressors that return distributions."""

from genbayes.surrogate.estimator import QuantileSurrogate
from genbayes.surrogate.informed import GPInformedSurrogate

__all__ = ["GPInformedSurrogate", "QuantileSurrogate"]
