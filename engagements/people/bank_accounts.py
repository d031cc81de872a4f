"""Customers' bank accounts for refunds, and their confirmation by the customer."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import Q
from django.utils import timezone

from benchmarks.triggers import AppendOnly
from engagements.people.models import Customer, User
from engagements.people.triggers import CONFIRMED_BY_SIGNATORY


class BankAccount(models.Model):
    """A customer's refund account. Append-only: the newest confirmed one is in use.

    Proposed by finance, entered by a signatory of the customer, or, without `added_by`, copied
    from the payer's account of `bank_line`.
    """

    customer = models.ForeignKey(Customer, on_delete=models.PROTECT, related_name="bank_accounts")
    holder = models.CharField("account holder", max_length=70)
    iban = models.CharField("IBAN", max_length=34)
    bic = models.CharField("BIC", max_length=11, blank=True)
    bank_line = models.ForeignKey(
        "engagements.BankLine", on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    added_by = models.ForeignKey(
        User, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    added_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering: ClassVar = ["-added_at", "-pk"]
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(iban__regex=r"^[A-Z]{2}[0-9]{2}[A-Z0-9]{11,30}$"),
                name="bank_account_has_an_iban",
                violation_error_message="Enter an IBAN, such as DE02120300000000202051.",
            ),
            models.CheckConstraint(
                condition=Q(bic="")
                | Q(bic__regex=r"^[A-Z0-9]{4}[A-Z]{2}[A-Z0-9]{2}([A-Z0-9]{3})?$"),
                name="bank_account_has_a_bic_or_none",
                violation_error_message="Enter a BIC of 8 or 11 characters.",
            ),
            models.CheckConstraint(
                condition=Q(added_by__isnull=False) | Q(bank_line__isnull=False),
                name="bank_account_has_an_origin",
                violation_error_message="A bank account needs a person or a bank line as origin.",
            ),
        ]
        triggers: ClassVar = [
            AppendOnly(),
        ]

    def __str__(self) -> str:
        return f"{self.holder}, {self.iban}"

    @property
    def setters(self) -> set[int]:
        """Keys of the people who added and confirmed the account; they may not send money to it."""
        confirmation: BankAccountConfirmation | None = getattr(self, "confirmation", None)
        keys = (self.added_by_id, confirmation.confirmed_by_id if confirmation else None)
        return {key for key in keys if key is not None}

    @property
    def masked(self) -> str:
        """The holder, and the IBAN's ends: a mail shows no more of an account."""
        return f"{self.holder}, {self.iban[:4]} … {self.iban[-4:]}"


class BankAccountConfirmation(models.Model):
    """A signatory's confirmation of a refund account. Append-only.

    Money is sent to the account from `usable_from`, so that a forged change is noticed before.
    """

    account = models.OneToOneField(
        BankAccount, on_delete=models.PROTECT, related_name="confirmation"
    )
    confirmed_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    confirmed_at = models.DateTimeField(default=timezone.now, editable=False)
    usable_from = models.DateTimeField()

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(usable_from__gte=models.F("confirmed_at")),
                name="bank_account_is_usable_after_its_confirmation",
            ),
        ]
        triggers: ClassVar = [
            AppendOnly(),
            CONFIRMED_BY_SIGNATORY,
        ]

    def __str__(self) -> str:
        return f"{self.account}, confirmed by {self.confirmed_by}"


def current(customer: Customer) -> BankAccount | None:
    """Return the account to which the customer's refunds are paid: the newest confirmed one."""
    confirmed = customer.bank_accounts.filter(confirmation__isnull=False)
    return confirmed.select_related("confirmation").order_by("-confirmation__pk").first()
