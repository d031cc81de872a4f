"""A customer downloads all documents at once, and sees all invoices of its own."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile

from django.test import Client
from django.urls import reverse

from engagements.documents.models import Document
from engagements.engagement.models import Engagement
from tests.engagements.world import World


def document(engagement: Engagement, number: int, *, for_customer: bool = True) -> Document:
    content = f"%PDF {number}".encode()
    return Document.objects.create(
        engagement=engagement,
        kind=Document.Kind.AUDIT_REPORT,
        subject=f"audit:{number}",
        title=f"Report {number}",
        filename="report.pdf",
        content=content,
        size_bytes=len(content),
        digest="sha256:" + hashlib.sha256(content).hexdigest(),
        for_customer=for_customer,
    )


def test_the_archive_holds_every_document_for_the_customer(world: World, client: Client) -> None:
    engagement = world.scoping()
    rows = [document(engagement, number) for number in (1, 2)]
    document(engagement, 3, for_customer=False)
    client.force_login(world.viewer)
    answer = client.get(reverse("portal-documents-archive", args=[engagement.reference]))
    archive = zipfile.ZipFile(io.BytesIO(answer.getvalue()))
    index = json.loads(archive.read("documents.json"))
    assert [entry["digest"] for entry in index] == [row.digest for row in rows]
    assert [archive.read(entry["file"]) for entry in index] == [bytes(row.content) for row in rows]


def test_all_invoices_of_the_company_are_on_one_page(world: World, client: Client) -> None:
    contract = world.active()
    invoice = world.invoice(contract.milestones.get(position=1))
    page = reverse("portal-all-invoices")
    client.force_login(world.viewer)
    assert invoice.reference in client.get(page).content.decode()
    client.force_login(world.stranger)
    assert invoice.reference not in client.get(page).content.decode()
