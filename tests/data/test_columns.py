"""From a table to X and y: the columns meant, cells that are refused, inputs as a fitted model wants them."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from genbayes.data import hold_out, read_table, select_inputs, split_target
from genbayes.data.columns import take_inputs, take_inputs_and_target
from genbayes.errors import InvalidInput
from genbayes.models import StationaryGP

TABLE = pd.DataFrame({"gas": ["O2", "He"], "y": [5, 6], "x": [1.0, 2.0]})
NAMED = SimpleNamespace(feature_names_in_=np.array(["x", "gas"]), n_features_in_=2, categorical=["gas"])
UNNAMED = SimpleNamespace(n_features_in_=2, categorical=[0])


def table(tmp_path: Path, text: str) -> pd.DataFrame:
    path = tmp_path / "runs.csv"
    path.write_text(text)
    return read_table(path)


def test_all_columns_but_the_target_are_inputs(tmp_path: Path) -> None:
    X, y = split_target(table(tmp_path, "mach,gas,y\n1,O2,3\n2,He,4\n"), "y")
    assert list(X.columns) == ["mach", "gas"]
    assert y.dtype == np.float64
    assert y.tolist() == [3, 4]


def test_inputs_may_be_chosen_and_then_others_may_have_gaps(tmp_path: Path) -> None:
    X, _ = split_target(table(tmp_path, "note,b,a,y\n,1,2,3\n"), "y", ["a", "b"])
    assert list(X.columns) == ["a", "b"]


@pytest.mark.parametrize(("cells", "y"), [("True\nFalse", [1, 0]), ("7\n-2", [7, -2])])
def test_whole_numbers_and_truth_values_are_responses(tmp_path: Path, cells: str, y: list[float]) -> None:
    rows = "\n".join(f"1,{cell}" for cell in cells.split())
    assert split_target(table(tmp_path, f"x,y\n{rows}\n"), "y")[1].tolist() == y


def test_a_missing_target_is_answered_with_the_nearest_name(tmp_path: Path) -> None:
    frame = table(tmp_path, "mach,pressure\n1,2\n")
    with pytest.raises(
        InvalidInput, match=r"target must be a column of the table, got 'presure'; did you mean 'pressure'\?"
    ):
        split_target(frame, "presure")


def test_a_target_like_no_column_is_answered_with_the_columns(tmp_path: Path) -> None:
    frame = table(tmp_path, ",".join(f"input{i}" for i in range(9)) + "\n" + ",".join("1" * 9))
    with pytest.raises(InvalidInput, match=r"got 'drag'; the columns are 'input0', .*'input7', \.\.\.$"):
        split_target(frame, "drag")


def test_a_missing_input_is_answered_with_the_nearest_name(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"inputs must be columns of the table, got 'Mach'; did you mean 'mach'\?"):
        select_inputs(table(tmp_path, "mach,y\n1,2\n"), ["Mach"])


def test_the_target_alone_is_no_table_of_runs(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="table must have an input beside the target, got the column 'y' alone"):
        split_target(table(tmp_path, "y\n1\n"), "y")


def test_the_target_is_no_input(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="inputs must not contain the target, got 'y' among them"):
        split_target(table(tmp_path, "x,y\n1,2\n"), "y", ["x", "y"])


def test_text_in_the_target_is_named_with_its_lines(tmp_path: Path) -> None:
    frame = table(tmp_path, "x,y\n1,2\n2,failed\n3,4\n4,diverged\n")
    with pytest.raises(
        InvalidInput, match=r"target must be numbers, got 'failed' in column 'y', 2 of 4 rows \(lines 3, 5\)"
    ):
        split_target(frame, "y")


@pytest.mark.parametrize("categorical", [None, ["gas"]])
def test_text_passes_as_a_category_or_when_nobody_asked(tmp_path: Path, categorical: list[str] | None) -> None:
    X, _ = split_target(table(tmp_path, "x,gas,y\n1,O2,2\n"), "y", None, categorical)
    assert X["gas"].tolist() == ["O2"]


def test_text_in_an_input_that_is_no_category_is_named_with_its_lines(tmp_path: Path) -> None:
    frame = table(tmp_path, "x,y\n1,2\nfast,3\n")
    with pytest.raises(
        InvalidInput,
        match=r"inputs must be numbers unless they are categories, got 'fast' in column 'x', 1 of 2 rows \(line 3\)",
    ):
        split_target(frame, "y", None, [])


def test_a_category_is_a_column(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"inputs must be columns of the table, got 'gsa'; did you mean 'gas'\?"):
        split_target(table(tmp_path, "x,gas,y\n1,O2,2\n"), "y", None, ["gsa"])


def test_dates_are_no_responses() -> None:
    frame = pd.DataFrame({"x": [1], "y": pd.to_datetime(["2020-01-01"])})
    with pytest.raises(InvalidInput, match=r"target must be numbers, got datetime64.* in column 'y'"):
        split_target(frame, "y")


def test_a_missing_response_is_named_with_its_line(tmp_path: Path) -> None:
    frame = table(tmp_path, "x,y\n1,2\n\n2,NA\n")
    with pytest.raises(
        InvalidInput, match=r"target must not be missing, got no value in column 'y', 1 of 2 rows \(line 4\); drop"
    ):
        split_target(frame, "y")


def test_missing_inputs_are_counted_and_the_first_lines_named(tmp_path: Path) -> None:
    frame = table(tmp_path, "x,gas,y\n1,O2,1\n" + "1,,1\n" * 7)
    with pytest.raises(
        InvalidInput,
        match=r"inputs must not be missing, got no value in column 'gas', 7 of 8 rows \(lines 3, 4, 5, 6, 7, \.\.\.\)",
    ):
        split_target(frame, "y")


@pytest.mark.parametrize(("text", "role"), [("x,y\ninf,1\n", "inputs"), ("x,y\n1,-inf\n", "target")])
def test_infinity_is_refused(tmp_path: Path, text: str, role: str) -> None:
    with pytest.raises(InvalidInput, match=rf"{role} must be finite, got infinity in column .* 1 of 1 rows \(line 2\)"):
        split_target(table(tmp_path, text), "y")


def test_rows_of_a_frame_made_in_memory_are_named_by_its_index() -> None:
    with pytest.raises(InvalidInput, match=r"1 of 2 rows \(row b\)"):
        split_target(pd.DataFrame({"x": [1.0, None], "y": [1, 2]}, index=["a", "b"]), "y")


def test_a_split_takes_every_row_once() -> None:
    learn, held = hold_out(133, 0.2, 0)
    assert len(held) == 27
    assert sorted([*learn, *held]) == list(range(133))


def test_a_split_is_the_same_for_the_same_seed() -> None:
    assert hold_out(50, 0.2, 3)[1].tolist() == hold_out(50, 0.2, 3)[1].tolist()
    assert hold_out(50, 0.2, 3)[1].tolist() != hold_out(50, 0.2, 4)[1].tolist()


def test_a_split_holds_out_a_share_between_0_and_1() -> None:
    with pytest.raises(InvalidInput, match="level must lie strictly between 0 and 1"):
        hold_out(10, 1.0, 0)


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


def test_columns_in_another_order_are_refused_before_a_category_is_looked_up() -> None:
    frame = pd.DataFrame({"x": np.linspace(0, 1, 12), "gas": ["He", "O2"] * 6})
    model = StationaryGP(categorical=["gas"], random_state=0).fit(frame, np.sin(5 * frame["x"]))
    with pytest.raises(InvalidInput, match="must be in the same order"):
        model.predict(frame[["gas", "x"]])
