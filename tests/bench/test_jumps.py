"""Phantom and Star against their definitions."""

import numpy as np
import pytest
from matplotlib.path import Path as Outline

from genbayes_bench.problems import draw_phantom, draw_star
from genbayes_bench.problems.jumps import is_above_wave, is_inside_star


def test_the_star_is_the_polygon_of_its_corners() -> None:
    angle = np.pi / 2 + np.arange(10) * np.pi / 5
    radius = np.where(np.arange(10) % 2 == 0, 1.2, 0.46)
    outline = Outline(np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]))
    X = np.random.default_rng(0).uniform(size=(5_000, 2))
    np.testing.assert_array_equal(is_inside_star(X), outline.contains_points(3 * X - 1.5))


def test_the_wave_has_two_periods() -> None:
    x = np.linspace(0.01, 0.99, 99)
    middle = is_above_wave(np.column_stack([x, np.full(99, 0.5)]))
    assert np.sum(np.diff(middle.astype(int)) != 0) == 3


@pytest.mark.parametrize(("draw", "sd"), [(draw_phantom, 0.012), (draw_star, 0.018)])
def test_a_split_uses_every_point_once_and_has_the_stated_noise(draw, sd: float) -> None:
    split = draw(0)
    assert len(np.unique(np.vstack([split.X_train, split.X_test]), axis=0)) == 101**2
    assert set(np.unique(split.f_test)) == {0.2, 0.8}
    # sd of 1,020 residuals: standard error sd / sqrt(2,040); four of those
    assert np.std(split.y_test - split.f_test) == pytest.approx(sd, abs=4 * sd / np.sqrt(2_040))


def test_replicates_differ_and_repeat() -> None:
    np.testing.assert_array_equal(draw_star(1).y_train, draw_star(1).y_train)
    assert not np.array_equal(draw_star(1).X_test, draw_star(2).X_test)
