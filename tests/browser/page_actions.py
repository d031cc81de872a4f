"""Steps on pages; links are found by URL, forms by action, fields by name."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

from django.urls import reverse
from playwright.sync_api import Locator, Page, TimeoutError, expect

from consultancy.demo.scenarios import Scenario
from engagements.people.models import User


def follow(page: Page, name: str, *args: Any) -> None:
    """Click the first link to a page of the site, and wait for that page."""
    link(page, name, *args).click()
    expect(page).to_have_url(reverse(name, args=args))


def link(page: Page | Locator, name: str, *args: Any) -> Locator:
    return page.locator(f'a[href="{reverse(name, args=args)}"]').first


def form_to(page: Page, name: str, *args: Any) -> Locator:
    """The form that posts to a URL of the site."""
    return page.locator(f'form[action="{reverse(name, args=args)}"]')


def form_with(page: Page, field: str) -> Locator:
    """The form with this field, for forms without an action."""
    return page.locator(f'form[method="post"]:has([name="{field}"])')


def fill(form: Locator, **values: object) -> None:
    """Fill in fields by name."""
    for name, value in values.items():
        form.locator(f'[name="{name}"]').fill(str(value))


def check(form: Locator, name: str, value: str = "") -> None:
    """Tick a box, or choose a radio button by its value."""
    form.locator(f'[name="{name}"]' + (f'[value="{value}"]' if value else "")).check()


def unfold(form: Locator) -> Locator:
    """Open the collapsed section of a form."""
    form.page.locator("details", has=form).locator("summary").click()
    return form


def send(form: Locator, button: str = "", *, clicks: int = 1) -> None:
    """Submit a form by its first button, or the first that matches, and wait for the page."""
    with form.page.expect_event("load"):
        form.locator(f"button[type=submit]{button}").first.click(click_count=clicks)


def expect_done(page: Page) -> None:
    """Expect the message that the last step succeeded."""
    expect(page.locator(".notice--success").first).to_be_visible()


def section(page: Page, name: str) -> Locator:
    """A part of the page by its heading."""
    return page.get_by_role("region", name=name, exact=True)


def panel(page: Page, heading_id: str) -> Locator:
    """A part of the page by the id of its heading."""
    return page.locator(f'[aria-labelledby="{heading_id}"]')


def sign_in(page: Page, email: str, password: str) -> None:
    """Fill in the sign-in page."""
    form = form_to(page, "account_login")
    fill(form, login=email, password=password)
    send(form)


def sign_out(page: Page, who: User) -> None:
    """Sign out by the account menu."""
    page.get_by_role("banner").get_by_text(who.name).click()
    send(form_to(page, "account_logout"))


def prove(page: Page, password: str) -> None:
    """Enter the password again before a binding step."""
    form = form_to(page, "account_reauthenticate")
    fill(form, password=password)
    send(form)


def open_engagement(page: Page, scenario: Scenario) -> str:
    """Open an engagement from the board; return its reference."""
    follow(page, "engagement-new")
    form = form_with(page, "workload")
    form.locator('[name="customer"]').select_option(label=scenario.customer.name)
    fill(form, title=scenario.title, workload=scenario.workload)
    send(form)
    expect(page.get_by_role("heading", level=1)).to_have_text(scenario.title)
    return page.url.rstrip("/").rsplit("/", 1)[-1]


def audit(page: Page, reference: str, scenario: Scenario) -> None:
    """Start the audit, record six findings, deliver."""
    follow(page, "engagement-audit", reference)
    start = form_to(page, "audit-start", reference)
    fill(start, cost=scenario.audit_cost)
    send(start)
    for name, finding in scenario.findings.items():
        answer(page, reference, str(name), *finding)
    send(form_to(page, "audit-deliver", reference))
    expect_done(page)


def answer(
    page: Page, reference: str, check_name: str, outcome: str, value: str, rationale: str
) -> None:
    """Record the finding of one check in its own form."""
    form = form_to(page, "audit-finding", reference, check_name)
    check(form, "outcome", outcome)
    fill(form, value=value, rationale=rationale)
    form.get_by_role("button").click()
    expect(form_to(page, "audit-override", reference, check_name)).to_be_attached()


def seal_benchmark(page: Page, reference: str, *, preset: str, target: str) -> None:
    """Seal a benchmark of the catalogue with the agreed target."""
    form = form_to(page, "contract-benchmark", reference)
    form.locator('[name="preset"]').select_option(preset)
    fill(form, target=target)
    send(form)
    expect_done(page)


def fill_terms(form: Locator, scenario: Scenario, *, starts_on: date, parts: list[Decimal]) -> None:
    """Fill in the draft, whose four milestones are preset without amounts."""
    form.locator('[name="benchmark"]').select_option(index=1)
    fill(
        form,
        fee=f"{scenario.fee:,.2f}",
        starts_on=starts_on.isoformat(),
        weeks=scenario.weeks,
    )
    for box, part in zip(form.locator('[name$="-amount"]').all(), parts, strict=True):
        box.fill(str(part))


def values_of(form: Locator) -> dict[str, Any]:
    """The current values of a form."""
    found: dict[str, Any] = form.evaluate("form => Object.fromEntries(new FormData(form))")
    found.pop("csrfmiddlewaretoken")
    return found


def accept(form: Locator, name: str) -> None:
    """Sign with a typed name."""
    fill(form, typed_name=name)
    send(form)


def request_run(page: Page, reference: str, candidate: str) -> None:
    """Request an acceptance run, with a double click."""
    follow(page, "run-request", reference)
    form = form_with(page, "candidate")
    check(form, "purpose", "acceptance")
    form.locator('[name="candidate"]').select_option(candidate)
    send(form, clicks=2)
    expect_done(page)


def bill_and_collect(page: Page) -> None:
    """Bill every released milestone, issue the invoice, and record its payment in full."""
    page.goto(reverse("to-bill"))
    send(form_with(page, "milestone"))
    send(page.locator('form[action$="/issue/"]'))
    expect_done(page)
    reference = page.get_by_role("heading", level=1).inner_text()
    page.locator('a[href$="/payment/"]').click()
    payment = form_with(page, "received_on")
    fill(payment, received_on=date.today().isoformat(), reference=f"Transfer {reference}")
    send(payment)
    expect_done(page)


def reload_until_visible(page: Page, wanted: Locator) -> None:
    """Reload the page until a worker has produced an element."""
    for _ in range(20):
        try:
            wanted.wait_for(timeout=1_500)
        except TimeoutError:
            page.reload()
        else:
            return
    expect(wanted).to_be_visible()
