"""Whose turn a settlement is, and what each step of it does."""

from __future__ import annotations

from dataclasses import dataclass

from django import forms

from engagements import access
from engagements.access import Person
from engagements.forms.finance import (
    SettlementFailedForm,
    SettlementPaidForm,
    SettlementVoidForm,
)
from engagements.forms.settlements import ResolveForm
from engagements.models import Settlement

State = Settlement.State


def waiting_for(settlement: Settlement) -> str:
    """Who has to move a settlement on, and how; empty where nobody has to."""
    if settlement.is_on_hold:
        return "Finance: resolve the customer's dispute; until then it is on hold"
    if settlement.state == State.PROPOSED:
        if settlement.proposed_by is None:
            return "Anybody of finance: check and approve"
        return f"Finance, but not {settlement.proposed_by}: check and approve"
    return {
        State.APPROVED: "Finance: make the transfer",
        State.PAYING: "The bank; then finance: enter the reference",
        State.FAILED: "Finance: try again, or void",
    }.get(State(settlement.state), "")


@dataclass
class Action:
    """A step that can be taken from here. `why_not` says why this person cannot take it."""

    name: str
    label: str
    note: str
    why_not: str
    form: forms.Form
    is_danger: bool = False
    is_first: bool = False

    @property
    def has_fields(self) -> bool:
        """Whether the step asks for anything besides the click."""
        return bool(self.form.fields)


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
FROM: dict[str, tuple[str, ...]] = {
    State.PROPOSED: ("approve", "void"),
    State.APPROVED: ("start", "paid", "void"),
    State.PAYING: ("paid", "failed"),
    State.FAILED: ("start", "paid", "void"),
}


def actions(
    settlement: Settlement, user: Person, *, sent: dict[str, forms.Form] | None = None
) -> list[Action]:
    """The steps open from here, the usual one first. `sent` holds forms that were refused."""
    names = _open_steps(settlement)
    refused = sent or {}
    # A step that two people took at once is refused to the second: it has to stay on the page.
    names = (*names, *(name for name in refused if name not in names))
    found = []
    for name in names:
        label, note = LABELS[name]
        found.append(
            Action(
                name=name,
                label="Try the payment again" if _is_retry(settlement, name) else label,
                note=note,
                why_not=_why_not(settlement, name, user),
                form=refused.get(name) or FORMS[name](auto_id=f"id_{name}_%s"),
                is_danger=name in ("failed", "void"),
                is_first=name == names[0],
            )
        )
    return found


def _open_steps(settlement: Settlement) -> tuple[str, ...]:
    names = FROM.get(settlement.state, ())
    if settlement.refund <= 0:
        names = tuple(name for name in names if name != "start")
    if not settlement.is_on_hold:
        return names
    # On hold nothing moves on; what is with the bank already may still arrive or come back.
    moving = () if settlement.state == State.PAYING else ("approve", "start", "paid")
    return ("resolve", *(name for name in names if name not in moving))


def _is_retry(settlement: Settlement, name: str) -> bool:
    return name == "start" and settlement.state == State.FAILED


def _why_not(settlement: Settlement, name: str, user: Person) -> str:
    if not access.is_finance(user):
        return "Only finance acts on settlements."
    if name == "approve" and settlement.proposed_by_id == user.pk:
        return "You proposed this settlement, so somebody else of finance has to approve it."
    return ""
