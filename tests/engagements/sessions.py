"""Helpers for pages around signing in."""

from __future__ import annotations

import time

from django.forms import BaseForm
from django.test import Client

from engagements.people.models import User


def sign_in(client: Client, person: User, *, again: bool = True) -> None:
    """As if `person` had signed in a moment ago, and been asked for their password `again`."""
    client.force_login(person)
    session = client.session
    session["account_authentication_methods"] = [
        {"method": "password", "at": time.time(), "reauthenticated": again}
    ]
    session["account_authentication_methods_user"] = str(person.pk)
    session.save()


def sign_in_by_password(client: Client, person: User) -> None:
    """Sign in a person who has a password, without a fresh sign-in."""
    person.set_password("a long enough sentence of words")
    person.save()
    client.force_login(person)


def error_codes(form: BaseForm) -> list[str]:
    """The codes of a form's errors, field by field."""
    return [str(error.code) for errors in form.errors.as_data().values() for error in errors]
