"""Permissions of the admin site: admins alone, and read-only where services write."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db import models
from django.http import HttpRequest

from engagements import access


class AdminsOnly(admin.options.BaseModelAdmin[Any]):
    """Rows that admins manage, regardless of Django's permissions."""

    def has_module_permission(self, request: HttpRequest) -> bool:
        return access.is_admin(request.user)

    def has_view_permission(self, request: HttpRequest, obj: models.Model | None = None) -> bool:
        return access.is_admin(request.user)

    def has_add_permission(self, request: HttpRequest, *args: Any) -> bool:
        return access.is_admin(request.user)

    def has_change_permission(self, request: HttpRequest, obj: models.Model | None = None) -> bool:
        return access.is_admin(request.user)

    def has_delete_permission(self, request: HttpRequest, obj: models.Model | None = None) -> bool:
        return access.is_admin(request.user)


class NeverDeleted(AdminsOnly):
    """Rows that history refers to."""

    def has_delete_permission(self, request: HttpRequest, obj: models.Model | None = None) -> bool:
        return False


class ReadOnly(NeverDeleted):
    """Rows that only services write."""

    def has_add_permission(self, request: HttpRequest, *args: Any) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: models.Model | None = None) -> bool:
        return False
