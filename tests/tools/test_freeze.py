"""The comparison of two commits tells equal, rounding and different apart."""

import numpy as np
import pytest

OLD = np.array([1.0, 2.0, np.nan])


@pytest.mark.parametrize(
    ("new", "said"),
    [
        (OLD.copy(), "equal"),
        (OLD * (1 + 1e-13), "rounding"),
        *[(new, "DIFFERENT") for new in (OLD + 1e-3, np.array([1.0, 2.0, 3.0]), OLD[:2], np.array(["1", "2", "3"]))],
    ],
)
def test_arrays_are_equal_to_the_bit_to_rounding_or_different(tool, new, said):
    assert tool("freeze").verdict({"y": new}, {"y": OLD}, 1e-9)[0] == said


def test_an_array_that_is_gone_is_a_difference_and_changed_words_are_none(tool):
    verdict = tool("freeze").verdict
    assert verdict({}, {"y": OLD}, 1e-9) == ("DIFFERENT", ["y is missing"])
    assert verdict({"words~": np.array(["a"])}, {"words~": np.array(["b"])}, 1e-9) == ("equal", [])


def test_the_ratio_of_two_trees_is_a_geometric_mean_with_its_standard_error(tool):
    found = tool("against").summarise([(1.0, 5.0), (1.0, 6.0)], [(2.0, 5.0), (0.5, 6.0)])
    assert found["ratio"] == pytest.approx(1.0)
    assert found["se"] == pytest.approx(np.log(2))  # sd of +-log 2 is log 2 * sqrt(2), over sqrt(2) repetitions
    assert found["numbers"] == "equal"
