from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest

from genbayes.analysis.input_table import InputTable, spread_values
from genbayes.errors import InvalidInput

FRAME = pd.DataFrame(
    {
        "gas": ["O2", "He", "O2", "N2"],
        "kind": pd.Categorical(["b", "a", "b", "b"]),
        "on": [True, False, True, True],
        "stage": [3, 1, 2, 2],
        "mach": np.array([0.5, 0.25, 2.5, 1.5], dtype=np.float32),
    },
    index=[7, 7, 8, 9],
)


def test_text_categories_and_yes_no_are_categorical_and_numbers_in_an_object_array_are_not() -> None:
    assert InputTable.of(FRAME).categorical == (True, True, True, False, False)
    X = np.array([["He", 1.5], ["O2", 2]], dtype=object)
    assert InputTable.of(X).categorical == (True, False)


@pytest.mark.parametrize("which", ["stage", 3, -2])
def test_numbers_that_the_model_calls_categorical_are(which: str | int) -> None:
    assert InputTable.of(FRAME, SimpleNamespace(categorical=[which])).categorical[3]


def test_columns_of_an_array_are_named_by_the_model_and_a_polars_frame_keeps_its_names() -> None:
    model = SimpleNamespace(feature_names_in_=np.array(["a", "b"], dtype=object))
    assert InputTable.of(np.ones((3, 2)), model).names == ("a", "b")
    assert InputTable.of(pl.DataFrame({"a": [1.0], "b": ["x"]})).names == ("a", "b")


@pytest.mark.parametrize("j", range(5))
def test_replacing_a_column_keeps_every_type(j: int) -> None:
    table = InputTable.of(FRAME)
    changed = table.replace(j, np.repeat(table.grid(j, 10)[:1], 4))
    assert (changed.X.dtypes == FRAME.dtypes).all()
    assert changed.X.iloc[:, j].nunique() == 1


def test_replacing_leaves_the_table_itself_alone() -> None:
    X = np.ones((2, 2))
    InputTable.of(X).replace(0, [5.0, 5.0])
    assert (X == 1).all()


def test_the_typical_row_has_observed_medians_and_modes() -> None:
    assert InputTable.of(FRAME).typical_row().X.iloc[0].tolist() == ["O2", "b", True, 2, 0.5]


def test_of_many_categories_the_commonest_are_tried() -> None:
    X = np.array([["rare"], ["often"], ["often"], ["usual"], ["usual"]], dtype=object)
    assert InputTable.of(X).grid(0, 2).tolist() == ["often", "usual"]


def test_whole_numbers_are_tried_at_observed_values_only() -> None:
    values = np.random.default_rng(0).integers(0, 1000, 300).astype(float) * 7
    assert set(spread_values(values, 25)) <= set(values)


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_other_numbers_are_tried_across_their_whole_range(scale: float) -> None:
    values = np.random.default_rng(0).uniform(size=50) * scale
    grid = spread_values(values, 30)
    assert (grid[0], grid[-1]) == (values.min(), values.max())
    assert np.diff(grid).max() < 0.1 * np.ptp(values)


def test_values_over_decades_are_tried_in_every_decade_and_a_constant_at_its_value() -> None:
    values = 10.0 ** np.random.default_rng(0).uniform(-12, 0, size=200)
    assert set(np.floor(np.log10(spread_values(values, 60)))) >= set(range(-11, 0))
    assert spread_values(np.full(9, 0.3), 20).tolist() == [0.3]


@pytest.mark.parametrize("X", [np.ones(3), np.ones((0, 2)), np.ones((2, 0))])
def test_a_table_without_cells_is_refused(X: np.ndarray) -> None:
    with pytest.raises(InvalidInput, match=r"X must have shape \(n, d\)"):
        InputTable.of(X)
