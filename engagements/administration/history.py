"""The admin site's read-only pages of everything that services write."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import admin
from django.db import models
from django.http import HttpRequest

from engagements.administration.permissions import ReadOnly
from engagements.audit.models import Audit, Finding
from engagements.billing.bank_models import BankImport, BankLine
from engagements.billing.models import Counter, Invoice, InvoiceLine
from engagements.billing.payment_models import Payment
from engagements.billing.reminder_models import Reminder
from engagements.contracts.milestones.models import Milestone
from engagements.contracts.models import ContractVersion
from engagements.contracts.signing_models import Acceptance
from engagements.contracts.time_box.models import TimeBox
from engagements.documents.models import Document
from engagements.engagement.models import Engagement
from engagements.event_log.models import Event
from engagements.payouts.overpayment_models import OverpaymentRefund
from engagements.runs.models import EngagementRun
from engagements.settlements.models import Settlement


class HistoryAdmin(ReadOnly, admin.ModelAdmin[Any]):
    """Read-only history."""

    # Names of rows include their engagement and currency.
    list_select_related = True

    def get_list_display(self, request: HttpRequest) -> list[str | Callable[[Any], str | bool]]:
        """Show the name and the first time of a row."""
        moments = [c.name for c in self.model._meta.fields if isinstance(c, models.DateTimeField)]
        return ["__str__", *moments[:1]]

    def get_fields(
        self, request: HttpRequest, obj: models.Model | None = None
    ) -> list[str | list[str] | tuple[str, ...] | tuple[()]]:
        """Show every column except binary ones."""
        columns = self.model._meta.fields
        return [c.name for c in columns if not isinstance(c, models.BinaryField)]

    def get_queryset(self, request: HttpRequest) -> models.QuerySet[Any]:
        bytes_ = [c.name for c in self.model._meta.fields if isinstance(c, models.BinaryField)]
        return super().get_queryset(request).defer(*bytes_)


admin.site.register(
    [
        Acceptance,
        Audit,
        BankImport,
        BankLine,
        ContractVersion,
        Counter,
        Document,
        Engagement,
        EngagementRun,
        Event,
        Finding,
        Invoice,
        InvoiceLine,
        Milestone,
        OverpaymentRefund,
        Payment,
        Reminder,
        Settlement,
        TimeBox,
    ],
    HistoryAdmin,
)
