"""What a service is given and writes, held to what it must be: else Refused, in words."""

from __future__ import annotations

from collections.abc import Collection
from decimal import Decimal
from typing import Any

from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from django.db import IntegrityError, models, transaction

from engagements.common import money
from engagements.common.errors import ApplicationError
from engagements.common.text import strip_invisible


def save_validated(row: models.Model) -> None:
    """Save `row`; what its fields or constraints do not allow is Refused, in their words.

    The database has the constraints, so it is asked once: only of what it has refused is each
    constraint asked by itself, for the words.
    """
    _clean_fields(row, apart_from=_relations(row))
    try:
        with transaction.atomic():
            row.save()
    except IntegrityError:
        full_clean(row)
        raise


def full_clean(row: models.Model) -> None:
    """What `save` checks, without saving: a query for each constraint and each relation."""
    _clean_fields(row)
    try:
        row.validate_unique()
        row.validate_constraints()
    except ValidationError as error:
        raise ApplicationError(_sentence(row, error), code="common.todo") from error


def _clean_fields(row: models.Model, *, apart_from: Collection[str] = ()) -> None:
    # Where nothing is known None is right, though a form would have to fill the field in.
    unknown = {field.name for field in row._meta.fields if field.null and _is_none(row, field)}
    try:
        row.clean_fields(exclude={*unknown, *apart_from})
    except ValidationError as error:
        raise ApplicationError(_sentence(row, error), code="common.todo") from error


def _relations(row: models.Model) -> list[str]:
    """Fields that hold another row, which the database looks for at the end."""
    return [field.name for field in row._meta.fields if field.is_relation]


def _is_none(row: models.Model, field: models.Field[Any, Any]) -> bool:
    return getattr(row, field.attname) is None


def _sentence(row: models.Model, error: ValidationError) -> str:
    labels = {field.name: str(field.verbose_name) for field in row._meta.fields}
    sentences = []
    for name, messages in error.message_dict.items():
        label = f"{labels[name]}: " if name != NON_FIELD_ERRORS else ""
        sentences += [label[:1].upper() + label[1:] + message for message in messages]
    return " ".join(sentences)


def amount(value: Decimal, currency: str, *, noun: str) -> Decimal:
    """`value` as an exact amount of `currency`. Refused when it would have to be rounded."""
    if not value.is_finite() or abs(value) >= money.LIMIT:
        raise ApplicationError(
            f"{noun}: {value} is no amount that can be kept.", code="common.todo"
        )
    try:
        if not money.is_exact(value, currency):
            raise ApplicationError(
                f"{noun}: {value} is not an exact amount of {currency}.", code="common.todo"
            )
    except money.UnknownCurrency as error:
        raise ApplicationError(str(error), code="common.todo") from error
    return money.quantize(value, currency)


def text(value: str, *, noun: str) -> str:
    """What can be seen of `value`. Refused when that is nothing."""
    seen = strip_invisible(value)
    if not seen:
        raise ApplicationError(f"{noun} is missing.", code="common.todo")
    return seen


def state(now: models.TextChoices, *wanted: models.TextChoices, noun: str, to: str) -> None:
    """Refuse unless a row's state is one of `wanted`; `noun` says of what, `to` what for."""
    if now not in wanted:
        words = " or ".join(one.label.lower() for one in wanted)
        raise ApplicationError(
            f"{noun} is {now.label.lower()}; {to} it must be {words}.", code="common.todo"
        )
