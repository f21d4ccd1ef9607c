import pytest

from genbayes.report.page import Html, Tile, bullets, card, columns, figure, join, page, paragraph, strong, table, tiles

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
