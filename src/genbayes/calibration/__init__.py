"""Calibration: predictive distributions whose coverage is promised for finite samples."""

from genbayes.calibration.conformal import ConformalSurrogate

__all__ = ["ConformalSurrogate"]
