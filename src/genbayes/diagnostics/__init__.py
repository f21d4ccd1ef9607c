"""Diagnostics: is a model calibrated, what are the parts of its CRPS, and what is wrong, in words."""

from genbayes.diagnostics.assessment import Assessment, assess, expected_coverage
from genbayes.diagnostics.crps_decomposition import CrpsDecomposition, decompose_crps
from genbayes.diagnostics.diagnosis import Diagnostics, Reliability, diagnose

__all__ = [
    "Assessment",
    "CrpsDecomposition",
    "Diagnostics",
    "Reliability",
    "assess",
    "decompose_crps",
    "diagnose",
    "expected_coverage",
]
