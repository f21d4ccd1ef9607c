"""Scores and checks of predictions, from arrays: no models, no distributions.

Proper scores (smaller is better) come per row, summaries of a test set as one number.
"""

from genbayes.metrics.bands import count_band, share_band, share_p_value
from genbayes.metrics.crps import crps, crps_normal, energy_score
from genbayes.metrics.paired import is_clearly_better, mean_and_error, paired_difference
from genbayes.metrics.pit import count_bins, pit, pit_shares
from genbayes.metrics.point import rmse, rmspe
from genbayes.metrics.quantiles import check_loss, coverage, interval_score, interval_width, pinball
from genbayes.metrics.spread import believed, best_spread, stretch_table

__all__ = [
    "believed",
    "best_spread",
    "check_loss",
    "count_band",
    "count_bins",
    "coverage",
    "crps",
    "crps_normal",
    "energy_score",
    "interval_score",
    "interval_width",
    "is_clearly_better",
    "mean_and_error",
    "paired_difference",
    "pinball",
    "pit",
    "pit_shares",
    "rmse",
    "rmspe",
    "share_band",
    "share_p_value",
    "stretch_table",
]
