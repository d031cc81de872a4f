"""The first days of a customer: added, invited, asked, answered, without the admin site."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from consultancy.demo.users import DemoUsers
from engagements.engagement.models import Engagement
from engagements.evidence.models import Answer
from engagements.notifications import password_mails
from engagements.notifications.models import PasswordMail
from engagements.people.models import Customer, User
from tests.browser import page_actions
from tests.browser.conftest import Window
from tests.browser.page_checks import NO_CONTRAST, barriers

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

PASSWORD = "a sentence that nobody else types 7"
EMAIL = "nina@newcomer.example"


@pytest.mark.soak
def test_a_new_customer_is_added_invited_and_answers(
    window: Window, people: DemoUsers, mailoutbox: list[Any]
) -> None:
    consultant = window(people.consultant)
    customer = add_customer(consultant)
    reference = open_engagement(consultant, customer)
    signatory = accept_invitation(window, mailoutbox)
    answer_and_comment(signatory, reference)
    find_it(consultant, reference)


def add_customer(page: Page) -> Customer:
    """Add a customer with a country from a list, and invite its signatory by mail."""
    page.goto(reverse("customers"))
    page_actions.follow(page, "customer-new")
    form = page_actions.form_with(page, "country")
    expect(form.locator("[name=name]")).to_be_focused()
    page_actions.fill(form, name="Newcomer SE", address="Allee 1\n10115 Berlin")
    page_actions.fill(form, vat_id="DE136695976")
    form.locator("[name=country]").select_option("DE")
    form.locator("[name=currency]").select_option("EUR")
    page_actions.send(form)
    page_actions.expect_done(page)
    customer = Customer.objects.get(name="Newcomer SE")
    invitation = page_actions.form_to(page, "customer-invite", customer.pk)
    page_actions.fill(invitation, name="Nina New", email=EMAIL)
    invitation.locator("[name=rights]").select_option("signatory")
    page_actions.send(invitation)
    page_actions.expect_done(page)
    assert not barriers(page, **NO_CONTRAST)
    return customer


def open_engagement(page: Page, customer: Customer) -> str:
    page.goto(f"{reverse('engagement-new')}?customer={customer.pk}")
    form = page_actions.form_with(page, "workload")
    expect(form.locator("[name=customer]")).to_have_value(str(customer.pk))
    page_actions.fill(form, title="Shared prompt", workload="One long prompt, many questions.")
    page_actions.send(form)
    page_actions.expect_done(page)
    return Engagement.objects.get(customer=customer).reference


def accept_invitation(window: Window, mailoutbox: list[Any]) -> Page:
    """Follow the mailed link, choose a password and sign in."""
    assert password_mails.send(password_mail_id=PasswordMail.objects.get(address=EMAIL).pk)
    [link] = re.findall(r"(/accounts/password/reset/key/\S+)", str(mailoutbox[-1].body))
    page = window()
    page.goto(link)
    form = page_actions.form_with(page, "password1")
    page_actions.fill(form, password1=PASSWORD, password2=PASSWORD)
    page_actions.send(form)
    page.goto(reverse("account_login"))
    page_actions.sign_in(page, EMAIL, PASSWORD)
    expect(page).to_have_url(reverse("portal"))
    return page


def answer_and_comment(page: Page, reference: str) -> None:
    """The list says that it is the customer's turn; answer a question, and ask one."""
    page_actions.follow(page, "portal-engagement", reference)
    page_actions.follow(page, "portal-evidence", reference)
    form = page_actions.form_to(page, "portal-evidence-answer", reference, "gpu_bill")
    page_actions.fill(form, **{"gpu_bill-amount": "120,000.00", "gpu_bill-currency": "EUR"})
    page_actions.send(form)
    page_actions.expect_done(page)
    assert Answer.objects.get().recorded_by == User.objects.get(email=EMAIL)
    page.goto(reverse("portal-engagement", args=[reference]))
    comment = page_actions.form_to(page, "portal-comment", reference)
    page_actions.fill(comment, text="When do you start?")
    page_actions.send(comment)
    page_actions.expect_done(page)


def find_it(page: Page, reference: str) -> None:
    """The lead is notified, and finds the engagement by Ctrl-K without the mouse."""
    page.goto(reverse("board"))
    expect(page.locator(".topbar__count")).to_be_visible()
    page.keyboard.press("Control+k")
    page.keyboard.type("shared")
    expect(page.locator("#search-hits a").first).to_be_visible()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page).to_have_url(reverse("engagement", args=[reference]))
    page.goto(reverse("notifications"))
    expect(page.get_by_role("main")).to_contain_text("When do you start?")
