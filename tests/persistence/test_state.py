"""State: parts inside parts, and arrays of the promised shape."""

import numpy as np
import pytest

from genbayes.errors import UnreadableFile
from genbayes.persistence import State


def test_a_part_comes_back_as_it_went_in() -> None:
    part = State("Part", {"x": 1}, {"w": np.ones(2)})
    again = State("Whole", {"y": 2}, {"v": np.zeros(1)}).with_part("inner", part).nested("inner")
    assert (again.kind, again.values) == ("Part", {"x": 1})
    np.testing.assert_array_equal(again.arrays["w"], np.ones(2))
    assert set(again.arrays) == {"w"}


def test_a_wrong_shape_is_refused() -> None:
    with pytest.raises(UnreadableFile, match=r"array 'w' in the model file must have shape \(2, None\), got \(3,\)"):
        State("Thing", arrays={"w": np.zeros(3)}).array("w", (2, None))


@pytest.mark.parametrize("inner", [3, "text", {}, {"kind": 5}])
def test_a_part_without_a_kind_is_refused(inner: object) -> None:
    with pytest.raises(UnreadableFile, match="must name its kind"):
        State("Whole", {"inner": inner}).nested("inner")
