import pytest

from genbayes.report.page import (
    Html,
    Tile,
    bullets,
    card,
    columns,
    figure,
    format_number,
    format_share,
    format_with_error,
    join,
    page,
    paragraph,
    strong,
    table,
    tiles,
)

NASTY = "<b onclick='x'>&\"</b>"


@pytest.mark.parametrize(
    "block",
    [
        paragraph(NASTY),
        strong(NASTY),
        bullets([NASTY], "notes"),
        tiles([Tile(NASTY, NASTY, NASTY)]),
        card(NASTY, Html("")),
        figure(NASTY, [Html("<svg></svg>")], NASTY),
        table([(NASTY, NASTY)]),
        page(NASTY, NASTY, [], NASTY),
    ],
)
def test_text_is_escaped_everywhere(block: str) -> None:
    assert "onclick='x'" not in block
    assert "&lt;b onclick=&#x27;x&#x27;&gt;&amp;&quot;&lt;/b&gt;" in block


def test_markup_is_escaped_once_only() -> None:
    assert join(join("a & b"), strong("c")) == "a &amp; b<strong>c</strong>"


def test_several_drawings_stand_side_by_side() -> None:
    assert 'class="panels"' in figure("t", [Html("<svg></svg>")] * 2, "c")
    assert 'class="panels"' not in figure("t", [Html("<svg></svg>")], "c")


def test_boxes_keep_their_order_in_columns() -> None:
    assert columns(Html("first"), Html("second")).index("first") < columns(Html("first"), Html("second")).index(
        "second"
    )


def test_numbers_that_deserve_attention_are_marked() -> None:
    assert 'class="tile attention"' in tiles([Tile("a", "1", "", attention=True)])
    assert "attention" not in tiles([Tile("a", "1", "")])


def spaced(text: str) -> str:
    return text.replace("\u202f", " ").replace("\u00a0", " ")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (-2.5, "-2.5"),
        (0.00123456, "0.001235"),
        (123456.0, "123,456"),
        (1.0e12, "1 × 10¹²"),
        (-3.25e-15, "-3.25 × 10⁻¹⁵"),
        (9.99999e-13, "1 × 10⁻¹²"),
        (5e-324, "4.941 × 10⁻³²⁴"),
    ],
)
def test_numbers_of_any_size_are_short(value: float, text: str) -> None:
    assert spaced(format_number(value)) == text


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (13.1136, 0.9972, "13.11 ± 1.00"),
        (0.5, 0.0, "0.5 ± 0"),
        (1234.5, 67.8, "1,234 ± 68"),
        (1.1392e11, 5.8e8, "(1.1392 ± 0.0058) × 10¹¹"),
        (0.0, 0.02, "0.000 ± 0.020"),
    ],
)
def test_a_number_is_rounded_where_its_error_has_two_digits(value: float, error: float, text: str) -> None:
    assert spaced(format_with_error(value, error)) == text


@pytest.mark.parametrize(("share", "text"), [(0.8346, "83.5%"), (0.0, "0%"), (-0.5, "-50%")])
def test_shares_are_percent(share: float, text: str) -> None:
    assert format_share(share) == text
