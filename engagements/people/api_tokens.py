"""Tokens for programs that send evidence: signed, not stored, and void with the password.

A token says who sends. It ends after `LIFE`, when its owner changes their password, and when
they leave.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from django.core import signing
from django.utils.crypto import constant_time_compare
from rest_framework import exceptions
from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.request import Request

from engagements.people.models import User

LIFE: Final = timedelta(days=30)
SALT: Final = "engagements.people.api_tokens"
WORD: Final = "Bearer"


def issue(user: User) -> str:
    """A token that speaks for `user` from now on."""
    return signing.dumps([user.pk, user.get_session_auth_hash()], salt=SALT)


def owner_of(token: str) -> User | None:
    """Whose token it is; None when it is none, has ended, or its owner has gone."""
    try:
        pk, proof = signing.loads(token, salt=SALT, max_age=LIFE)
    except (signing.BadSignature, ValueError, TypeError):
        return None
    user = User.objects.filter(pk=pk, is_active=True).first()
    if user is None or not constant_time_compare(proof, user.get_session_auth_hash()):
        return None
    return user


class TokenAuthentication(BaseAuthentication):
    """`Authorization: Bearer TOKEN`. Needs no CSRF token: no browser sends this by itself."""

    def authenticate(self, request: Request) -> tuple[User, str] | None:
        """The owner of the request's token; None without one."""
        word, _, token = get_authorization_header(request).decode("latin-1").partition(" ")
        if word.lower() != WORD.lower():
            return None
        user = owner_of(token.strip())
        if user is None:
            raise exceptions.AuthenticationFailed("This token is not valid, or no longer.")
        return user, token

    def authenticate_header(self, request: Request) -> str:
        """What a refused request is told to send."""
        return WORD
