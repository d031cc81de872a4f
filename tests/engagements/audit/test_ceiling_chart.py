"""The picture of the ceiling, and the words that say the same."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import msgspec
import pytest

from engagements.audit import charts as audit_charts
from engagements.audit.charts import texts
from engagements.audit.rules import ceiling
from engagements.audit.rules.figures import CeilingFigures, Interval
from engagements.charts.palette import DARK


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


@pytest.mark.parametrize("share", [0.0, 0.03, 0.4, 0.5, 0.51, 0.86, 0.999, 1.0])
@pytest.mark.parametrize("claimed", [None, THREE, Interval(low=1, high=1000)])
def test_any_share_is_drawn_in_the_pages_own_colours(
    share: float, claimed: Interval | None
) -> None:
    svg = audit_charts.ceiling(
        figures(share, claimed=claimed, reachable=Interval(low=1.5, high=50))
    )
    root = ET.fromstring(svg)
    assert root.get("role") == "img"
    assert re.findall(r"#[0-9a-f]{6}\b", svg) == []
    dark = audit_charts.ceiling(figures(share, claimed=claimed), theme="dark")
    assert set(re.findall(r"#[0-9a-f]{6}\b", dark)) <= set(DARK.values())


def test_words_say_what_the_picture_shows() -> None:
    said = texts.ceiling(figures(0.4, claimed=THREE))
    assert "40.0% of the wall-clock time" in said
    assert "Even an infinitely fast kernel gives at most 1.67×" in said
    assert "No kernel reaches the target of 2.00×" in said
    assert "Claimed are 3.00× in the kernel, which make 1.36× of the whole" in said
    reached = texts.ceiling(figures(0.75, reachable=Interval(low=2, high=4)))
    assert "The target of 2.00× takes a kernel 3.00× as fast" in reached
    assert "leaves 2.00× to 4.00×" in reached
    assert "infinitely" not in texts.ceiling(figures(1.0))


def test_without_a_curve_there_is_no_picture() -> None:
    assert audit_charts.ceiling(msgspec.structs.replace(figures(0.4), curve=())) == ""
