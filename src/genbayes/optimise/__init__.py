"""Maximise a score over a box: many candidates first, then uphill from the best."""

from genbayes.optimise.candidates import draw_candidates
from genbayes.optimise.gradients import by_differences
from genbayes.optimise.maximise import Best, maximise
from genbayes.optimise.refining import climb_uphill, search_downhill_simplex

__all__ = ["Best", "by_differences", "climb_uphill", "draw_candidates", "maximise", "search_downhill_simplex"]
