"""What people do with a fitted surrogate: ask which inputs matter, look along an input."""

from genbayes.analysis.effects import MainEffect, Slice, main_effects, slice_inputs
from genbayes.diagnostics.assessment import Assessment, assess

__all__ = ["Assessment", "MainEffect", "Slice", "assess", "main_effects", "slice_inputs"]
