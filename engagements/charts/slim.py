"""Adapt a chart to phones: half the width, the same letters."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.ticker import FixedLocator, MaxNLocator

WIDTH_IN: Final = 3.4
# Names longer than this are placed above their rows.
_BESIDE_CHARACTERS: Final = 14
_ROW_IN: Final = 0.16
_LINE_CHARACTERS: Final = 46
_TICKS: Final = 5
# Share of the width for the figures beside bars.
_FIGURES: Final = 0.07
# Width of a letter and of a legend mark with its margin, in points.
_LETTER_PT, _MARK_PT = 4.5, 24.0


def fit(figure: Figure, ground: str) -> None:
    """Move long names above their rows, wrap legends, and widen axis steps.

    `ground` is the background colour behind the names.
    """
    taller_in = 0.0
    for axes in figure.axes:
        axes.set_xlabel(textwrap.fill(axes.get_xlabel(), _LINE_CHARACTERS))
        steps = axes.xaxis.get_major_locator()
        if isinstance(steps, MaxNLocator):
            steps.set_params(nbins=_TICKS)
        if axes.patches and axes.texts:
            left, right = axes.get_xlim()
            axes.set_xlim(left, right + _FIGURES * (right - left))
        taller_in += _names_above(axes, ground)
    for legend in figure.legends:
        taller_in += _stacked(figure, legend)
    figure.set_size_inches(WIDTH_IN, figure.get_figheight() + taller_in)


def _names_above(axes: Axes, ground: str) -> float:
    """Move row names above their rows; return the added height in inches."""
    labels = axes.get_yticklabels()
    names = [label.get_text() for label in labels]
    is_named = isinstance(axes.yaxis.get_major_locator(), FixedLocator)
    if not is_named or max(map(len, names)) <= _BESIDE_CHARACTERS:
        return 0.0
    weights = [label.get_fontweight() for label in labels]
    axes.set_yticks(range(len(names)), [""] * len(names))
    for row, (name, weight) in enumerate(zip(names, weights, strict=True)):
        axes.annotate(
            name,
            (0, row - 0.5),
            xycoords=("axes fraction", "data"),
            xytext=(2, 0),
            textcoords="offset points",
            va="center",
            fontweight=weight,
            bbox={"facecolor": ground, "edgecolor": "none", "pad": 0.5},
            annotation_clip=False,
        )
    lower, upper = axes.get_ylim()
    axes.set_ylim(lower, upper - 0.35)
    return _ROW_IN * sum(name.count("\n") + 1 for name in names) + 0.1


def _stacked(figure: Figure, legend: Legend) -> float:
    """Give a legend as many columns as fit; return the added height in inches."""
    texts = [text.get_text() for text in legend.get_texts()]
    columns = next((n for n in range(len(texts), 1, -1) if _width_pt(texts, n) <= WIDTH_IN * 72), 1)
    legend.remove()
    figure.legend(
        [mark for mark in legend.legend_handles if mark is not None],
        texts,
        loc="outside upper left",
        ncols=columns,
        borderpad=0,
        borderaxespad=0,
        handlelength=1.4,
        columnspacing=1.2,
    )
    return 0.15 * (-(-len(texts) // columns) - 1)


def _width_pt(texts: Sequence[str], columns: int) -> float:
    """Return the width of a legend filled column by column, as matplotlib does."""
    filled = [list(part) for part in np.array_split(np.array(texts), columns)]
    return sum(max(map(len, part)) * _LETTER_PT + _MARK_PT for part in filled)
