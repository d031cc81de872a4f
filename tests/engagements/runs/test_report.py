"""The benchmark report."""

import html
import json
import re
import subprocess
import sys
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.utils.html import strip_tags
from django.utils.text import capfirst
from pypdf import PdfReader

from benchmarks.records import records
from benchmarks.services import solutions
from benchmarks.verdict import consistency
from engagements import documents
from engagements.documents import registry, render
from engagements.documents.registry import Subject
from engagements.runs import services as runs
from engagements.runs.explanations import explain
from engagements.runs.models import EngagementRun
from engagements.runs.report import measured as tables
from engagements.runs.report import pictures
from engagements.templatetags.show import with_sign
from tests.engagements.charts import measured
from tests.engagements.document_story import Story
from tests.engagements.pdf_text import attached, elements, words
from tests.errors import declined

Issue = Callable[[str, str], PdfReader]
ROOT = Path(__file__).resolve().parents[3]
NAMES = [
    "chat, 16 conversations over a 4k prompt",
    "agents, 8 conversations over a 16k tool prompt",
]


def active(story: Story, document: dict[str, Any] | None = None, **terms: Any) -> Story:
    story.audited()
    story.accepted(story.offered(document, **terms))
    return story


@pytest.fixture
def no_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compose reports without drawing."""
    blank = dict.fromkeys(("interval", "distribution", "roofline"), pictures.Picture("data:,", "-"))
    monkeypatch.setattr(pictures, "of", lambda record: blank)


def text_of(asked: EngagementRun) -> str:
    return " ".join(html.unescape(strip_tags(markup_of(asked).replace("><", "> <"))).split())


def explained_in(asked: EngagementRun, text: str) -> bool:
    """Whether the report has every part of the explanation that the pages show."""
    asked = EngagementRun.objects.get(pk=asked.pk)
    headline, reason, details, confidence, consequence, _ = explain(asked, asked.run.record.summary)
    shown = [capfirst(with_sign(each)) for each in details]
    return all(part in text for part in (headline, reason, *shown, confidence, consequence))


def markup_of(asked: EngagementRun) -> str:
    return render.markup(registry.kind_of("benchmark_report").compose(Subject("run", asked.pk)))


def test_the_report_has_verdict_figures_pictures_and_record(story: Story, issued: Issue) -> None:
    document = measured.benchmark(names=NAMES)
    record = measured.record(document=document)
    asked = active(story, document).measured(record)
    report = issued("benchmark_report", f"run:{asked.pk}")
    text, summary = words(report), record["summary"]
    assert "Target met" in text
    assert f"{summary['ratio']:.2f}×" in text
    assert f"{summary['low']:.2f}× to {summary['high']:.2f}×" in text
    assert "The milestones that wait for the target are released." in text
    for workload in summary["workloads"]:
        assert f"{workload['baseline_us']:,.1f} {workload['candidate_us']:,.1f}" in text
    for digest in (record["benchmark_digest"], record["candidate"]["source_digest"]):
        assert digest in text
    assert record["command"] in text
    assert summary["detection"] in text
    assert "no network" in text
    assert all(record["digest"] in page.extract_text() for page in report.pages)
    descriptions = [str(each.get("/Alt")) for each in elements(report) if each["/S"] == "/Figure"]
    for figure, description in zip(("2.", "replicate 3", "FLOP"), descriptions, strict=True):
        assert figure in description
    enclosed = attached(report)
    verified = records.load(enclosed["record.json"])
    assert consistency.problems(verified) == []
    assert json.loads(enclosed["benchmark.json"]) == verified["benchmark"]


@pytest.mark.usefixtures("no_pictures")
def test_a_disqualified_candidate_is_named_with_its_finding(story: Story) -> None:
    asked = active(story).measured(measured.disqualified())
    text = text_of(asked)
    assert explained_in(asked, text)
    assert "answered before its kernels had finished" in text
    assert "Not measured in this run." in text
    assert "Times are not shown" in text
    assert "one round" not in markup_of(asked)


@pytest.mark.usefixtures("no_pictures")
@pytest.mark.parametrize(
    ("rule", "headline"),
    [("missed", "Inconclusive: counts as missed"), ("repeat", "Inconclusive: does not count")],
)
def test_the_terms_decide_an_inconclusive_run(story: Story, rule: str, headline: str) -> None:
    asked = active(story, inconclusive=rule).measured(measured.record(speedup=1.9, noise=0.1))
    assert asked.run.record.verdict == "inconclusive"
    text = text_of(asked)
    assert headline in text
    assert explained_in(asked, text)


@pytest.mark.usefixtures("no_pictures")
def test_the_report_of_a_trial_run_is_internal(story: Story) -> None:
    asked = active(story).measured(measured.record(speedup=1.1), purpose="trial")
    paper = registry.kind_of("benchmark_report").compose(Subject("run", asked.pk))
    assert not paper.for_customer
    assert "This was a trial run" in render.markup(paper)


def test_a_run_without_the_operator_alone_has_no_roofline(story: Story) -> None:
    report = markup_of(active(story).measured(measured.record(with_operator=False)))
    assert "Not measured in this run." in report
    assert "roofline" not in report.lower()


@pytest.mark.usefixtures("no_pictures")
def test_the_limits_of_the_device_are_those_of_the_run(story: Story) -> None:
    document = measured.benchmark(preset="h200")
    ceilings = {"copy_bytes_per_s": 4.2e12, "matmul_flops_per_s": {"bfloat16": 781e12}}
    asked = active(story, document).measured(measured.record(document=document, ceilings=ceilings))
    text = text_of(asked)
    assert "The roof is the speed of a plain copy" in text
    assert "a copy moved 4,200 GB/s, matrix products in bfloat16 reached 781 TFLOP/s" in text
    assert "Nobody else on the GPU Not measured" in text
    assert "NVIDIA H200" in text
    assert "launched as a CUDA graph on both sides" in text


def test_missing_figures_are_not_measured_and_never_zero() -> None:
    record = measured.disqualified()
    rows = tables.workloads(record["summary"])
    assert {row["baseline_us"] for row in rows} == {"not measured"}
    assert {row["ratio"] for row in rows} == {"not measured"}
    assert tables.operator(record) == []


@pytest.mark.soak
def test_a_record_of_the_referee_becomes_a_report(
    story: Story, issued: Issue, tmp_path: Path
) -> None:
    document = measured.benchmark(preset="tiny")
    (tmp_path / "benchmark.json").write_text(json.dumps(document))
    subprocess.run(
        [
            sys.executable,
            "-m",
            "benchmarks.harness",
            "run",
            tmp_path / "benchmark.json",
            "shared_prefix_attention/torch_cascade",
            "--out",
            tmp_path / "record.json",
        ],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    record = records.load((tmp_path / "record.json").read_bytes())
    asked = active(story, document).measured(record)
    text = words(issued("benchmark_report", f"run:{asked.pk}"))
    assert f"{record['summary']['ratio']:.2f}×" in text
    assert record["environment"]["cpu"] in text
    assert record["digest"] in text


def test_a_queued_run_has_no_report_yet(story: Story) -> None:
    active(story)
    asked = runs.request(
        engagement=story.engagement,
        solution=solutions.submit(
            name="a kernel",
            operator="shared_prefix_attention",
            filename="torch_a.py",
            source=measured.SOURCE,
        ),
        purpose="acceptance",
        request_key=uuid.uuid4(),
        by=story.ada,
    )
    with declined("run.no_record"):
        documents.issue(kind="benchmark_report", subject=f"run:{asked.pk}")


def test_trials_and_repeats_are_described() -> None:
    found = measured.record()
    described = tables.correctness(found)
    assert "large scores at batch 5" in described["trials"]
    assert re.search(r"\d", described["repeats"])
    trial = found["correctness"]["trials"][0]
    found["correctness"]["trials"].append(trial | {"outcome": "left_out", "name": "batch 1"})
    assert "batch 1" not in tables.correctness(found)["trials"]
    assert tables.correctness(found | {"correctness": None})["trials"] is None
