"""A document that cannot be made is shown on the engagement's page until it is issued."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from engagements import documents, tasks
from engagements.documents.models import Document, DocumentFailure
from engagements.documents.render import RenderFailed
from engagements.documents.signature import SigningFailed
from engagements.engagement.models import Engagement
from tests.engagements.document_story import unrendered
from tests.engagements.world import World

CUNEIFORM = "\U00012000"


def failed(world: World) -> tuple[Engagement, str]:
    """Fail to render a delivered audit for a customer whose name no font has."""
    engagement = world.audited()
    world.customer.name = f"{CUNEIFORM} Ltd"
    world.customer.save()
    subject = f"audit:{engagement.audit.pk}"
    with pytest.raises(RenderFailed):
        documents.issue(kind="audit_report", subject=subject)
    return engagement, subject


def retry_url(failure: DocumentFailure) -> str:
    return reverse("document-again", args=[failure.engagement.reference, failure.pk])


def page_of(client: Client, engagement: Engagement) -> str:
    return client.get(reverse("engagement", args=[engagement.reference])).content.decode()


def test_the_page_shows_the_reason_until_the_document_is_issued(
    client: Client, world: World
) -> None:
    engagement, subject = failed(world)
    with pytest.raises(RenderFailed):
        documents.issue(kind="audit_report", subject=subject)
    client.force_login(world.consultant)
    [failure] = DocumentFailure.objects.all()
    page = page_of(client, engagement)
    assert page.count(retry_url(failure)) == 1
    assert failure.title in page
    assert "U+12000" in page
    world.customer.name = "Longprompt AG"
    world.customer.save()
    with unrendered():
        documents.issue(kind="audit_report", subject=subject)
    page = page_of(client, engagement)
    assert retry_url(failure) not in page
    assert not DocumentFailure.objects.exists()
    assert Document.objects.get().title in page


def test_the_page_shows_why_a_contract_could_not_be_signed(
    client: Client, world: World, settings: Any, tmp_path: Path
) -> None:
    contract = world.active()
    subject = f"contract:{contract.pk}:accepted"
    settings.TWOFOLD_CERTIFICATE_FILE = str(tmp_path / "missing.pem")
    with pytest.raises(SigningFailed):
        documents.issue(kind="contract", subject=subject)
    client.force_login(world.consultant)
    [failure] = DocumentFailure.objects.all()
    page = page_of(client, contract.engagement)
    assert page.count(retry_url(failure)) == 1
    assert "missing.pem" in page
    with unrendered():
        documents.issue(kind="contract", subject=subject)
    assert retry_url(failure) not in page_of(client, contract.engagement)


def test_a_failure_recorded_after_issue_is_dropped(client: Client, world: World) -> None:
    engagement, subject = failed(world)
    failure = DocumentFailure.objects.get()
    world.customer.name = "Longprompt AG"
    world.customer.save()
    with unrendered():
        documents.issue(kind="audit_report", subject=subject)
    # The slower of two workers still had the old name.
    failure.pk = None
    failure.save()
    client.force_login(world.consultant)
    assert retry_url(failure) not in page_of(client, engagement)
    tasks.sweep()
    assert not DocumentFailure.objects.exists()


def test_a_consultant_retries_a_document(
    client: Client,
    world: World,
    documents_wanted: list[tuple[str, str]],
    django_capture_on_commit_callbacks: Callable[..., AbstractContextManager[list[object]]],
) -> None:
    engagement, subject = failed(world)
    [failure] = DocumentFailure.objects.all()
    url = retry_url(failure)
    client.force_login(world.consultant)
    assert f'action="{url}"' in page_of(client, engagement)
    documents_wanted.clear()
    with django_capture_on_commit_callbacks(execute=True):
        assert client.post(url).status_code == 302
    assert documents_wanted == [("audit_report", subject)]
    assert client.post(reverse("document-again", args=[engagement.reference, 0])).status_code == 404
    other = world.scoping()
    assert (
        client.post(reverse("document-again", args=[other.reference, failure.pk])).status_code
        == 404
    )


def test_only_consultants_retry_a_document(client: Client, world: World) -> None:
    engagement, _ = failed(world)
    url = retry_url(DocumentFailure.objects.get())
    statuses = {"stranger": 404, "signatory": 404, "viewer": 404, "finance": 403}
    for who, status in statuses.items():
        client.force_login(getattr(world, who))
        assert client.post(url).status_code == status, who
    assert url not in page_of(client, engagement)
