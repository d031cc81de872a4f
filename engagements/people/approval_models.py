"""Second persons: grants of the finance role, and approvals of a sole owner."""

from __future__ import annotations

from typing import ClassVar

import pgtrigger
from django.db import models
from django.db.models import F, Q
from django.utils import timezone

from benchmarks.triggers import AppendOnly, Protect, ReadOnly, WrittenByOwner
from engagements.people.models import User
from engagements.people.proposals import Proposal
from engagements.people.triggers import (
    CONFIRMED_BY_FINANCE,
    GIVE_FINANCE_ROLE,
    ONLY_SOLE_OWNER,
    second_person,
)


class SoleOwner(models.Model):
    """The owner of a team of one, who may approve alone with a second factor.

    Without a row, which is the default, every rule of two people holds. Only
    `manage.py sole_owner`, run as the owner of the database, writes it.
    """

    user = models.OneToOneField(User, on_delete=models.PROTECT, related_name="+")
    since = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        triggers: ClassVar = [
            WrittenByOwner(),
        ]

    def __str__(self) -> str:
        return f"{self.user} approves alone"


class SoleApproval(models.Model):
    """A sole owner's approval of one `subject`, such as settlement:17. Append-only.

    `second_factor_at` is the time at which the owner entered the second factor.
    """

    subject = models.CharField(max_length=40)
    by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    second_factor_at = models.DateTimeField()
    approved_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering: ClassVar = ["-approved_at", "-pk"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["subject", "by"], name="sole_approval_once"),
        ]
        triggers: ClassVar = [
            AppendOnly(),
            ONLY_SOLE_OWNER,
        ]

    def __str__(self) -> str:
        return f"{self.subject} by {self.by}"


class FinanceGrant(Proposal):
    """The finance role for `user`: proposed by an admin, confirmed by two people of finance.

    The second confirmation (`granted_by`) gives the role, by a trigger; the role of the site
    cannot give it otherwise. With one confirmation, an admin and one person of finance could
    appoint a person of straw, and the pair would move money. A sole owner confirms twice.
    """

    KIND = "finance_grant"
    NOUN = "role"

    user = models.ForeignKey(User, on_delete=models.PROTECT, related_name="finance_grants")
    confirmed_by = models.ForeignKey(
        User, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    confirmed_at = models.DateTimeField(null=True, blank=True)
    granted_by = models.ForeignKey(
        User, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    granted_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering: ClassVar = ["-pk"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["user"],
                condition=Q(granted_by__isnull=True),
                name="finance_grant_one_open_a_user",
            ),
            models.CheckConstraint(
                condition=~Q(proposed_by=F("user")),
                name="finance_grant_is_proposed_by_another",
                violation_error_message="Another admin must grant you the finance role.",
            ),
            models.CheckConstraint(
                condition=Q(confirmed_by__isnull=True, confirmed_at__isnull=True)
                | (
                    Q(confirmed_at__isnull=False)
                    & ~Q(confirmed_by=F("proposed_by"))
                    & ~Q(confirmed_by=F("user"))
                ),
                name="finance_grant_is_confirmed_by_a_second_person",
                violation_error_message="Another person confirms the finance role.",
            ),
            models.CheckConstraint(
                condition=Q(granted_by__isnull=True, granted_at__isnull=True)
                | (
                    Q(granted_at__isnull=False, confirmed_by__isnull=False)
                    & ~Q(granted_by=F("proposed_by"))
                    & ~Q(granted_by=F("user"))
                ),
                name="finance_grant_is_given_by_others",
                violation_error_message="Other people confirm the finance role.",
            ),
        ]
        triggers: ClassVar = [
            Protect(name="deletion", operation=pgtrigger.Delete),
            Protect(
                name="start",
                operation=pgtrigger.Insert,
                condition=pgtrigger.Q(new__confirmed_by__isnull=False)
                | pgtrigger.Q(new__granted_by__isnull=False),
            ),
            Protect(
                name="granted",
                operation=pgtrigger.Update,
                condition=pgtrigger.Q(old__granted_by__isnull=False),
            ),
            ReadOnly(
                name="proposal",
                exclude=["confirmed_by", "confirmed_at", "granted_by", "granted_at"],
            ),
            Protect(
                name="confirmed",
                operation=pgtrigger.Update,
                condition=pgtrigger.Condition(
                    "OLD.confirmed_by_id IS NOT NULL AND (OLD.confirmed_by_id, OLD.confirmed_at)"
                    " IS DISTINCT FROM (NEW.confirmed_by_id, NEW.confirmed_at)"
                ),
            ),
            CONFIRMED_BY_FINANCE,
            second_person(
                name="granted_by_another",
                code="financegrant.granted_by_another",
                by="NEW.granted_by_id",
                others=("NEW.confirmed_by_id",),
                subject="'finance_grant:' || NEW.id",
                operation=pgtrigger.Update,
            ),
            GIVE_FINANCE_ROLE,
        ]

    def __str__(self) -> str:
        return f"finance for {self.user}"
