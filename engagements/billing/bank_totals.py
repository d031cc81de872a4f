"""Totals of a bank file and its possible duplicates, to compare with the bank."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

from django.db.models import Count, Exists, F, Func, OuterRef, Q, QuerySet, Sum, TextField, Value
from django.db.models.functions import Coalesce

from engagements.billing.bank_files.statement import UNNAMED
from engagements.billing.bank_models import BankImport, BankLine

# How `statement.with_keys` numbers lines of a file with the same reference.
NUMBERED = r" \([0-9]+\)$"
NOTHING = Decimal(0)


@dataclass(frozen=True)
class FileTotal:
    """The new lines of a file in one currency: their number, money in, and money out (positive)."""

    currency: str
    count: int
    incoming: Decimal
    outgoing: Decimal


def totals_of(imports: Iterable[BankImport]) -> dict[int, list[FileTotal]]:
    """The totals of bank files by key, each in alphabetical order of currencies."""
    found: defaultdict[int, list[FileTotal]] = defaultdict(list)
    rows = (
        BankLine.objects.filter(bank_import__in=[row.pk for row in imports])
        .order_by("currency")
        .values_list("bank_import", "currency")
        .annotate(
            count=Count("pk"),
            incoming=Coalesce(Sum("amount", filter=Q(amount__gt=0)), NOTHING),
            outgoing=Coalesce(Sum("amount", filter=Q(amount__lt=0)), NOTHING),
        )
    )
    for key, currency, count, incoming, outgoing in rows:
        found[key].append(FileTotal(currency, count, incoming, -outgoing))
    return found


def with_known_references(bank_import: BankImport) -> QuerySet[BankLine]:
    """Lines of a file with the bank reference and the amount of another line of their account.

    Banks give a reference once: one of the two may be the same payment again.
    """
    others = (
        BankLine.objects.alias(other_stem=_stem("entry_reference"))
        .filter(
            account=OuterRef("account"),
            currency=OuterRef("currency"),
            amount=OuterRef("amount"),
            other_stem=OuterRef("stem"),
        )
        .exclude(pk=OuterRef("pk"))
    )
    lines = bank_import.lines.exclude(entry_reference__startswith=UNNAMED)
    return lines.alias(stem=_stem("entry_reference")).filter(Exists(others))


def _stem(name: str) -> Func:
    """A reference without the number of a line that is alike."""
    return Func(
        F(name), Value(NUMBERED), Value(""), function="regexp_replace", output_field=TextField()
    )
