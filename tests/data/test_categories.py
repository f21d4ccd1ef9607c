"""Categories: an order of their own, unknown and missing values refused."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from genbayes.data.categories import CategoryCoder
from genbayes.errors import InvalidInput


@given(st.lists(st.text(max_size=4), min_size=1, max_size=20))
def test_codes_lead_back_to_the_categories(values: list[str]) -> None:
    coder = CategoryCoder.learn(0, "gas", values)
    assert [coder.levels[int(code)] for code in coder.encode(values)] == values


def test_the_order_does_not_depend_on_the_sequence() -> None:
    assert CategoryCoder.learn(0, "g", ["b", "a"]).levels == CategoryCoder.learn(0, "g", ["a", "b", "a"]).levels


def test_numbers_may_be_categories() -> None:
    coder = CategoryCoder.learn(2, "stage", [3, 1, 1.0])
    assert coder.levels == (1.0, 3.0)
    np.testing.assert_array_equal(coder.encode([1, 3]), [0, 1])


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA, pd.NaT])
def test_a_missing_category_is_refused(missing) -> None:
    with pytest.raises(InvalidInput, match=r"X\['gas'\] must not have missing categories, got 1 of 2 rows \(row 1\)"):
        CategoryCoder.learn(0, "gas", ["He", missing])


def test_an_unknown_category_is_named_with_those_known() -> None:
    coder = CategoryCoder.learn(0, "gas", [f"g{i}" for i in range(20)])
    with pytest.raises(InvalidInput, match=r"must hold categories seen in fit \('g0', .*, \.\.\.\), got 'x' in 1 of 1"):
        coder.encode(["x"])


def test_text_where_numbers_were_learnt_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"X\['stage'\] must hold numbers as in fit, got 'one'"):
        CategoryCoder.learn(0, "stage", [1, 2]).encode(["one"])
