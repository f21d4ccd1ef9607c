from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from genbayes.data.columns import take_inputs, take_inputs_and_target
from genbayes.errors import InvalidInput

TABLE = pd.DataFrame({"gas": ["O2", "He"], "y": [5, 6], "x": [1.0, 2.0]})
NAMED = SimpleNamespace(feature_names_in_=np.array(["x", "gas"]), n_features_in_=2, categorical=["gas"])
UNNAMED = SimpleNamespace(n_features_in_=2, categorical=[0])


def test_a_model_with_names_takes_its_columns_in_its_order() -> None:
    assert list(take_inputs(NAMED, TABLE).columns) == ["x", "gas"]


def test_a_model_without_names_takes_all_columns_but_the_target() -> None:
    X, y = take_inputs_and_target(UNNAMED, TABLE, "y")
    assert X.tolist() == [["O2", 1.0], ["He", 2.0]]
    assert y.tolist() == [5, 6]


def test_a_model_without_names_is_given_as_many_columns_as_it_knows() -> None:
    with pytest.raises(
        InvalidInput, match=r"the table must have 2 input columns, in the order of fit .*, got 3; fit it"
    ):
        take_inputs(UNNAMED, TABLE)


def test_text_in_a_column_that_is_no_category_is_named() -> None:
    numeric = SimpleNamespace(feature_names_in_=["gas"], n_features_in_=1, categorical=None)
    with pytest.raises(
        InvalidInput,
        match=r"inputs must be numbers unless they are categories, got 'O2' in column 'gas', 2 of 2 rows .*; repair",
    ):
        take_inputs(numeric, TABLE)
