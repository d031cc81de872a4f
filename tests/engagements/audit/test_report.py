"""The audit report."""

import json
from collections.abc import Callable

from pypdf import PdfReader

from benchmarks.records.canonical import digest_of_bytes
from engagements import documents
from engagements.audit import services as audits
from tests.engagements.document_story import FINDINGS, Story
from tests.engagements.pdf_text import attached, headings, words
from tests.errors import declined

Issue = Callable[[str, str], PdfReader]


def test_the_report_shows_findings_overrides_and_what_they_amount_to(
    story: Story, issued: Issue
) -> None:
    audit = story.audited(maintain="pass")
    report = issued("audit_report", f"audit:{audit.pk}")
    text = words(report)
    assert "Custom kernel work may be right" in text
    assert "5 of 6 checks pass" in text
    assert "Without that, 4 of 6 pass" in text
    assert (
        "Overridden to pass by Ada Lindqvist, confirmed by Grace: Two engineers start next month"
        in text
    )
    for _, value, _ in FINDINGS.values():
        assert value in text
    assert "EUR 6,000.00" in text
    assert "Alternatives" not in text
    assert headings(report)[0] == "H1"


def test_the_findings_travel_inside_under_the_digest_in_the_footer(
    story: Story, issued: Issue
) -> None:
    audit = story.audited(maintain="pass")
    report = issued("audit_report", f"audit:{audit.pk}")
    data = attached(report)["audit.json"]
    assert all(digest_of_bytes(data) in page.extract_text() for page in report.pages)
    found = {each["check"]: each for each in json.loads(data)["findings"]}
    assert found["maintain"]["outcome"] == "fail"
    assert found["maintain"]["override"]["outcome"] == "pass"
    assert found["hot"]["override"] is None


def test_a_redirected_customer_gets_alternatives(story: Story, issued: Issue) -> None:
    audit = story.audited(stable="fail", worth="fail")
    text = words(issued("audit_report", f"audit:{audit.pk}"))
    assert "Cheaper interventions first" in text
    for suggestion in ("batching", "scheduling", "quantization", "topology"):
        assert f"Better {suggestion}" in text


def test_nothing_is_reported_before_the_audit_is_delivered(story: Story) -> None:
    audit = audits.start(
        engagement=story.engagement, cost=story.amount("6000"), currency="EUR", by=story.ada
    )
    with declined("audit.not_delivered"):
        documents.issue(kind="audit_report", subject=f"audit:{audit.pk}")
