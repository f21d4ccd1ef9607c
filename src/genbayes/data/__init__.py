"""Runs: read from files, checked, split, and the bundled example."""

from genbayes.data.columns import hold_out, select_inputs, split_target
from genbayes.data.motorcycle import load_motorcycle
from genbayes.data.space import Box, Choice, Integer, Linear, Log
from genbayes.data.tables import check_table_path, read_table, write_table

__all__ = [
    "Box",
    "Choice",
    "Integer",
    "Linear",
    "Log",
    "check_table_path",
    "hold_out",
    "load_motorcycle",
    "read_table",
    "select_inputs",
    "split_target",
    "write_table",
]
