"""Tokens for programs that upload evidence: signed, not stored.

A token expires after `LIFETIME`, and when its owner's password, role or access changes.
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

LIFETIME: Final = timedelta(days=30)
SALT: Final = "engagements.people.api_tokens"
SCHEME: Final = "Bearer"


def issue(user: User) -> str:
    """Create a token that authenticates as `user`."""
    return signing.dumps([user.pk, user.get_session_auth_hash()], salt=SALT)


def owner_of(token: str) -> User | None:
    """Return the token's owner; None if it is invalid or expired or the owner inactive."""
    try:
        pk, proof = signing.loads(token, salt=SALT, max_age=LIFETIME)
    except (signing.BadSignature, ValueError, TypeError):
        return None
    user = User.objects.filter(pk=pk, is_active=True).first()
    if user is None or not constant_time_compare(proof, user.get_session_auth_hash()):
        return None
    return user


class TokenAuthentication(BaseAuthentication):
    """`Authorization: Bearer TOKEN`. Needs no CSRF token: browsers do not send it unasked."""

    def authenticate(self, request: Request) -> tuple[User, str] | None:
        """Return the owner of the request's token; None without one."""
        scheme, _, token = get_authorization_header(request).decode("latin-1").partition(" ")
        if scheme.lower() != SCHEME.lower():
            return None
        user = owner_of(token.strip())
        if user is None:
            raise exceptions.AuthenticationFailed(
                "Invalid or expired token. Create a new one on an evidence page."
            )
        return user, token

    def authenticate_header(self, request: Request) -> str:
        """Return the scheme for the header WWW-Authenticate."""
        return SCHEME
