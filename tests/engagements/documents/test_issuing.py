"""Documents are issued and stored once."""

import hashlib
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO

import pytest
from django.db import connection
from pypdf import PdfReader

from engagements import documents
from engagements.contracts.models import ContractVersion
from engagements.documents.models import Document
from engagements.event_log.models import Event
from tests.engagements.document_story import Story, unrendered


def test_issuing_twice_stores_one_document_and_one_event(story: Story) -> None:
    subject = f"audit:{story.audited().pk}"
    first = documents.issue(kind="audit_report", subject=subject)
    second = documents.issue(kind="audit_report", subject=subject)
    assert first.pk == second.pk
    content = bytes(second.content)
    assert second.digest == "sha256:" + hashlib.sha256(content).hexdigest()
    assert second.size_bytes == len(content)
    assert second.seal in "".join(page.extract_text() for page in PdfReader(BytesIO(content)).pages)
    event = Event.objects.get(verb="document.issued")
    assert event.changes["digest"] == second.digest
    assert event.for_customer


@pytest.mark.django_db(transaction=True)
def test_concurrent_workers_store_one_document() -> None:
    subject = f"audit:{Story().audited().pk}"

    def issue(_: int) -> int:
        try:
            return documents.issue(kind="audit_report", subject=subject).pk
        finally:
            connection.close()

    with unrendered(), ThreadPoolExecutor(2) as workers:
        keys = set(workers.map(issue, range(2)))
    assert keys == set(Document.objects.values_list("pk", flat=True))
    assert Event.objects.filter(verb="document.issued").count() == 1


def test_a_due_document_is_missing_until_it_is_issued(story: Story) -> None:
    assert documents.missing() == []
    audit = story.audited()
    assert documents.missing() == [("audit_report", f"audit:{audit.pk}")]
    with unrendered():
        documents.issue(kind="audit_report", subject=f"audit:{audit.pk}")
    contract = story.offered()
    assert documents.missing() == [("contract", f"contract:{contract.pk}")]
    story.accepted(contract)
    assert documents.missing() == [
        ("contract", f"contract:{contract.pk}"),
        ("contract", f"contract:{contract.pk}:accepted"),
        ("completion_certificate", f"contract:{contract.pk}"),
    ]
    # Still due after an amendment replaced the version.
    ContractVersion.objects.filter(pk=contract.pk).update(state="superseded")
    assert ("contract", f"contract:{contract.pk}:accepted") in documents.missing()


@pytest.mark.parametrize(
    ("kind", "subject"),
    [("audit_report", "contract:1"), ("invoice", "audit:1"), ("contract", "contract:one")],
)
@pytest.mark.django_db
def test_an_unknown_kind_or_subject_is_rejected(kind: str, subject: str) -> None:
    with pytest.raises(ValueError, match=kind if subject[-1] == "1" else subject):
        documents.issue(kind=kind, subject=subject)
