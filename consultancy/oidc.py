"""Sign-in by the consultancy's OIDC provider, for its staff.

Accounts are found by verified email address, and created for people whose groups have a role. The
provider's groups decide the roles consultant and admin at every sign-in. They take the finance
role away and never give it: an admin proposes it, and two people of finance confirm. Customers'
people do not sign in this way, as the consultancy could then sign a contract for both parties.
"""

from __future__ import annotations

from typing import Any

from allauth.core.exceptions import ImmediateHttpResponse
from allauth.mfa.utils import is_mfa_enabled
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest
from django.shortcuts import redirect

from engagements.people.models import Role, User

FINANCE = Role.FINANCE


class Declined(Exception):
    """A sign-in that is declined, with the reason for the person."""


class ProviderAdapter(DefaultSocialAccountAdapter):
    """Connects sign-ins by the provider with accounts of staff."""

    def is_open_for_signup(self, request: HttpRequest, sociallogin: Any) -> bool:
        """Always false: `pre_social_login` creates the accounts of staff."""
        return False

    def pre_social_login(self, request: HttpRequest, sociallogin: Any) -> None:
        """Find or create the account and set its role. Declines people without one."""
        try:
            if sociallogin.state.get("process") not in (None, "login"):
                raise Declined("Sign out, then sign in by the provider.")
            user = _account(sociallogin)
        except Declined as declined:
            messages.error(request, str(declined))
            raise ImmediateHttpResponse(redirect("account_login")) from declined
        if sociallogin.is_existing:
            sociallogin.user = user
        else:
            sociallogin.connect(request, user)


def _account(sociallogin: Any) -> User:
    claims = _claims(sociallogin)
    role = role_of(claims.get(settings.OIDC_GROUPS_CLAIM))
    if sociallogin.is_existing:
        user: User | None = User.objects.get(pk=sociallogin.user.pk)
    else:
        if claims.get("email_verified") is not True or not claims.get("email"):
            raise Declined("Your provider has not verified your email address.")
        user = User.objects.filter(email__iexact=str(claims["email"])).first()
    if user is None:
        return _created(claims, role)
    if not user.is_active or user.is_service or user.memberships.exists():
        raise Declined("This account does not sign in by the provider. Use your password.")
    if user.role == FINANCE and not is_mfa_enabled(user):
        # Otherwise the provider's administrator could move money.
        raise Declined("Sign in by password and set up a second factor first.")
    _set_role(user, role)
    if user.role == Role.NONE:
        raise Declined("None of your groups has a role here. Ask an admin.")
    return user


def _claims(sociallogin: Any) -> dict[str, Any]:
    data = sociallogin.account.extra_data
    return {**data.get("id_token", {}), **data.get("userinfo", {})}


def role_of(groups: object) -> Role | None:
    """The role of somebody with these groups: the first that TWOFOLD_OIDC_ROLES lists.

    NONE where no group has one, None where roles are not mapped at all.
    """
    if not settings.OIDC_ROLES:
        return None
    held = {str(group) for group in groups} if isinstance(groups, list | tuple) else set()
    return next((Role(role) for group, role in settings.OIDC_ROLES if group in held), Role.NONE)


def _created(claims: dict[str, Any], role: Role | None) -> User:
    if role in (None, Role.NONE, FINANCE):
        raise Declined("There is no account with your address here. Ask an admin for one.")
    name = str(claims.get("name") or claims["email"])[:120]
    return User.objects.create_user(str(claims["email"]), name=name, role=role)


def _set_role(user: User, role: Role | None) -> None:
    """Give an account the role of its groups, which ends its sessions where it changed."""
    if role is None or role == user.role or role == FINANCE:
        # Finance is given by people of finance; somebody who has it keeps it with the group.
        return
    user.role = role
    user.is_staff = user.is_staff and role == Role.ADMIN
    user.is_superuser = user.is_superuser and role == Role.ADMIN
    user.save(update_fields=["role", "is_staff", "is_superuser"])
    user.refresh_from_db()
