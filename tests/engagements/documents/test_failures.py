"""A document that cannot be made says so on the engagement's page, until it is made."""

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
from engagements.documents.render import CannotBeTypeset
from engagements.documents.signature import CannotBeSigned
from engagements.engagement.models import Engagement
from tests.engagements.world import World

CUNEIFORM = "\U00012000"


def not_made(world: World) -> tuple[Engagement, str]:
    """An audit that was delivered to a customer whose name no font has."""
    engagement = world.audited()
    world.customer.name = f"{CUNEIFORM} Ltd"
    world.customer.save()
    subject = f"audit:{engagement.audit.pk}"
    with pytest.raises(CannotBeTypeset):
        documents.issue(kind="audit_report", subject=subject)
    return engagement, subject


def page_of(client: Client, engagement: Engagement) -> str:
    page = client.get(reverse("engagement", args=[engagement.reference])).content.decode()
    return " ".join(page.split())


def test_the_page_says_what_is_not_made_and_why_until_the_name_is_corrected(
    client: Client, world: World
) -> None:
    engagement, subject = not_made(world)
    with pytest.raises(CannotBeTypeset):
        documents.issue(kind="audit_report", subject=subject)
    client.force_login(world.consultant)
    page = page_of(client, engagement)
    assert page.count("Could not be made") == 1
    assert "Audit report" in page
    assert "U+12000, cuneiform sign a" in page
    assert "Install a font that has it" in page
    assert "for that it takes the font" in page
    assert "No documents yet" not in page
    world.customer.name = "Longprompt AG"
    world.customer.save()
    documents.issue(kind="audit_report", subject=subject)
    page = page_of(client, engagement)
    assert "Could not be made" not in page
    assert not DocumentFailure.objects.exists()
    assert Document.objects.get().title in page


def test_a_contract_that_cannot_be_signed_says_what_is_missing(
    client: Client, world: World, settings: Any, tmp_path: Path
) -> None:
    contract = world.active()
    subject = f"contract:{contract.pk}:accepted"
    settings.TWOFOLD_CERTIFICATE_FILE = str(tmp_path / "missing.pem")
    with pytest.raises(CannotBeSigned):
        documents.issue(kind="contract", subject=subject)
    client.force_login(world.consultant)
    page = page_of(client, contract.engagement)
    assert page.count("Could not be made") == 1
    assert "It could not be signed." in page
    assert "missing.pem cannot be read: No such file or directory. Contracts" in page
    assert "takes the font" not in page
    settings.TWOFOLD_CERTIFICATE_FILE = None
    documents.issue(kind="contract", subject=subject)
    assert "Could not be made" not in page_of(client, contract.engagement)


def test_whoever_made_it_meanwhile_is_believed(client: Client, world: World) -> None:
    engagement, subject = not_made(world)
    failure = DocumentFailure.objects.get()
    world.customer.name = "Longprompt AG"
    world.customer.save()
    documents.issue(kind="audit_report", subject=subject)
    # Of two workers the slower one had the name as it was.
    failure.pk = None
    failure.save()
    client.force_login(world.consultant)
    assert "Could not be made" not in page_of(client, engagement)
    tasks.sweep()
    assert not DocumentFailure.objects.exists()


def test_it_is_tried_again_when_a_consultant_asks(
    client: Client,
    world: World,
    documents_wanted: list[tuple[str, str]],
    django_capture_on_commit_callbacks: Callable[..., AbstractContextManager[list[object]]],
) -> None:
    engagement, subject = not_made(world)
    [failure] = DocumentFailure.objects.all()
    url = reverse("document-again", args=[engagement.reference, failure.pk])
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


@pytest.mark.parametrize(
    ("who", "status"),
    [("stranger", 404), ("signatory", 404), ("viewer", 404), ("finance", 403)],
)
def test_nobody_else_has_it_tried_again(
    client: Client, world: World, who: str, status: int
) -> None:
    engagement, _ = not_made(world)
    [failure] = DocumentFailure.objects.all()
    client.force_login(getattr(world, who))
    url = reverse("document-again", args=[engagement.reference, failure.pk])
    assert client.post(url).status_code == status
    if who == "finance":
        assert "Try again" not in page_of(client, engagement)
