"""Settlements and what is disputed of them."""

from typing import ClassVar

from django.conf import settings
from django.db import migrations, models
from django.db.models import PROTECT, F, Q, Value
from django.db.models.functions import Greatest
from django.utils.timezone import now


class Migration(migrations.Migration):
    replaces: ClassVar = [("engagements", "0013_disputes_and_transfers")]

    dependencies: ClassVar = [("engagements", "0008_payments")]

    operations: ClassVar = [
        migrations.CreateModel(
            name="Settlement",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "reason",
                    models.CharField(
                        choices=[
                            ("missed", "The target was missed"),
                            ("time_box", "The time-box ran out without a met target"),
                            ("further", "More goes back than was settled before"),
                        ],
                        max_length=10,
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("proposed", "Proposed"),
                            ("approved", "Approved"),
                            ("paying", "Paying"),
                            ("paid", "Paid"),
                            ("failed", "Payment failed"),
                            ("voided", "Voided"),
                        ],
                        default="proposed",
                        max_length=10,
                    ),
                ),
                ("currency", models.CharField(max_length=3)),
                ("payments_received", models.DecimalField(decimal_places=3, max_digits=14)),
                ("audit_cost", models.DecimalField(decimal_places=3, max_digits=14)),
                ("audit_tax", models.DecimalField(decimal_places=3, max_digits=14)),
                ("refund", models.DecimalField(decimal_places=3, max_digits=14)),
                ("balance_due", models.DecimalField(decimal_places=3, max_digits=14)),
                ("proposed_at", models.DateTimeField(default=now, editable=False)),
                ("approved_at", models.DateTimeField(blank=True, null=True)),
                ("paid_at", models.DateTimeField(blank=True, null=True)),
                ("payment_reference", models.CharField(blank=True, max_length=80)),
                ("void_reason", models.TextField(blank=True)),
                (
                    "approved_by",
                    models.ForeignKey(null=True, on_delete=PROTECT, related_name="+", to=settings.AUTH_USER_MODEL),
                ),
                (
                    "contract_version",
                    models.ForeignKey(on_delete=PROTECT, related_name="settlements", to="engagements.contractversion"),
                ),
                (
                    "paid_by",
                    models.ForeignKey(null=True, on_delete=PROTECT, related_name="+", to=settings.AUTH_USER_MODEL),
                ),
                (
                    "proposed_by",
                    models.ForeignKey(null=True, on_delete=PROTECT, related_name="+", to=settings.AUTH_USER_MODEL),
                ),
                (
                    "voided_by",
                    models.ForeignKey(null=True, on_delete=PROTECT, related_name="+", to=settings.AUTH_USER_MODEL),
                ),
                ("note", models.TextField(blank=True, help_text="Why more goes back, in a further settlement.")),
                ("refunded_before", models.DecimalField(decimal_places=3, default=0, max_digits=14)),
                ("credit_notes", models.ManyToManyField(related_name="settlements", to="engagements.invoice")),
            ],
            options={
                "ordering": ["-proposed_at"],
                "constraints": [
                    models.CheckConstraint(
                        name="settlement_is_approved_by_another",
                        condition=Q(approved_by__isnull=True)
                        | Q(proposed_by__isnull=True)
                        | ~Q(approved_by=F("proposed_by")),
                        violation_error_message="Nobody approves a settlement they proposed themselves.",
                    ),
                    models.CheckConstraint(
                        name="settlement_is_approved_before_it_is_paid",
                        condition=Q(state__in=["proposed", "voided"])
                        | Q(approved_at__isnull=False, approved_by__isnull=False),
                        violation_error_message="A settlement is approved before anything is paid.",
                    ),
                    models.CheckConstraint(
                        name="settlement_is_paid_with_a_reference",
                        condition=~Q(state="paid") & Q(paid_at__isnull=True)
                        | Q(paid_at__isnull=False, paid_by__isnull=False, state="paid") & ~Q(payment_reference=""),
                        violation_error_message="A paid settlement has a date, a name and a reference.",
                    ),
                    models.CheckConstraint(
                        name="settlement_is_voided_with_a_reason",
                        condition=~Q(state="voided") & Q(void_reason="", voided_by__isnull=True)
                        | Q(state="voided", voided_by__isnull=False) & ~Q(void_reason=""),
                        violation_error_message="Who voids a settlement says why.",
                    ),
                    models.UniqueConstraint(
                        fields=("contract_version",),
                        name="settlement_one_live_a_contract",
                        condition=~Q(state__in=["voided", "paid"]),
                        violation_error_message="This contract is being settled already.",
                    ),
                    models.CheckConstraint(
                        name="settlement_adds_up",
                        condition=Q(
                            balance_due=Greatest(
                                F("audit_cost") + F("audit_tax") + F("refunded_before") - F("payments_received"),
                                Value(0),
                            ),
                            refund=Greatest(
                                F("payments_received") - F("refunded_before") - F("audit_cost") - F("audit_tax"),
                                Value(0),
                            ),
                        ),
                        violation_error_message="The refund is what was received less the audit cost.",
                    ),
                    models.CheckConstraint(
                        name="settlement_keeps_no_negative_amount",
                        condition=Q(audit_cost__gte=0, audit_tax__gte=0, refunded_before__gte=0),
                        violation_error_message="What is kept, or went back before, is not negative.",
                    ),
                    models.CheckConstraint(
                        name="settlement_further_says_why",
                        condition=~Q(reason="further") | ~Q(note="") & Q(proposed_by__isnull=False),
                        violation_error_message="Whoever proposes a further settlement says why.",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Dispute",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("reason", models.TextField()),
                ("raised_at", models.DateTimeField(default=now, editable=False)),
                ("resolution", models.TextField(blank=True)),
                ("resolved_at", models.DateTimeField(blank=True, null=True)),
                ("raised_by", models.ForeignKey(on_delete=PROTECT, related_name="+", to=settings.AUTH_USER_MODEL)),
                (
                    "resolved_by",
                    models.ForeignKey(
                        blank=True, null=True, on_delete=PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "settlement",
                    models.ForeignKey(on_delete=PROTECT, related_name="disputes", to="engagements.settlement"),
                ),
            ],
            options={
                "ordering": ["-raised_at", "-pk"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("settlement",),
                        name="dispute_one_open_a_settlement",
                        condition=Q(resolved_at__isnull=True),
                        violation_error_message="This settlement is disputed already.",
                    ),
                    models.CheckConstraint(
                        name="dispute_says_why_it_began_and_ended",
                        condition=~Q(reason="")
                        & (
                            Q(resolution="", resolved_at__isnull=True, resolved_by__isnull=True)
                            | Q(resolved_at__isnull=False, resolved_by__isnull=False) & ~Q(resolution="")
                        ),
                        violation_error_message="A dispute has a reason, and its end a note.",
                    ),
                ],
            },
        ),
    ]
