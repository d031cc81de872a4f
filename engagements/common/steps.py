"""The steps from here: offered as forms beside each other, and taken one at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar, cast

from django import forms
from django.contrib import messages
from django.http import HttpRequest

from engagements.common.errors import ApplicationError

if TYPE_CHECKING:
    from engagements.people.models import User

Row = TypeVar("Row")
Forms = Mapping[str, type[forms.Form]]
# What takes a step of a row with a form's data, and the sentence that says that it is taken.
Taken = tuple[Callable[[Row, "User", dict[str, Any]], Any], str]


@dataclass
class Action:
    """A step that can be taken from here. `why_not` says why this person cannot take it."""

    name: str
    label: str
    note: str
    why_not: str
    form: forms.Form
    is_danger: bool = False
    is_first: bool = False

    @property
    def has_fields(self) -> bool:
        """Whether the step asks for anything besides the click."""
        return bool(self.form.fields)


def offered(
    names: Iterable[str],
    *,
    forms_: Forms,
    labels: Mapping[str, tuple[str, str]],
    why_not: Callable[[str], str],
    refused: Mapping[str, forms.Form],
    initial: dict[str, Any] | None = None,
) -> list[Action]:
    """The steps `names`, the usual one first, with their label and note. `initial` is what their
    forms carry of the row as it is shown.

    A step that two people took at once is refused to the second: it stays, with its form.
    """
    open_ = tuple(names)
    shown = (*open_, *(name for name in refused if name not in open_))
    return [
        Action(
            name=name,
            label=labels[name][0],
            note=labels[name][1],
            why_not=why_not(name),
            form=refused.get(name) or forms_[name](auto_id=f"id_{name}_%s", initial=initial),
            is_danger=name in ("failed", "void"),
            is_first=name == shown[0],
        )
        for name in shown
    ]


def take(
    request: HttpRequest, row: Row, name: str, *, forms_: Forms, steps: Mapping[str, Taken[Row]]
) -> forms.Form | None:
    """Take a step of `row` with the form that was sent; the form where it is refused."""
    form = forms_[name](request.POST, auto_id=f"id_{name}_%s")
    if form.is_valid():
        act, done = steps[name]
        try:
            act(row, cast("User", request.user), form.cleaned_data)
        except ApplicationError as refusal:
            form.add_error(None, str(refusal))
        else:
            messages.success(request, done)
            return None
    return form
