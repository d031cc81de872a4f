"""The steps of an overpayment on its way back, as its page offers them."""

from __future__ import annotations

from django import forms

from engagements import access
from engagements.access import Person
from engagements.common.steps import Action, available_actions
from engagements.payouts.forms import OverpaymentRefundPaidForm, OverpaymentRefundVoidForm
from engagements.payouts.models import OverpaymentRefund
from engagements.settlements.step_forms import TransferFailedForm

FORMS: dict[str, type[forms.Form]] = {
    "send": forms.Form,
    "paid": OverpaymentRefundPaidForm,
    "failed": TransferFailedForm,
    "void": OverpaymentRefundVoidForm,
}
LABELS = {
    "send": (
        "Transfer by hand",
        "Says that the transfer is being made at the bank: the money counts as gone. You are "
        "asked for your password.",
    ),
    "paid": ("Mark as paid", "Says that the bank has made the transfer."),
    "failed": ("The transfer failed", "Says that the bank did not make it: it is open again."),
    "void": ("Do not pay it back", "Sets the proposal aside; another can be made."),
}
FROM: dict[str, tuple[str, ...]] = {
    OverpaymentRefund.State.PROPOSED: ("send", "void"),
    OverpaymentRefund.State.PAYING: ("paid", "failed"),
}


def steps_of(row: OverpaymentRefund, user: Person, refused: dict[str, forms.Form]) -> list[Action]:
    """The steps open from here, the usual one first, with the forms that were refused."""
    return available_actions(
        FROM.get(row.state, ()),
        forms_=FORMS,
        labels=LABELS,
        blocking_reason=lambda name: _why_not(row, name, user),
        rejected=refused,
    )


def _why_not(row: OverpaymentRefund, name: str, user: Person) -> str:
    if not access.is_finance(user):
        return "Only finance moves money."
    if name == "send" and row.proposed_by_id == user.pk:
        return "You proposed to pay it back, so somebody else of finance sends it."
    return ""
