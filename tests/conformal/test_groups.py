"""Labels of groups: what is learnt, and what is refused."""

import numpy as np
import pandas as pd
import pytest

from genbayes.conformal.rows import Groups
from genbayes.errors import InvalidInput


@pytest.mark.parametrize(
    "labels",
    [["b", "a", "b"], np.array(["b", "a", "b"]), pd.Series(["b", "a", "b"], index=[7, 8, 9]), np.array([2, 1, 2])],
)
def test_labels_of_any_kind_are_numbered_in_order(labels) -> None:
    np.testing.assert_array_equal(Groups.learn(labels, 3).encode(labels, 3), [1, 0, 1])


def test_numbers_and_text_may_stand_side_by_side() -> None:
    assert Groups.learn([1, "a", 0.5], 3).labels == (0.5, 1, "a")


def test_without_labels_all_rows_are_one_group() -> None:
    none = Groups.learn(None, 3)
    assert len(none) == 1
    np.testing.assert_array_equal(none.encode(None, 2), [0, 0])


def test_an_unknown_group_is_named_with_its_rows() -> None:
    match = r"groups must be among those of fit \('a', 'b'\), got 'c' in 1 of 3 rows \(row 2\)"
    with pytest.raises(InvalidInput, match=match):
        Groups(("a", "b")).encode(["a", "b", "c"], 3)


def test_labels_must_be_given_where_fit_had_them() -> None:
    with pytest.raises(InvalidInput, match=r"groups must be given, since fit was given groups \('a', 'b'\)"):
        Groups(("a", "b")).encode(None, 3)


def test_labels_must_be_left_out_where_fit_had_none() -> None:
    with pytest.raises(InvalidInput, match="groups must be left out, since fit was given none"):
        Groups().encode(["a"], 1)


@pytest.mark.parametrize("missing", [None, np.nan, pd.NaT, ("a", "b")])
def test_a_missing_label_is_refused(missing) -> None:
    labels = np.empty(2, dtype=object)
    labels[:] = ["a", missing]
    with pytest.raises(InvalidInput, match=r"groups must be text or numbers, got .* in 1 of 2 rows \(row 1\)"):
        Groups.learn(labels, 2)


def test_the_number_of_labels_is_checked() -> None:
    with pytest.raises(InvalidInput, match=r"groups must have shape \(3,\), one label per row, got \(2,\)"):
        Groups.learn(["a", "b"], 3)
