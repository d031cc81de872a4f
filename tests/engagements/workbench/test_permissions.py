"""Every route of the consultants' pages: strangers get 404, the wrong role 403, nobody a 500."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from engagements.documents.models import Document
from tests.engagements import story as stories
from tests.engagements.story import Story

pytestmark = pytest.mark.django_db


@pytest.fixture
def story() -> Story:
    return stories.met()


def pages(story: Story) -> list[str]:
    """Every address that is read by the house alone."""
    ref, run = story.reference, story.engagement.runs.get()
    return [
        reverse("board"),
        reverse("engagement-new"),
        reverse("engagement", args=[ref]),
        reverse("engagement-audit", args=[ref]),
        reverse("engagement-contract", args=[ref]),
        reverse("run-request", args=[ref]),
        reverse("run", args=[ref, run.pk]),
    ]


def acts(story: Story) -> list[str]:
    """Every address that is posted to."""
    ref = story.reference
    names = (
        "engagement-close",
        "engagement-cancel",
        "audit-start",
        "audit-deliver",
        "audit-draft",
        "contract-terms",
        "contract-benchmark",
        "contract-offer",
        "contract-accept",
        "contract-withdraw",
        "run-request",
    )
    return [
        reverse("engagement-new"),
        *(reverse(name, args=[ref]) for name in names),
        reverse("audit-finding", args=[ref, "hot"]),
        reverse("audit-override", args=[ref, "hot"]),
    ]


def measured_files(story: Story) -> list[str]:
    """What belongs to a run and is opened by both sides."""
    ref, run = story.reference, story.engagement.runs.get()
    return [
        reverse("run-record", args=[ref, run.pk]),
        reverse("run-picture", args=[ref, run.pk, "workloads", "dark"]),
    ]


def test_all_staff_read_every_page(client: Client, story: Story) -> None:
    for person in (story.consultant, story.finance, story.admin):
        client.force_login(person)
        for url in [*pages(story), *measured_files(story)]:
            assert client.get(url).status_code == 200, url


def test_customers_get_404_on_every_staff_page(client: Client, story: Story) -> None:
    for person in (story.signatory, story.stranger):
        client.force_login(person)
        for url in pages(story):
            assert client.get(url).status_code == 404, url
        for url in acts(story):
            assert client.post(url, {}).status_code == 404, url


def test_finance_gets_403_on_every_action(client: Client, story: Story) -> None:
    client.force_login(story.finance)
    for url in acts(story):
        assert client.post(url, {}).status_code == 403, url


def test_finance_sees_no_forbidden_button(client: Client, story: Story) -> None:
    client.force_login(story.finance)
    for url in pages(story):
        main = client.get(url).content.decode().partition("<main")[2]
        assert 'method="post"' not in main, url


def test_anonymous_requests_are_redirected_to_sign_in(client: Client, story: Story) -> None:
    sign_in = reverse("account_login")
    for url in [*pages(story), *measured_files(story)]:
        assert client.get(url)["Location"] == f"{sign_in}?next={url}", url
    for url in acts(story):
        assert client.post(url)["Location"].startswith(sign_in), url


def test_actions_decline_get(client: Client, story: Story) -> None:
    client.force_login(story.consultant)
    both = {reverse("engagement-new"), reverse("run-request", args=[story.reference])}
    for url in set(acts(story)) - both:
        assert client.get(url).status_code == 405, url


def test_a_wrong_reference_is_404(client: Client, story: Story) -> None:
    client.force_login(story.consultant)
    run = story.engagement.runs.get()
    other = "TF-1999-0001"
    assert client.get(reverse("engagement", args=[other])).status_code == 404
    assert client.get(reverse("run", args=[other, run.pk])).status_code == 404
    assert client.get(reverse("run", args=[story.reference, run.pk + 1])).status_code == 404
    assert client.post(reverse("audit-finding", args=[story.reference, "warm"])).status_code == 404
    contract = reverse("engagement-contract", args=[story.reference])
    assert client.get(f"{contract}?version=99").status_code == 404


def test_a_stranger_opens_neither_record_nor_picture_nor_document(
    client: Client, story: Story
) -> None:
    document = stored_document(story)
    client.force_login(story.stranger)
    for url in [*measured_files(story), reverse("document", args=[document.pk])]:
        assert client.get(url).status_code == 404, url


def test_an_internal_document_is_hidden_from_the_customer(client: Client, story: Story) -> None:
    document = stored_document(story, for_customer=False)
    client.force_login(story.signatory)
    assert client.get(reverse("document", args=[document.pk])).status_code == 404


def test_a_document_is_served_as_stored(client: Client, story: Story) -> None:
    document = stored_document(story)
    url = reverse("document", args=[document.pk])
    for person in (story.signatory, story.finance):
        client.force_login(person)
        response = client.get(url)
        assert response.content == b"%PDF-1.7 as issued"
        assert response["Content-Type"] == "application/pdf"
        assert response["X-Content-Type-Options"] == "nosniff"
        assert response["Content-Disposition"] == 'inline; filename="audit.pdf"'
    assert client.get(f"{url}?download=yes")["Content-Disposition"].startswith("attachment")


def test_a_cached_document_is_not_sent_again(client: Client, story: Story) -> None:
    url = reverse("document", args=[stored_document(story).pk])
    client.force_login(story.consultant)
    etag = client.get(url)["ETag"]
    answer = client.get(url, headers={"If-None-Match": etag})
    assert (answer.status_code, answer.content) == (304, b"")


def stored_document(story: Story, *, for_customer: bool = True) -> Document:
    content = b"%PDF-1.7 as issued"
    return Document.objects.create(
        engagement=story.engagement,
        kind=Document.Kind.AUDIT_REPORT,
        subject=f"test:{for_customer}",
        title="Audit report",
        filename="audit.pdf",
        content=content,
        size_bytes=len(content),
        digest="sha256:" + "ab" * 32,
        for_customer=for_customer,
    )
