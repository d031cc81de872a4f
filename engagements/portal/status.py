"""The status of an engagement and its next step, for the customer."""

from __future__ import annotations

from dataclasses import dataclass

from django.urls import reverse

from engagements.audit.models import Audit
from engagements.common.dates import in_words
from engagements.contracts.models import Party
from engagements.contracts.time_box.burn_down import BurnDown
from engagements.contracts.versions import acceptance_of
from engagements.engagement.models import Stage
from engagements.portal.labels import OUTCOME_SENTENCE, joined
from engagements.portal.queries import PortalEngagement
from engagements.settlements.models import Settlement
from engagements.templatetags.show import ratio

US = "us"
NOBODY = "nothing"
YOU = "you"
OPEN_INVOICE = "Pay the open invoice."

MORE_CAME_IN = (
    "You paid more than invoiced. We refund the difference or move it to another invoice."
)


@dataclass(frozen=True)
class Next:
    """The next step and who takes it; `tone` and the link are for the fragment."""

    who_label: str
    text: str
    tone: str = "live"
    url: str = ""
    action: str = ""


@dataclass(frozen=True)
class Step:
    """A stage of the engagement: done, now or ahead."""

    label: str
    state: str
    tone: str = "live"


def next_step(page: PortalEngagement, *, can_sign: bool) -> Next:
    """Return the next step and who takes it.

    `can_sign` says whether the reader may sign the pending offer or handover.
    """
    if page.offered is not None:
        return _contract_next(page, can_sign=can_sign)
    lead = page.engagement.lead
    by_us = f"us ({lead})"
    stage = page.engagement.stage
    if stage == Stage.ACTIVE:
        return _active_next(page, by_us)
    if stage == Stage.MET:
        return _met_next(page, can_sign=can_sign)
    if stage == Stage.MISSED:
        return _missed_next(page)
    if stage == Stage.TERMINATED:
        return _terminated_next(page)
    if stage in (Stage.SCOPING, Stage.AUDITING) and page.unanswered:
        return _questions_next(page)
    texts = {
        Stage.SCOPING: "We scope your workload and start the audit.",
        Stage.AUDITING: "We check your workload and report the findings.",
        Stage.AUDITED: "We draft the contract: fee, time-box, target and benchmark.",
    }
    if stage in texts:
        return Next(by_us, texts[Stage(stage)])
    ends = {
        Stage.CLOSED: "All work is done and paid. Your documents remain available here.",
        Stage.REDIRECTED: (
            "The engagement ended after the audit. The report recommends cheaper alternatives."
        ),
        Stage.DECLINED: ("The engagement ended after the audit. The report explains why."),
        Stage.CANCELLED: "This engagement was cancelled. Nothing is owed.",
    }
    return Next(NOBODY, ends[Stage(stage)], tone="plain")


def _questions_next(page: PortalEngagement) -> Next:
    url = reverse("portal-evidence", args=[page.engagement.reference])
    noun = "question" if page.unanswered == 1 else "questions"
    return Next(
        YOU,
        f"Answer {page.unanswered} {noun} of the audit, and add a profile if you have one.",
        tone="doubt",
        url=url,
        action="Answer questions",
    )


def _contract_next(page: PortalEngagement, *, can_sign: bool) -> Next:
    assert page.offered is not None
    url = reverse("portal-contract", args=[page.engagement.reference])
    if acceptance_of(page.offered, Party.CUSTOMER):
        return Next(
            US, "You have accepted the contract. We sign it next.", url=url, action="Open contract"
        )
    noun = "An amendment" if page.contract else "A contract"
    if can_sign:
        text = f"{noun} is ready for your signature."
        return Next(YOU, text, tone="doubt", url=url, action="Read contract")
    signatory = joined(page.signatories) or "a signatory of your company"
    text = f"{noun} is ready. {signatory} can sign it."
    return Next(signatory, text, tone="doubt", url=url, action="Read contract")


def _active_next(page: PortalEngagement, by_us: str) -> Next:
    if page.open_run is not None:
        url = reverse("portal-run", args=[page.engagement.reference, page.open_run.pk])
        return Next(US, "An acceptance run is in progress.", url=url, action="Watch the run")
    requests = page.engagement.cooperation_requests.all()
    asked = next((row for row in requests if row.provided_on is None), None)
    if asked is not None:
        url = reverse("portal-engagement", args=[page.engagement.reference])
        text = f"Provide what we asked for: {asked.item}"
        return Next(YOU, text, tone="doubt", url=f"{url}#requests", action="Confirm it")
    if page.may_end_for_cause:
        url = reverse("portal-end-for-cause", args=[page.engagement.reference])
        text = "Two acceptance runs were disqualified: you may end the contract for cause."
        return Next(YOU, text, tone="doubt", url=url, action="See what it means")
    if page.clock is None or page.clock.is_over:
        return Next(by_us, "The time-box has ended. We prepare the settlement.", tone="doubt")
    if page.clock.is_paused:
        return Next(page.clock.waited_for, page.clock.why_paused, tone="doubt")
    ends = page.clock.ends_on
    request = OPEN_INVOICE if page.owes else "You have nothing to do."
    used = ""
    if page.contract is not None and page.attempts_used:
        used = f" {page.attempts_used} of {page.contract.acceptance_runs} attempts are used up."
    text = f"We build the kernel and measure it by {in_words(ends)}.{used} {request}"
    return Next(by_us, text)


def _met_next(page: PortalEngagement, *, can_sign: bool) -> Next:
    if page.handover_is_open:
        url = reverse("portal-handover", args=[page.engagement.reference])
        if not page.is_delivered:
            return Next(US, "We hand over the deliverables.", url=url, action="View handover")
        text = "Check that the delivery is complete, then accept the handover."
        if can_sign:
            return Next(YOU, text, tone="doubt", url=url, action="Accept handover")
        signatory = joined(page.signatories) or "a signatory of your company"
        text = f"{text} {signatory} can accept it."
        return Next(signatory, text, tone="doubt", url=url, action="View handover")
    if page.owes:
        return Next(YOU, OPEN_INVOICE, tone="doubt")
    if page.more_came_in:
        return Next(US, MORE_CAME_IN)
    return Next(US, "We issue the remaining invoices and close the engagement.")


def _terminated_next(page: PortalEngagement) -> Next:
    if page.owes:
        return Next(YOU, OPEN_INVOICE, tone="doubt")
    if page.more_came_in:
        return Next(US, MORE_CAME_IN)
    return Next(US, "We issue the remaining invoices and close the engagement.")


def _missed_next(page: PortalEngagement) -> Next:
    settlement = page.settlement
    if page.owes:
        return Next(YOU, OPEN_INVOICE, tone="doubt")
    if settlement is None:
        return Next(US, "We calculate your refund and have it approved.")
    if page.more_came_in:
        return Next(US, "You paid after the settlement. We refund that payment.")
    if settlement.state == Settlement.State.PAID:
        return Next(US, "The settlement is paid. We close the engagement.")
    if settlement.is_on_hold:
        return Next(US, "You disputed the settlement. We review it; payments wait until then.")
    if settlement.has_refund:
        return _refund_next(page, settlement)
    if settlement.approved_at is None:
        return Next(US, "We review the settlement.")
    if settlement.balance_due > 0:
        return Next(US, "We invoice the rest of the audit.")
    return Next(US, "No refund and no balance is due. We close the engagement.")


def _refund_next(page: PortalEngagement, settlement: Settlement) -> Next:
    late = ""
    if settlement.is_refund_overdue and settlement.refund_due_on:
        late = f" It was due by {in_words(settlement.refund_due_on)} and is late."
    is_known = settlement.state == Settlement.State.PAYING or page.refund_to is not None
    if not is_known:
        url = reverse("portal-refund-account", args=[page.engagement.reference])
        text = f"Enter the bank account for your refund.{late}"
        tone = "bad" if late else "doubt"
        return Next(YOU, text, tone=tone, url=url, action="Enter account")
    text = f"We refund your payments less the cost of the audit.{late}"
    return Next(US, text, tone="bad" if late else "live")


def headline(page: PortalEngagement) -> str:
    """Return the status in one sentence."""
    stage, measured = page.engagement.stage, page.measured
    if stage == Stage.ACTIVE and page.clock is not None:
        return _at_work(page.clock)
    if stage == Stage.MET:
        speed = f" It runs {ratio(measured.ratio)} as fast as the baseline." if measured else ""
        return f"The target is met.{speed}"
    if stage == Stage.MISSED:
        return f"The target was missed. {_refunded(page.settlement)}"
    if stage == Stage.TERMINATED:
        return "The contract was terminated. What was due before stays due; nothing is refunded."
    if stage == Stage.CLOSED:
        return _closed(page)
    if page.audit is not None and stage in (Stage.AUDITED, Stage.REDIRECTED, Stage.DECLINED):
        verdict = OUTCOME_SENTENCE[Audit.Outcome(page.audit.outcome)]
        passed = f"{page.passed} of {len(page.checks)} checks passed"
        return f"The audit is delivered: {passed}. {verdict}"
    return {
        Stage.SCOPING: "We are scoping your workload.",
        Stage.AUDITING: "The audit is in progress. There is no contract yet.",
        Stage.AUDITED: "The audit is delivered.",
        Stage.OFFERED: "A contract is offered. It takes effect once both parties have signed.",
        Stage.CANCELLED: "The engagement was cancelled.",
    }.get(Stage(stage), "Work is in progress.")


def _refunded(settlement: Settlement | None) -> str:
    if settlement is None or settlement.has_refund:
        is_paid = settlement is not None and settlement.paid_at is not None
        verb = "were" if is_paid else "will be"
        return f"Your payments {verb} refunded less the cost of the audit."
    # Amounts are shown once a second person has approved them.
    if settlement.approved_at is None:
        return "The settlement is being prepared."
    return "Your payments do not exceed the cost of the audit, so no refund is due."


def _at_work(clock: BurnDown) -> str:
    if clock.is_over:
        return "The time-box has ended without the target being met."
    if not clock.has_started:
        return f"The contract is signed. Work starts on {in_words(clock.starts_on)}."
    week = f"week {clock.week} of {clock.weeks}"
    return (
        f"The time-box is paused in {week}." if clock.is_paused else f"Work is in progress: {week}."
    )


def _closed(page: PortalEngagement) -> str:
    if any(row.charge.is_termination and row.is_in_force for row in page.charges):
        return "Closed. The contract was terminated, and what was due is paid."
    if page.settlement is not None:
        return "Closed. The target was missed and the settlement is paid."
    return "Closed. The target was met, and everything is delivered and paid."


POSITION = {
    Stage.SCOPING: 0,
    Stage.AUDITING: 1,
    Stage.AUDITED: 2,
    Stage.OFFERED: 2,
    Stage.ACTIVE: 3,
    Stage.MET: 4,
    Stage.MISSED: 4,
    Stage.TERMINATED: 4,
    Stage.CLOSED: 6,
    Stage.REDIRECTED: 2,
    Stage.DECLINED: 2,
}


def steps(page: PortalEngagement) -> list[Step]:
    """Return the six stages of the engagement; empty when it was cancelled."""
    stage = Stage(page.engagement.stage)
    if stage == Stage.CANCELLED:
        return []
    if stage in (Stage.REDIRECTED, Stage.DECLINED):
        labels = ["Scope", "Audit", "Redirected" if stage == Stage.REDIRECTED else "No contract"]
    else:
        met = {
            Stage.MET: "Target met",
            Stage.MISSED: "Target missed",
            Stage.TERMINATED: "Terminated",
        }
        labels = ["Scope", "Audit", "Contract", "Work", met.get(stage, "Verdict"), "Closed"]
    tone = {Stage.MET: "good", Stage.MISSED: "bad", Stage.TERMINATED: "doubt"}.get(stage, "live")
    now = POSITION[stage]
    state = ["done" if i < now else "now" if i == now else "ahead" for i in range(len(labels))]
    return [Step(label, state[i], tone) for i, label in enumerate(labels)]
