"""One part of the site after another fails; the work goes through, once, and the site says so."""

from __future__ import annotations

import pytest
from django.conf import settings

from engagements.documents.models import DocumentFailure
from engagements.notifications.models import Mail
from engagements.settlements.models import Settlement
from tests import referee_key
from tests.consultancy.faults.cases import CASES
from tests.consultancy.faults.site import Site, until, url
from tests.consultancy.faults.steps import (
    Work,
    as_after_a_day,
    check_everything,
    issue_due_documents,
    mails_of,
)
from tests.engagements import story as stories

pytestmark = pytest.mark.django_db(transaction=True)
UNAVAILABLE = 503
SEEN_OTHER = 302


def test_the_table_has_every_fault() -> None:
    table = (settings.BASE_DIR / "consultancy" / "FAULTS.md").read_text()
    rows = [line.split(" | ") for line in table.splitlines() if line.startswith("| ")]
    listed = {(row[0].strip("| "), how) for row in rows for how in row[1].split(", ")}
    assert listed - {("Part", "Fault")} == {(case.part, case.how) for case in CASES}


def begun(site: Site) -> Work:
    """An engagement in force, with nothing left to render."""
    opened = stories.opened()
    site.sign_in(opened.consultant, opened.finance, opened.second)
    work = Work.begin(site, opened, "Faults")
    issue_due_documents()
    return work


def test_an_invoice_is_issued_and_mailed_once(site: Site) -> None:
    work, parts = begun(site), site.parts
    parts["database"].fail("away")
    assert work.issue_invoice() == UNAVAILABLE
    assert site.health()["database"] == "down"
    problem = site.get(url("api-engagements-list"), by=work.story.finance)
    assert (problem.status_code, problem.json()["code"]) == (UNAVAILABLE, "unavailable")
    parts["database"].back()

    parts["broker"].fail("full")
    assert work.issue_invoice() == SEEN_OTHER
    assert site.metrics()["twofold_part_up broker_writes"] == 0
    parts["broker"].back()

    parts["authority"].fail("full")
    until(DocumentFailure.objects.exists, doing=site.sweep)
    retry = url("document-again", work.story.reference, DocumentFailure.objects.get().pk)
    page = site.get(url("engagement", work.story.reference), by=work.story.consultant)
    assert f'action="{retry}"' in page.text
    parts["authority"].back()

    parts["mail"].fail("full")
    unsent = Mail.objects.filter(sent_at=None)
    until(unsent.filter(document__kind="invoice").exclude(failure="").exists, doing=site.sweep)
    assert site.metrics()["twofold_mails_failing"] > 0
    parts["mail"].back()
    as_after_a_day()
    until(lambda: not unsent.exists(), doing=site.sweep)

    (wanted,) = mails_of(work.documents.get(kind="invoice"))
    assert parts.mailbox.ids().count(wanted) == 1
    check_everything()


def test_a_run_is_measured_and_settled_once(site: Site) -> None:
    referee_key.register()
    work, parts = begun(site), site.parts
    parts["broker"].fail("away")
    assert work.request_run() == SEEN_OTHER
    assert site.health()["broker"] == "down"
    parts["broker"].back()
    until(lambda: work.runs.get().run.progress, doing=site.sweep)

    parts["bucket"].fail("full")
    work.hand_in()
    until(lambda: "its record is not stored yet" in site.log("worker"))
    parts["bucket"].back()
    until(lambda: work.runs.get().concluded_at, doing=site.sweep)
    assert work.runs.get().run.attempt == 1

    parts["database"].fail("full")
    assert work.step("approve") == UNAVAILABLE
    parts["database"].back()
    assert work.step("approve") == work.step("approve") == SEEN_OTHER
    assert work.settlement.state == Settlement.State.APPROVED
    check_everything()
