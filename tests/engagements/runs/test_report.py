"""The benchmark report."""

import json
import re
import subprocess
import sys
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pypdf import PdfReader

from benchmarks.records import records
from benchmarks.services import solutions
from benchmarks.verdict import consistency
from engagements import documents
from engagements.documents import registry, render
from engagements.documents.registry import Subject
from engagements.runs import services as runs
from engagements.runs.models import EngagementRun
from engagements.runs.report import measured as tables
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


def markup_of(asked: EngagementRun) -> str:
    return render.markup(registry.kind_of("benchmark_report").compose(Subject("run", asked.pk)))


def test_the_report_shows_the_verdict_and_what_it_rests_on(story: Story, issued: Issue) -> None:
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


def test_every_picture_says_in_words_what_it_shows(story: Story, issued: Issue) -> None:
    asked = active(story).measured(measured.record())
    report = issued("benchmark_report", f"run:{asked.pk}")
    words_of = [str(each.get("/Alt", "")) for each in elements(report) if each["/S"] == "/Figure"]
    assert len(words_of) == 3
    assert words_of[0].startswith("End to end 2.")
    assert "replicate 4 median" in words_of[1]
    assert "FLOP per byte" in words_of[2]


def test_the_attached_record_verifies_by_itself(story: Story, issued: Issue) -> None:
    asked = active(story).measured(measured.record())
    enclosed = attached(issued("benchmark_report", f"run:{asked.pk}"))
    record = records.load(enclosed["record.json"])
    assert consistency.problems(record) == []
    assert json.loads(enclosed["benchmark.json"]) == record["benchmark"]


def test_a_caught_candidate_is_named_with_what_was_seen(story: Story, issued: Issue) -> None:
    asked = active(story).measured(measured.disqualified())
    text = words(issued("benchmark_report", f"run:{asked.pk}"))
    assert "Candidate disqualified" in text
    assert "answered before its kernels had finished" in text
    assert "decides nothing under the contract" in text
    assert "Not measured in this run." in text
    assert "No times are given" in text
    assert "one round" not in markup_of(asked)


@pytest.mark.parametrize(
    ("rule", "consequence"),
    [("missed", "The contract counts this as missed."), ("repeat", "The run decides nothing")],
)
def test_an_inconclusive_run_means_what_the_terms_say(
    story: Story, rule: str, consequence: str
) -> None:
    asked = active(story, inconclusive=rule).measured(measured.record(speedup=1.9, noise=0.1))
    assert asked.run.record.verdict == "inconclusive"
    html = markup_of(asked)
    assert "Inconclusive" in html
    assert consequence in html


def test_a_trial_run_decides_nothing_and_stays_in_the_house(story: Story) -> None:
    asked = active(story).measured(measured.record(speedup=1.1), purpose="trial")
    paper = registry.kind_of("benchmark_report").compose(Subject("run", asked.pk))
    assert not paper.for_customer
    assert "This was a trial run" in render.markup(paper)


def test_the_operator_alone_is_said_to_be_not_measured(story: Story) -> None:
    html = markup_of(active(story).measured(measured.record(with_operator=False)))
    assert "Not measured in this run." in html
    assert "roofline" not in html.lower()


def test_a_roof_is_what_the_run_measured_and_said_to_be(story: Story, issued: Issue) -> None:
    document = measured.benchmark(preset="h200")
    ceilings = {"copy_bytes_per_s": 4.2e12, "matmul_flops_per_s": {"bfloat16": 781e12}}
    asked = active(story, document).measured(measured.record(document=document, ceilings=ceilings))
    text = words(issued("benchmark_report", f"run:{asked.pk}"))
    assert "a square matrix product reached in the same run" in text
    assert "a copy moved 4,200 GB/s, matrix products in bfloat16 reached 781 TFLOP/s" in text
    assert "Nobody else on the GPU Not measured" in text
    assert "NVIDIA H200" in text
    assert "launched as a CUDA graph on both sides" in text


def test_what_was_not_measured_is_never_a_zero() -> None:
    record = measured.disqualified()
    rows = tables.workloads(record["summary"])
    assert {row["baseline_us"] for row in rows} == {"not measured"}
    assert {row["ratio"] for row in rows} == {"not measured"}
    assert tables.operator(record) == []


def test_what_the_real_referee_measured_becomes_a_report(
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


def test_what_a_candidate_was_tried_at_is_said_in_words() -> None:
    found = measured.record()
    told = tables.correctness(found)
    assert "large scores at batch 5" in told["trials"]
    assert re.search(r"\d", told["repeats"])
    trial = found["correctness"]["trials"][0]
    found["correctness"]["trials"].append(trial | {"outcome": "left_out", "name": "batch 1"})
    assert "batch 1" not in tables.correctness(found)["trials"]
    assert tables.correctness(found | {"correctness": None})["trials"] is None
