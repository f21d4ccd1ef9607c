"""A fan chart in characters: bands of a predictive distribution along one input, with the observed points.

Darker characters hold the middle half, lighter ones 90%. Pictures for keeping are drawn by `plotting`.
"""

from __future__ import annotations

import numpy as np
from rich.text import Text

from genbayes.arrays import FloatArray

__all__ = ["FAN_TAU", "draw_fan"]

FAN_TAU = (0.05, 0.25, 0.5, 0.75, 0.95)
SHADES = {" ": "", "░": "blue", "▒": "bright_blue", "━": "bold white", "•": "bold yellow"}


def draw_fan(x: FloatArray, q: FloatArray, x_seen: FloatArray, y_seen: FloatArray, n_lines: int = 16) -> Text:
    """Lines of text with the fan of q, one character column for each x.

    Args:
        x: Increasing, evenly spaced inputs, shape (n,).
        q: Quantiles at the levels `FAN_TAU`, shape (n, 5).
        x_seen: Inputs of observed points within the range of x, shape (m,).
        y_seen: Their responses, shape (m,).
        n_lines: Height of the picture.

    Example:
        >>> x, q = np.array([0.0, 1.0]), np.array([[0.0, 1.0, 2.0, 3.0, 4.0]] * 2)
        >>> print(draw_fan(x, q, np.array([1.0]), np.array([4.0]), n_lines=5).plain)
           4 ┤░•
             │▒▒
             │━━
             │▒▒
           0 ┤░░
             └──
    """
    low, high = min(q.min(), y_seen.min()), max(q.max(), y_seen.max())
    height = (high - low) or 1.0
    lines = np.rint((high - q) / height * (n_lines - 1)).astype(int)  # 0 is the top line
    cells = np.full((n_lines, len(x)), " ")
    for column, (p05, p25, p50, p75, p95) in enumerate(lines):
        cells[p95 : p05 + 1, column] = "░"
        cells[p75 : p25 + 1, column] = "▒"
        cells[p50, column] = "━"
    column_seen = np.rint((x_seen - x[0]) / (x[-1] - x[0]) * (len(x) - 1)).astype(int)
    line_seen = np.rint((high - y_seen) / height * (n_lines - 1)).astype(int)
    cells[line_seen, column_seen] = "•"
    picture = _paint(cells, low, high)
    picture.append(f"     └{'─' * len(x)}", style="dim")
    return picture


def _paint(cells: np.ndarray[tuple[int, int], np.dtype[np.str_]], low: float, high: float) -> Text:
    labels = {0: f"{high:4.0f} ┤", len(cells) - 1: f"{low:4.0f} ┤"}
    picture = Text()
    for number, line in enumerate(cells):
        picture.append(labels.get(number, "     │"), style="dim")
        for character in line:
            picture.append(character, style=SHADES[character])
        picture.append("\n")
    return picture
