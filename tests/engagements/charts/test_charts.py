"""Pictures of what was measured."""

import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from matplotlib.axes import Axes
from matplotlib.text import Text

from benchmarks.verdict.explanations import shown_level
from engagements import charts
from engagements.catalogue import charts as catalogue_charts
from engagements.catalogue import queries as catalogue
from engagements.catalogue.charts import texts
from engagements.charts.canvas import sheet
from engagements.charts.palette import DARK, LIGHT
from tests.engagements.charts import measured

ROOT = Path(__file__).resolve().parents[3]
SVG = "{http://www.w3.org/2000/svg}"
RECORD = measured.record(document=measured.benchmark(names=["chat, 4k & tools <long>", "agents"]))
PROGRESS: dict[str, Any] = {
    "history": [
        {"at_s": 2.0, "ratio": None, "low": None, "high": None},
        {"at_s": 3.5, "ratio": 2.6, "low": None, "high": None},
        {"at_s": 6.0, "ratio": 2.3, "low": 1.9, "high": 2.8},
        {"at_s": 8.0, "ratio": 2.4, "low": 2.1, "high": 2.6},
    ]
}
DRAWN: dict[str, Callable[..., str]] = {
    "interval": lambda theme: charts.ratio_interval(RECORD, theme=theme),
    "distribution": lambda theme: charts.ratio_distribution(RECORD, theme=theme),
    "workloads": lambda theme: charts.workload_bars(RECORD, theme=theme),
    "roofline": lambda theme: charts.roofline(RECORD, theme=theme),
    "history": lambda theme: charts.estimate_history(PROGRESS, target=2.0, theme=theme),
}


# Each picture is drawn once a theme.
CACHED = {name: cache(draw) for name, draw in DRAWN.items()}


@pytest.fixture(params=CACHED)
def draw(request: pytest.FixtureRequest) -> Any:
    return CACHED[request.param]


def test_a_picture_is_well_formed_and_has_a_title_and_a_description(
    draw: Callable[..., str],
) -> None:
    root = ET.fromstring(draw("page"))
    assert root.get("role") == "img"
    assert root[0].tag == f"{SVG}title"
    assert root[0].text
    assert root[1].tag == f"{SVG}desc"
    assert root[1].text


def test_pictures_in_pages_use_the_page_s_colours(draw: Callable[..., str]) -> None:
    svg = draw("page")
    assert "var(--chart-" in svg
    assert re.findall(r"#[0-9a-f]{6}\b", svg) == []


def test_the_dark_picture_uses_no_light_colour(draw: Callable[..., str]) -> None:
    used = set(re.findall(r"#[0-9a-f]{6}\b", draw("dark")))
    assert used
    assert used <= set(DARK.values())


def test_pictures_contain_nothing_that_the_security_policy_blocks(draw: Callable[..., str]) -> None:
    svg = draw("page")
    for refused in ("<style", "<script", "<metadata", "<!DOCTYPE", "http://matplotlib"):
        assert refused not in svg


def test_texts_are_never_markup() -> None:
    hostile = "</title></svg><script>alert(1)</script>"
    with sheet(theme="page", title=hostile, description=hostile, height_in=1.0) as drawn:
        drawn.axes[0].annotate(hostile, (0, 0))
    tags = {each.tag.removeprefix(SVG) for each in ET.fromstring(drawn.svg).iter()}
    assert tags <= {"svg", "title", "desc", "defs", "g", "path", "rect", "use", "clipPath"}
    assert drawn.svg.count("</svg>") == 1


def test_ids_are_unique_and_used(draw: Callable[..., str]) -> None:
    svg = draw("page")
    names = re.findall(r' id="([^"]+)"', svg)
    assert len(names) == len(set(names))
    used = set(re.findall(r"url\(#([^)]+)\)", svg)) | set(re.findall(r'href="#([^"]+)"', svg))
    assert used == set(names)


def test_the_same_record_gives_the_same_picture(draw: Any) -> None:
    assert draw.__wrapped__("page") == draw("page")


def test_pictures_of_one_page_share_no_ids() -> None:
    names = [set(re.findall(r' id="([^"]+)"', drawn("page"))) for drawn in CACHED.values()]
    assert sum(map(len, names)) == len(set().union(*names))


def test_tokens_of_the_pages_and_of_the_pictures_agree() -> None:
    css = (ROOT / "consultancy" / "static" / "css" / "tokens.css").read_text()
    for name, colour in LIGHT.items():
        assert f"--chart-{name}: {colour};" in css
    for name, colour in DARK.items():
        assert f"--chart-{name}: {colour};" in css


def test_what_was_not_measured_is_not_drawn() -> None:
    caught = measured.disqualified()
    for chart in (charts.ratio_interval, charts.ratio_distribution, charts.workload_bars):
        assert chart(caught) == ""
    assert charts.roofline(measured.record(with_operator=False)) == ""
    assert charts.estimate_history({}) == ""
    assert charts.estimate_history({"history": PROGRESS["history"][:1]}) == ""
    assert charts.describe.ratio_interval(caught) == "No ratio was measured."
    assert charts.describe.roofline(caught) == "The operator alone was not measured."


def test_descriptions_give_ratio_interval_and_target() -> None:
    summary = RECORD["summary"]
    words = charts.describe.ratio_interval(RECORD)
    stopped = summary["looks"][-1]["confidence"]
    assert words.startswith(f"End to end {summary['ratio']:.2f}×, {shown_level(stopped)} interval")
    assert "target 2.00×" in words
    assert "agents" in words


def test_the_roof_is_what_the_same_run_measured() -> None:
    ceilings = {"copy_bytes_per_s": 4.2e12, "matmul_flops_per_s": {"bfloat16": 781e12}}
    known = measured.record(document=measured.benchmark(preset="h200"), ceilings=ceilings)
    assert charts.measured_roof(known) == (4200, 781_000)
    words = charts.describe.roofline(known)
    assert "copies 4200 GB/s and multiplies matrices at 7.81e+05 GFLOP/s" in words
    assert words in charts.roofline(known, theme="print").replace("&#x27;", "'")


def test_without_ceilings_no_roof_is_drawn() -> None:
    without = measured.record()
    assert charts.measured_roof(without) is None
    assert "The machine itself" not in charts.describe.roofline(without)


@pytest.mark.parametrize(
    ("microseconds", "text"),
    [(None, "not measured"), (15.25, "15.2 µs"), (4_130.0, "4.13 ms"), (2.5e6, "2.500 s")],
)
def test_times_are_given_in_a_readable_unit(microseconds: float | None, text: str) -> None:
    assert charts.describe.duration(microseconds) == text


def test_importing_the_package_does_not_import_matplotlib() -> None:
    code = "import sys, engagements.charts; print('matplotlib' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"


def test_the_first_pictures_of_a_process_are_drawn_at_once_by_several_threads() -> None:
    script = """
import threading
from engagements import charts
from tests.engagements.charts import test_charts as told
went_wrong = []
threading.excepthook = lambda raised: went_wrong.append(raised.exc_value)
start = threading.Barrier(len(told.DRAWN))
def draw(name):
    start.wait()
    assert told.DRAWN[name]("light")
threads = [threading.Thread(target=draw, args=[name]) for name in told.DRAWN]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
assert not went_wrong, went_wrong
"""
    subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=True, timeout=60)


@pytest.mark.parametrize(
    "draw_all", [catalogue_charts.catalogue_ratios, catalogue_charts.catalogue_roofline]
)
@pytest.mark.parametrize("theme", ["light", "dark_narrow"])
def test_the_catalogue_is_named_in_its_pictures_as_in_the_table_beside(
    monkeypatch: pytest.MonkeyPatch, draw_all: Callable[..., str], theme: str
) -> None:
    written: set[str] = set()
    write = Text.set_text

    def listen(self: Text, text: object) -> None:
        written.update(str(text).splitlines())
        write(self, text)

    monkeypatch.setattr(Text, "set_text", listen)
    found = catalogue.sound()
    draw_all(found, theme=theme)
    titles = {entry.operator: entry.definition.title for entry in catalogue.entries()}
    named = {operator for operator, title in titles.items() if title in written}
    # The roofline is one device's, without links; operators that only move bytes have no place.
    assert {report.operator for report in found} - named <= {
        "embedding_lookup",
        "int4_linear",
        "allreduce_residual_norm",
    }
    folders = [operator.replace("_", " ") for operator in titles]
    assert not [line for line in written for folder in folders if line.startswith(folder)]


def test_roofline_labels_overlap_no_mark(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    near = [("a", 1000.0, 800.0), ("b", 1100.0, 300.0), ("c", 1200.0, 700.0), ("far", 9e4, 900.0)]
    drawn = [texts.Point(name, at, speed, speed) for name, at, speed in near]
    monkeypatch.setattr(texts, "points", lambda found: drawn)
    begins: dict[str, float] = {}
    annotate = Axes.annotate

    def listen(self: Axes, text: str, xy: tuple[float, float], **options: Any) -> object:
        if text.isdigit() and "xycoords" not in options:
            begins[text] = xy[1]
        return annotate(self, text, xy, **options)

    monkeypatch.setattr(Axes, "annotate", listen)
    catalogue_charts.catalogue_roofline(catalogue.sound(), theme="light")
    assert begins == {"1": 300.0, "2": 300.0, "3": 300.0, "4": 900.0}
