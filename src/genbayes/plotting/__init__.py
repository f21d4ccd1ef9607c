"""Pictures from arrays; the only folder that knows Matplotlib, which is imported when something is first drawn.

Every function draws on the axis it is given, or on a new figure, and returns the axis.
"""

from genbayes.plotting.calibration import plot_calibration, plot_decomposition, plot_pit, plot_reliability
from genbayes.plotting.effects import plot_main_effect, plot_main_effects, plot_shares
from genbayes.plotting.fan_chart import plot_fan, plot_fan_by_category
from genbayes.plotting.posterior import plot_corner, plot_predictive, plot_ranks
from genbayes.plotting.regimes import plot_regimes
from genbayes.plotting.scores import plot_observed, plot_scores, plot_training
from genbayes.plotting.style import to_svg

__all__ = [
    "plot_calibration",
    "plot_corner",
    "plot_decomposition",
    "plot_fan",
    "plot_fan_by_category",
    "plot_main_effect",
    "plot_main_effects",
    "plot_observed",
    "plot_pit",
    "plot_predictive",
    "plot_ranks",
    "plot_regimes",
    "plot_reliability",
    "plot_scores",
    "plot_shares",
    "plot_training",
    "to_svg",
]
