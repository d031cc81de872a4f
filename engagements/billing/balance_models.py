"""Invoice balances: a read-only database view."""

from __future__ import annotations

from typing import ClassVar

from django.db import models

from engagements.billing.models import Invoice
from engagements.common.money import format_money


class InvoiceBalance(models.Model):
    """The figures of `engagements.billing.balances.Balance` for each invoice and credit note."""

    invoice = models.OneToOneField(
        Invoice,
        on_delete=models.DO_NOTHING,
        primary_key=True,
        db_constraint=False,
        related_name="balance",
    )
    credited = models.DecimalField(max_digits=14, decimal_places=3)
    received = models.DecimalField(max_digits=14, decimal_places=3)
    open_amount = models.DecimalField(max_digits=14, decimal_places=3)
    due_after_settlement = models.DecimalField(max_digits=14, decimal_places=3, null=True)
    amount_due = models.DecimalField(max_digits=14, decimal_places=3)
    offset = models.DecimalField(max_digits=14, decimal_places=3)
    max_payment = models.DecimalField(max_digits=14, decimal_places=3)
    is_held = models.BooleanField()
    is_settled = models.BooleanField()

    class Meta:
        managed = False
        default_permissions: ClassVar = ()

    def __str__(self) -> str:
        return f"{format_money(self.open_amount, self.invoice.currency)} of {self.invoice} open"
