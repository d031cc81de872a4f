"""Colours of charts by theme, the tokens of static/css/tokens.css."""

from __future__ import annotations

from typing import Final, Literal

Theme = Literal["page", "light", "dark", "light_narrow", "dark_narrow", "page_narrow", "print"]
# For phones: as wide as the screen, with legible letters.
# With the background colour of the panel.
NARROW: Final[dict[str, str]] = {
    "light_narrow": "#ffffff",
    "dark_narrow": "#171b20",
    "page_narrow": "#fffffe",
}

LIGHT: Final[dict[str, str]] = {
    "candidate": "#0b5c6b",
    "baseline": "#8a939d",
    "target": "#a32a1f",
    "band": "#cfe4e8",
    "grid": "#e4e7ea",
    "axis": "#5d6671",
    "ink": "#14181d",
    "series-2": "#8a5a00",
    "series-3": "#6a4c93",
    "series-4": "#2b5797",
}
DARK: Final[dict[str, str]] = {
    "candidate": "#6cc4d3",
    "baseline": "#7b8590",
    "target": "#f19488",
    "band": "#1d434c",
    "grid": "#262c33",
    "axis": "#98a2ad",
    "ink": "#eceff2",
    "series-2": "#e5b75e",
    "series-3": "#b79be0",
    "series-4": "#93b8ee",
}


def colours(theme: Theme) -> dict[str, str]:
    """Return colours (#rrggbb) by token. Inline charts are drawn in light colours first."""
    return DARK if theme in ("dark", "dark_narrow") else LIGHT


def as_variables(svg: str) -> str:
    """Replace light colours in `svg` by CSS custom properties."""
    for token, colour in LIGHT.items():
        svg = svg.replace(colour, f"var(--chart-{token})")
    return svg.replace(NARROW["page_narrow"], "var(--surface)")
