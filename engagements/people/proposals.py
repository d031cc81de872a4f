"""Steps that one person proposes and another completes. Abstract models."""

from __future__ import annotations

from typing import ClassVar

import pgtrigger
from django.db import models
from django.db.models import Q
from django.utils import timezone

from benchmarks.triggers import Protect, ReadOnly
from engagements.people.models import User
from engagements.people.triggers import by_finance, second_person

APPROVAL = ("state", "approved_by", "decided_at")


class Proposal(models.Model):
    """A step with money that one person proposes.

    `KIND` begins its error codes and its name in approvals of a sole owner; `NOUN` is its name on
    pages.
    """

    KIND: ClassVar[str]
    NOUN: ClassVar[str]

    proposed_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    proposed_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        abstract = True

    @property
    def subject(self) -> str:
        """Its name in approvals of a sole owner."""
        return f"{self.KIND}:{self.pk}"


class Decision(Proposal):
    """A proposal that another person approves, once; or that is voided. Never deleted.

    `state` begins as "proposed"; all states but "voided" follow an approval. Models take
    `decision_constraints` and `decision_triggers`.
    """

    state: str
    State: ClassVar[type[models.TextChoices]]

    approved_by = models.ForeignKey(
        User, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    decided_at = models.DateTimeField(
        null=True, blank=True, help_text="When it was approved or voided."
    )

    class Meta:
        abstract = True


def decision_constraints(*, unapproved: Q | None = None) -> list[models.BaseConstraint]:
    """The constraints of a `Decision`; rows that meet `unapproved` need no approval."""
    approved = Q(approved_by__isnull=False)
    needs_none = approved if unapproved is None else approved | unapproved
    return [
        models.CheckConstraint(
            condition=Q(state="proposed", approved_by__isnull=True, decided_at__isnull=True)
            | Q(state="voided", approved_by__isnull=True, decided_at__isnull=False)
            | (~Q(state__in=["proposed", "voided"]) & Q(decided_at__isnull=False) & needs_none),
            name="%(class)s_is_approved",
            violation_error_message="A second person approves this.",
        )
    ]


def decision_triggers(
    model: str, kind: str, *, changing: tuple[str, ...] = ()
) -> list[pgtrigger.Trigger]:
    """The triggers of the `Decision` called `model`, of this `KIND`.

    The columns in `changing` may change beside its approval.
    """
    return [
        Protect(name="deletion", operation=pgtrigger.Delete),
        Protect(
            name="start",
            operation=pgtrigger.Insert,
            condition=~pgtrigger.Q(new__state="proposed"),
        ),
        ReadOnly(name="terms", exclude=[*APPROVAL, *changing]),
        ReadOnly(
            name="decision",
            fields=["approved_by", "decided_at"],
            condition=~pgtrigger.Q(old__state="proposed"),
        ),
        by_finance(model, "proposed_by_id", "approved_by_id"),
        second_person(
            name="approved_by_another",
            code=f"{model}.approved_by_another",
            by="NEW.approved_by_id",
            others=("NEW.proposed_by_id",),
            subject=f"'{kind}:' || NEW.id",
            operation=pgtrigger.Update,
        ),
    ]
