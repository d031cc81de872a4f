"""Credit notes that settlements caused."""

from __future__ import annotations

from typing import ClassVar

from django.db import models

from benchmarks.triggers import AppendOnly
from engagements.billing.models import Invoice
from engagements.settlements.models import Settlement


class SettlementCreditNote(models.Model):
    """A credit note that a settlement caused. Append-only."""

    settlement = models.ForeignKey(Settlement, on_delete=models.PROTECT, related_name="+")
    invoice = models.ForeignKey(Invoice, on_delete=models.PROTECT, related_name="+")

    class Meta:
        db_table = "engagements_settlement_credit_notes"
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["settlement", "invoice"], name="settlement_credit_note_once"
            ),
        ]
        triggers: ClassVar = [
            AppendOnly(),
        ]

    def __str__(self) -> str:
        return f"credit note {self.invoice_id} of settlement {self.settlement_id}"
