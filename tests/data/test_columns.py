"""From a table to X and y: the columns meant, cells that are refused, inputs as a fitted model wants them."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from genbayes import ConformalSurrogate
from genbayes.data import hold_out, read_table, select_inputs, split_target
from genbayes.data.columns import take_inputs, take_inputs_and_target
from genbayes.errors import InvalidInput
from genbayes.models import StationaryGP

TABLE = pd.DataFrame({"gas": ["O2", "He"], "y": [5, 6], "x": [1.0, 2.0]})
NAMED = SimpleNamespace(feature_names_in_=np.array(["x", "gas"]), n_features_in_=2, categorical=["gas"])
UNNAMED = SimpleNamespace(n_features_in_=2, categorical=[0])
NUMERIC = SimpleNamespace(feature_names_in_=["gas"], n_features_in_=1, categorical=None)


def table(tmp_path: Path, text: str) -> pd.DataFrame:
    path = tmp_path / "runs.csv"
    path.write_text(text)
    return read_table(path)


@pytest.mark.parametrize(
    ("text", "chosen", "inputs", "responses"),
    [
        ("mach,gas,y\n1,O2,3\n2,He,-4\n", None, ["mach", "gas"], [3, -4]),  # all columns but the target
        ("note,b,a,y\n,1,2,3\n", ["a", "b"], ["a", "b"], [3]),  # those chosen; then others may have gaps
        ("x,y\n1,True\n1,False\n", None, ["x"], [1, 0]),
    ],
)
def test_inputs_and_responses_are_found(tmp_path: Path, text: str, chosen, inputs: list[str], responses) -> None:
    X, y = split_target(table(tmp_path, text), "y", chosen)
    assert list(X.columns) == inputs
    assert (y.dtype, y.tolist()) == (np.float64, responses)


@pytest.mark.parametrize("categorical", [None, ["gas"]])
def test_text_passes_as_a_category_or_when_nobody_asked(tmp_path: Path, categorical: list[str] | None) -> None:
    X, _ = split_target(table(tmp_path, "x,gas,y\n1,O2,2\n"), "y", None, categorical)
    assert X["gas"].tolist() == ["O2"]


NINE_INPUTS = ",".join(f"input{i}" for i in range(9)) + "\n" + ",".join("1" * 9)
NO_CATEGORY = "inputs must be numbers unless they are categories, got"


@pytest.mark.parametrize(
    ("text", "arguments", "sentence"),
    [
        ("mach,pressure\n1,2\n", ("presure",), r"target must be a column .*, got 'presure'; did you mean 'pressure'\?"),
        (NINE_INPUTS, ("drag",), r"got 'drag'; the columns are 'input0', .*'input7', \.\.\.$"),
        ("y\n1\n", ("y",), "table must have an input beside the target, got the column 'y' alone"),
        ("x,y\n1,2\n", ("y", ["x", "y"]), "inputs must not contain the target, got 'y' among them"),
        ("x,y\n1,2\n", ("y", ["X"]), r"inputs must be columns of the table, got 'X'; did you mean 'x'\?"),
        ("x,y\n1,2\n", ("y", ["x", "x"]), "inputs must name each column once, got 'x' more than once; leave"),
        ("g,y\nO2,2\n", ("y", ["g", "g"], ["g"]), "inputs must name each column once, got 'g' more than once"),
        ("x,gas,y\n1,O2,2\n", ("y", None, ["gsa"]), "categorical must be columns of .* 'gsa'; did you mean 'gas'"),
        ("x,y\n1,2\nfast,3\n", ("y", None, []), rf"{NO_CATEGORY} 'fast' in column 'x', 1 of 2 rows \(line 3\)"),
        (
            "x,y\n1,2\n2,failed\n3,4\n4,diverged\n", ("y",),
            r"target must be numbers, got 'failed' in column 'y', 2 of 4 rows \(lines 3, 5\)",
        ),
        (
            "x,y\n1,2\n\n2,NA\n", ("y",),
            r"target must not be missing, got no value in column 'y', 1 of 2 rows \(line 4\); drop",
        ),
        (
            "x,gas,y\n1,O2,1\n" + "1,,1\n" * 7, ("y",),
            r"inputs must not be missing, got no value in column 'gas', 7 of 8 rows \(lines 3, 4, 5, 6, 7, \.\.\.\)",
        ),
        ("x,y\ninf,1\n", ("y",), r"inputs must be finite, got infinity in column .* 1 of 1 rows \(line 2\)"),
        ("x,y\n1,-inf\n", ("y",), r"target must be finite, got infinity in column .* 1 of 1 rows \(line 2\)"),
    ],
)  # fmt: skip
def test_bad_columns_and_cells_are_named(tmp_path: Path, text: str, arguments: tuple, sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        split_target(table(tmp_path, text), *arguments)


@pytest.mark.parametrize(
    ("columns", "sentence"),
    [
        (
            {"x": [1, 2], "y": pd.to_datetime(["2020-01-01"] * 2)},
            "target must be numbers, got datetime64.* in col.* 'y'",
        ),
        ({"x": [1.0, None], "y": [1, 2]}, r"1 of 2 rows \(row b\)"),
    ],
)
def test_bad_cells_of_a_frame_made_in_memory_are_named_by_its_index(columns: dict, sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        split_target(pd.DataFrame(columns, index=["a", "b"]), "y")


def test_missing_inputs_are_refused_wherever_they_are_selected(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"inputs must be columns of the table, got 'Mach'; did you mean 'mach'\?"):
        select_inputs(table(tmp_path, "mach,y\n1,2\n"), ["Mach"])


def test_a_split_takes_every_row_once_and_is_the_same_for_the_same_seed() -> None:
    learn, held = hold_out(133, 0.2, 0)
    assert len(held) == 27
    assert sorted([*learn, *held]) == list(range(133))
    np.testing.assert_array_equal(held, hold_out(133, 0.2, 0)[1])
    assert (held != hold_out(133, 0.2, 4)[1]).any()
    with pytest.raises(InvalidInput, match="level must lie strictly between 0 and 1"):
        hold_out(10, 1.0, 0)


def test_a_model_takes_its_columns_in_its_order_and_without_names_all_but_the_target() -> None:
    assert list(take_inputs(NAMED, TABLE).columns) == ["x", "gas"]
    X, y = take_inputs_and_target(UNNAMED, TABLE, "y")
    assert (X.tolist(), y.tolist()) == ([["O2", 1.0], ["He", 2.0]], [5, 6])


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        (UNNAMED, r"the table must have 2 input columns, in the order of fit .*, got 3; fit it"),
        (NUMERIC, rf"{NO_CATEGORY} 'O2' in column 'gas', 2 of 2 rows .*; repair"),
    ],
)
def test_a_table_that_does_not_suit_the_model_is_refused(model: SimpleNamespace, sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        take_inputs(model, TABLE)


def test_columns_in_another_order_are_refused_before_a_category_is_looked_up() -> None:
    frame = pd.DataFrame({"x": np.linspace(0, 1, 12), "gas": ["He", "O2"] * 6})
    model = StationaryGP(categorical=["gas"], random_state=0).fit(frame, np.sin(5 * frame["x"]))
    with pytest.raises(InvalidInput, match="must be in the same order"):
        model.predict(frame[["gas", "x"]])


def test_a_column_of_the_type_category_declares_itself_by_text_or_number_and_need_not_be_named() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {"size": rng.uniform(size=60), "kind": rng.integers(3, size=60), "gas": rng.choice(["a", "b"], 60)}
    )
    y = X["size"] + 4 * (X["kind"] == 1) + (X["gas"] == "a")
    typed = X.astype({"kind": "category", "gas": "category"})
    model = StationaryGP(random_state=0).fit(typed, y)
    assert [coder.levels for coder in model.coders_] == [(0.0, 1.0, 2.0), ("a", "b")]
    named = StationaryGP(random_state=0, categorical=["kind", "gas"]).fit(X, y)
    for new in (X, typed):
        np.testing.assert_array_equal(model.predict(new), named.predict(X))
    pd.testing.assert_frame_equal(take_inputs(model, X), X)  # as read from a file, where types are lost
    assert select_inputs(typed, ["gas"], []).shape == (60, 1)


DAYS = pd.date_range("2024-01-01", periods=60)


@pytest.mark.parametrize("y", [DAYS, DAYS.to_numpy(), list(DAYS), DAYS.tz_localize("UTC"), DAYS - DAYS[0]])
def test_responses_that_are_dates_or_durations_are_refused(y) -> None:
    X = np.arange(60.0)[:, None]
    fitted = StationaryGP().fit(X, np.sin(X[:, 0]))
    for model in (StationaryGP(), ConformalSurrogate(fitted, method="prefit")):
        with pytest.raises(
            InvalidInput, match=r"y must be numbers, got dates or durations \(.*\); turn them into numbers"
        ):
            model.fit(X, y)
    with pytest.raises(InvalidInput, match="y must be numbers, got dates or durations"):
        fitted.predict_distribution(X).crps(y)


RUNS = pd.DataFrame({"x": np.linspace(0, 1, 12), "z": np.linspace(0, 1, 12) ** 2})
STRANGE = {
    "dates or durations": pd.date_range("2024-01-01", periods=12),
    "Period": pd.period_range("2024-01-01", periods=12),
    "Interval": pd.interval_range(0, 12),
    "bytes": [b"a", b"b"] * 6,
    "list": [[1], [2]] * 6,
}


@pytest.mark.parametrize("got", STRANGE)
def test_inputs_that_are_no_numbers_are_refused_in_fit_and_in_predict(got: str) -> None:
    fitted = StationaryGP(n_starts=1, random_state=0).fit(RUNS, np.sin(4 * RUNS["x"]))
    strange = RUNS.assign(z=STRANGE[got])
    for ask in (lambda: StationaryGP().fit(strange, np.arange(12.0)), lambda: fitted.predict(strange)):
        with pytest.raises(InvalidInput, match=f"X must be numeric, got {got} in 'z'; turn them into numbers first"):
            ask()


def test_what_is_under_a_mask_is_missing_and_not_read() -> None:
    X, y = RUNS.to_numpy(), np.sin(4 * RUNS["x"].to_numpy())
    hidden = np.zeros((12, 2), dtype=bool)
    hidden[3, 1] = True
    fitted = StationaryGP(n_starts=1, random_state=0).fit(np.ma.array(X, mask=False), y)
    for ask in (
        lambda: StationaryGP().fit(np.ma.array(X, mask=hidden), y),
        lambda: fitted.predict(np.ma.array(X, mask=hidden)),
        lambda: StationaryGP().fit(X, np.ma.array(y, mask=hidden[:, 1])),
    ):
        with pytest.raises(InvalidInput, match=r"Input [Xy] contains NaN.* 1 of 12 rows \(row 3\)"):
            ask()


@pytest.mark.parametrize(
    ("y", "sentence"),
    [
        ([None, *range(11)], r"Input y contains NaN.* in 1 of 12 rows \(row 0\)"),
        (["fast", *range(11)], "y must be numbers, got 'fast'; repair or drop such rows"),
        (pd.period_range("2024-01-01", periods=12), r"y must be numbers, got Period"),
        (np.arange(12) + 1j, "^Complex data not supported; pass real and imaginary parts as two columns$"),
    ],
)
def test_responses_that_are_no_numbers_are_refused(y, sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        StationaryGP().fit(RUNS, y)


def test_records_and_text_in_an_array_are_refused_in_one_sentence() -> None:
    with pytest.raises(InvalidInput, match=r"X must be a table, got an array of records; pass pandas.DataFrame\(X\)"):
        StationaryGP().fit(RUNS.to_records(index=False), np.arange(12.0))
    fitted = StationaryGP(n_starts=1, random_state=0).fit(RUNS, np.sin(4 * RUNS["x"]))
    with pytest.raises(InvalidInput, match="X must be numeric outside `categorical`, got text: could not convert"):
        fitted.predict(RUNS.assign(z=["a"] * 12))
