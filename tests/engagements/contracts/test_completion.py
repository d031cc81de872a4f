"""The certificate of completion lists the evidence of both signatures."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime

from django.test import Client
from django.urls import reverse
from pypdf import PdfReader

from engagements import documents
from engagements.contracts import offers
from engagements.contracts.acceptances import CONSENT
from engagements.contracts.models import Party
from engagements.documents import formatting
from tests.engagements.document_story import Story
from tests.engagements.pdf_text import attached, words
from tests.engagements.sessions import sign_in
from tests.engagements.world import World
from tests.errors import declined

ENTERED = datetime(2026, 11, 23, 12, 30, tzinfo=UTC)


def test_the_certificate_lists_the_evidence_of_both_signatures(
    story: Story, issued: Callable[[str, str], PdfReader]
) -> None:
    story.audited()
    contract = story.offered()
    offers.note_viewed(contract=contract, by=story.sam)
    contract = story.accepted(contract)
    paper = issued("completion_certificate", f"contract:{contract.pk}")
    text = words(paper)
    for each in contract.acceptances.all():
        for shown in (
            each.typed_name,
            each.user.email,
            formatting.moment(each.accepted_at),
            CONSENT,
            str(each.address),
            f"{each.user} accepted" if each.party == Party.CUSTOMER else each.digest,
        ):
            assert " ".join(shown.split()) in text
    assert "viewed version 1" in text
    evidence = json.loads(attached(paper)["signatures.json"])
    assert [each["digest"] for each in evidence["signatures"]] == [contract.digest] * 2


def test_the_second_factor_and_the_browser_are_kept(world: World) -> None:
    contract = world.offered()
    world.accept(
        contract, Party.CUSTOMER, user_agent="Firefox " + "x" * 500, second_factor_at=ENTERED
    )
    signed = contract.acceptances.get()
    assert (signed.second_factor_at, signed.consent) == (ENTERED, CONSENT)
    assert signed.user_agent.startswith("Firefox x")
    assert len(signed.user_agent) == 400


def test_the_page_keeps_the_browser(client: Client, world: World) -> None:
    contract = world.offered()
    sign_in(client, world.signatory)
    data = {"typed_name": world.signatory.name, "agreed": "on", "digest": contract.digest}
    client.post(
        reverse("portal-contract-accept", args=[contract.engagement.reference, 1]),
        data,
        headers={"User-Agent": "Lynx/2.9"},
    )
    assert contract.acceptances.get().user_agent == "Lynx/2.9"


def test_before_both_have_signed_there_is_no_certificate(world: World) -> None:
    contract = world.offered()
    world.accept(contract, Party.CUSTOMER)
    with declined("contract.not_accepted"):
        documents.issue(kind="completion_certificate", subject=f"contract:{contract.pk}")


def test_the_customer_opens_the_certificate_and_a_stranger_does_not(
    client: Client, world: World
) -> None:
    contract = world.active()
    document = documents.issue(kind="completion_certificate", subject=f"contract:{contract.pk}")
    for who, status in ((world.viewer, 200), (world.consultant, 200), (world.stranger, 404)):
        client.force_login(who)
        assert client.get(reverse("document", args=[document.pk])).status_code == status
