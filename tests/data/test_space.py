"""Box: kinds of inputs, the unit cube, points spread over it, and what is refused."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from genbayes import Box
from genbayes.data import Choice, Integer, Linear, Log
from genbayes.errors import InvalidInput

MIXED = Box({"mach": (0.2, 6.0), "rate": Log(1e-3, 1.0), "stages": Integer(1, 3), "gas": Choice("He", "O2", "N2")})


@settings(deadline=None)
@given(st.lists(st.floats(0, 1), min_size=4, max_size=4))
def test_what_is_drawn_lies_in_the_space_and_survives_json_and_the_way_to_the_cube_and_back(u: list[float]) -> None:
    (point,) = MIXED.from_unit(np.array([u]))
    assert MIXED.take(point) == point == json.loads(json.dumps(point))
    assert [type(value) for value in point.values()] == [float, float, int, str]
    (again,) = MIXED.from_unit(MIXED.to_unit([point]))
    assert again == {"stages": point["stages"], "gas": point["gas"]} | {
        name: pytest.approx(point[name]) for name in ("mach", "rate")
    }
    once = MIXED.snap(np.array([u]))
    np.testing.assert_allclose(MIXED.snap(once), once, atol=1e-12)


@settings(deadline=None)
@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6), st.floats(0, 1))
def test_a_linear_input_stays_in_its_bounds_and_a_logarithmic_one_halves_its_decades(lower, width, u: float) -> None:
    kind = Linear(lower, lower + width)
    assert kind.lower <= kind.from_unit(np.array([u]))[0] <= kind.upper
    assert Log(1e-4, 1.0).from_unit(np.array([u]))[0] == pytest.approx(10 ** (4 * u - 4))
    assert Log(1e-4, 1.0).to_unit([10 ** (4 * u - 4)]) == pytest.approx([u])


@pytest.mark.parametrize("bounds", [(-1e308, 1e308), (np.float64(-1.7e308), np.float64(1.7e308))])
def test_a_linear_input_may_be_wider_than_the_largest_number(bounds: tuple[float, float]) -> None:
    U = np.array([[0.0], [0.25], [0.5], [1.0]])
    points = Box({"x": bounds}).from_unit(U)
    np.testing.assert_allclose([point["x"] for point in points], np.array([-1, -0.5, 0, 1]) * bounds[1])
    np.testing.assert_allclose(Box({"x": bounds}).to_unit(points), U)


@pytest.mark.parametrize(("lower", "upper"), [(1e-300, 1e300), (1e-10, 1e300), (3e-308, 1e-300), (4e-308, 1e308)])
def test_a_logarithmic_input_may_span_more_than_the_largest_ratio(lower: float, upper: float) -> None:
    U, space = np.array([[0.0], [0.25], [0.5], [1.0]]), Box({"x": Log(lower, upper)})
    points = space.from_unit(U)
    decades = np.log10([point["x"] for point in points])
    np.testing.assert_allclose(decades, np.log10(lower) + U[:, 0] * (np.log10(upper) - np.log10(lower)), atol=1e-9)
    np.testing.assert_allclose(space.to_unit(points), U, atol=1e-12)


@pytest.mark.parametrize("kind", [Integer(2, 6), Choice(*"abcde")], ids=["integer", "choice"])
def test_every_step_is_equally_long(kind) -> None:
    values = kind.from_unit((np.arange(1000) + 0.5) / 1000)
    assert {values.count(value) for value in set(values)} == {200}


@pytest.mark.parametrize("draw", ["latin_hypercube", "sobol"])
def test_designs_hold_one_point_in_each_slice_of_each_axis(draw: str) -> None:
    points = getattr(MIXED, draw)(16, random_state=3)
    slices = np.sort(np.floor(16 * points), axis=0)
    np.testing.assert_array_equal(slices, np.tile(np.arange(16.0)[:, None], 4))


def test_a_latin_hypercube_is_balanced_and_the_first_points_of_a_sobol_sequence_do_not_depend_on_their_number() -> None:
    frame = MIXED.to_frame(MIXED.from_unit(MIXED.latin_hypercube(30, random_state=0)))
    assert [sorted(frame[name].value_counts()) for name in ("stages", "gas")] == [[10, 10, 10]] * 2
    np.testing.assert_array_equal(MIXED.sobol(7, random_state=0)[:3], MIXED.sobol(3, random_state=0))


@pytest.mark.parametrize("draw", ["uniform", "latin_hypercube", "sobol"])
def test_a_seed_gives_the_same_points_as_many_as_wanted_and_another_one_others(draw: str) -> None:
    first, again, other = (getattr(MIXED, draw)(8, random_state=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)
    assert [getattr(MIXED, draw)(n, random_state=0).shape for n in (0, 1, 5)] == [(0, 4), (1, 4), (5, 4)]


@pytest.mark.parametrize(
    "space", [MIXED, Box({"x": (np.int64(0), np.float64(1)), "n": Integer(np.int64(1), np.int64(3))})]
)
def test_a_space_survives_json_with_numpy_bounds_too(space: Box) -> None:
    assert Box(json.loads(json.dumps(space.to_json()))) == space


def test_spaces_are_equal_when_inputs_and_their_order_are() -> None:
    assert Box({"a": (0, 1), "b": (0, 1)}) == Box({"a": [0.0, 1.0], "b": [0.0, 1.0]})
    assert Box({"a": (0, 1), "b": (0, 1)}) != Box({"b": (0, 1), "a": (0, 1)})
    assert len({Box.unit(2), Box.unit(2), Box.unit(3)}) == 2


def test_a_frame_goes_to_the_cube_row_by_row_and_a_space_says_of_which_kind_its_inputs_are() -> None:
    frame = MIXED.to_frame(MIXED.from_unit(MIXED.uniform(5, random_state=0)))
    assert list(frame.columns) == list(MIXED.names)
    np.testing.assert_allclose(MIXED.to_unit(frame), MIXED.to_unit(frame.to_dict("records")))
    assert (MIXED.is_continuous.tolist(), MIXED.categorical) == ([True, True, False, False], ["gas"])


@pytest.mark.parametrize(
    ("inputs", "sentence"),
    [
        ({}, "inputs must map names to bounds, got {}"),
        ([("x", (0, 1))], "inputs must map names to bounds"),
        ({"x": (6.0, 0.2)}, r"bounds of 'x' must rise, got \(6.0, 0.2\); write the lower one first"),
        ({"x": (1.0, 1.0)}, "bounds of 'x' must differ, got 1.0 twice"),
        ({"x": (0.0, float("inf"))}, "bounds of 'x' must be finite numbers, got inf"),
        ({"x": (0.0, float("nan"))}, "bounds of 'x' must be finite numbers, got nan"),
        ({"x": ("0", "1")}, "bounds of 'x' must be finite numbers, got '0'; take Choice"),
        ({"x": (0, 1, 2)}, r"bounds of 'x' must be \(lower, upper\), Log"),
        ({"x": 3}, r"bounds of 'x' must be \(lower, upper\), Log"),
        ({"x": {"logarithmic": [1, 2]}}, r"bounds of 'x' must be \(lower, upper\), Log"),
        ({"x": Log(0.0, 1.0)}, "bounds of 'x' must be positive on a logarithmic scale, got 0.0"),
        ({"x": Log(1.0, 0.1)}, "bounds of 'x' must rise"),
        ({"x": Log(1e-320, 1.0)}, "bounds of 'x' must be zero or at least 2.23e-308 in size, got 1e-320; use another"),
        ({"x": (-5e-324, 5e-324)}, "bounds of 'x' must be zero or at least 2.23e-308 in size, got -5e-324"),
        ({"x": Integer(1, 2.5)}, "bounds of 'x' must be whole numbers, got 2.5"),
        ({"x": Integer(3, 3)}, "bounds of 'x' must differ, got 3 twice"),
        ({"x": Choice("a")}, "choices of 'x' must be two or more different values"),
        ({"x": Choice("a", "a")}, "choices of 'x' must be two or more different values"),
        ({"x": Choice("a", 1)}, "choices of 'x' must be all text or all numbers"),
        ({"": (0, 1)}, "names of inputs must be text"),
        ({"a{b}": (0, 1)}, "names of inputs must be text without braces"),
        ({3: (0, 1)}, "names of inputs must be text"),
    ],
)
def test_a_space_that_is_none_is_refused_with_what_to_do(inputs, sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        Box(inputs)


INSIDE = {"mach": 1.0, "rate": 0.1, "stages": 2, "gas": "He"}


@pytest.mark.parametrize(
    ("point", "sentence"),
    [
        (INSIDE | {"mach": 7.0}, "'mach' must lie between 0.2 and 6.0, got 7.0"),
        (INSIDE | {"mach": float("nan")}, "'mach' must be a finite number, got nan"),
        (INSIDE | {"mach": "fast"}, "'mach' must be a finite number, got 'fast'"),
        (INSIDE | {"stages": 1.5}, "'stages' must be a whole number, got 1.5"),
        (INSIDE | {"gas": "He2"}, "'gas' must be one of 'He', 'O2', 'N2', got 'He2'; did you mean 'He'"),
        (INSIDE | {"mahc": 1.0}, "point must name inputs of the space, got 'mahc'; did you mean 'mach'"),
        ({"mach": 1.0, "rate": 0.1}, "point must give every input, got none for 'stages', 'gas'"),
    ],
)
def test_a_point_outside_the_space_is_refused(point: dict, sentence: str) -> None:
    assert MIXED.take(INSIDE) == INSIDE
    with pytest.raises(InvalidInput, match=sentence):
        MIXED.take(point)
