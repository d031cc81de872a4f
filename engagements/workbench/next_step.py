"""The next step of an engagement, for the consultancy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date, timedelta

from django.urls import reverse
from django.utils import timezone

from engagements.common.dates import in_words
from engagements.contracts.milestones.models import Milestone
from engagements.contracts.models import ContractVersion, Party
from engagements.engagement.models import Stage
from engagements.runs.models import EngagementRun
from engagements.settlements import labels as settlement_labels
from engagements.settlements.models import Settlement
from engagements.workbench.summary import EngagementSummary

US, FINANCE, NOBODY = "the consultancy", "finance", "nobody"


@dataclass(frozen=True)
class Next:
    """The next step and who takes it. `url` leads to it or `post` does it; `action` labels either.

    `needs_money` limits the link to users who see the pages of finance.
    """

    who_label: str
    text: str
    tone: str = "live"
    url: str | None = None
    post: str | None = None
    action: str = ""
    needs_money: bool = False


@dataclass(frozen=True)
class Step:
    """One stage in the life of an engagement: done, now or ahead."""

    label: str
    state: str
    tone: str = "live"


def next_step(summary: EngagementSummary) -> Next:
    """Return the next step of an engagement."""
    return _BY_STAGE[Stage(summary.engagement.stage)](summary)


def _page(name: str, summary: EngagementSummary) -> str:
    return reverse(name, args=[summary.engagement.reference])


def _scoping(summary: EngagementSummary) -> Next:
    url = _page("engagement-audit", summary)
    return Next(
        US,
        "Start the audit.",
        url=url,
        action="Start audit",
    )


def _auditing(summary: EngagementSummary) -> Next:
    url, open_checks = _page("engagement-audit", summary), summary.unanswered
    if open_checks:
        noun = "check" if open_checks == 1 else "checks"
        return Next(
            US,
            f"Answer {open_checks} more {noun}, then deliver the audit.",
            url=url,
            action="Continue audit",
        )
    if summary.open_overrides:
        return Next(
            US,
            "An override waits for confirmation by another consultant.",
            url=url,
            action="Confirm override",
        )
    return Next(
        US,
        f"All checks are answered: {summary.tally.outcome.label.lower()}. Deliver the audit.",
        url=url,
        action="Deliver audit",
    )


def _audited(summary: EngagementSummary) -> Next:
    url, version = _page("engagement-contract", summary), summary.open_version
    if version is None:
        return Next(
            US,
            "The audit recommends custom work. Draft the contract.",
            url=url,
            action="Draft contract",
        )
    return Next(
        US,
        f"Version {version.number} is a draft. Review it, then offer it.",
        url=url,
        action="Open draft",
    )


def _offered(summary: EngagementSummary) -> Next:
    url, customer = _page("engagement-contract", summary), str(summary.engagement.customer)
    if not summary.has_accepted(Party.CONSULTANCY):
        waits = "" if summary.has_accepted(Party.CUSTOMER) else f" {customer} must accept as well."
        return Next(
            US,
            f"Accept the contract for the consultancy.{waits}",
            url=url,
            action="Accept contract",
        )
    return Next(
        customer,
        "A signatory must accept the contract in the portal.",
        tone="doubt",
        url=url,
        action="Open contract",
    )


def _active(summary: EngagementSummary) -> Next:
    if (running := summary.open_acceptance) is not None:
        url = reverse("run", args=[summary.engagement.reference, running.pk])
        state = "queued" if running.run.state == "queued" else "in progress"
        return Next("the referee", f"The acceptance run is {state}.", url=url, action="Watch run")
    if summary.time_box and summary.time_box.ends_on < timezone.now().date():
        return Next(
            US,
            "The time-box ended without a met target. The settlement is proposed automatically "
            f"on {in_words(_settles_on(summary))}.",
            url=_page("engagement-time", summary),
            action="View time-box",
            tone="bad",
        )
    if summary.open_version is not None:
        return _amending(summary, summary.open_version)
    if (last := _last_attempt(summary)) is not None:
        return Next(
            US,
            "Both measurements of the last attempt disagree. Dispute it for a repeat, or declare "
            "it final.",
            tone="doubt",
            url=reverse("run", args=[summary.engagement.reference, last.pk]),
            action="Open run",
        )
    if summary.clock is not None and summary.clock.is_paused:
        return Next(
            summary.clock.waited_for,
            summary.clock.why_paused,
            url=_page("engagement-time", summary),
            action="View time-box",
            tone="doubt",
        )
    return Next(US, _work(summary), url=_page("run-request", summary), action="Request run")


def _last_attempt(summary: EngagementSummary) -> EngagementRun | None:
    """The attempt that used up the last one and left the work open; None while any is left."""
    contract = summary.in_force
    if contract is None or summary.attempts_used < contract.acceptance_runs:
        return None
    return next(run for run in summary.runs if run.attempt == contract.acceptance_runs)


def _settles_on(summary: EngagementSummary) -> date:
    # An active engagement has both.
    assert summary.time_box is not None
    assert summary.in_force is not None
    return summary.time_box.ends_on + timedelta(days=summary.in_force.dispute_days + 1)


def _amending(summary: EngagementSummary, amendment: ContractVersion) -> Next:
    url, name = _page("engagement-contract", summary), f"Version {amendment.number}"
    accepted = {acceptance.party for acceptance in amendment.acceptances.all()}
    if amendment.state == ContractVersion.State.DRAFT:
        text = f"{name} is a draft. Offer it or discard it."
        return Next(US, text, url=url, action="Open draft")
    if Party.CONSULTANCY not in accepted:
        return Next(
            US, f"Accept {name.lower()} for the consultancy.", url=url, action="Accept amendment"
        )
    customer = str(summary.engagement.customer)
    text = f"{name} waits for a signatory. Until then the contract in force is unchanged."
    return Next(customer, text, tone="doubt", url=url, action="Open contract")


def _work(summary: EngagementSummary) -> str:
    box, today = summary.time_box, timezone.now().date()
    if box is None:
        return "Submit a kernel and request a run."
    if box.starts_on > today:
        return f"The time-box starts on {in_words(box.starts_on)}."
    used = ""
    if summary.in_force is not None and summary.attempts_used:
        used = f" {summary.attempts_used} of {summary.in_force.acceptance_runs} attempts are used."
    return f"Submit a kernel and request an acceptance run by {in_words(box.ends_on)}.{used}"


def _met(summary: EngagementSummary) -> Next:
    customer = str(summary.engagement.customer)
    states = {milestone.state for milestone in summary.milestones}
    url, handover = _page("engagement-contract", summary), summary.engagement.handover
    waits_for_handover = handover != "handover.accepted"
    if waits_for_handover and handover != "handover.delivered":
        text = "Hand over the deliverables."
        if handover == "handover.contested":
            text = "Correct the defect that the customer stated, then hand over again."
        return Next(US, text, url=url, action="Open handover")
    if Milestone.State.RELEASED in states:
        text = "Invoice the milestones that the met target released."
        billing = reverse("to-bill")
        return Next(
            FINANCE, text, tone="good", url=billing, action="Open billing", needs_money=True
        )
    if waits_for_handover:
        text = "Accept the handover, or state a defect."
        return Next(customer, text, tone="doubt", url=url, action="Open handover")
    if summary.engagement.has_charge_to_bill:
        url = reverse("charges")
        text = "Invoice the approved charge."
        return Next(FINANCE, text, tone="good", url=url, action="Open charges", needs_money=True)
    if summary.engagement.owes:
        return Next(customer, "Pay the open invoices.", tone="doubt")
    return _to_close(summary)


def _missed(summary: EngagementSummary) -> Next:
    live, newest = summary.settlement, next(iter(summary.settlements), None)
    if live is not None and live.state == Settlement.State.PAID:
        return _settled(summary)
    url, action, text = reverse("finance"), "Open finance", "Propose the settlement."
    if newest is not None:
        url, action = reverse("settlement", args=[newest.pk]), "Open the settlement"
        text = settlement_labels.next_step(newest)
    return Next(FINANCE, text, tone="bad", url=url, action=action, needs_money=True)


def _terminated(summary: EngagementSummary) -> Next:
    if any(milestone.state == Milestone.State.RELEASED for milestone in summary.milestones):
        return Next(FINANCE, "Invoice the released milestones.", tone="doubt")
    if summary.engagement.has_charge_to_bill:
        url = reverse("charges")
        text = "Invoice the charge of the termination."
        return Next(FINANCE, text, tone="doubt", url=url, action="Open charges", needs_money=True)
    if summary.engagement.owes:
        return Next(str(summary.engagement.customer), "Pay the open invoices.", tone="doubt")
    return _to_close(summary)


def _settled(summary: EngagementSummary) -> Next:
    """Invoice the retained audit and await its payment, then close."""
    milestones = summary.milestones
    if any(milestone.state == Milestone.State.RELEASED for milestone in milestones):
        return Next(FINANCE, "Invoice the audit, which the settlement retains.", tone="doubt")
    if summary.engagement.owes:
        return Next(str(summary.engagement.customer), "Pay the open invoices.", tone="doubt")
    return _to_close(summary)


def _to_close(summary: EngagementSummary) -> Next:
    if summary.engagement.has_too_much:
        text, url = "Refund or move the overpayment first.", reverse("finance")
        return Next(FINANCE, text, tone="doubt", url=url, action="Open finance", needs_money=True)
    return Next(
        US,
        "All work is done and paid. Close the engagement.",
        tone="good",
        post=_page("engagement-close", summary),
        action="Close engagement",
    )


def _ended(summary: EngagementSummary) -> Next:
    reason = {
        Stage.CLOSED: "This engagement is closed.",
        Stage.REDIRECTED: "The audit recommended cheaper interventions.",
        Stage.DECLINED: "The audit advised against custom work.",
        Stage.CANCELLED: "This engagement was cancelled.",
    }[Stage(summary.engagement.stage)]
    if not summary.engagement.is_audit_owed:
        return Next(NOBODY, f"{reason} No action is due.", tone="plain")
    text, url = (
        f"{reason} The audit is not paid yet: invoice it or waive it.",
        reverse("to-bill"),
    )
    return Next(FINANCE, text, tone="doubt", url=url, action="Open billing", needs_money=True)


_BY_STAGE: dict[Stage, Callable[[EngagementSummary], Next]] = {
    Stage.SCOPING: _scoping,
    Stage.AUDITING: _auditing,
    Stage.AUDITED: _audited,
    Stage.OFFERED: _offered,
    Stage.ACTIVE: _active,
    Stage.MET: _met,
    Stage.MISSED: _missed,
    Stage.TERMINATED: _terminated,
    Stage.CLOSED: _ended,
    Stage.REDIRECTED: _ended,
    Stage.DECLINED: _ended,
    Stage.CANCELLED: _ended,
}


def steps(summary: EngagementSummary) -> list[Step]:
    """Return the stages of the engagement: done, current and ahead."""
    stage = Stage(summary.engagement.stage)
    path = [Stage.SCOPING, Stage.AUDITING, Stage.AUDITED, Stage.OFFERED, Stage.ACTIVE]
    if stage in (Stage.REDIRECTED, Stage.DECLINED):
        return _marked([*path[:2], stage], stage, "doubt")
    if stage == Stage.CANCELLED:
        return _marked([*path[: _reached(summary)], stage], stage, "plain")
    if stage == Stage.MISSED or summary.settlement is not None:
        return _marked([*path, Stage.MISSED, Stage.CLOSED], stage, "bad")
    if stage == Stage.TERMINATED or summary.is_terminated:
        return _marked([*path, Stage.TERMINATED, Stage.CLOSED], stage, "doubt")
    marked = _marked([*path, Stage.MET, Stage.CLOSED], stage, "good")
    if stage in path:
        marked[-2] = replace(marked[-2], label="Verdict")
    return marked


def _reached(summary: EngagementSummary) -> int:
    """Count the stages that a cancelled engagement went through."""
    if any(version.state != ContractVersion.State.DRAFT for version in summary.versions):
        return 4
    if summary.audit is None:
        return 1
    return 3 if summary.audit.delivered_at else 2


def _marked(path: list[Stage], now: Stage, tone: str) -> list[Step]:
    position = path.index(now)
    ended = (
        *(Stage.MET, Stage.MISSED, Stage.TERMINATED),
        *(Stage.REDIRECTED, Stage.DECLINED, Stage.CANCELLED),
    )
    return [
        Step(
            label=str(stage.label),
            state="done" if index < position else "now" if index == position else "ahead",
            tone=tone if stage in ended else "live",
        )
        for index, stage in enumerate(path)
    ]
