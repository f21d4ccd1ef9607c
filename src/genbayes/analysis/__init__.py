"""What people do with a fitted surrogate: score it, ask which inputs matter, look along an input."""

from genbayes.analysis.assessment import Assessment, assess, expected_coverage
from genbayes.analysis.effects import MainEffect, main_effects
from genbayes.analysis.slices import Slice, slice_inputs

__all__ = ["Assessment", "MainEffect", "Slice", "assess", "expected_coverage", "main_effects", "slice_inputs"]
