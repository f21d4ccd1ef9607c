"""Runs: read from files, checked, split, scaled, and the bundled example."""

from genbayes.data.box import Box, Choice, Integer, Linear, Log
from genbayes.data.columns import drop_missing, select_inputs, select_numbers, split_target
from genbayes.data.extrapolation import InputCoverage
from genbayes.data.folds import hold_out
from genbayes.data.matrix import (
    as_table,
    check_fit_data,
    check_predict_data,
    learn_categories,
    require_variation,
)
from genbayes.data.tables import check_table_path, load_motorcycle, read_table, write_table

__all__ = [
    "Box",
    "Choice",
    "InputCoverage",
    "Integer",
    "Linear",
    "Log",
    "as_table",
    "check_fit_data",
    "check_predict_data",
    "check_table_path",
    "drop_missing",
    "hold_out",
    "learn_categories",
    "load_motorcycle",
    "read_table",
    "require_variation",
    "select_inputs",
    "select_numbers",
    "split_target",
    "write_table",
]
