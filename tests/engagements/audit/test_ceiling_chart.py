"""The chart of the ceiling, and its alt text."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from itertools import product

import msgspec
import pytest

from engagements.audit.rules import Thresholds, ceiling
from engagements.audit.rules.ceiling import CeilingFigures
from engagements.audit.rules.figures import Interval
from engagements.charts.palette import DARK
from tests.soak_cases import every


def figures(
    share: float,
    *,
    target: float = 2.0,
    claimed: Interval | None = None,
    reachable: Interval | None = None,
) -> CeilingFigures:
    return CeilingFigures(
        share=share,
        target=target,
        infinite=ceiling.infinite(share),
        needed=ceiling.needed(share, target),
        most=None,
        ceiling=None,
        reachable=reachable,
        claimed=claimed,
        end_to_end=None,
        roofline_share=None,
        kernels=(),
        fewer_bytes=None,
        curve=ceiling.curve(share, 20.0),
    )


THREE = Interval(low=3, high=3)


@pytest.mark.parametrize(
    ("share", "claimed"),
    every(
        7, product([0.0, 0.03, 0.5, 0.51, 0.999, 1.0], [None, THREE, Interval(low=1, high=1000)])
    ),
)
def test_any_share_is_drawn_in_the_theme_s_colours(share: float, claimed: Interval | None) -> None:
    reachable = Interval(low=1.5, high=50)
    chart = figures(share, claimed=claimed, reachable=reachable).chart(Thresholds())
    assert chart is not None
    svg, dark = chart.draw("page"), chart.draw("dark")
    assert ET.fromstring(svg).get("role") == "img"
    assert re.findall(r"#[0-9a-f]{6}\b", svg) == []
    assert set(re.findall(r"#[0-9a-f]{6}\b", dark)) <= set(DARK.values())


def test_the_alt_text_has_the_figures_of_the_chart() -> None:
    alt = figures(0.4, claimed=THREE).alt()
    assert all(figure in alt for figure in ("40.0%", "1.67×", "2.00×", "3.00×", "1.36×"))
    reached = figures(0.75, reachable=Interval(low=2, high=4)).alt()
    assert all(figure in reached for figure in ("3.00×", "2.00× to 4.00×"))


def test_without_a_curve_there_is_no_chart() -> None:
    assert msgspec.structs.replace(figures(0.4), curve=()).chart(Thresholds()) is None
