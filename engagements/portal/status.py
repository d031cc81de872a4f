"""Where an engagement stands and what is next, said to the customer."""

from __future__ import annotations

from dataclasses import dataclass

from django.urls import reverse

from engagements.audit.models import Audit
from engagements.common.dates import in_words
from engagements.contracts.models import Party
from engagements.contracts.queries import acceptance_of
from engagements.contracts.time_box.burn_down import BurnDown
from engagements.engagement.models import Stage
from engagements.portal.labels import OUTCOME_SENTENCE, joined
from engagements.portal.queries import PortalEngagement
from engagements.settlements.models import Settlement
from engagements.templatetags.show import ratio

US = "us"
NOBODY = "nothing"
YOU = "you"
OPEN_INVOICE = "An invoice is open: the milestones say which."


@dataclass(frozen=True)
class Next:
    """What is next and who must do it; `tone` and the link are for the fragment."""

    who_label: str
    text: str
    tone: str = "live"
    url: str = ""
    action: str = ""


@dataclass(frozen=True)
class Step:
    """One step of the engagement's life: done, now or ahead."""

    label: str
    state: str
    tone: str = "live"


def next_step(page: PortalEngagement, *, can_sign: bool) -> Next:
    """What is next in this engagement, and whose turn it is.

    `can_sign` says whether the reader signs what waits for a signature.
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
    texts = {
        Stage.SCOPING: "We note what your workload does and start the audit.",
        Stage.AUDITING: "We answer six checks on your workload and report what we find.",
        Stage.AUDITED: "We write the contract: fee, time-box, target and benchmark.",
    }
    if stage in texts:
        return Next(by_us, texts[Stage(stage)])
    ends = {
        Stage.CLOSED: "Everything is done and paid. Your documents stay here.",
        Stage.REDIRECTED: (
            "It ended before a contract. The audit report says which cheaper ways we recommend."
        ),
        Stage.DECLINED: (
            "It ended before a contract. The audit report says why custom work would not pay here."
        ),
        Stage.CANCELLED: "This engagement was cancelled. Nothing more is owed.",
    }
    return Next(NOBODY, ends[Stage(stage)], tone="plain")


def _contract_next(page: PortalEngagement, *, can_sign: bool) -> Next:
    assert page.offered is not None
    url = reverse("portal-contract", args=[page.engagement.reference])
    if acceptance_of(page.offered, Party.CUSTOMER):
        return Next(US, "You have accepted the contract. We sign it next.", url=url, action="Open")
    amended = "A changed contract" if page.contract else "The contract"
    if can_sign:
        text = f"{amended} is ready: read it, then accept or decline."
        return Next(YOU, text, tone="doubt", url=url, action="Read the contract")
    who = joined(page.signatories) or "a signatory of your company"
    text = f"{amended} is ready to be read. Signing it takes {who}."
    return Next(who, text, tone="doubt", url=url, action="Read the contract")


def _active_next(page: PortalEngagement, by_us: str) -> Next:
    if page.open_run is not None:
        url = reverse("portal-run", args=[page.engagement.reference, page.open_run.pk])
        return Next(
            US, "The kernel is being measured now. You can watch.", url=url, action="Watch it"
        )
    if page.clock is None or page.clock.is_over:
        return Next(by_us, "The time-box has ended. We settle what goes back to you.", tone="doubt")
    if page.clock.is_paused:
        return Next(page.clock.waited_for, page.clock.why_paused, tone="doubt")
    ends = page.clock.ends_on
    start = "" if page.clock.has_started else "Work starts as agreed. "
    wanted = OPEN_INVOICE if page.owes else "Nothing is needed from you."
    return Next(by_us, f"{start}We build the kernel and measure it by {in_words(ends)}. {wanted}")


def _met_next(page: PortalEngagement, *, can_sign: bool) -> Next:
    if page.handover_is_open:
        url = reverse("portal-handover", args=[page.engagement.reference])
        text = "Check that you have everything that was agreed, then accept the handover."
        if can_sign:
            return Next(YOU, text, tone="doubt", url=url, action="Accept the handover")
        who = joined(page.signatories) or "a signatory of your company"
        return Next(who, f"{text} That takes {who}.", tone="doubt", url=url, action="See it")
    if page.owes:
        return Next(YOU, OPEN_INVOICE, tone="doubt")
    if page.more_came_in:
        return Next(US, "You paid more than was asked. We pay it back, or move it.")
    return Next(US, "We invoice what is left and close the engagement.")


def _missed_next(page: PortalEngagement) -> Next:
    settlement = page.settlement
    if page.owes:
        return Next(YOU, OPEN_INVOICE, tone="doubt")
    if settlement is None:
        return Next(US, "We work out what goes back to you and propose it for approval.")
    if page.more_came_in:
        return Next(US, "You paid more after the settlement. We send it back to you.")
    if settlement.state == Settlement.State.PAID:
        return Next(US, "The settlement is paid. We close the engagement.")
    if settlement.is_on_hold:
        return Next(US, "You dispute the settlement. We look into it; until then nothing is paid.")
    if settlement.has_refund:
        return _refund_next(page, settlement)
    if settlement.approved_at is None:
        return Next(US, "We check what the settlement comes to.")
    if settlement.balance_due > 0:
        return Next(US, "We invoice what is open of the audit.")
    return Next(US, "Nothing goes back and nothing is owed. We close the engagement.")


def _refund_next(page: PortalEngagement, settlement: Settlement) -> Next:
    late = ""
    if settlement.is_refund_overdue and settlement.refund_due_on:
        late = f" It was due by {in_words(settlement.refund_due_on)} and is late."
    is_known = settlement.state == Settlement.State.PAYING or page.refund_to is not None
    if not is_known:
        text = f"Tell {page.engagement.lead} the account that your refund goes to.{late}"
        return Next(YOU, text, tone="bad" if late else "doubt")
    text = f"We return what you paid, less the audit.{late}"
    return Next(US, text, tone="bad" if late else "live")


def headline(page: PortalEngagement) -> str:
    """Where the engagement stands, in one sentence."""
    stage, measured = page.engagement.stage, page.measured
    if stage == Stage.ACTIVE and page.clock is not None:
        return _at_work(page.clock)
    if stage == Stage.MET:
        speed = f" It runs at {ratio(measured.ratio)} the baseline's speed." if measured else ""
        return f"The target is met.{speed}"
    if stage == Stage.MISSED:
        return f"The target was missed. {_refunded(page.settlement)}"
    if stage == Stage.CLOSED:
        return _closed(page)
    if page.audit is not None and stage in (Stage.AUDITED, Stage.REDIRECTED, Stage.DECLINED):
        verdict = OUTCOME_SENTENCE[Audit.Outcome(page.audit.outcome)]
        return f"The audit is done, {page.passed} of 6 checks speak for custom work. {verdict}"
    return {
        Stage.SCOPING: "We are getting to know your workload.",
        Stage.AUDITING: "The audit is under way. No contract yet, and no obligation.",
        Stage.AUDITED: "The audit is done.",
        Stage.OFFERED: "The contract is on your table.",
        Stage.CANCELLED: "The engagement was cancelled.",
    }.get(Stage(stage), "Work is under way.")


def _refunded(settlement: Settlement | None) -> str:
    if settlement is None or settlement.has_refund:
        went = settlement is not None and settlement.paid_at is not None
        return f"What you paid {'went' if went else 'goes'} back, less the audit."
    # Until a second person agrees, nothing is said of what it comes to.
    if settlement.approved_at is None:
        return "The settlement is being prepared."
    return "You paid no more than the audit costs: nothing goes back."


def _at_work(clock: BurnDown) -> str:
    if clock.is_over:
        return "The time-box has ended and the target was not shown."
    if not clock.has_started:
        return f"The contract is signed. Work starts on {in_words(clock.starts_on)}."
    week = f"week {clock.week} of {clock.weeks}"
    return (
        f"The time-box is paused in {week}." if clock.is_paused else f"Work is under way: {week}."
    )


def _closed(page: PortalEngagement) -> str:
    if page.settlement is not None:
        return "Finished. The target was missed, and the settlement is paid."
    return "Finished. The target was met and everything is handed over and paid."


POSITION = {
    Stage.SCOPING: 0,
    Stage.AUDITING: 1,
    Stage.AUDITED: 2,
    Stage.OFFERED: 2,
    Stage.ACTIVE: 3,
    Stage.MET: 4,
    Stage.MISSED: 4,
    Stage.CLOSED: 6,
    Stage.REDIRECTED: 2,
    Stage.DECLINED: 2,
}


def steps(page: PortalEngagement) -> list[Step]:
    """The engagement's life in six steps; empty where it was cancelled."""
    stage = Stage(page.engagement.stage)
    if stage == Stage.CANCELLED:
        return []
    if stage in (Stage.REDIRECTED, Stage.DECLINED):
        labels = ["Scope", "Audit", "Another way" if stage == Stage.REDIRECTED else "No contract"]
    else:
        met = {Stage.MET: "Target met", Stage.MISSED: "Target missed"}
        labels = ["Scope", "Audit", "Contract", "Work", met.get(stage, "Verdict"), "Finished"]
    tone = {Stage.MET: "good", Stage.MISSED: "bad"}.get(stage, "live")
    now = POSITION[stage]
    state = ["done" if i < now else "now" if i == now else "ahead" for i in range(len(labels))]
    return [Step(label, state[i], tone) for i, label in enumerate(labels)]
