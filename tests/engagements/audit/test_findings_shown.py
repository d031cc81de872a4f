"""Findings where they are read: in the report, in pictures, and by the customer."""

from __future__ import annotations

import pytest
from django.test import Client

from engagements.audit.models import Audit
from engagements.evidence.models import Evidence
from tests.engagements import evidence_world
from tests.engagements.workbench.test_profile_findings import delivered, put, url, words
from tests.engagements.world import World

pytestmark = pytest.mark.django_db


def test_the_report_is_a_page_too_and_a_delivered_one_is_the_customers(
    signed_in: Client, audit: Audit, world: World
) -> None:
    put(signed_in, audit, "operator", choice="family:attention")
    report = url("audit-report", audit.engagement)
    page = words(signed_in.get(report).content.decode())
    assert "not delivered yet" in page
    assert "Attention takes 73.7% of your time" in page
    digest = Evidence.objects.get(name=evidence_world.DECODE).digest
    assert digest in signed_in.get(report).content.decode()

    theirs = url("portal-audit", audit.engagement)
    picture = url("audit-picture", audit.engagement, "hot", "dark")
    signed_in.force_login(world.viewer)
    assert signed_in.get(report).status_code == 404
    assert signed_in.get(theirs).status_code == 404
    assert signed_in.get(picture).status_code == 404
    delivered(audit, world)
    assert "Attention takes 73.7% of your time" in words(signed_in.get(theirs).content.decode())
    assert signed_in.get(picture).status_code == 200
    signed_in.force_login(world.stranger)
    assert {signed_in.get(one).status_code for one in (theirs, picture, report)} == {404}


def test_pictures_of_findings_are_drawn_once_and_only_where_there_is_one(
    signed_in: Client, audit: Audit
) -> None:
    put(signed_in, audit, "operator", choice="family:attention")
    for check in ("hot", "stable", "worth"):
        drawn = signed_in.get(url("audit-picture", audit.engagement, check, "light"))
        assert drawn["Content-Type"].startswith("image/svg+xml")
    again = signed_in.get(
        url("audit-picture", audit.engagement, "worth", "light"),
        headers={"If-None-Match": drawn["ETag"]},
    )
    assert again.status_code == 304
    for check, theme in [("off_the_shelf", "light"), ("hot", "pink"), ("weather", "light")]:
        assert (
            signed_in.get(url("audit-picture", audit.engagement, check, theme)).status_code == 404
        )


def test_the_customer_reads_value_and_sentence_first_and_the_paragraph_in_the_report(
    signed_in: Client, audit: Audit, world: World
) -> None:
    put(signed_in, audit, "operator", choice="family:attention")
    delivered(audit, world)
    signed_in.force_login(world.viewer)
    shown = signed_in.get(url("portal-engagement", audit.engagement)).content.decode()
    page = words(shown)
    assert "73.7%. Attention takes 73.7% of your time" in page
    assert "the union of its intervals" not in page
    assert url("portal-audit", audit.engagement) in shown
    report = words(signed_in.get(url("portal-audit", audit.engagement)).content.decode())
    assert "the union of its intervals" in report
