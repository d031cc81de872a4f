"""From a matplotlib figure to an SVG that a page and a PDF can both take in."""

from __future__ import annotations

import io
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from pathlib import Path
from typing import Any, Final

import matplotlib
from matplotlib import font_manager
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from engagements.charts import slim
from engagements.charts.palette import NARROW, Theme, as_variables, colours

WIDTH_IN: Final = 6.7
FONT_PT: Final = 8.0
IN_THE_PAGE: Final = ("page", "page_narrow")

_FONTS = Path(__file__).resolve().parent / "fonts"
for _font in ("inter-regular.ttf", "inter-semibold.ttf"):
    font_manager.fontManager.addfont(str(_FONTS / _font))

# matplotlib's settings and text caches are one per process; web threads draw in turn.
_ONE_AT_A_TIME = threading.Lock()


class Sheet:
    """A figure under construction: `axes` to draw on, `ink` for colours by token."""

    def __init__(self, figure: Figure, axes: list[Axes], ink: dict[str, str]) -> None:
        self.figure = figure
        self.axes = axes
        self.ink = ink
        self.svg = ""


@contextmanager
def sheet(
    *,
    theme: Theme,
    title: str,
    description: str,
    height_in: float,
    heights: list[float] | None = None,
) -> Iterator[Sheet]:
    """Draw inside the block; afterwards `.svg` holds the finished picture.

    One axes, or one per entry of `heights` (relative, top to bottom, sharing x).
    """
    ink = colours(theme)
    with _ONE_AT_A_TIME, matplotlib.rc_context(_style(ink)):
        layout = ConstrainedLayoutEngine(h_pad=0.03, w_pad=0.02, hspace=0.02)
        figure = Figure(figsize=(WIDTH_IN, height_in), layout=layout)
        grid = figure.subplots(
            len(heights or [1]), 1, sharex=True, squeeze=False, height_ratios=heights or [1]
        )
        drawn = Sheet(figure, list(grid[:, 0]), ink)
        yield drawn
        if theme in NARROW:
            slim.fit(figure, NARROW[theme])
        drawn.svg = _finish(figure, theme, title, description)


def shortened(name: str, longest: int = 40) -> str:
    """A name that leaves room for the picture."""
    return name if len(name) <= longest else f"{name[: longest - 1].rstrip()}…"


def upright(axes: Axes, place: float, label: str, colour: str) -> None:
    """A line through the axes, named above it."""
    axes.axvline(place, color=colour, linewidth=1.0)
    axes.annotate(
        label,
        (place, 1),
        xycoords=("data", "axes fraction"),
        xytext=(0, 2),
        textcoords="offset points",
        ha="center",
        va="bottom",
        color=colour,
        fontweight="semibold",
        annotation_clip=False,
    )


def _style(ink: dict[str, str]) -> Any:
    return {
        "svg.fonttype": "path",
        "svg.hashsalt": "twofold",
        "font.family": "Inter",
        "font.size": FONT_PT,
        "text.color": ink["ink"],
        "axes.edgecolor": ink["axis"],
        "axes.labelcolor": ink["axis"],
        "axes.labelsize": FONT_PT,
        "axes.linewidth": 0.6,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.spines.left": False,
        "axes.axisbelow": True,
        "axes.facecolor": "none",
        "figure.facecolor": "none",
        "axes.unicode_minus": True,
        "xtick.color": ink["axis"],
        "ytick.color": ink["axis"],
        "xtick.labelcolor": ink["axis"],
        "ytick.labelcolor": ink["ink"],
        "xtick.major.width": 0.6,
        "xtick.major.size": 3,
        "xtick.minor.size": 0,
        "ytick.major.size": 0,
        "ytick.minor.size": 0,
        "grid.color": ink["grid"],
        "grid.linewidth": 0.6,
        "legend.frameon": False,
        "legend.fontsize": FONT_PT,
    }


def _finish(figure: Figure, theme: Theme, title: str, description: str) -> str:
    buffer = io.StringIO()
    FigureCanvasSVG(figure).print_svg(
        buffer, metadata={"Date": None, "Creator": None, "Format": None, "Type": None}
    )
    svg = buffer.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r"<defs>\s*<style.*?</style>\s*</defs>", "", svg, flags=re.DOTALL)
    svg = re.sub(r"<!--.*?-->", "", svg, flags=re.DOTALL)
    svg = _own_names(svg, re.sub(r"[^a-z]+", "-", f"{title} {theme}".lower()).strip("-"))
    svg = re.sub(r">\s+<", "><", svg)
    svg = re.sub(r' style="([^"]*)"', _as_attributes, svg)
    svg = _head(svg, theme, title, description)
    return as_variables(svg) if theme in IN_THE_PAGE else svg


def _as_attributes(style: re.Match[str]) -> str:
    """The declarations of a style as attributes, since the site's policy allows no inline style."""
    pairs = (part.split(":", 1) for part in style[1].split(";") if part.strip())
    return "".join(f' {name.strip()}="{value.strip()}"' for name, value in pairs)


def _own_names(svg: str, prefix: str) -> str:
    """Keep only the ids that something refers to, under a prefix: pictures share a page."""
    used = set(re.findall(r"url\(#([^)]+)\)", svg)) | set(re.findall(r'href="#([^"]+)"', svg))

    def renamed(match: re.Match[str]) -> str:
        return f' id="{prefix}-{match[1]}"' if match[1] in used else ""

    svg = re.sub(r' id="([^"]+)"', renamed, svg)
    svg = re.sub(r"url\(#([^)]+)\)", rf"url(#{prefix}-\1)", svg)
    return re.sub(r'href="#([^"]+)"', rf'href="#{prefix}-\1"', svg)


def _head(svg: str, theme: Theme, title: str, description: str) -> str:
    opening, rest = svg.split(">", 1)
    box = re.search(r'viewBox="([^"]+)"', opening)
    if box is None:
        raise ValueError("matplotlib wrote an SVG without a viewBox")
    width, height = box[1].split()[2:]
    size = "" if theme in IN_THE_PAGE else f'width="{width}pt" height="{height}pt" '
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
        f'class="chart" role="img" viewBox="{box[1]}" {size}'
        f'stroke-linejoin="round" stroke-linecap="butt">'
        f"<title>{escape(title)}</title><desc>{escape(description)}</desc>{rest.strip()}"
    )
