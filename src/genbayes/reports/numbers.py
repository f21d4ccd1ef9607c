"""Numbers as people read them: few digits, any size."""

from __future__ import annotations

import math

__all__ = ["format_number", "format_share", "format_with_error"]

SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
PLAIN = range(-3, 6)  # powers of ten written out


def format_number(value: float, digits: int = 4) -> str:
    r"""A number with at most `digits` significant digits, with a power of ten where it is huge or tiny, on one line.

    Example:
        >>> format_number(1234.5678), format_number(1.5e-12), format_number(0.0)
        ('1,235', '1.5\u202f×\u202f10⁻¹²', '0')
    """
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    power = _power(value)
    if power in PLAIN:
        decimals = max(0, digits - 1 - power)
        text = f"{value:,.{decimals}f}"
        return text.rstrip("0").rstrip(".") if "." in text else text
    mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
    return f"{float(mantissa):g}{_times(int(exponent))}"


def format_with_error(value: float, error: float) -> str:
    r"""A number with its standard error, rounded where the error has two digits.

    Example:
        >>> format_with_error(1.23456, 0.0456), format_with_error(2.5e-12, 1e-13)
        ('1.235\xa0±\xa00.046', '(2.50\xa0±\xa00.10)\u202f×\u202f10⁻¹²')
    """
    if error <= 0 or not math.isfinite(error):
        return f"{format_number(value)} ± {format_number(error)}"
    power = _power(max(abs(value), error))
    shift = 0 if power in PLAIN else power
    decimals = max(0, 1 - (_power(error) - shift))
    text = f"{value / 10.0**shift:,.{decimals}f}\u00a0±\u00a0{error / 10.0**shift:,.{decimals}f}"
    return f"({text}){_times(shift)}" if shift else text


def format_share(share: float) -> str:
    """A share in percent.

    Example:
        >>> format_share(0.895), format_share(1.0), format_share(0.0004)
        ('89.5%', '100%', '0.04%')
    """
    return f"{100 * share:.3g}%"


def _power(value: float) -> int:
    return math.floor(math.log10(abs(value)))


def _times(power: int) -> str:
    return f"\u202f×\u202f10{str(power).translate(SUPERSCRIPT)}"
