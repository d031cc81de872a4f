"""Decorators of pages, by the permissions of `access`."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponseBase

from engagements.access import (
    Person,
    admit_consultant,
    admit_finance,
    admit_staff,
    is_admin,
    is_staff_member,
    sees_money,
)
from engagements.common.pages import SAFE_METHODS, View


def consultant_page(view: View) -> View:
    """Decorate a staff page: every role reads it, consultants and admins act on it."""
    return _page(view, reads=admit_staff, acts=admit_consultant)


def staff_page(view: View) -> View:
    """Decorate a page on which every role of staff acts, such as on settings of their own."""
    return _page(view, reads=admit_staff, acts=admit_staff)


def admin_page(view: View) -> View:
    """Decorate a page of admins."""

    def admits(user: Person) -> None:
        admit_staff(user)
        if not is_admin(user):
            raise PermissionDenied("Only admins may do this.")

    return _page(view, reads=admits, acts=admits)


def finance_page(view: View) -> View:
    """Decorate a finance page: finance and admins read it, finance alone acts on it."""

    def reads(user: Person) -> None:
        admit_staff(user)
        if not sees_money(user):
            raise PermissionDenied("Only finance may read this.")

    return _page(view, reads=reads, acts=admit_finance)


def portal_page(view: View) -> View:
    """Decorate a portal page: customers act on it, staff members only read it."""

    def reads(user: Person) -> None:
        return None

    def acts(user: Person) -> None:
        if is_staff_member(user):
            raise PermissionDenied("Only the customer may do this.")

    return _page(view, reads=reads, acts=acts)


def _page(view: View, *, reads: Callable[[Person], None], acts: Callable[[Person], None]) -> View:
    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if not request.user.is_authenticated:
            return redirect_to_login(request.get_full_path())
        (reads if request.method in SAFE_METHODS else acts)(request.user)
        return view(request, *args, **kwargs)

    return guarded
