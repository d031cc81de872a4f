"""The contract in the portal: shown as sealed, accepted or declined by its digest."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils.html import escape

from engagements.contracts.models import ContractVersion, Party
from engagements.engagement.models import Stage
from tests.engagements import story as stories
from tests.engagements.sessions import sign_in
from tests.engagements.story import Story

pytestmark = pytest.mark.django_db


@pytest.fixture
def story() -> Story:
    return stories.on_offer()


def read(client: Client, story: Story) -> str:
    return client.get(reverse("portal-contract", args=[story.reference])).content.decode()


def sign(client: Client, story: Story, **changed: str) -> Any:
    contract = story.contract
    data = {"typed_name": "Petra Signatory", "agreed": "on", "digest": contract.digest} | changed
    return client.post(
        reverse("portal-contract-accept", args=[story.reference, contract.number]), data
    )


def test_the_page_shows_the_sealed_terms(client: Client, story: Story) -> None:
    assert story.contract.canonical is not None
    terms = json.loads(bytes(story.contract.canonical))
    # The engagement's own words change later; what was sealed does not.
    story.engagement.workload = "Something else entirely"
    story.engagement.save(update_fields=["workload"])
    client.force_login(story.viewer)
    page = read(client, story)
    assert "Something else entirely" not in page
    text = terms["text"]
    shown = [*text["summary"]["paragraphs"]]
    shown += [paragraph for each in text["clauses"] for paragraph in each["paragraphs"]]
    shown += [cell for each in text["schedules"] for row in each["rows"] for cell in row]
    assert [each for each in shown if escape(each) not in page] == []
    assert story.contract.digest in page


def test_a_draft_is_never_shown(client: Client) -> None:
    story = stories.delivered()
    sign_in(client, story.signatory)
    assert client.get(reverse("portal-contract", args=[story.reference])).status_code == 404
    client.force_login(story.consultant)
    assert client.get(reverse("portal-contract", args=[story.reference])).status_code == 404


def test_a_signatory_accepts(client: Client, story: Story) -> None:
    sign_in(client, story.signatory)
    response = sign(client, story)
    assert response.status_code == 302
    acceptance = story.contract.acceptances.get(party=Party.CUSTOMER)
    assert (acceptance.typed_name, acceptance.user) == ("Petra Signatory", story.signatory)
    assert 'id="signing"' not in read(client, story)


def test_another_digest_is_declined_and_input_kept(client: Client, story: Story) -> None:
    sign_in(client, story.signatory)
    response = sign(client, story, digest="sha256:" + "0" * 64)
    assert response.status_code == 422
    page = response.content.decode()
    assert 'value="Petra Signatory"' in page
    assert not story.contract.acceptances.exists()


def test_name_and_consent_are_both_required(client: Client, story: Story) -> None:
    sign_in(client, story.signatory)
    for missing in ("typed_name", "agreed"):
        response = sign(client, story, **{missing: ""})
        assert response.status_code == 422
        assert 'aria-invalid="true"' in response.content.decode()
    assert not story.contract.acceptances.exists()


def test_a_viewer_sees_the_names_of_the_signatories(client: Client, story: Story) -> None:
    client.force_login(story.viewer)
    page = read(client, story)
    assert story.signatory.name in page
    assert 'method="post"' not in page[page.index('id="main"') :]


def test_only_the_named_signatory_may_sign(client: Client) -> None:
    story = stories.delivered()
    other = stories.member(story.customer, "Olga Other", "signatory")
    stories.offered(story, signatory=story.signatory)
    for person, signs in ((story.signatory, True), (other, False)):
        sign_in(client, person)
        page = read(client, story)
        assert ('id="signing"' in page) == signs
    sign_in(client, other)
    refused = sign(client, story)
    assert refused.status_code == 403
    assert not story.contract.acceptances.exists()
    sign_in(client, story.signatory)
    assert sign(client, story).status_code == 302


def test_declining_requires_a_reason(client: Client, story: Story) -> None:
    sign_in(client, story.signatory)
    url = reverse("portal-contract-decline", args=[story.reference, story.contract.number])
    assert client.post(url, {"reason": " "}).status_code == 422
    response = client.post(url, {"reason": "Too short a time-box."})
    assert response.status_code == 302
    contract = ContractVersion.objects.get()
    assert contract.state == ContractVersion.State.DECLINED
    story.engagement.refresh_from_db()
    assert story.engagement.stage == Stage.AUDITED


def test_declining_after_accepting_is_refused_in_the_form(client: Client, story: Story) -> None:
    stories.accept(story, Party.CUSTOMER)
    sign_in(client, story.signatory)
    url = reverse("portal-contract-decline", args=[story.reference, story.contract.number])
    assert client.post(url, {"reason": "Changed our mind"}).status_code == 422


def test_a_signed_contract_shows_both_signatures(client: Client, story: Story) -> None:
    stories.active(story)
    client.force_login(story.viewer)
    page = read(client, story)
    assert "<strong>Petra Signatory</strong>" in page
    assert "<strong>Carla Consultant</strong>" in page


def test_another_number_is_not_found(client: Client, story: Story) -> None:
    client.force_login(story.viewer)
    url = reverse("portal-contract-version", args=[story.reference, 9])
    assert client.get(url).status_code == 404
