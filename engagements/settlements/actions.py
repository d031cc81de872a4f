"""Actions on a settlement that its page offers, by state."""

from __future__ import annotations

from django import forms
from django.db.models import Max

from engagements import access
from engagements.access import Person
from engagements.common.steps import Action, available_actions
from engagements.people import second_person
from engagements.people.models import User
from engagements.settlements.forms import (
    ResolveForm,
    SettlementFailedForm,
    SettlementFiledForm,
    SettlementVoidForm,
    TransferPaidForm,
)
from engagements.settlements.models import Settlement
from engagements.settlements.services import approval_error

State = Settlement.State
FORMS: dict[str, type[forms.Form]] = {
    "approve": forms.Form,
    "start": forms.Form,
    "paid": TransferPaidForm,
    "failed": SettlementFailedForm,
    "void": SettlementVoidForm,
    "resolve": ResolveForm,
}
LABELS = {
    "approve": ("Approve refund", "You confirm the figures. The transfer follows."),
    "start": (
        "Transfer by hand",
        "You make the transfer at the bank now: the money counts as gone.",
    ),
    "paid": ("Mark as paid", "The bank has made the transfer."),
    "failed": ("Mark as failed", "The bank did not make the transfer."),
    "void": (
        "Void this settlement",
        "Ends it without payment. Credit notes stay; a new settlement can be proposed.",
    ),
    "resolve": ("Resolve dispute", "Ends the hold. The customer reads your note."),
}
LABELS_WITHOUT_REFUND = {
    "approve": ("Approve settlement", "You confirm the figures. There is no refund."),
    "paid": ("Mark as settled", "The settlement is filed. There is no refund."),
}
ACTIONS_BY_STATE: dict[str, tuple[str, ...]] = {
    State.PROPOSED: ("approve", "void"),
    State.APPROVED: ("start", "paid", "void"),
    State.PAYING: ("paid", "failed"),
    State.FAILED: ("start", "paid", "void"),
}


def forms_of(settlement: Settlement) -> dict[str, type[forms.Form]]:
    """Return the form of each action."""
    return FORMS if settlement.has_refund else FORMS | {"paid": SettlementFiledForm}


def actions(
    settlement: Settlement,
    user: Person,
    *,
    is_outdated: bool,
    rejected: dict[str, forms.Form] | None = None,
) -> list[Action]:
    """Return the available actions, the usual one first; `rejected` has forms with errors."""
    labels = LABELS if settlement.has_refund else LABELS | LABELS_WITHOUT_REFUND
    if settlement.state == State.FAILED:
        labels = labels | {"start": ("Transfer again by hand", LABELS["start"][1])}
    open_disputes = settlement.disputes.filter(resolved_at__isnull=True)
    return available_actions(
        _names(settlement),
        forms_=forms_of(settlement),
        labels=labels,
        blocking_reason=lambda name: _blocking_reason(
            settlement, name, user, is_outdated=is_outdated
        ),
        rejected=rejected or {},
        initial={
            "attempt": settlement.transfers.aggregate(last=Max("attempt"))["last"],
            "dispute": open_disputes.aggregate(last=Max("pk"))["last"],
        },
    )


def _names(settlement: Settlement) -> tuple[str, ...]:
    names = ACTIONS_BY_STATE.get(settlement.state, ())
    if not settlement.has_refund:
        names = tuple(name for name in names if name != "start")
    if not settlement.is_on_hold:
        return names
    # On hold, only a transfer that is already with the bank may end.
    held = () if settlement.state == State.PAYING else ("approve", "start", "paid")
    return ("resolve", *(name for name in names if name not in held))


def _blocking_reason(settlement: Settlement, name: str, user: Person, *, is_outdated: bool) -> str:
    if not access.is_finance(user):
        return "Only finance acts on settlements."
    assert isinstance(user, User)
    if name == "approve":
        if is_outdated:
            return "The payments have changed: void the settlement and propose it again."
        return str(approval_error(settlement, by=user) or "")
    if name in ("start", "paid") and settlement.has_refund:
        others, subject = [settlement.approved_by_id], settlement.subject
        if second_person.is_missing(by=user, others=others, subject=subject):
            return "You approved this refund: another person of finance pays it."
    if name == "failed":
        senders = settlement.transfers.filter(outcome="").values_list("started_by", flat=True)
        if second_person.is_missing(by=user, others=senders, subject=settlement.subject):
            return "You sent this refund: another person of finance, or a bank line, fails it."
    return ""
