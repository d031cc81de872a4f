"""Every route of the portal: nobody sees another customer's engagement, nobody acts out of turn."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from tests.engagements import story as stories
from tests.engagements.story import Story

pytestmark = pytest.mark.django_db


@pytest.fixture
def story() -> Story:
    return stories.met()


# 286 is the page of a run that is over: htmx takes it and stops asking.
SHOWN = {200, 286}


def pages(story: Story) -> list[str]:
    """Every address of the portal that is read, for this story's engagement."""
    run = story.engagement.runs.get()
    ref, number = story.reference, story.contract.number
    return [
        reverse("portal-engagement", args=[ref]),
        reverse("portal-invoices", args=[ref]),
        reverse("portal-contract", args=[ref]),
        reverse("portal-contract-version", args=[ref, number]),
        reverse("portal-handover", args=[ref]),
        reverse("portal-run", args=[ref, run.pk]),
        reverse("portal-run-live", args=[ref, run.pk]),
        reverse("portal-run-chart", args=[ref, run.pk, "workloads", "dark"]),
        *(
            reverse("portal-run-file", args=[ref, run.pk, name])
            for name in ("record.json", "benchmark.json", "candidate")
        ),
    ]


def acts(story: Story) -> list[str]:
    """Every address of the portal that is posted to."""
    ref, number = story.reference, story.contract.number
    return [
        reverse("portal-contract-accept", args=[ref, number]),
        reverse("portal-contract-decline", args=[ref, number]),
        reverse("portal-handover", args=[ref]),
    ]


def test_the_customers_people_open_every_page(client: Client, story: Story) -> None:
    for person in (story.signatory, story.viewer):
        client.force_login(person)
        for url in [reverse("portal"), *pages(story)]:
            assert client.get(url).status_code in SHOWN, url


def test_other_customers_get_404_on_every_page(client: Client, story: Story) -> None:
    client.force_login(story.stranger)
    for url in pages(story):
        assert client.get(url).status_code == 404, url
    for url in acts(story):
        assert client.post(url, {"agreed": "on"}).status_code == 404, url


def test_anonymous_requests_are_redirected_to_sign_in(client: Client, story: Story) -> None:
    sign_in = reverse("account_login")
    for url in [reverse("portal"), *pages(story)]:
        assert client.get(url)["Location"] == f"{sign_in}?next={url}"
    for url in acts(story):
        assert client.post(url)["Location"].startswith(sign_in)


def test_staff_read_the_portal_and_cannot_act(client: Client, story: Story) -> None:
    for person in (story.consultant, story.finance, story.admin):
        client.force_login(person)
        for url in [reverse("portal"), *pages(story)]:
            assert client.get(url).status_code in SHOWN, url
        for url in acts(story):
            assert client.post(url, {"agreed": "on"}).status_code == 403, url


def test_a_viewer_cannot_bind_the_customer(client: Client, story: Story) -> None:
    client.force_login(story.viewer)
    for url in acts(story):
        response = client.post(url, {"agreed": "on", "reason": "no", "typed_name": "Nils"})
        assert response.status_code == 403, url


def test_a_run_of_another_engagement_is_404(client: Client, story: Story) -> None:
    run = story.engagement.runs.get()
    other = stories.Engagement.objects.exclude(pk=story.engagement.pk).get()
    client.force_login(story.consultant)
    assert client.get(reverse("portal-run", args=[other.reference, run.pk])).status_code == 404


def test_a_trial_is_not_shown_to_the_customer(client: Client) -> None:
    story = stories.underway()
    trial = stories.measured(story, 1.7, purpose="trial")
    for person in (story.viewer, story.consultant):
        client.force_login(person)
        for name in ("portal-run", "portal-run-live"):
            assert client.get(reverse(name, args=[story.reference, trial.pk])).status_code == 404
        page = client.get(reverse("portal-engagement", args=[story.reference]))
        main = page.content.decode().partition("<main")[2].partition("</main>")[0]
        assert "1.70×" not in main
        assert str(reverse("portal-run", args=[story.reference, trial.pk])) not in main


def test_the_list_has_only_the_customers_engagements(client: Client, story: Story) -> None:
    client.force_login(story.viewer)
    text = client.get(reverse("portal")).content.decode()
    assert story.engagement.title in text
    assert "secret work" not in text


def test_unknown_pictures_and_files_are_not_found(client: Client, story: Story) -> None:
    client.force_login(story.viewer)
    base = reverse("portal-run", args=[story.reference, story.engagement.runs.get().pk])
    for tail in ("charts/workloads-pink.svg", "charts/secrets-dark.svg", "settings.py"):
        assert client.get(base + tail).status_code == 404
