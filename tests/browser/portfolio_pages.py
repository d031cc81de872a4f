"""Engagements at every stage, and the URLs of all pages about them.

Made through the services; benchmark records are real ones over generated times.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from django.urls import resolve, reverse
from django.utils import timezone

from benchmarks.services import runs as measuring
from engagements import closing, documents
from engagements.audit import findings, overrides
from engagements.audit import services as audits
from engagements.engagement.models import Engagement
from engagements.evidence import questionnaire
from engagements.evidence.models import Evidence
from engagements.payouts import refunds
from engagements.people.models import Role, User
from engagements.runs.models import EngagementRun
from tests.engagements import evidence_world, story
from tests.engagements.cached_stories import cached_story
from tests.engagements.document_story import unrendered
from tests.engagements.scenario import SCENARIO
from tests.engagements.story import Story
from tests.engagements.world import person

LONG_COMPANY = "Donaudampfschifffahrtsgesellschaft" * 3 + "KonzernHoldingGmbH"
LONG_TITLE = "a" * 40 + "_" * 40 + "W" * 80
Pages = list[tuple[User | None, str]]
ROLES = ("consultants", "finance", "customers")


@dataclass(frozen=True)
class Portfolio:
    """The users, and engagements by stage."""

    met: Story
    missed: Story
    met_run: EngagementRun
    live_run: EngagementRun
    failed_run: EngagementRun
    trial_run: EngagementRun
    stages: dict[str, Story]

    @property
    def viewer(self) -> User:
        return self.met.viewer


@cached_story(SCENARIO)
def create_portfolio() -> Portfolio:
    """One engagement that met its target, one that missed it, and one at each other stage.

    The pages link their documents and never show them, so nothing is rendered.
    """
    with unrendered():
        return _staged()


def _staged() -> Portfolio:
    met = story.underway()
    trial = story.measured(met, 1.6, purpose=EngagementRun.Purpose.TRIAL)
    met_run = story.measured(met, 2.6)
    missed = another(met, "Sliding window with skips")
    under_contract(missed)
    story.measured(missed, 1.1)
    settle(missed)
    live = under_contract(another(met, "Being measured"))
    stuck = under_contract(another(met, "Measured in vain"))
    waiting = under_contract(another(met, "Waits for approval"))
    story.measured(waiting, 1.2)
    for subject in (f"run:{met_run.pk}", f"contract:{met.contract.pk}:accepted"):
        documents.issue(
            kind="benchmark_report" if subject.startswith("run") else "contract", subject=subject
        )
    return Portfolio(
        met=met,
        missed=missed,
        met_run=met_run,
        live_run=under_way(live),
        failed_run=story.failed(stuck),
        trial_run=trial,
        stages={
            "waiting": waiting,
            "scoping": another(met, "Just opened"),
            "auditing": half_audited(another(met, "Half audited")),
            "audited": story.audited(another(met, "To be drafted")),
            "offered": story.offered(story.audited(another(met, "On the table"))),
            "stuck": stuck,
            "cancelled": cancelled(another(met, "Given up")),
        },
    )


def another(of: Story, title: str) -> Story:
    """One more engagement of the same customer, in scoping."""
    return replace(of, engagement=story.start_another(of, title))


def under_contract(case: Story) -> Story:
    """Signed by both, and the first milestone paid."""
    story.active(story.offered(story.audited(case)))
    story.paid(case)
    return case


def half_audited(case: Story) -> Story:
    """Two of six checks are answered, one of them overridden."""
    audit = audits.start(
        engagement=case.engagement,
        cost=case.scenario.audit_cost,
        currency=case.customer.currency,
        by=case.consultant,
    )
    for check in ("hot", "stable"):
        outcome, value, rationale = case.scenario.findings[check]
        finding = audits.record_finding(
            audit=audit,
            check=check,
            outcome=outcome,
            value=value,
            rationale=rationale,
            by=case.consultant,
        )
    finding = overrides.propose(
        finding=finding, outcome="unknown", reason="The profile is a year old.", by=case.consultant
    )
    overrides.confirm(finding=finding, by=person("Grace", Role.CONSULTANT))
    return case


def examined(case: Story, name: str = evidence_world.DECODE) -> Story:
    """An audit computed from two profiles, a log of shapes and an unreadable file."""
    audits.start(
        engagement=case.engagement,
        cost=case.scenario.audit_cost,
        currency=case.customer.currency,
        by=case.consultant,
    )
    decode = (evidence_world.CAPTURES / evidence_world.DECODE).read_bytes()
    for called, content in [
        (evidence_world.IDLE, None),
        (name, decode),
        (evidence_world.COMPUTE, None),
        ("calls.csv", evidence_world.TRAFFIC),
        ("half.json.gz", decode[:5000]),
    ]:
        evidence_world.added(case.engagement, case.consultant, called, content)
    people = {"people": [{"name": "Performance team", "hours_a_month": 12}]}
    questionnaire.record(
        engagement=case.engagement,
        question="maintainers",
        value=people,
        answered_by=case.signatory.name,
        answered_on=timezone.localdate(),
        by=case.consultant,
    )
    findings.compute_when_due(engagement=case.engagement)
    return case


def bench_pages(case: Story) -> list[str]:
    """What is looked at of an audit that is computed from evidence."""
    names = ("engagement-workbench", "engagement-evidence", "engagement-audit", "audit-report")
    idle = Evidence.objects.get(engagement=case.engagement, name=evidence_world.IDLE)
    return [
        *(reverse(name, args=[case.reference]) for name in names),
        f"{reverse('engagement-workbench', args=[case.reference])}?against={idle.pk}",
    ]


def under_way(case: Story) -> EngagementRun:
    """An acceptance run in its second replicate, its estimate closing in."""
    asked = story.requested(case)
    run = story.running(asked)
    history = [
        {"at_s": 2.0 * n, "ratio": 2.0 + 0.3 / n, "low": 1.8 - 0.3 / n, "high": 2.2 + 0.6 / n}
        for n in range(1, 12)
    ]
    progress: dict[str, Any] = {"phase": "measuring", "message": "16x8192", "history": history}
    progress |= {"replicate": 2, "replicates": 3, "round": 4, "rounds": 12}
    progress |= {name: history[-1][name] for name in ("ratio", "low", "high")}
    measuring.report_progress(run_id=run.pk, attempt=run.attempt, progress=progress)
    return EngagementRun.objects.get(pk=asked.pk)


def settle(case: Story) -> None:
    """Approved by one, paid by another, and stated."""
    approved = story.approved(case)
    paid = refunds.mark_paid(settlement=approved, reference="REFUND-1", by=case.finance)
    documents.issue(kind="settlement_statement", subject=f"settlement:{paid.pk}")


def cancelled(case: Story) -> Story:
    closing.cancel(engagement=case.engagement, reason="The model was dropped.", by=case.consultant)
    return case


def long_named() -> tuple[Story, Story]:
    """Customer and titles as long as they may be, without a space: one missed, one on offer."""
    case = story.opened()
    company = story.company(LONG_COMPANY[:120])
    case = replace(
        case,
        customer=company,
        signatory=story.member(company, "Hildegard-Annemarie " * 4, "signatory"),
    )
    case = another(case, LONG_TITLE)
    under_contract(case)
    story.measured(case, 1.1)
    story.approved(case)
    return case, story.offered(story.audited(another(case, LONG_TITLE)))


def newcomer(role: str) -> User:
    """Somebody of a house in which nothing has happened yet."""
    names = {Role.CONSULTANT: "Nora New", Role.FINANCE: "Felix First", Role.NONE: "Carl Customer"}
    return story.user(names[Role(role)], role)


def one_of_each_page(pages: Pages) -> Pages:
    """Return the first page of each view."""
    first: dict[str, tuple[User | None, str]] = {}
    for user, url in pages:
        first.setdefault(resolve(url.partition("?")[0]).view_name, (user, url))
    return list(first.values())


def pages_of(portfolio: Portfolio) -> dict[str, Pages]:
    """(user, URL) of every page, by role."""
    offered = portfolio.stages["offered"].reference
    return {
        "consultants": [(portfolio.met.consultant, url) for url in consultant_pages(portfolio)],
        "finance": [
            *((portfolio.met.finance, url) for url in finance_pages(portfolio)),
            *((portfolio.met.admin, reverse(name)) for name in ("board", "finance", "staff")),
        ],
        "customers": [
            *(
                (None, reverse(name))
                for name in ("home", "account_login", "account_reset_password")
            ),
            *((portfolio.met.signatory, url) for url in portal_pages(portfolio)),
            (portfolio.viewer, reverse("portal-contract", args=[offered])),
        ],
    }


def consultant_pages(portfolio: Portfolio) -> list[str]:
    """Every page of a consultant, each at the stages at which it looks different."""
    stages = portfolio.stages
    at = [
        ("engagement", case.engagement)
        for case in (portfolio.met, portfolio.missed, *stages.values())
    ]
    at += [("engagement-audit", t.engagement) for t in (stages["scoping"], stages["auditing"])]
    at += [("engagement-audit", portfolio.met.engagement)]
    at += [
        ("engagement-contract", t.engagement)
        for t in (stages["audited"], stages["offered"], portfolio.met)
    ]
    at += [("run-request", stages["stuck"].engagement)]
    return [
        *(reverse(name) for name in ("board", "engagement-new", "account_change_password")),
        *(reverse(name) for name in ("customers", "customer-new", "search", "notifications")),
        reverse("customer", args=[portfolio.met.customer.pk]),
        reverse("notification-settings"),
        reverse("engagement-edit", args=[stages["scoping"].reference]),
        reverse("catalogue"),
        reverse("catalogue-operator", args=["matmul_ladder"]),
        reverse("board") + "?done=yes",
        reverse("board") + "?q=nothing+like+this",
        reverse("mfa_index"),
        *(reverse(name, args=[engagement.reference]) for name, engagement in at),
        *(
            run_page("run", r)
            for r in (portfolio.met_run, portfolio.live_run, portfolio.failed_run)
        ),
        run_page("run", portfolio.trial_run),
    ]


def finance_pages(portfolio: Portfolio) -> list[str]:
    """Every page of finance."""
    waiting = portfolio.stages["waiting"]
    return [
        reverse("finance"),
        reverse("settlement", args=[portfolio.missed.settlement.pk]),
        reverse("settlement", args=[waiting.settlement.pk]),
        reverse("settlement-propose", args=[portfolio.stages["stuck"].reference]),
        reverse("to-bill"),
        reverse("invoices"),
        reverse("invoice", args=[portfolio.met.invoice.pk]),
        reverse("invoice-credit", args=[portfolio.met.invoice.pk]),
        reverse("payment-record", args=[portfolio.met.invoice.pk]),
        reverse("write-off", args=[portfolio.met.invoice.pk]),
        reverse("receivables"),
        reverse("vat"),
        reverse("customer-account", args=[portfolio.met.customer.pk]),
        reverse("bank"),
        reverse("payments"),
        reverse("overpayment", args=[portfolio.met.invoice.pk]),
        reverse("engagement", args=[portfolio.met.reference]),
        *ledger_pages(portfolio),
    ]


def ledger_pages(portfolio: Portfolio) -> list[str]:
    """The ledger, the queues of settlements, and refund accounts."""
    entry = portfolio.missed.engagement.entries.latest("pk")
    names = ("ledger", "money-at-risk", "ledger-close", "ledger-export", "settlements", "transfers")
    return [
        *(reverse(name) for name in names),
        reverse("ledger-account", args=["receivables", portfolio.missed.contract.currency]),
        reverse("ledger-engagement", args=[portfolio.missed.reference]),
        reverse("ledger-entry", args=[entry.pk]),
        reverse("bank-account", args=[portfolio.missed.customer.pk]),
    ]


def portal_pages(portfolio: Portfolio) -> list[str]:
    """Every page of a customer."""
    case: list[Engagement] = [
        t.engagement for t in (portfolio.met, portfolio.missed, portfolio.stages["auditing"])
    ]
    return [
        reverse("portal"),
        reverse("portal-all-invoices"),
        reverse("portal-company", args=[portfolio.met.customer.pk]),
        reverse("portal-evidence", args=[portfolio.stages["scoping"].reference]),
        *(reverse("portal-engagement", args=[one.reference]) for one in case),
        reverse("portal-contract", args=[portfolio.stages["offered"].reference]),
        reverse("portal-invoices", args=[portfolio.met.reference]),
        reverse("portal-handover", args=[portfolio.met.reference]),
        reverse("portal-dispute", args=[portfolio.stages["waiting"].reference]),
        reverse("portal-audit", args=[portfolio.met.reference]),
        *(
            run_page("portal-run", r)
            for r in (portfolio.met_run, portfolio.live_run, portfolio.failed_run)
        ),
    ]


def run_page(name: str, run: EngagementRun) -> str:
    """The URL of a run's page."""
    return reverse(name, args=[run.engagement.reference, run.pk])
