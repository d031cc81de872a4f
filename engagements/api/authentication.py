"""Authentication of the API: the site's session, or `Authorization: Bearer TOKEN`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rest_framework import exceptions
from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request

from engagements.people import api_tokens
from engagements.people.models import User
from engagements.people.token_models import ApiToken, Scope

if TYPE_CHECKING:
    # It reads these classes from the settings while it is imported itself.
    from rest_framework.views import APIView

SCHEME = "Bearer"


class TokenAuthentication(BaseAuthentication):
    """`Authorization: Bearer TOKEN`. Needs no CSRF token: browsers do not send it unasked."""

    def authenticate(self, request: Request) -> tuple[User, ApiToken] | None:
        """Return the owner of the request's token; None without one."""
        scheme, _, value = get_authorization_header(request).decode("latin-1").partition(" ")
        if scheme.lower() != SCHEME.lower():
            return None
        token = api_tokens.find(value.strip())
        if token is None:
            raise exceptions.AuthenticationFailed(
                "This token is invalid, expired or revoked. Create another one at /tokens/."
            )
        api_tokens.note_use(token)
        return token.owner, token

    def authenticate_header(self, request: Request) -> str:
        """Return the scheme for the header WWW-Authenticate."""
        return SCHEME


class HasScope(BasePermission):
    """A token needs the view's `scope`, or for reading the scope `read`. Sessions need none."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        token = request.auth
        if not isinstance(token, ApiToken):
            return True
        needed = getattr(view, "scope", Scope.READ)
        reads = request.method in SAFE_METHODS and Scope.READ in token.scopes
        if reads or needed in token.scopes:
            return True
        raise exceptions.PermissionDenied(
            f"This token lacks the scope “{needed}”. Create one that has it.", code="token.scope"
        )
