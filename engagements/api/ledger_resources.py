"""Ledger entries."""

from __future__ import annotations

from typing import Any

import django_filters
from django.db.models import QuerySet
from rest_framework import serializers

from engagements import access
from engagements.api.fields import Row, example
from engagements.api.resources import EngagementFilter, Filter, Resource, UpdatedSince
from engagements.ledger.models import Entry, Leg


class LegSerializer(Row):
    """One side of an entry: debit positive, credit negative."""

    amounts = ("amount",)
    account = serializers.CharField(source="account.code", read_only=True)

    class Meta:
        model = Leg
        fields = ("account", "amount", "currency")


@example(
    id=40,
    engagement="TF-2026-0007",
    kind="invoice_issued",
    dated_on="2026-10-01",
    key="invoice:4",
    document=22,
    created_at="2026-10-01T10:00:00Z",
    legs=[
        {"account": "receivables", "amount": "14280.00", "currency": "EUR"},
        {"account": "refund_liability", "amount": "-12000.00", "currency": "EUR"},
        {"account": "vat", "amount": "-2280.00", "currency": "EUR"},
    ],
)
class EntrySerializer(Row):
    """An entry of the ledger. Its legs add up to zero in each currency."""

    engagement = serializers.CharField(
        source="engagement.reference", read_only=True, allow_null=True, default=None
    )
    document = serializers.IntegerField(source="document_id", read_only=True, allow_null=True)
    legs = LegSerializer(many=True, read_only=True)

    class Meta:
        model = Entry
        fields = ("id", "engagement", "kind", "dated_on", "key", "document", "created_at", "legs")


class EntriesFilter(Filter):
    """By engagement, kind, account and day."""

    engagement = EngagementFilter()
    kind = django_filters.MultipleChoiceFilter(choices=Entry.Kind.choices)
    account = django_filters.CharFilter(field_name="legs__account__code", distinct=True)
    dated_on = django_filters.DateFromToRangeFilter()
    updated_since = UpdatedSince("created_at", engagement=None)


class Entries(Resource):
    """Entries of the ledger, for staff. Append-only."""

    serializer_class = EntrySerializer
    filterset_class = EntriesFilter

    def rows(self) -> QuerySet[Any]:
        rows = access.rows_for(self.request.user, "Entry").select_related("engagement")
        return rows.prefetch_related("legs__account")
