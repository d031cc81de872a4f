"""Read-only admin pages of benchmarks, runs and records."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from benchmarks.models import Benchmark, Record, Repetition, Run, SigningKey, Solution


class ReadOnly(admin.ModelAdmin[Any]):
    """No adding, changing or deleting."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Services create rows."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Sealed and measured data is immutable."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Sealed and measured data is permanent."""
        return False


@admin.register(Benchmark)
class BenchmarkAdmin(ReadOnly):
    """Sealed benchmarks."""

    list_display = ("name", "operator", "digest", "sealed_at")
    exclude = ("canonical",)


@admin.register(Solution)
class SolutionAdmin(ReadOnly):
    """Solutions."""

    list_display = ("name", "operator", "filename", "digest", "created_at")


@admin.register(Run)
class RunAdmin(ReadOnly):
    """Runs."""

    list_display = ("pk", "benchmark", "solution", "state", "attempt", "worker", "requested_at")
    list_filter = ("state",)


@admin.register(Record)
class RecordAdmin(ReadOnly):
    """Records."""

    list_display = ("run", "attempt", "verdict", "ratio", "low", "high", "device_name", "signed_by")
    list_filter = ("verdict",)


@admin.register(SigningKey)
class SigningKeyAdmin(ReadOnly):
    """Public keys of referees; `manage.py signing_key` adds and revokes."""

    list_display = ("key_id", "name", "added_by", "added_at", "revoked_at")


@admin.register(Repetition)
class RepetitionAdmin(ReadOnly):
    """Records measured again elsewhere."""

    list_display = ("run", "verdict", "ratio", "device_name", "signer", "added_by", "added_at")
