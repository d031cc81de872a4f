"""Validation in services: rows, amounts, texts and states. Failures are ApplicationErrors."""

from __future__ import annotations

from collections.abc import Collection
from decimal import Decimal
from typing import Any

from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from django.db import IntegrityError, models, router, transaction

from engagements.common import money
from engagements.common.errors import ApplicationError
from engagements.common.text import strip_invisible


def save_validated(row: models.Model) -> None:
    """Validate the fields of `row` and save it.

    The database checks the constraints; only after it refused is each constraint validated by
    itself, for its message. Raises ApplicationError "validation.CODE".
    """
    _clean_fields(row, apart_from=_relations(row))
    try:
        with transaction.atomic():
            row.save()
    except IntegrityError:
        full_clean(row)
        raise


def full_clean(row: models.Model) -> None:
    """Validate `row` without saving it: one query for each constraint and each relation."""
    _clean_fields(row)
    try:
        row.validate_unique()
        _validate_constraints(row)
    except ValidationError as error:
        raise _application_error(row, error) from error


def _validate_constraints(row: models.Model) -> None:
    """Validate every constraint; its name is the code of an error without one."""
    errors: dict[str, list[ValidationError]] = {}
    database = router.db_for_write(type(row), instance=row)
    for model, constraints in row.get_constraints():
        for constraint in constraints:
            try:
                constraint.validate(model, row, using=database)
            except ValidationError as error:
                code = constraint.violation_error_code or constraint.name
                own = [ValidationError(message, code=code) for message in error.messages]
                errors.setdefault(NON_FIELD_ERRORS, []).extend(own)
    if errors:
        raise ValidationError(errors)


def _clean_fields(row: models.Model, *, apart_from: Collection[str] = ()) -> None:
    # A nullable field may stay empty, although a form would require it.
    unknown = {field.name for field in row._meta.fields if field.null and _is_none(row, field)}
    try:
        row.clean_fields(exclude={*unknown, *apart_from})
    except ValidationError as error:
        raise _application_error(row, error) from error


def _relations(row: models.Model) -> list[str]:
    """Return the fields that refer to another row; the database checks them."""
    return [field.name for field in row._meta.fields if field.is_relation]


def _is_none(row: models.Model, field: models.Field[Any, Any]) -> bool:
    return getattr(row, field.attname) is None


def _application_error(row: models.Model, error: ValidationError) -> ApplicationError:
    codes = [one.code for errors in error.error_dict.values() for one in errors if one.code]
    code = _code(str(row._meta.model_name), codes[0] if codes else "invalid")
    return ApplicationError(_message(row, error), code=code)


def _code(model: str, name: str) -> str:
    """Join model and error: "time_entry.hours_fit_a_day" of time_entry_hours_fit_a_day."""
    words = name.split("_")
    count = 0
    while count < len(words) - 1 and model.startswith("".join(words[: count + 1])):
        count += 1
    return f"{'_'.join(words[:count]) or model}.{'_'.join(words[count:])}"


def _message(row: models.Model, error: ValidationError) -> str:
    labels = {field.name: str(field.verbose_name) for field in row._meta.fields}
    sentences = []
    for name, messages in error.message_dict.items():
        label = f"{labels[name]}: " if name != NON_FIELD_ERRORS else ""
        sentences += [label[:1].upper() + label[1:] + message for message in messages]
    return " ".join(sentences)


def amount(value: Decimal, currency: str, *, noun: str) -> Decimal:
    """Return `value` as an amount of `currency`.

    Raises ApplicationError for a value that is not finite, too large, or would be rounded.
    """
    if not value.is_finite() or abs(value) >= money.LIMIT:
        raise ApplicationError(f"{noun}: enter a smaller amount.", code="amount.out_of_range")
    try:
        if not money.is_exact(value, currency):
            raise ApplicationError(
                f"{noun}: enter an amount with at most {money.minor_digits(currency)} decimals.",
                code="amount.too_precise",
            )
    except money.UnknownCurrency as error:
        raise ApplicationError(str(error), code="amount.unknown_currency") from error
    return money.quantize(value, currency)


def text(value: str, *, noun: str) -> str:
    """Return the visible part of `value`. Raises ApplicationError when there is none."""
    stripped = strip_invisible(value)
    if not stripped:
        raise ApplicationError(f"{noun} is missing.", code="validation.missing")
    return stripped


def state(now: models.TextChoices, *wanted: models.TextChoices, noun: str, to: str) -> None:
    """Require a row's state to be one of `wanted`.

    `noun` names the row and `to` the purpose, as in "The invoice" and "to be issued". Raises
    ApplicationError "validation.state".
    """
    if now not in wanted:
        words = " or ".join(one.label.lower() for one in wanted)
        raise ApplicationError(
            f"{noun} is {now.label.lower()}; {to} it must be {words}.", code="validation.state"
        )
