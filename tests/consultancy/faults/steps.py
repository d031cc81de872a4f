"""The work of an engagement that faults interrupt: an invoice, a run, a settlement."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

from django.db.models import F, QuerySet

from benchmarks.records import records
from consultancy.backups import integrity
from engagements import documents
from engagements.billing import invoices
from engagements.billing.models import Invoice
from engagements.documents.models import Document
from engagements.notifications.models import Mail
from engagements.runs.models import EngagementRun
from engagements.settlements.models import Settlement
from tests import referee_key
from tests.consultancy.faults.site import Site, url
from tests.engagements import story as stories
from tests.engagements.charts.measured import SOURCE, record
from tests.engagements.document_story import unrendered
from tests.engagements.proofs.invariants import SealedRows, check_invariants
from tests.engagements.story import Story

MISSED = 1.1


def issue_due_documents() -> None:
    """Issue every document that is due, unrendered, so that a worker renders only later ones."""
    with unrendered():
        for kind, subject in documents.missing():
            documents.issue(kind=kind, subject=subject)


@dataclass
class Work:
    """What people do for one engagement, by HTTP; repeated, each step changes nothing."""

    site: Site
    story: Story
    request_key: UUID
    invoice: Invoice

    @classmethod
    def begin(cls, site: Site, opened: Story, title: str) -> Work:
        """An engagement in force, and the draft of its first invoice."""
        story = replace(opened, engagement=stories.start_another(opened, title))
        stories.active(stories.offered(stories.audited(story)))
        draft = invoices.draft(milestones=[story.milestone(1)], by=story.finance)
        return cls(site, story, uuid4(), draft)

    def issue_invoice(self) -> int:
        """Issue the invoice; the status of the answer."""
        return self.site.post(url("invoice-issue", self.invoice.pk), by=self.story.finance)

    def request_run(self) -> int:
        """Request the acceptance run; the status of the answer."""
        return self.site.post(
            url("run-request", self.story.reference),
            by=self.story.consultant,
            data={
                "purpose": EngagementRun.Purpose.ACCEPTANCE,
                "candidate": "file",
                "request_key": str(self.request_key),
            },
            files={"file": ("cascade.py", self.source.encode())},
        )

    def step(self, name: str, **data: Any) -> int:
        """Take a step of the settlement; the status of the answer."""
        by = self.story.second if name == "approve" else self.story.finance
        return self.site.post(url(f"settlement-{name}", self.settlement.pk), by=by, data=data)

    @property
    def source(self) -> str:
        """A candidate of its own, so that every run has a record of its own."""
        return f"# {self.request_key}\n{SOURCE}"

    def hand_in(self) -> None:
        """Let the measuring process finish, with a record that misses the target."""
        document = self.story.contract.benchmark.document
        content = records.serialize(
            record(speedup=MISSED, document=document, source=self.source), referee_key.KEY
        )
        unfinished = self.site.record.with_suffix(".new")
        unfinished.write_bytes(content)
        unfinished.replace(self.site.record)

    @property
    def runs(self) -> QuerySet[EngagementRun]:
        """The engagement's runs: one, once it was requested."""
        return EngagementRun.objects.filter(engagement=self.story.engagement)

    @property
    def settlement(self) -> Settlement:
        """The settlement that followed the missed target."""
        return self.story.settlement

    @property
    def documents(self) -> QuerySet[Document]:
        """The engagement's documents."""
        return Document.objects.filter(engagement=self.story.engagement)


def mails_of(document: Document) -> list[str]:
    """The Message-IDs of the mails to which this document is attached."""
    keys = Mail.objects.filter(document=document).values_list("pk", flat=True)
    return [f"<mail-{key}@localhost>" for key in keys]


def as_after_a_day() -> None:
    """Let every mail that waits for another attempt be due."""
    Mail.objects.filter(sent_at=None).update(written_at=F("written_at") - timedelta(days=1))


def check_everything() -> None:
    """Nothing is lost or doubled: ledger, events, every document and stored file."""
    check_invariants(SealedRows())
    assert [fault for part in integrity.check() for fault in part.faults] == []
