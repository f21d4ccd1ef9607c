import pytest

from genbayes.cli.options import parse_bounds, parse_levels, parse_names, parse_weights
from genbayes.errors import InvalidInput


@pytest.mark.parametrize(("text", "names"), [(None, None), ("a", ["a"]), (" a, b c ,", ["a", "b c"])])
def test_names_are_separated_by_commas(text, names) -> None:
    assert parse_names(text) == names


@pytest.mark.parametrize(
    ("text", "bounds"), [(None, None), ("0,", (0, None)), (",1", (None, 1)), ("-1.5, 2e3", (-1.5, 2000))]
)
def test_either_bound_may_be_left_out(text, bounds) -> None:
    assert parse_bounds(text) == bounds


@pytest.mark.parametrize("text", ["", "1", ",", "1,2,3"])
def test_bounds_are_two(text) -> None:
    with pytest.raises(InvalidInput, match=r"--bounds must be two numbers, either .*, got '.*'; try 0,1 or 0,"):
        parse_bounds(text)


def test_bounds_are_numbers() -> None:
    with pytest.raises(InvalidInput, match="--bounds must be numbers such as 0,1 or 0,, got 'low'"):
        parse_bounds("low,1")


@pytest.mark.parametrize(("text", "weights"), [(None, None), ("auto", "auto"), ("1,2,3", (1, 2, 3))])
def test_weights_are_a_name_or_numbers(text, weights) -> None:
    assert parse_weights(text) == weights


def test_weights_are_three() -> None:
    with pytest.raises(
        InvalidInput, match=r"--weights must be a name or three numbers, got '0.3,0.7'; try 0.3,0.3,0.4"
    ):
        parse_weights("0.3,0.7")


@pytest.mark.parametrize("text", ["", "half", "0.5;0.9"])
def test_levels_are_numbers(text) -> None:
    with pytest.raises(InvalidInput, match=r"--quantiles must be levels such as 0.05,0.5,0.95, got "):
        parse_levels(text)


def test_levels_are_named_once() -> None:
    with pytest.raises(InvalidInput, match=r"--quantiles must be different levels, got '0.5,0.50'; name each once"):
        parse_levels("0.5,0.50")
