import pytest

from genbayes.report.page import format_number, format_share, format_with_error


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
