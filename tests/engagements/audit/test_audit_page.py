"""The audit's page: started, answered check by check, overridden, delivered."""

from __future__ import annotations

import re

import pytest
from django.test import Client
from django.urls import reverse

from engagements.audit.models import Audit, FindingOutcome
from engagements.engagement.models import Engagement, Stage
from tests.engagements.world import World, fresh

pytestmark = pytest.mark.django_db


def url(name: str, engagement: Engagement, *more: str) -> str:
    return reverse(name, args=[engagement.reference, *more])


def test_the_audit_starts_at_its_price(signed_in: Client, world: World) -> None:
    engagement = world.scoping()
    signed_in.post(url("audit-start", engagement), {"cost": "6.000,00", "currency": "eur"})
    audit = Audit.objects.get()
    assert (str(audit.cost), audit.currency) == ("6000.000", "EUR")
    assert fresh(engagement).stage == Stage.AUDITING


@pytest.mark.parametrize(
    ("cost", "currency", "field"),
    [
        ("6.000", "EUR", "cost"),
        ("", "EUR", "cost"),
        ("6000", "XXQ", "currency"),
        ("10.5", "JPY", "cost"),
    ],
)
def test_a_price_that_could_be_misread_is_asked_for_again(
    signed_in: Client, world: World, cost: str, currency: str, field: str
) -> None:
    engagement = world.scoping()
    response = signed_in.post(url("audit-start", engagement), {"cost": cost, "currency": currency})
    assert response.status_code == 422
    assert set(response.context["starting"].errors) == {field}
    assert not Audit.objects.exists()


def test_a_check_is_answered_by_hand(signed_in: Client, world: World) -> None:
    audit = world.auditing()
    data = {"outcome": "pass", "value": "38", "rationale": "Seen in the profile."}
    response = signed_in.post(url("audit-finding", audit.engagement, "hot"), data)
    assert response["Location"].endswith("#check-hot")
    finding = audit.findings.get(check_name="hot")
    assert (finding.outcome, finding.value) == ("pass", "38%")


def test_an_answer_by_htmx_brings_back_the_check_and_the_tally_alone(
    signed_in: Client, world: World
) -> None:
    audit = world.auditing()
    response = signed_in.post(
        url("audit-finding", audit.engagement, "hot"),
        {"outcome": "pass", "value": "38", "rationale": "Seen."},
        headers={"HX-Request": "true"},
    )
    page = response.content.decode()
    assert 'id="check-hot"' in page
    assert 'id="check-stable"' not in page
    assert 'hx-swap-oob="true"' in page


@pytest.mark.parametrize("headers", [{}, {"HX-Request": "true"}])
def test_a_refused_answer_keeps_what_was_typed(
    signed_in: Client, world: World, headers: dict[str, str]
) -> None:
    audit = world.auditing()
    data = {"outcome": "pass", "value": "3%", "rationale": "Typed at length."}
    response = signed_in.post(url("audit-finding", audit.engagement, "hot"), data, headers=headers)
    page = response.content.decode()
    assert response.status_code == 422
    assert "Typed at length." in page
    assert audit.findings.get(check_name="hot").found_at is None


def test_an_override_is_shown_beside_the_finding(signed_in: Client, world: World) -> None:
    audit = world.answer(world.auditing(), *["pass"] * 6)
    page_url = url("audit-override", audit.engagement, "stable")
    assert signed_in.post(page_url, {"outcome": "fail", "reason": ""}).status_code == 422
    signed_in.post(page_url, {"outcome": "fail", "reason": "The product changes next month."})
    decide = url("audit-override-decide", audit.engagement, "stable")
    assert signed_in.post(decide, {"expected": "fail"}).status_code == 422
    signed_in.force_login(world.admin)
    signed_in.post(decide, {"expected": "fail"})
    assert audit.findings.get(check_name="stable").effective_outcome == FindingOutcome.FAIL
    page = signed_in.get(url("engagement-audit", audit.engagement)).content.decode()
    assert "The product changes next month." in page


def test_an_outcome_is_not_overridden_by_itself(signed_in: Client, world: World) -> None:
    audit = world.answer(world.auditing(), *["pass"] * 6)
    data = {"outcome": "pass", "reason": "Because."}
    response = signed_in.post(url("audit-override", audit.engagement, "hot"), data)
    assert response.status_code == 422


def test_an_audit_with_open_checks_is_not_delivered(signed_in: Client, world: World) -> None:
    audit = world.auditing()
    response = signed_in.post(url("audit-deliver", audit.engagement))
    assert response.status_code == 422
    assert fresh(audit.engagement).stage == Stage.AUDITING


def test_an_audit_is_delivered_as_it_was_shown(signed_in: Client, world: World) -> None:
    audit = world.answer(world.auditing(), *["pass"] * 4, "unknown", "unknown")
    shown = signed_in.get(url("engagement-audit", audit.engagement)).content.decode()
    [seen] = re.findall(r'name="expected_outcomes" value="([^"]+)"', shown)
    world.answer(audit, "fail", *["pass"] * 3, "unknown", "unknown")
    late = signed_in.post(url("audit-deliver", audit.engagement), {"expected_outcomes": seen})
    assert late.status_code == 422
    assert fresh(audit.engagement).stage == Stage.AUDITING
    [seen] = re.findall(r'name="expected_outcomes" value="([^"]+)"', late.content.decode())
    signed_in.post(url("audit-deliver", audit.engagement), {"expected_outcomes": seen})
    assert fresh(audit.engagement).stage == Stage.REDIRECTED


def test_a_delivered_audit_is_read_only(signed_in: Client, world: World) -> None:
    audit = world.answer(world.auditing(), *["pass"] * 5, "unknown")
    signed_in.post(url("audit-deliver", audit.engagement))
    assert fresh(audit.engagement).stage == Stage.AUDITED
    page = signed_in.get(url("engagement-audit", audit.engagement)).content.decode()
    assert 'method="post"' not in page.partition("<main")[2]
    data = {"outcome": "fail", "value": "3%", "rationale": "Late."}
    late = signed_in.post(url("audit-finding", audit.engagement, "hot"), data)
    assert late.status_code == 422


def test_an_audit_that_is_not_started_has_no_findings_to_answer(
    signed_in: Client, world: World
) -> None:
    engagement = world.scoping()
    assert signed_in.post(url("audit-deliver", engagement)).status_code == 404
    assert signed_in.post(url("audit-finding", engagement, "hot")).status_code == 404


def test_findings_that_do_not_match_the_checks_are_an_error(
    signed_in: Client, world: World
) -> None:
    audit = world.auditing()
    audit.findings.filter(check_name="worth").delete()
    with pytest.raises(ValueError, match="zip"):
        signed_in.get(url("engagement-audit", audit.engagement))
