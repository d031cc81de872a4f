"""What each role does from end to end, with the clicks and seconds that it takes, as a table.

`make soak ARGS="-s -k test_scripts"` prints the table. No step needs the admin site or a terminal.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Page, expect

from consultancy.demo.users import DemoUsers
from engagements.contracts.models import ContractVersion, Party
from engagements.disputes.models import MeasurementDispute
from engagements.ledger.period_models import Period
from engagements.people.models import User
from engagements.settlements.models import Settlement
from tests.browser import page_actions
from tests.browser.conftest import Window
from tests.browser.test_first_days import (
    EMAIL,
    PASSWORD,
    accept_invitation,
    add_customer,
)
from tests.browser.test_paths import draft_and_offer, sign
from tests.engagements import story
from tests.engagements.billing.test_bank_imports import statement
from tests.engagements.story import SCENARIO

pytestmark = [
    pytest.mark.browser,
    pytest.mark.soak,
    pytest.mark.timeout(300),
    pytest.mark.django_db(transaction=True),
]

# A real click or tap; keys and labels' second events do not count.
COUNT = """addEventListener("pointerdown", (event) => {
  if (event.isTrusted) sessionStorage.clicks = 1 + Number(sessionStorage.clicks || 0);
}, true);"""


@dataclass
class Script:
    """The steps of a role: name, clicks, seconds."""

    role: str
    steps: list[tuple[str, int, float]] = field(default_factory=list)

    def watch(self, *pages: Page) -> None:
        """Count the clicks in these windows from now on."""
        for page in pages:
            page.context.add_init_script(COUNT)

    @contextmanager
    def step(self, name: str, *pages: Page) -> Iterator[None]:
        """Time a step, and count the clicks of its windows."""
        before, started = sum(map(clicks, pages)), time.monotonic()
        yield
        self.steps.append((name, sum(map(clicks, pages)) - before, time.monotonic() - started))

    def report(self) -> None:
        """Print the table, and expect each step to have taken at least a click."""
        for name, count, seconds in self.steps:
            print(f"\n{self.role:<12}{name:<34}{count:>4} clicks{seconds:>7.1f} s", end="")
        total = sum(count for _, count, _ in self.steps)
        print(f"\n{self.role:<12}{'total':<34}{total:>4} clicks")
        assert all(count for _, count, _ in self.steps)


def clicks(page: Page) -> int:
    if not page.url.startswith("http"):
        return 0
    return int(page.evaluate("() => Number(sessionStorage.clicks || 0)"))


def finish(page: Page) -> None:
    """Enter the password where a binding step asks for it, and expect the step done."""
    if page_actions.form_to(page, "account_reauthenticate").count():
        page_actions.prove(page, PASSWORD)
    page_actions.expect_done(page)


def with_password(*people: User) -> None:
    for person in people:
        person.set_password(PASSWORD)
        person.save()


def test_a_consultant_goes_from_the_first_call_to_a_signed_contract(
    window: Window, people: DemoUsers, mailoutbox: list[Any]
) -> None:
    with_password(people.consultant)
    page, script = window(), Script("Consultant")
    script.watch(page)
    page.goto(reverse("account_login"))
    with script.step("sign in", page):
        page_actions.sign_in(page, people.consultant.email, PASSWORD)
    with script.step("add and invite the customer", page):
        customer = add_customer(page)
    scenario = replace(SCENARIO, customer=replace(SCENARIO.customer, name=customer.name))
    page.goto(reverse("board"))
    with script.step("open the engagement", page):
        reference = page_actions.open_engagement(page, scenario)
    with script.step("audit and deliver", page):
        page_actions.audit(page, reference, scenario)
    with script.step("draft and offer the contract", page):
        draft_and_offer(page, reference)
    signatory = accept_invitation(window, mailoutbox)
    person = User.objects.get(email=EMAIL)
    with script.step("sign after the customer", page):
        sign(page, signatory, reference, people.consultant, person, PASSWORD)
    assert ContractVersion.objects.get().state == ContractVersion.State.ACCEPTED
    script.report()


def test_a_customer_understands_signs_follows_disputes_and_verifies(window: Window) -> None:
    case = story.on_offer()
    with_password(case.signatory)
    page, script = window(), Script("Customer")
    script.watch(page)
    page.goto(reverse("portal"))
    with script.step("sign in", page):
        page_actions.sign_in(page, case.signatory.email, PASSWORD)
    with script.step("understand the audit", page):
        page_actions.follow(page, "portal-engagement", case.reference)
        page_actions.follow(page, "portal-audit", case.reference)
        expect(page.get_by_role("heading", level=1)).to_be_visible()
    page.goto(reverse("portal-engagement", args=[case.reference]))
    with script.step("read and sign the contract", page):
        page_actions.follow(page, "portal-contract", case.reference)
        number = case.contract.number
        form = page_actions.form_to(page, "portal-contract-accept", case.reference, number)
        page_actions.check(form, "agreed")
        page_actions.accept(form, case.signatory.name)
        finish(page)
    story.accept(case, Party.CONSULTANCY)
    story.paid(case)
    run = story.measured(case, 1.2)
    page.goto(reverse("portal"))
    with script.step("follow the run", page):
        page_actions.follow(page, "portal-engagement", case.reference)
        page_actions.follow(page, "portal-run", case.reference, run.pk)
        expect(page_actions.panel(page, "result")).to_be_visible()
    digest = run.run.record.digest
    with script.step("dispute the result", page):
        page_actions.follow(page, "portal-run-dispute", case.reference, run.pk)
        raising = page_actions.form_with(page, "repeater")
        page_actions.fill(raising, reason="Our machine measures a higher ratio.")
        page_actions.check(raising, "repeater", "customer")
        page_actions.send(raising)
        finish(page)
    assert MeasurementDispute.objects.get().raised_by == case.signatory
    with script.step("verify the record", page):
        page.get_by_role("contentinfo").locator(f'a[href="{reverse("verify-document")}"]').click()
        form = page.locator(f'form[method="get"][action="{reverse("verify-document")}"]')
        page_actions.fill(form, digest=digest)
        page_actions.send(form)
        expect(page.locator("#verified")).to_be_visible()
    script.report()


def test_finance_bills_reconciles_refunds_and_closes_a_month(window: Window) -> None:
    case = story.missed()
    with_password(case.finance, case.second)
    first, second, script = window(), window(), Script("Finance")
    script.watch(first, second)
    for page, person in ((first, case.finance), (second, case.second)):
        page.goto(reverse("account_login"))
        with script.step(f"sign in, {person.name.split()[0]}", page):
            page_actions.sign_in(page, person.email, PASSWORD)

    other = replace(case, engagement=story.start_another(case, "To bill"))
    story.active(story.offered(story.audited(other)))
    with script.step("bill the milestones", first):
        page_actions.follow(first, "to-bill")
        page_actions.send(page_actions.form_with(first, "milestone"))
        page_actions.send(first.locator('form[action$="/issue/"]'))
        page_actions.expect_done(first)
    invoice = other.invoice
    paid = statement((str(invoice.gross), invoice.reference), day=f"{timezone.localdate()}")
    with script.step("reconcile the bank's file", first):
        page_actions.follow(first, "bank")
        upload = first.locator('form[enctype="multipart/form-data"]')
        upload.locator("[type=file]").set_input_files(
            {"name": "statement.xml", "mimeType": "application/xml", "buffer": paid}
        )
        page_actions.send(upload)
        page_actions.follow(first, "bank")
        page_actions.send(page_actions.form_to(first, "bank-record"))
        page_actions.expect_done(first)
    assert invoice.payments.exists()

    settlement = case.settlement
    with script.step("approve the refund", second):
        page_actions.follow(second, "settlements")
        page_actions.follow(second, "settlement", settlement.pk)
        page_actions.send(page_actions.form_to(second, "settlement-approve", settlement.pk))
        finish(second)
    with script.step("send the refund", first):
        page_actions.follow(first, "settlements")
        page_actions.follow(first, "settlement", settlement.pk)
        payment = page_actions.unfold(page_actions.form_to(first, "settlement-paid", settlement.pk))
        page_actions.fill(payment, reference="REFUND-1")
        page_actions.send(payment)
        finish(first)
    assert Settlement.objects.get(pk=settlement.pk).state == "paid"

    last = timezone.localdate().replace(day=1) - timedelta(days=1)
    with script.step("propose to close the month", first):
        page_actions.follow(first, "ledger")
        page_actions.follow(first, "ledger-close")
        form = page_actions.form_with(first, "month")
        if form.locator("[name=note]").count():
            page_actions.fill(form, note="The open items are dated later.")
        page_actions.send(form)
        finish(first)
    with script.step("close the month", second):
        page_actions.follow(second, "ledger")
        page_actions.follow(second, "ledger-close")
        page_actions.send(page_actions.form_to(second, "closing-approve", Period.objects.get().pk))
        finish(second)
    assert Period.objects.get().month == last.replace(day=1)
    assert Period.objects.get().state == "closed"
    script.report()
