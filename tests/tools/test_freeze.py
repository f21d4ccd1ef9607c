"""The comparison of two commits tells equal, rounding and different apart."""

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest

TOOLS = Path(__file__).parents[2] / "tools"
OLD = np.array([1.0, 2.0, np.nan])


@pytest.fixture
def tool(monkeypatch):
    before = set(sys.modules)
    monkeypatch.syspath_prepend(str(TOOLS))
    yield importlib.import_module
    for name in set(sys.modules) - before:
        if Path(getattr(sys.modules[name], "__file__", None) or "/").is_relative_to(TOOLS):
            del sys.modules[name]


@pytest.mark.parametrize(
    ("new", "said"),
    [
        (OLD.copy(), "equal"),
        (OLD * (1 + 1e-13), "rounding"),
        (OLD + 1e-3, "DIFFERENT"),
        (np.array([1.0, 2.0, 3.0]), "DIFFERENT"),
        (OLD[:2], "DIFFERENT"),
        (np.array(["1", "2", "3"]), "DIFFERENT"),
    ],
)
def test_arrays_are_equal_to_the_bit_to_rounding_or_different(tool, new, said):
    assert tool("freeze").verdict({"y": new}, {"y": OLD}, 1e-9)[0] == said


def test_an_array_that_is_gone_is_a_difference_and_changed_words_are_none(tool):
    freeze = tool("freeze")
    assert freeze.verdict({}, {"y": OLD}, 1e-9) == ("DIFFERENT", ["y is missing"])
    assert freeze.verdict({"words~": np.array(["a"])}, {"words~": np.array(["b"])}, 1e-9) == ("equal", [])


def test_the_ratio_of_two_trees_is_a_geometric_mean_with_its_standard_error(tool):
    found = tool("against").summarise([(1.0, 5.0), (1.0, 6.0)], [(2.0, 5.0), (0.5, 6.0)])
    assert found["ratio"] == pytest.approx(1.0)
    assert found["se"] == pytest.approx(np.log(2))  # sd of +-log 2 is log 2 * sqrt(2), over sqrt(2) repetitions
    assert found["numbers"] == "equal"
