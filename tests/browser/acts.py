"""What people do on the pages, found as they find it: by role, label and text."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

from playwright.sync_api import Locator, Page, TimeoutError, expect

from consultancy.demo.scenarios import Scenario
from engagements.audit import rules as checks
from engagements.people.models import User

Row = tuple[str, str, str]


def sign_in(page: Page, email: str, password: str) -> None:
    """Fill in the sign-in page, wherever it stands in the way."""
    page.get_by_label("Email").fill(email)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in").click()


def prove(page: Page, password: str) -> None:
    """Enter the password again before a binding step."""
    expect(page.get_by_role("heading", name="Confirm your identity")).to_be_visible()
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Continue").click()


def section(page: Page, name: str) -> Locator:
    """A part of the page by its heading."""
    return page.get_by_role("region", name=name, exact=True)


def told(page: Page, text: str) -> None:
    """What the last act did is said above the page."""
    expect(page.get_by_role("status").filter(has_text=text).first).to_be_visible()


def open_engagement(page: Page, scenario: Scenario) -> str:
    """From the board to a new engagement; its reference."""
    page.get_by_role("link", name="New engagement").first.click()
    page.get_by_label("Customer").select_option(label=scenario.customer.name)
    page.get_by_label("Title").fill(scenario.title)
    page.get_by_label("Workload").fill(scenario.workload)
    page.get_by_role("button", name="Open the engagement").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(scenario.title)
    return page.url.rstrip("/").rsplit("/", 1)[-1]


def audit(page: Page, scenario: Scenario) -> None:
    """Start the audit, answer six checks, deliver."""
    page.get_by_role("link", name="Start the audit").click()
    page.get_by_label("Cost of the audit, net").fill(str(scenario.audit_cost))
    page.get_by_role("button", name="Start the audit").click()
    for name, (outcome, value, rationale) in scenario.findings.items():
        answer(page, str(name), outcome=outcome, value=value, rationale=rationale)
    page.get_by_role("button", name="Deliver the audit").click()
    told(page, "The audit is delivered.")


def answer(page: Page, name: str, *, outcome: str, value: str, rationale: str) -> None:
    """Answer one check in its own form."""
    check = checks.check(name)
    finding = page.get_by_role("article", name=check.question)
    finding.get_by_role("radio", name=outcome.capitalize()).check()
    finding.get_by_label(check.value_label).fill(value)
    finding.get_by_label("Rationale").fill(rationale)
    finding.get_by_role("button", name="Save the finding").click()
    expect(finding.get_by_text("Answered", exact=True)).to_be_visible()


def seal_benchmark(page: Page, *, preset: str, target: str) -> None:
    """Seal a benchmark of the catalogue with the target that was agreed."""
    sealing = section(page, "Seal a benchmark")
    sealing.get_by_label("From the catalogue").select_option(preset)
    sealing.get_by_label("Target").fill(target)
    sealing.get_by_role("button", name="Seal benchmark").click()
    told(page, "is sealed")


def fill_terms(page: Page, scenario: Scenario, *, starts_on: date, amounts: list[Decimal]) -> None:
    """Fill in the draft; the four milestones are proposed, their amounts are not."""
    page.get_by_label("Benchmark", exact=True).select_option(index=1)
    page.get_by_label("Fee in").fill(f"{scenario.fee:,.2f}")
    page.get_by_label("Tax rate, percent").fill(str(scenario.tax_rate_percent))
    page.get_by_label("Starts on").fill(starts_on.isoformat())
    page.get_by_label("Weeks").fill(str(scenario.weeks))
    for box, amount in zip(page.get_by_label("net, or %").all(), amounts, strict=True):
        box.fill(str(amount))


def request_run(page: Page, candidate: str) -> None:
    """Ask for the acceptance run, twice in a breath."""
    page.get_by_role("link", name="Request a run").first.click()
    page.get_by_role("radio", name="Acceptance").check()
    page.get_by_label("Candidate").select_option(candidate)
    page.get_by_role("button", name="Request the run").dblclick()
    told(page, "The run is queued.")


def accept(page: Page, name: str, button: str) -> None:
    """Type the name that is a signature, and send it."""
    page.get_by_label("Your full name").fill(name)
    page.get_by_role("button", name=button).click()


def bill_and_collect(page: Page) -> None:
    """Collect everything that waits on a draft, issue it, and record that it was paid in full."""
    section(page, "Milestones to bill").get_by_role("link", name="Draft invoices").click()
    page.get_by_role("button", name="Draft invoices").click()
    page.get_by_role("button", name="Issue invoice").click()
    told(page, "issued. Its PDF is being rendered.")
    reference = page.get_by_role("heading", level=1).inner_text()
    page.get_by_role("link", name="Record payment").click()
    page.get_by_label("Received on").fill(date.today().isoformat())
    page.get_by_label("Reference").fill(f"Transfer {reference}")
    page.get_by_role("button", name="Record payment").click()
    told(page, f"recorded for {reference}.")


def values_of(page: Page) -> dict[str, Any]:
    """Everything that stands in the fields of the page's longest form."""
    found: dict[str, Any] = page.locator("form#terms").evaluate(
        "form => Object.fromEntries(new FormData(form))"
    )
    found.pop("csrfmiddlewaretoken")
    return found


def reload_until_visible(page: Page, wanted: Locator) -> None:
    """Load the page anew until what a worker makes meanwhile stands on it."""
    for _ in range(20):
        try:
            wanted.wait_for(timeout=1_500)
        except TimeoutError:
            page.reload()
        else:
            return
    expect(wanted).to_be_visible()


def sign_out(page: Page, who: User) -> None:
    """By the menu that carries one's name."""
    page.get_by_role("banner").get_by_text(who.name).click()
    page.get_by_role("button", name="Sign out").click()
