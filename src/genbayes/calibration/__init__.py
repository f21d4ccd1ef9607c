"""Calibration: distributions whose coverage is promised for finite samples, and checks of those that promise none."""

from genbayes.calibration.conformal import ConformalSurrogate
from genbayes.calibration.decomposition import CrpsDecomposition, decompose_crps
from genbayes.calibration.diagnostics import Diagnostics, diagnose
from genbayes.calibration.reliability import Reliability

__all__ = ["ConformalSurrogate", "CrpsDecomposition", "Diagnostics", "Reliability", "decompose_crps", "diagnose"]
