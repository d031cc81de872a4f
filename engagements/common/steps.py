"""Workflow actions on a row: each is a form on the page, submitted one at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar, cast

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest

from engagements.common.errors import ApplicationError

if TYPE_CHECKING:
    from engagements.people.models import User

Row = TypeVar("Row")
Forms = Mapping[str, type[forms.Form]]
# Performs an action on a row with its form's data, and the message of its success.
Performed = tuple[Callable[[Row, "User", dict[str, Any]], Any], str]


@dataclass
class Action:
    """An action on a row. `blocking_reason` says why this user cannot perform it."""

    name: str
    label: str
    note: str
    blocking_reason: str
    form: forms.Form
    is_danger: bool = False
    is_first: bool = False

    @property
    def has_fields(self) -> bool:
        """Whether the form has fields besides its button."""
        return bool(self.form.fields)


def available_actions(
    names: Iterable[str],
    *,
    forms_: Forms,
    labels: Mapping[str, tuple[str, str]],
    blocking_reason: Callable[[str], str],
    rejected: Mapping[str, forms.Form],
    initial: dict[str, Any] | None = None,
) -> list[Action]:
    """Return the actions `names`, the usual one first, with their label and note.

    `initial` fills the forms with values of the row as shown. A form in `rejected` is shown again
    with its errors, even where its action is no longer available: two users may act at once.
    """
    open_ = tuple(names)
    shown = (*open_, *(name for name in rejected if name not in open_))
    return [
        Action(
            name=name,
            label=labels[name][0],
            note=labels[name][1],
            blocking_reason=blocking_reason(name),
            form=rejected.get(name) or forms_[name](auto_id=f"id_{name}_%s", initial=initial),
            is_danger=name in ("failed", "void"),
            is_first=name == shown[0],
        )
        for name in shown
    ]


def perform(
    request: HttpRequest, row: Row, name: str, *, forms_: Forms, steps: Mapping[str, Performed[Row]]
) -> forms.Form | None:
    """Perform an action on `row` with the submitted form. Returns the form if it was rejected."""
    form = forms_[name](request.POST, auto_id=f"id_{name}_%s")
    if form.is_valid():
        act, done = steps[name]
        try:
            act(row, cast("User", request.user), form.cleaned_data)
        except ApplicationError as error:
            form.add_error(None, ValidationError(error.message, code=error.code))
        else:
            messages.success(request, done)
            return None
    return form
