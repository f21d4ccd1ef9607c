"""The one look of every page: light or dark as the reader's screen, one to three columns, prints on paper.

The variables carry the names of the plotting palette, so figures follow the page.
"""

from genbayes.plotting.style import PALETTE

__all__ = ["STYLESHEET"]

DARK = {"ink": "#e6e9ed", "muted": "#9aa6b2", "rule": "#37424e", "blue": "#56b4e9", "orange": "#f0a132"}
LIGHT_PAPER = "--paper: #f6f7f9; --card: #ffffff;"
DARK_PAPER = "--paper: #14191f; --card: #1c232b;"


def variables(colours: dict[str, str]) -> str:
    """Colours as CSS variables."""
    return " ".join(f"--{name}: {colour};" for name, colour in colours.items())


STYLESHEET = f"""
:root {{ color-scheme: light dark; {variables(PALETTE)} {LIGHT_PAPER} }}
@media (prefers-color-scheme: dark) {{ :root {{ {variables(DARK)} {DARK_PAPER} }} }}
""" + """
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); overflow-wrap: anywhere;
  font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
main { max-width: 1140px; margin: 0 auto; padding: 40px 20px 28px; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0 0 4px; letter-spacing: -0.01em; }
h2 { font-size: 1.05rem; line-height: 1.3; margin: 0 0 10px; }
.subtitle { color: var(--muted); margin: 0 0 22px; }
.verdict { font-size: 1.1rem; line-height: 1.6; max-width: 62em; margin: 0 0 22px; padding-left: 16px;
  border-left: 4px solid var(--blue); }
.verdict.attention { border-color: var(--orange); }
.notes { margin: -6px 0 22px; padding-left: 20px; color: var(--muted); }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(165px, 1fr)); gap: 12px; margin: 0 0 16px; }
.tile, .card { background: var(--card); border: 1px solid var(--rule); border-radius: 8px; }
.tile { padding: 12px 14px; }
.tile dt { color: var(--muted); font-size: 0.82rem; }
.tile dd { margin: 0; }
.tile .value { font-size: 1.25rem; font-weight: 600; line-height: 1.35; font-variant-numeric: tabular-nums; }
.tile .hint { color: var(--muted); font-size: 0.8rem; line-height: 1.35; }
.tile.attention .value { color: var(--orange); }
.card { margin: 0 0 16px; padding: 18px 20px; }
.columns { display: grid; grid-template-columns: repeat(auto-fit, minmax(330px, 1fr)); gap: 16px; margin: 0 0 16px; }
.columns .card { margin: 0; }
.panels { display: grid; grid-template-columns: repeat(auto-fit, minmax(270px, 1fr)); gap: 8px 12px;
  justify-items: center; align-items: start; }
figure { margin: 0; }
figcaption { color: var(--muted); font-size: 0.88rem; line-height: 1.5; margin-top: 10px; max-width: 62em; }
figcaption b { color: var(--ink); font-weight: 600; }
svg { display: block; width: 100%; height: auto; margin: 0 auto; }
svg * { stroke-linejoin: round; stroke-linecap: butt; }
svg text { fill: var(--ink); font-family: system-ui, -apple-system, "Segoe UI", Roboto, Arial, sans-serif; }
table { border-collapse: collapse; width: 100%; font-size: 0.92rem; }
th, td { text-align: left; vertical-align: top; padding: 6px 12px 6px 0; border-bottom: 1px solid var(--rule); }
tr:last-child > * { border-bottom: 0; }
th { font-weight: 500; color: var(--muted); width: 34%; }
.grid { font-size: 0.82rem; }
.grid th, .grid td { width: auto; overflow-wrap: normal; padding-right: 8px; }
.grid td:last-child { color: var(--muted); }
.contents { display: flex; flex-wrap: wrap; gap: 4px 14px; margin: 0 0 22px; font-size: 0.88rem; }
.contents a { color: var(--blue); text-decoration: none; }
.contents a:hover { text-decoration: underline; }
.card:has(.grid) { overflow-x: auto; }
footer { color: var(--muted); font-size: 0.82rem; margin-top: 20px; }
@media (max-width: 640px) {
  main { padding: 22px 12px; } .card { padding: 14px 12px; } .columns { grid-template-columns: 1fr; }
}
@media print {
  :root { color-scheme: light; PRINT_COLOURS }
  body { background: none; } main { max-width: none; padding: 0; }
  html { font-size: 12px; }
  .panels, .columns { grid-template-columns: repeat(auto-fit, minmax(190px, 1fr)); }
  .card, .tile { break-inside: avoid; padding: 10px 12px; }
  .card:has(.grid) { overflow: visible; break-inside: auto; }
  .grid { font-size: 0.72rem; } .grid tr { break-inside: avoid; }
  .contents { display: none; }
}
""".replace("PRINT_COLOURS", f"{variables(PALETTE)} {LIGHT_PAPER}")
