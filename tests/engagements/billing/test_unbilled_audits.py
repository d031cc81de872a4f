"""An audit without a contract is listed for finance until its fee is waived."""

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
def rejected(world: World) -> Audit:
    """Delivered with no check passed."""
    audit = world.answer(world.auditing(), *["fail"] * 6)
    return audits.deliver(audit=audit, by=world.consultant)


def unbilled(engagement: Engagement) -> int:
    return int(positions_of(engagement, "EUR").balance(chart.AUDIT_UNBILLED))


def test_it_is_listed_until_it_is_owed_no_more_and_leaves_the_ledger_once(
    world: World, rejected: Audit
) -> None:
    engagement = fresh(rejected.engagement)
    assert engagement.stage == "declined"
    assert (list(unbilled_audits()), unbilled(engagement)) == ([rejected], 6000)
    for _ in range(2):
        audits.waive(audit=rejected, reason="Billed outside as 2026-17.", by=world.finance)
    assert (list(unbilled_audits()), unbilled(engagement)) == ([], 0)
    event = engagement.events.get(verb="audit.waived")
    assert (event.actor, event.for_customer) == (world.finance, False)


def test_finance_alone_waives_it_with_a_reason(world: World, rejected: Audit) -> None:
    for by, reason in (
        (world.consultant, "Given up."),
        (world.admin, "Given up."),
        (world.signatory, "Given up."),
        (world.finance, " "),
    ):
        with pytest.raises(ApplicationError):
            audits.waive(audit=rejected, reason=reason, by=by)


def test_one_that_led_to_a_contract_is_billed_by_it(world: World) -> None:
    audit = world.active().engagement.audit
    assert not unbilled_audits().exists()
    with pytest.raises(ApplicationError):
        audits.waive(audit=audit, reason="Given up.", by=world.finance)


def test_the_page_shows_it_and_nobody_else_gets_there(
    client: Client, world: World, rejected: Audit
) -> None:
    url = reverse("audit-waive", args=[rejected.engagement.reference])
    for person, status in ((world.signatory, 404), (world.stranger, 404), (world.admin, 403)):
        client.force_login(person)
        assert client.post(url, {"reason": "Given up."}).status_code == status
    client.force_login(world.finance)
    assert url in client.get(reverse("to-bill")).content.decode()
    assert client.post(url, {"reason": "Given up."})["Location"] == reverse("to-bill")
    assert url not in client.get(reverse("to-bill")).content.decode()
