"""What every model that learns from a table of runs shares: the door for X, scales, coverage, its part of a file."""

from genbayes.tabular.coverage import InputCoverage
from genbayes.tabular.door import as_table, check_fit_data, check_predict_data, learn_categories, require_variation
from genbayes.tabular.regressor import ScaledRuns, TabularRegressor

__all__ = [
    "InputCoverage",
    "ScaledRuns",
    "TabularRegressor",
    "as_table",
    "check_fit_data",
    "check_predict_data",
    "learn_categories",
    "require_variation",
]
