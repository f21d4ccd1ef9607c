"""Draws docs/images/layers.svg, the layers of the source as tests/test_architecture.py holds them.

Run `python docs/build_layers.py` after a folder was added or moved; tests/docs compares the picture with the test's
table. Dark text on a light card of its own, so that it can be read on light and dark pages alike.
"""

from __future__ import annotations

import importlib.util
from html import escape
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs" / "images" / "layers.svg"
ABOUT = {  # what each layer is for, by its first place
    "cli": "commands; no arithmetic",
    "report": "self-contained pages to read and send",
    "analysis": "effects of inputs",
    "campaign": "trials, leases, workers: the books",
    "design": "which runs to make next",
    "auto": "choose and join models; maximise a score",
    "conformal": "can the answers be trusted?",
    "models/gp_informed": "models that stand on others",
    "models/network": "the paper's method",
    "models/regimes": "jumps: what regime a run lies in",
    "models/gp": "Gaussian processes, trees",
    "models/base": "what every model offers; the training loop",
    "data": "runs, files, distributions",
    "metrics": "scores and pictures from arrays",
    "deadline": "the door; seeds, clocks, files",
    "arrays": "errors and types",
}
WIDTH, ROW, TOP, LEFT = 860, 34, 50, 64
CHARACTER, GAP, PAD = 7.3, 8, 10  # of a monospaced 12 px letter; between boxes; inside a box
FILLS = ("#dbeafe", "#e0f2e9")  # packages and single files of one layer after another


def build() -> str:
    """The picture as SVG text."""
    layers = _layers()
    height = TOP + ROW * len(layers) + 34
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}"'
        ' role="img" aria-label="The layers of genbayes, from errors at the bottom to the command line at the top">',
        f'<rect width="{WIDTH}" height="{height}" rx="10" fill="#fcfcfd" stroke="#c6ccd4"/>',
        _text(LEFT, 30, "src/genbayes: a file imports only lower layers and its own folder", size=14, weight="bold"),
    ]
    for row, (number, places) in enumerate(layers):
        parts += _row(TOP + row * ROW, number, places, FILLS[row % 2])
    parts += _arrow(TOP + 6, height - 40)
    parts.append(
        _text(LEFT, height - 12, "data flows up: from a table of runs to a page and a command", colour="#5b6470")
    )
    return "\n".join([*parts, "</svg>", ""])


def _layers() -> list[tuple[int, list[str]]]:
    """Layers that have files, the highest first: number and places."""
    spec = importlib.util.spec_from_file_location("architecture", ROOT / "tests" / "test_architecture.py")
    assert spec is not None
    assert spec.loader is not None
    test: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(test)
    there = {test.place(module) for module in test.MODULES}
    numbered = [(number, sorted(places & there)) for number, places in enumerate(test.LAYERS, start=1)]
    return [(number, places) for number, places in reversed(numbered) if places]


def _row(y: float, number: int, places: list[str], fill: str) -> list[str]:
    parts = [_text(LEFT - 16, y + 20, str(number), anchor="end", colour="#5b6470")]
    x: float = LEFT
    for place in places:
        width = len(place) * CHARACTER + 2 * PAD
        parts.append(
            f'<rect x="{x:.0f}" y="{y + 3:.0f}" width="{width:.0f}" height="{ROW - 8}" rx="5" fill="{fill}" '
            'stroke="#7d93ad"/>'
        )
        parts.append(_text(x + PAD, y + 20, place, family="monospace"))
        x += width + GAP
    about = next(ABOUT[place] for place in places if place in ABOUT)
    parts.append(_text(WIDTH - 20, y + 20, about, anchor="end", colour="#3d4650"))
    return parts


def _arrow(top: float, bottom: float) -> list[str]:
    x = 22
    return [
        f'<path d="M{x} {top:.0f}V{bottom:.0f}m-5 -8l5 8l5 -8" fill="none" stroke="#5b6470" stroke-width="1.5"/>',
        f'<text transform="translate({x - 6} {(top + bottom) / 2:.0f}) rotate(-90)" font-size="11" '
        'font-family="sans-serif" text-anchor="middle" fill="#5b6470">imports</text>',
    ]


def _text(
    x: float,
    y: float,
    words: str,
    *,
    size: int = 12,
    anchor: str = "start",
    colour: str = "#16202b",
    family: str = "sans-serif",
    weight: str = "normal",
) -> str:
    return (
        f'<text x="{x:.0f}" y="{y:.0f}" font-size="{size}" font-family="{family}" font-weight="{weight}" '
        f'text-anchor="{anchor}" fill="{colour}">{escape(words)}</text>'
    )


if __name__ == "__main__":
    PICTURE.write_text(build(), encoding="utf-8")
