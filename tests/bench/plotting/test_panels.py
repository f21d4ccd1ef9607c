"""Panels, looks that can be told apart, and pictures as files."""

import pytest

from genbayes.errors import InvalidInput, UnwritableFile
from genbayes_bench.plotting.panels import LOOKS, PAGE, name_panel, new_panels, save_picture


def luminance(colour: str) -> float:
    """Relative luminance of sRGB (WCAG 2)."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_shared_panels_have_one_scale() -> None:
    first, second = new_panels(1, 2, (PAGE, 2.0), shared=True)
    first.set_ylim(-3, 7)
    assert second.get_ylim() == (-3, 7)


def test_series_differ_in_colour_marker_and_dash() -> None:
    for part in ("colour", "marker"):
        assert len({getattr(look, part) for look in LOOKS}) == len(LOOKS)
    assert len({str(look.dash) for look in LOOKS}) >= len(LOOKS) - 1


@pytest.mark.parametrize("look", LOOKS, ids=lambda look: look.colour)
def test_every_series_stands_out_from_white_paper(look) -> None:
    contrast = 1.05 / (luminance(look.colour) + 0.05)
    assert contrast > 2


def test_a_name_is_taken_literally() -> None:
    (ax,) = new_panels(1, 1, (2.0, 2.0))
    name_panel(ax, "cost in $ and more $")
    assert ax.get_title(loc="left") == "cost in $ and more $"
    ax.figure.canvas.draw()


@pytest.mark.parametrize(("name", "start"), [("a.png", b"\x89PNG"), ("a.SVG", b"<?xml")])
def test_a_picture_is_written_as_its_name_says(name: str, start: bytes, tmp_path) -> None:
    (ax,) = new_panels(1, 1, (2.0, 2.0))
    assert save_picture(ax.figure, tmp_path / name).read_bytes().startswith(start)


def test_the_same_figure_gives_the_same_png(tmp_path) -> None:
    files = [save_picture(new_panels(1, 1, (2.0, 2.0))[0].figure, tmp_path / f"{i}.png") for i in range(2)]
    assert files[0].read_bytes() == files[1].read_bytes()


def test_another_ending_is_refused(tmp_path) -> None:
    with pytest.raises(InvalidInput, match=r"path must end in .png or .svg"):
        save_picture(new_panels(1, 1, (2.0, 2.0))[0].figure, tmp_path / "a.gif")


def test_a_folder_that_is_not_there_is_refused(tmp_path) -> None:
    with pytest.raises(UnwritableFile, match="path must lie in an existing folder"):
        save_picture(new_panels(1, 1, (2.0, 2.0))[0].figure, tmp_path / "no" / "a.png")
