"""Whose turn a settlement is, and what each step of it does."""

from __future__ import annotations

from django import forms
from django.db.models import Max

from engagements import access
from engagements.access import Person
from engagements.common.steps import Action, available_actions
from engagements.settlements.forms import ResolveForm
from engagements.settlements.models import Settlement
from engagements.settlements.step_forms import (
    SettlementFailedForm,
    SettlementFiledForm,
    SettlementPaidForm,
    SettlementVoidForm,
)

State = Settlement.State


def waiting_for(settlement: Settlement, *, outdated: bool = False) -> str:
    """Who has to move a settlement on, and how; empty where nobody has to.

    `outdated` says that more came in since it was proposed.
    """
    if settlement.is_on_hold:
        return "Finance: resolve the customer's dispute; until then it is on hold"
    if settlement.needs_reproposal:
        return "Finance: it was set aside, propose it anew"
    if outdated:
        return "Finance: void it and propose it anew"
    if settlement.state == State.PROPOSED:
        if settlement.proposed_by is None:
            return "Anybody of finance: check and approve"
        return f"Finance, but not {settlement.proposed_by}: check and approve"
    if settlement.state == State.APPROVED and not settlement.has_refund:
        return "Finance: enter what it is filed under; nothing is transferred"
    return {
        State.APPROVED: "Finance: make the transfer",
        State.PAYING: "The bank; then finance: enter the reference",
        State.FAILED: "Finance: try again, or void",
    }.get(State(settlement.state), "")


FORMS: dict[str, type[forms.Form]] = {
    "approve": forms.Form,
    "start": forms.Form,
    "paid": SettlementPaidForm,
    "failed": SettlementFailedForm,
    "void": SettlementVoidForm,
    "resolve": ResolveForm,
}
LABELS = {
    "approve": ("Approve", "Says that the figures are right. The transfer comes after."),
    "start": (
        "Transfer by hand",
        "Says that the transfer is being made at the bank: the money counts as gone.",
    ),
    "paid": ("Mark as paid", "Says that the bank has made the transfer."),
    "failed": ("The payment failed", "Says that the bank did not make the transfer."),
    "void": (
        "Void this settlement",
        "Ends it without a payment. Credit notes stay; another settlement can be proposed.",
    ),
    "resolve": ("Resolve the dispute", "Ends the hold. The customer reads your note."),
}
# Where nothing goes back.
WITHOUT_TRANSFER = {
    "approve": ("Approve", "Says that the figures are right. Nothing goes back."),
    "paid": ("Mark as settled", "Says that it is filed. Nothing goes back."),
}
FROM: dict[str, tuple[str, ...]] = {
    State.PROPOSED: ("approve", "void"),
    State.APPROVED: ("start", "paid", "void"),
    State.PAYING: ("paid", "failed"),
    State.FAILED: ("start", "paid", "void"),
}


def forms_of(settlement: Settlement) -> dict[str, type[forms.Form]]:
    """What each step asks for."""
    return FORMS if settlement.has_refund else FORMS | {"paid": SettlementFiledForm}


def actions(
    settlement: Settlement,
    user: Person,
    *,
    outdated: bool,
    sent: dict[str, forms.Form] | None = None,
) -> list[Action]:
    """The steps open from here, the usual one first. `sent` holds forms that were refused."""
    _, note = LABELS["start"]
    said = {} if settlement.has_refund else WITHOUT_TRANSFER
    again = {"start": ("Try the payment again", note)} if _is_retry(settlement) else {}
    return available_actions(
        _open_steps(settlement),
        forms_=forms_of(settlement),
        labels=LABELS | said | again,
        blocking_reason=lambda name: _why_not(settlement, name, user, outdated=outdated),
        rejected=sent or {},
        initial={
            "attempt": settlement.transfers.aggregate(last=Max("attempt"))["last"],
            "dispute": settlement.disputes.filter(resolved_at__isnull=True).aggregate(
                last=Max("pk")
            )["last"],
        },
    )


def _open_steps(settlement: Settlement) -> tuple[str, ...]:
    names = FROM.get(settlement.state, ())
    if not settlement.has_refund:
        names = tuple(name for name in names if name != "start")
    if not settlement.is_on_hold:
        return names
    # On hold nothing moves on; what is with the bank already may still arrive or come back.
    moving = () if settlement.state == State.PAYING else ("approve", "start", "paid")
    return ("resolve", *(name for name in names if name not in moving))


def _is_retry(settlement: Settlement) -> bool:
    return settlement.state == State.FAILED


def _why_not(settlement: Settlement, name: str, user: Person, *, outdated: bool) -> str:
    if not access.is_finance(user):
        return "Only finance acts on settlements."
    if name == "approve" and settlement.proposed_by_id == user.pk:
        return "You proposed this settlement, so somebody else of finance has to approve it."
    if name == "approve" and outdated:
        return "What was received has changed since this was proposed."
    return ""
