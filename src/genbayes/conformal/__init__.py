"""Conformal calibration: wraps any model, is a model, and its coverage is promised for finite samples."""

from genbayes.conformal.surrogate import ConformalSurrogate

__all__ = ["ConformalSurrogate"]
