"""Surfaces over two inputs."""

import numpy as np
import pytest

from genbayes.errors import InvalidInput
from genbayes_bench.plotting.panels import new_panels
from genbayes_bench.plotting.surface import add_colour_bar, plot_points, plot_surface


def test_a_value_stands_at_its_inputs() -> None:
    ax = plot_surface([0.0, 1.0, 2.0], [5.0, 6.0], [0, 1, 10, 11, 20, 21], (0, 21))
    (image,) = ax.images
    shown = image.get_array()  # rows are x2, upwards
    np.testing.assert_array_equal(shown, [[0, 10, 20], [1, 11, 21]])
    assert (image.origin, list(image.get_extent())) == ("lower", [0.0, 2.0, 5.0, 6.0])


@pytest.mark.parametrize(("a", "ends"), [([1, 1], [0.5, -0.5]), ([1, -1], [-0.5, 0.5]), ([2, 1], [1.0, -1.0])])
def test_the_boundary_is_where_its_product_with_x_is_zero(a: list[float], ends: list[float]) -> None:
    ax = plot_surface([-0.5, 0.5], [-0.5, 0.5], [0, 0, 0, 0], (0, 1), boundary=a)
    np.testing.assert_allclose(ax.lines[0].get_ydata(), ends)
    assert ax.get_ylim() == (-0.5, 0.5)  # the line does not widen the picture


def test_points_and_surfaces_share_their_colours() -> None:
    points, surface = plot_points([[0, 0], [1, 1]], [1.0, 2.0], (0, 4)), plot_surface([0, 1], [0, 1], [0] * 4, (0, 4))
    assert points.collections[0].get_clim() == surface.images[0].get_clim() == (0, 4)
    assert points.collections[0].get_cmap().name == surface.images[0].get_cmap().name


def test_one_bar_of_colours_serves_all_panels() -> None:
    axes = new_panels(1, 2, (4.0, 2.0))
    add_colour_bar(axes, (0.0, 3.0), "y")
    assert len(axes[0].figure.axes) == 3


def test_as_many_values_as_points_of_the_grid_are_asked_for() -> None:
    with pytest.raises(InvalidInput, match=r"values must have shape \(4,\)"):
        plot_surface([0, 1], [0, 1], [1, 2, 3], (0, 1))
