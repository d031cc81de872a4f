"""An audit that leads to no contract is earned all the same: finance sees it until it is not."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from engagements.audit import services as audits
from engagements.audit.models import Audit
from engagements.audit.queries import unbilled_audits
from engagements.common.errors import ApplicationError
from engagements.engagement.models import Engagement
from engagements.ledger import chart
from engagements.ledger.positions import positions_of
from tests.engagements.world import World, fresh


@pytest.fixture
def declined(world: World) -> Audit:
    """Delivered with no check passed."""
    audit = world.answer(world.auditing(), *["fail"] * 6)
    return audits.deliver(audit=audit, by=world.consultant)


def unbilled(engagement: Engagement) -> int:
    return int(positions_of(engagement, "EUR").balance(chart.AUDIT_UNBILLED))


def test_it_is_listed_until_it_is_owed_no_more_and_leaves_the_ledger_once(
    world: World, declined: Audit
) -> None:
    engagement = fresh(declined.engagement)
    assert engagement.stage == "declined"
    assert (list(unbilled_audits()), unbilled(engagement)) == ([declined], 6000)
    for _ in range(2):
        audits.waive(audit=declined, reason="Billed outside as 2026-17.", by=world.finance)
    assert (list(unbilled_audits()), unbilled(engagement)) == ([], 0)
    event = engagement.events.get(verb="audit.waived")
    assert (event.actor, event.for_customer) == (world.finance, False)


def test_finance_alone_waives_it_with_a_reason(world: World, declined: Audit) -> None:
    for by in (world.consultant, world.admin, world.signatory):
        with pytest.raises(ApplicationError, match="finance"):
            audits.waive(audit=declined, reason="Given up.", by=by)
    with pytest.raises(ApplicationError, match="owed no more"):
        audits.waive(audit=declined, reason=" ", by=world.finance)


def test_one_that_led_to_a_contract_is_billed_by_it(world: World) -> None:
    audit = world.active().engagement.audit
    assert not unbilled_audits().exists()
    with pytest.raises(ApplicationError, match="to be waived"):
        audits.waive(audit=audit, reason="Given up.", by=world.finance)


def test_the_page_shows_it_and_nobody_else_gets_there(
    client: Client, world: World, declined: Audit
) -> None:
    url = reverse("audit-waive", args=[declined.engagement.reference])
    for person, status in ((world.signatory, 404), (world.stranger, 404), (world.admin, 403)):
        client.force_login(person)
        assert client.post(url, {"reason": "Given up."}).status_code == status
    client.force_login(world.finance)
    assert url in client.get(reverse("to-bill")).content.decode()
    ended = reverse("engagement", args=[declined.engagement.reference])
    assert "Its cost is owed still" in client.get(ended).content.decode()
    assert client.post(url, {"reason": "Given up."})["Location"] == reverse("to-bill")
    assert url not in client.get(reverse("to-bill")).content.decode()
    assert "Its cost is owed still" not in client.get(ended).content.decode()
