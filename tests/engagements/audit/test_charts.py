"""Charts of evidence and of findings."""

from __future__ import annotations

import datetime as dt
import io
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import msgspec
import pytest

from engagements.audit.rules import Interval, Thresholds
from engagements.audit.rules.figures import Figures
from engagements.audit.rules.hot import HotFigures, Part, Stricter
from engagements.audit.rules.labels import Outcome
from engagements.audit.rules.lives import LifeFigures, ModelChange
from engagements.audit.rules.maintain import Upkeep, UpkeepFigures
from engagements.charts.palette import DARK, Theme
from engagements.evidence import charts as evidence_charts
from engagements.evidence import readers
from engagements.evidence.readers.comparison import compare
from engagements.evidence.readers.facts import TraceFacts, TrafficFacts
from tests.engagements import evidence_world

LONG = "void at::native::<unnamed>::a_kernel<" + "float, " * 40 + ">"


@cache
def trace(name: str) -> TraceFacts:
    facts = readers.read(evidence_world.CAPTURES / name, name)
    assert isinstance(facts, TraceFacts)
    return facts


@cache
def traffic() -> TrafficFacts:
    facts = readers.read(io.BytesIO(evidence_world.TRAFFIC), "calls.csv")
    assert isinstance(facts, TrafficFacts)
    return facts


HOT = HotFigures(
    operator="attention",
    share_of_wall=Interval(low=0.737, high=0.737),
    share_of_gpu=0.861,
    gpu_idle_share=0.144,
    launch_bound_share=0.127,
    waiting_for=None,
    parts=(
        Part(name="attention", kind="operator", share=0.737),
        Part(name="GPU idle", kind="waiting", share=0.144),
        *(Part(name=f"{LONG} {n}", kind="other", share=0.01) for n in range(12)),
    ),
    stricter=Stricter(outcome=Outcome.PASS, sentence="In the top tenth."),
)
LIFE = LifeFigures(
    life_weeks=52,
    is_open_ended=False,
    work_weeks=6,
    remaining_weeks=46,
    changes=(
        ModelChange(
            name="Llama 5",
            expected_on=dt.date(2027, 3, 1),
            weeks_away=14,
            free=(),
            tuned=("head_dim",),
            foreign=(),
        ),
    ),
    fee=None,
    currency=None,
    bill_a_month=None,
    end_to_end=None,
    saved_a_month=None,
    payback_weeks=(9.0, None),
)
UPKEEP = UpkeepFigures(
    tasks=(
        Upkeep(name="New architectures", hours_a_month=3.3, reason="One a year."),
        Upkeep(name="Numerical debugging", hours_a_month=2.0, reason="The sources."),
    ),
    needed=5.3,
    people=(("Performance team", 12.0),),
    offered=12.0,
)


def drawn(figures: Figures, theme: Theme = "page") -> str:
    chart = figures.chart(Thresholds())
    return chart.draw(theme) if chart else ""


DRAWN: dict[str, Callable[..., str]] = {
    "timeline": lambda theme: evidence_charts.timeline(trace(evidence_world.DECODE), theme=theme),
    "idle": lambda theme: evidence_charts.timeline(trace(evidence_world.IDLE), theme=theme),
    "parts": lambda theme: drawn(HOT, theme),
    "shapes": lambda theme: evidence_charts.shape_curves(
        traffic().curve_of_calls, traffic().curve_of_time, wanted=(16, 0.8), theme=theme
    ),
    "life": lambda theme: drawn(LIFE, theme),
    "upkeep": lambda theme: drawn(UPKEEP, theme),
    "profiles": lambda theme: evidence_charts.profiles(
        compare(trace(evidence_world.IDLE), trace(evidence_world.PREFILL)), theme=theme
    ),
}


# Each picture is drawn once a theme.
CACHED = {name: cache(draw) for name, draw in DRAWN.items()}


@pytest.fixture(params=CACHED)
def draw(request: pytest.FixtureRequest) -> Any:
    return CACHED[request.param]


def test_a_picture_is_well_formed_and_follows_the_theme(draw: Callable[..., str]) -> None:
    svg = draw("page")
    root = ET.fromstring(svg)
    assert root[0].text
    assert root[1].text
    assert re.findall(r"#[0-9a-f]{6}\b", svg) == []
    assert set(re.findall(r"#[0-9a-f]{6}\b", draw("dark"))) <= set(DARK.values())


def test_the_same_facts_give_the_same_bytes(draw: Any) -> None:
    assert draw.__wrapped__("page") == draw("page")


def test_missing_data_is_not_drawn() -> None:
    host_only = trace("host_only.trace.json.gz")
    assert evidence_charts.timeline(host_only) == ""
    assert evidence_charts.profiles(compare(host_only, host_only)) == ""
    assert msgspec.structs.replace(UPKEEP, tasks=()).chart(Thresholds()) is None
    assert msgspec.structs.replace(HOT, parts=()).chart(Thresholds()) is None


def test_an_alt_text_gives_the_figures() -> None:
    texts = evidence_charts.texts
    assert "85.6%" in texts.timeline(trace(evidence_world.DECODE))
    assert "attention 73.7%" in texts.timeline(trace(evidence_world.DECODE))
    assert "16 cover 100%" in texts.shape_curves(traffic().curve_of_calls, None)
    assert "9 to never" in LIFE.alt()
    assert "12" not in msgspec.structs.replace(UPKEEP, offered=None).alt()


def test_a_fee_that_is_never_paid_back_has_no_bar() -> None:
    never = msgspec.structs.replace(LIFE, payback_weeks=(None, None))
    assert len(drawn(never)) < len(drawn(LIFE))


def test_a_lane_is_left_to_each_of_the_busiest_families() -> None:
    facts = trace("moe.trace.json.gz")
    lanes = evidence_charts.texts.lanes_of(facts)
    assert len(lanes) == 8
    assert lanes[0][0] == "embedding and gather"
    assert evidence_charts.texts.lanes_of(replace(facts, timeline=None)) == []


def test_a_phone_s_picture_shares_a_page_with_the_wide_one() -> None:
    wide, narrow = drawn(LIFE), drawn(LIFE, "page_narrow")
    names = [set(re.findall(r' id="([^"]+)"', svg)) for svg in (wide, narrow)]
    widths = [
        float(box[1]) for svg in (wide, narrow) if (box := re.search(r'viewBox="0 0 (\S+)', svg))
    ]
    assert all(names)
    assert not set.intersection(*names)
    assert widths[1] < 0.6 * widths[0]
    assert "var(--surface)" in narrow
    assert not re.search("#[0-9a-f]{6}", narrow)
